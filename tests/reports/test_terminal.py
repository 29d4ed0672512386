from __future__ import annotations

import contextlib
import io
import os
import pty
import re
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from faultinject.facts import CaseResult, Owned, Recording, Step
from faultinject.reports import make_console, reporters_for, summarise
from faultinject.reports._screen import to_text
from faultinject.reports._terminal import TerminalReporter
from tests.reports._sample import (
    ENVIRONMENT,
    INIT,
    NESTED,
    POINTS,
    RECORDING,
    point,
    problem,
    result,
    sweep,
)

WHOLE = """\
sweeping acme:Engine 2.4.0: 20 cases at level steps (zygote, monitoring, 2 at a time)
not looked at: device memory (no GPU)

Owned by the target, first to be released first
owned      from step             held by         released by
────────────────────────────────────────────────────────────
executor   2 Executor.__init__   self.executor   shutdown
scheduler  4 Scheduler.__init__  self.scheduler  close

Lifecycle matrix of acme:Engine 2.4.0
                                                          before   before    after    after
step   line  call                owned: must be released  Runtime  Keyboard  Runtime  Keyboard
──────────────────────────────────────────────────────────────────────────────────────────────
   1     11  load_plugins        -                        (leak)   unsteady  missed   clean
   2     14  Executor.__init__   -                        clean    clean     clean    clean
   3     17  Engine._profile     executor                 leak     leak      leak     leak
   4     23  Scheduler.__init__  executor                 leak     leak      leak     leak
   5     31  freeze_heap         executor, scheduler      leak     leak      leak     leak

before: the fault came in place of the call. after: it came out of the call, its work done.
(word): charged to a frame beneath the target.

2 findings charged to the target

1. leak, 8 cases: Engine.__init__ has no handler around line 17 that releases executor
   place       before Engine._profile (Engine.__init__:17), RuntimeError
   what        not released
   owned       executor
   left        executor, +2 processes, +480 MiB shared memory
   grade       never given back
   caller got  RuntimeError: injected
   steady      3 of 3, seen by zygote
   replay      faultinject replay 01c6c5df --target acme:Engine --release shutdown

2. leak, 4 cases: Engine.__init__ has no handler around line 31 that releases executor and scheduler
   place       before freeze_heap (Engine.__init__:31), RuntimeError
   what        not released
   owned       executor, scheduler
   left        executor, +2 processes, +480 MiB shared memory
   grade       never given back
   caller got  RuntimeError: injected
   steady      3 of 3, seen by zygote
   replay      faultinject replay 1db99052 --target acme:Engine --release shutdown

Beneath the target: 1 finding, each of the frame it is charged to
charged to         verdict  cases  what    smallest
───────────────────────────────────────────────────
Executor._connect  leak         1  socket  418d9269

Unsteady: 1 case whose repetitions disagree
- ea371001 before load_plugins (Engine.__init__:11), KeyboardInterrupt: leak, clean, leak

Not reached: 1 case of which nothing is known
- 2db83de7 after load_plugins (Engine.__init__:11), RuntimeError

faultinject found 12 violations in 20 cases of acme:Engine 2.4.0 at level steps (leak 13, not-reached 1, \
unstable 1, clean 5).
1 case has something charged to a frame beneath it.
Next: faultinject replay 01c6c5df --target acme:Engine --release shutdown (the first, moment by moment)
"""


def report(
    cases: list[CaseResult],
    recording: Recording = RECORDING,
    *,
    width: int = 100,
    complete: bool = True,
    console: Console | None = None,
    total: int | None = None,
    **options: object,
) -> str:
    out = console if console is not None else make_console(io.StringIO(), width=width)
    reporter = TerminalReporter(out, now=lambda: 0.0, **options)  # type: ignore[arg-type]
    reporter.start(recording, ENVIRONMENT, len(cases) if total is None else total)
    for case in cases:
        reporter.case(case)
    reporter.finish(summarise(cases, recording, complete=complete))
    reporter.close()
    text = out.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def mixed() -> list[CaseResult]:
    cases = sweep()
    cases[0] = result(POINTS[0], NESTED)
    runs = ("leak", "clean", "leak")
    cases[1] = result(POINTS[0], fault="KeyboardInterrupt", verdict="unstable", runs=runs)
    cases[2] = result(POINTS[1], verdict="not-reached")
    return cases


def body(text: str) -> list[str]:
    """The lines that are laid out; sentences to be searched or copied are never cut."""
    return [
        line for line in text.splitlines() if not line.startswith(("faultinject ", "Next", "sweep", "not "))
    ]


def test_the_whole_report_as_a_pipe_gets_it() -> None:
    assert report(mixed()) == WHOLE


def test_piped_there_is_neither_colour_nor_a_bar() -> None:
    assert "\x1b" not in report(mixed())


