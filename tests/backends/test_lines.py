"""The lines that run while a fault is on its way are heard, on every interpreter, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultinject.sweep import CaseByCase, Options
from faultinject.targets import TargetSpec

CLIENT = """\
import os

class Guard:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.left = kind is not None

class Client:
    def __init__(self):
        with Guard():
            self.inbox, self.outbox = os.pipe()
            try:
                self.greet()
            except ValueError:
                raise
            except BaseException:
                self.close()
                raise

    def greet(self):
        os.write(self.outbox, b"x")

    def close(self):
        os.close(self.inbox)
        os.close(self.outbox)
"""


@pytest.mark.parametrize(
    ("level", "runner"),
    [("steps", "fork"), ("sites", "zygote"), ("opcodes", "fork"), ("opcodes", "zygote")],
)
def test_lines_of_the_clean_up_are_heard_in_each_process_that_ran_it(
    tmp_path: Path, level: str, runner: str
) -> None:
    (tmp_path / "lined.py").write_text(CLIENT)
    options = Options(
        target=TargetSpec("lined:Client", "close", str(tmp_path)),
        level=level, faults=("RuntimeError",), runner=runner, confirm="none", jobs=1, repeats=1,
        cover=("lined",),
    )  # type: ignore[arg-type] # fmt: skip
    with CaseByCase(options) as flow:
        case = next(c for c in flow.cases if c.point.line == 15 and c.point.phase == "before")
        (judged,) = flow.judge([case])
        assert flow.modules == {"lined": str(tmp_path / "lined.py")}
    assert judged.observation is not None
    assert judged.observation.runner == runner
    lines = dict(judged.observation.lines)
    assert list(lines) == [str(tmp_path / "lined.py")]
    heard = set(lines[str(tmp_path / "lined.py")])
    # Of an instruction that failed on 3.11 the handler is heard from its first call on.
    assert heard >= ({8, 19, 20, 26, 27} if level == "opcodes" else {8, 16, 18, 19, 20, 26, 27})
    assert not heard & {5, 13, 14, 17, 23}
