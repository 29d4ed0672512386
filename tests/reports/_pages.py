"""Sweeps to make pages of."""

from __future__ import annotations

from pathlib import Path

import msgspec

from faultinject.facts import CaseResult, Recording
from faultinject.reports import Suite, summarise
from faultinject.reports._html import render_html
from tests.reports._sample import ENVIRONMENT, NESTED, POINTS, RECORDING, point, problem, result, sweep

HOSTILE = """</script><script>window.hacked=1</script><img src=x onerror='hacked=2'>"&'`{{ 7 * 7 }}"""


def suite() -> Suite:
    """The sample's sweep, with a case of each tone."""
    cases = sweep()
    cases[0] = result(POINTS[0], NESTED)
    runs = ("leak", "clean", "leak")
    cases[1] = result(POINTS[0], fault="KeyboardInterrupt", verdict="unstable", runs=runs)
    cases[2] = result(POINTS[1], verdict="not-reached")
    return _of(RECORDING, cases)


def hostile() -> Suite:
    """A target whose every name is markup."""
    recording = msgspec.structs.replace(
        RECORDING,
        target=HOSTILE,
        steps=tuple(
            msgspec.structs.replace(step, callee=f"m:{HOSTILE}", file=HOSTILE) for step in RECORDING.steps
        ),
        owned=tuple(
            msgspec.structs.replace(one, name=HOSTILE, holder=HOSTILE, release=HOSTILE, amounts=(HOSTILE,))
            for one in RECORDING.owned
        ),
        notes=(HOSTILE,),
    )
    at = point(3, caller=f"m:{HOSTILE}", callee=f"m:{HOSTILE}", file=HOSTILE)
    wrong = problem(resources=(HOSTILE,), charged_to=f"m:{HOSTILE}", what=HOSTILE)
    beneath = problem(resources=(HOSTILE,), charged_to=f"n:{HOSTILE}", what=HOSTILE, violation=False)
    texts = {
        "owned": (HOSTILE,), "released": (HOSTILE,), "left": (HOSTILE,), "exception": HOSTILE,
        "notes": (HOSTILE,), "handled_by": f"m:{HOSTILE}",
    }  # fmt: skip
    second = f"{HOSTILE}.x/before/{HOSTILE}"
    cases = [
        result(at, wrong, fault=HOSTILE, **texts),
        result(point(4), beneath, id="0badc0de"),
        result(at, wrong, fault=HOSTILE, id="0badf00d", second=second, second_reached=True, **texts),
    ]
    return _of(recording, cases)


def with_second() -> Suite:
    """The sample's sweep, and one case whose clean-up fails as well."""
    second = result(
        point(3), problem(), id="5ec0d000", owned=("executor",), second="executor.shutdown/before/OSError",
        second_reached=True,
    )  # fmt: skip
    return _of(RECORDING, [*sweep(), second])


def _of(recording: Recording, cases: list[CaseResult]) -> Suite:
    return Suite(recording, ENVIRONMENT, tuple(cases), summarise(cases, recording))


def written(directory: Path, *suites: Suite) -> Path:
    """The page as a file."""
    path = directory / "report.html"
    path.write_text(render_html(suites), encoding="utf-8")
    return path