def test_quiet_is_the_last_sentence_only() -> None:
    assert report(mixed(), quiet=True) == "".join(WHOLE.splitlines(keepends=True)[-3:])


def test_verbose_has_a_line_for_each_case_and_what_each_stage_took() -> None:
    cases = [*mixed(), sweep()[4]]
    text = report(cases, verbose=True)
    lines = text.splitlines()
    place = "before Engine._profile (Engine.__init__:17), RuntimeError"
    assert lines[2 + 8] == f"01c6c5df leak: {place}, charged to Engine.__init__ (0.2 s, zygote)", lines[2:12]
    assert [line for line in lines if line.startswith("2db83de7 not-reached: after load_plugins")]


def test_a_target_that_is_no_word_of_a_shell_is_quoted_in_the_advice() -> None:
    odd = msgspec.structs.replace(RECORDING, target="a:B; rm -rf ~")
    assert report([], odd, total=0).endswith("Next: faultinject discover 'a:B; rm -rf ~'\n")


def test_no_violation_names_the_next_level() -> None:
    text = report([result(p) for p in POINTS])
    assert text.endswith(
        "\nfaultinject found no violation in 10 cases of acme:Engine 2.4.0 at level steps (clean 10).\n"
        "Next: faultinject sweep acme:Engine --level sites (every call site beneath it)\n"
    )
    assert "findings" not in text


@pytest.mark.parametrize(
    ("level", "advice"),
    [
        ("sites", "--level stacks (every distinct stack)"),
        ("stacks", "--level opcodes (every bytecode of its own frame)"),
        ("opcodes", "--level nth (every dynamic call, sampled)"),
        ("nth", "faultinject matrix acme:Engine"),
    ],
)
def test_every_level_has_an_advice(level: str, advice: str) -> None:
    recording = msgspec.structs.replace(RECORDING, level=level)
    assert report([result(POINTS[0])], recording).rstrip().endswith(advice)


def test_no_case_at_all_says_so() -> None:
    text = report([])
    assert text.splitlines()[-2:] == [
        "No case was run on acme:Engine 2.4.0.",
        "Next: faultinject discover acme:Engine",
    ]
    assert "Lifecycle" not in text
    bare = Recording(target="m:f", level="steps", points=(), steps=(), owned=())
    assert "which has no fault point at level steps." in report([], bare)


def test_second_faults_have_a_table_and_findings_of_their_own() -> None:
    close, hang = "executor.shutdown/before/RuntimeError", "executor.shutdown/before/hang"
    cases = [
        *sweep(),
        result(POINTS[8], problem("hang", ()), second=hang, second_reached=True, id="aa"),
        result(POINTS[8], problem(resources=("log",)), second=close, second_reached=True, id="bb"),
        result(POINTS[9], second=close, second_reached=True, id="cc"),
        result(POINTS[9], problem(), second="scheduler.close/after/KeyboardInterrupt", id="dd"),
    ]
    text = report(cases)
    plain = report(sweep())
    matrix = plain[plain.index("Lifecycle matrix") : plain.index("before: the fault came in")]
    assert matrix in text
    table = text[text.index("Second faults") :]
    lines = [line.split() for line in table.splitlines()]
    assert ["executor.shutdown", "1", "leak", "1", "hang", "0"] in lines
    assert ["1", "clean"] in lines
    assert ["scheduler.close", "-", "-", "1"] in lines
    text = " ".join(text.split())
    assert "has no deadline where the release executor.shutdown hangs" in text
    assert "does not go on to release log where the release executor.shutdown raises RuntimeError" in text
    assert "RuntimeError, then hang in executor.shutdown" in text
    assert "Second faults" not in plain


def test_an_interrupted_sweep_says_how_to_go_on() -> None:
    text = report(sweep()[:7], complete=False, total=20, json_path=Path("r.json"))
    assert "Interrupted after 7 of 20 cases of acme:Engine 2.4.0, with 0 violations so far." in text
    assert "Next: the same command; add --resume r.json to go on from here." in text
    assert "use --json FILE to be able to go on next time" in report(sweep()[:7], complete=False)


def test_beneath_the_target_the_ten_largest_are_shown_and_the_rest_counted() -> None:
    cases = [
        result(
            POINTS[4],
            problem(charged_to=f"acme.deep:f{n:02}", violation=False),
            id=f"{n:04x}{again:04x}",
        )
        for n in range(14)
        for again in range(n + 1)
    ]
    text = report(cases)
    assert "Beneath the target: 14 findings" in text
    assert re.findall(r"^f(\d\d)", text, re.MULTILINE) == [f"{n:02}" for n in range(13, 3, -1)]
    assert "and 4 more: --all-nested lists them\n" in text
    assert "lists them, or read r.json" in report(cases, json_path=Path("r.json"))
    everything = report(cases, all_nested=True)
    assert len(re.findall(r"^f\d\d", everything, re.MULTILINE)) == 14
    assert "more:" not in everything


