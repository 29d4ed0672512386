"""``faultinject lifecycle``: matrices of several versions, on a page."""

from __future__ import annotations

from faultinject.matrix import Matrix, StepRow
from faultinject.reports import render_lifecycle
from tests.cli._command import LIGHT, Command, one_line


def matrix(version: str, **verdicts: str) -> Matrix:
    words = {f"before {fault}": word for fault, word in verdicts.items()}
    return Matrix(1, "app:Pool", version, step=(StepRow(1, "app:open", verdicts=words),))


def test_each_version_has_a_column_and_each_target_a_section() -> None:
    page = render_lifecycle(
        [
            matrix("2.0", RuntimeError="clean", KeyboardInterrupt="nested leak"),
            matrix("1.0", RuntimeError="leak", KeyboardInterrupt="leak"),
            Matrix(1, "app:Other", "1.0"),
        ]
    )
    assert (
        "## `app:Pool`\n\n|  | 1.0 | 2.0 |\n|---|---|---|\n| cases | 2 | 2 |\n| violations | 2 | 0 |" in page
    )
    assert "| `open` | 2 leak | 1 \\(leak\\), 1 clean |" in page
    assert "## `app:Other`" in page


def test_text_from_a_matrix_is_no_markup() -> None:
    page = render_lifecycle([Matrix(1, "a`b|<i>", "<b>|*", step=(StepRow(1, "m:x`|y"),))])
    assert "## `a'b¦<i>`" in page
    assert r"| \<b\>\|\* |" in page
    assert "| `x'¦y` |" in page


def test_the_page_is_written_and_names_its_command(command: Command) -> None:
    command.write("light.py", LIGHT)
    for version in ("1", "2"):
        made = command.run("matrix", "light:Light", "--fault", "RuntimeError", "--matrices", f"v{version}")
        assert made.returncode == 0, made.stderr
        path = command.directory / f"v{version}" / "light-Light.toml"
        path.write_text(path.read_text().replace('version = ""', f'version = "{version}"'))
    files = [f"v{version}/light-Light.toml" for version in ("1", "2")]
    done = command.run("lifecycle", *files, "--output", "page.md")
    assert (done.returncode, done.stdout) == (0, "wrote page.md\n"), done.stderr
    page = (command.directory / "page.md").read_text()
    assert "`faultinject lifecycle v1/light-Light.toml v2/light-Light.toml --output page.md`" in page
    assert "| violations | 2 | 2 |" in page


def test_a_matrix_that_cannot_be_read_is_one_line(command: Command) -> None:
    command.write("broken.toml", "format = ")
    done = command.run("lifecycle", "broken.toml")
    assert done.returncode == 2
    assert "broken.toml" in one_line(done.stderr)