def many() -> tuple[list[CaseResult], Recording]:
    recording = msgspec.structs.replace(RECORDING, level="sites")
    cases = []
    for n in range(2300):
        at = point(
            n % 5 + 1, level="sites", caller=f"acme.deep:Class{n % 40}.method", callee=f"m:f{n}", line=n
        )
        wrong = (problem(),) if n % 5 > 1 and n % 3 == 0 else (NESTED,) if n % 7 == 0 else ()
        cases.append(result(at, *wrong))
    return cases, recording


def test_beneath_the_steps_rows_are_steps_with_counts() -> None:
    text = report(*many())
    rows = text[text.index("Lifecycle matrix") : text.index("before: ")]
    assert "(leak)" in rows
    assert re.search(r"^   3     17  Engine._profile     executor +15[34] leak$", rows, re.MULTILINE)
    assert (
        sum(int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:\(?leak\)?|clean)$", rows, re.M))
        == 2300
    )
    assert "in 2,300 cases of acme:Engine" in text
    assert all(cell_len(line) <= 100 for line in body(text))


@pytest.mark.parametrize("width", [100, 80, 60, 50])
def test_no_line_is_wider_than_the_screen_and_every_case_is_on_it(width: int) -> None:
    faults = (
        "RuntimeError",
        "KeyboardInterrupt",
        "OSError:ENOSPC",
        "acme.errors:VeryLongNameOfAnError",
        "SIGINT",
    )
    cases = [result(p, problem("double-release"), fault=f) for p in POINTS for f in faults]
    cases += [result(POINTS[0], fault="RuntimeError", times=times, id=f"t{times}") for times in (0, 3)]
    text = report(cases, width=width)
    assert all(cell_len(line) <= width for line in body(text))
    matrix = text[text.index("Lifecycle matrix") : text.index("before: ")]
    assert matrix.count("double") == len(POINTS) * len(faults)
    assert "always" in matrix
    assert "ENOSPC" in matrix


@pytest.mark.parametrize(
    ("callee", "owned", "shown"),
    [
        ("m:_PollLikeSelector.register", "selector", ["_PollLikeSelector.register selector"]),
        (
            "m:SharedMemoryBroadcaster.wait_until_ready",
            "model_executor.workers.processes",
            ["SharedMemoryBroadcaster. model_executor.", "wait_until_ready workers.processes"],
        ),
        (
            "m:initialise_the_distributed_environment",
            "executor",
            ["initialise_the_distributed_ executor", "environment"],
        ),
    ],
)
def test_a_name_is_broken_at_a_dot_or_an_underscore_and_where_there_is_room_not_at_all(
    callee: str, owned: str, shown: list[str]
) -> None:
    steps = (Step(1, "m:f", 11), Step(2, callee, 14))
    recording = msgspec.structs.replace(RECORDING, steps=steps, owned=(Owned(owned, 1, "m:f"),))
    cases = [
        result(point(2, phase, callee=callee), problem(), fault=fault)
        for phase in ("before", "after")
        for fault in ("RuntimeError", "KeyboardInterrupt")
    ]
    text = report(cases, recording)
    rows = text[text.index("Lifecycle matrix") : text.index("before: ")].rstrip().splitlines()
    words = [re.sub(r" +leak.*", "", row).split() for row in rows[5:]]
    assert [" ".join(word for word in row if not word.isdigit()) for row in words] == shown


def test_a_screen_of_forty_columns_still_shows_the_words() -> None:
    text = report(sweep(), width=40)
    assert text.count(" leak") >= 12
    assert all(cell_len(line) <= 44 for line in body(text))


def test_odd_and_endless_names_stay_what_they_are() -> None:
    odd = "[red]x[/red] :smile: [bold"
    long = "Quite" * 60
    step = Step(1, f"m:{odd}", 1)
    owned = Owned(name=long, step=1, callee=f"m:{odd}", holder="\x1b[2J\udcff", release=odd)
    recording = msgspec.structs.replace(RECORDING, steps=(step, Step(2, f"m:{long}", 2)), owned=(owned,))
    at = msgspec.structs.replace(point(2), caller=f"m:{odd}", callee=f"m:{long}")
    wrong = problem(resources=("\n\x1b[31m", odd), charged_to=f"m:{odd}", what="tab\there")
    text = report([result(at, wrong, left=(long, odd)), result(point(1), NESTED)], recording)
    assert "1. leak, 1 case: [red]x[/red] :smile: [bold has no handler" in text
    assert "\x1b" not in text
    assert "\\x1b[2J\\udcff" in text
    assert all(cell_len(line) <= 100 for line in body(text))


def test_a_screen_that_knows_ascii_only_gets_escapes() -> None:
    raw = io.BytesIO()
    console = make_console(io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    reporter = TerminalReporter(console)
    reporter.start(msgspec.structs.replace(RECORDING, target="acme:Café"), ENVIRONMENT, 1)
    reporter.case(result(POINTS[0]))
    reporter.finish(summarise([result(POINTS[0])], RECORDING))
    assert rb"acme:Caf\xe9 2.4.0" in raw.getvalue()


def test_lines_tell_of_progress_now_and_then() -> None:
    clock = iter(range(0, 10_000, 1))
    out = make_console(io.StringIO())
    reporter = TerminalReporter(out, now=lambda: float(next(clock)))
    reporter.start(RECORDING, ENVIRONMENT, 40)
    for number in range(40):
        reporter.case(msgspec.structs.replace(result(POINTS[0]), id=str(number)))
    reporter.progress("confirm", 1, 2)
    lines = out.file.getvalue().splitlines()[2:]  # type: ignore[attr-defined]
    assert lines[0] == "4 of 40 cases, 1.3 a second, 27 s left"
    assert lines[9].startswith("40 of 40 cases")
    assert len(lines) <= 11


def test_a_sweep_that_is_over_at_once_tells_of_no_progress() -> None:
    assert " a second" not in report(mixed())


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    above, below = pty.openpty()
    try:
        with os.fdopen(below, "w") as screen:
            reporter = TerminalReporter(make_console(screen, width=100))
            reporter.start(RECORDING, ENVIRONMENT, 2)
            before = os.listdir("/proc/self/task")
            for at in POINTS[4:6]:
                reporter.case(result(at, problem()))
            assert os.listdir("/proc/self/task") == before
            reporter.close()
            reporter.finish(summarise([result(at, problem()) for at in POINTS[4:6]], RECORDING))
        return drained(above).decode()
    finally:
        os.close(above)


def drained(terminal: int) -> bytes:
    """All that was written below: a read gives only what the kernel has passed on so far, EIO is the end."""
    seen = b""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            seen += part
    return seen


def test_on_a_terminal_there_is_a_bar_and_colour_and_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = on_a_terminal(monkeypatch)
    assert "2/2" in seen
    assert "━" in seen
    assert "\x1b[1;31m" in seen
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") == 1


def test_no_color_takes_the_colour_and_leaves_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = on_a_terminal(monkeypatch, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", seen)
    assert "leak" in seen


def test_a_pipe_is_a_hundred_columns_wide_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert make_console(io.StringIO()).width == 100
    monkeypatch.setenv("COLUMNS", "77")
    assert make_console(io.StringIO()).width == 77
    monkeypatch.setenv("COLUMNS", "0")
    assert make_console(io.StringIO()).width == 100


def test_the_chooser_puts_the_file_before_the_screen(tmp_path: Path) -> None:
    chosen = reporters_for(json_path=tmp_path / "r.json", console=make_console(io.StringIO()))
    assert [type(r).__name__ for r in chosen.reporters] == ["JsonReporter", "TerminalReporter"]
    assert reporters_for(terminal=False).reporters == ()


def test_a_reporter_that_fails_keeps_no_other_from_being_told(tmp_path: Path) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    path = tmp_path / "r.json"
    chosen = reporters_for(json_path=path, console=make_console(Broken()))
    with pytest.raises(BrokenPipeError):
        chosen.start(RECORDING, ENVIRONMENT, 1)
    chosen.case(result(POINTS[0]))
    with pytest.raises(BrokenPipeError):
        chosen.finish(summarise([result(POINTS[0])], RECORDING))
    chosen.close()
    assert path.read_text().endswith("}\n")


def test_cases_taken_over_count_on_the_screen(tmp_path: Path) -> None:
    cases = sweep()
    text = report(cases[7:], earlier=cases[:7], total=20)
    assert "7 cases taken over from an earlier report" in text
    assert "   1     11  load_plugins        -                        clean" in text


def test_an_interpreter_that_is_unstable_about_its_points_is_shown() -> None:
    recording = msgspec.structs.replace(RECORDING, unstable=("m:f #2 in run 1 only",))
    text = report([result(POINTS[0])], recording)
    assert "The fault points of this target change from run to run\n- m:f #2 in run 1 only" in text


def test_text_for_a_pipe_has_no_trailing_blanks() -> None:
    assert to_text("a  ", "b") == "a\nb\n"


def test_the_target_frame_is_not_accused_by_name_of_what_is_beneath() -> None:
    text = report([result(POINTS[0], NESTED)])
    assert "charged to the target" not in text
    assert "Executor._connect" in text
    assert INIT not in text
