"""Whether the caller gets the very exception that was injected, with its traceback."""

from __future__ import annotations

from faultinject.facts import Observation, Problem


def judge_raised(seen: Observation, target: str) -> list[Problem]:
    """Masked: another exception came out. Traceback: the same, but cut or altered on its way."""
    raised = seen.raised
    assert raised is not None
    if not raised.same_object:
        frame = raised.replaced_in or target
        how = {
            "cause": "; the first exception is its __cause__",
            "context": "; the first exception is only its __context__",
            "group": "; the first exception is inside this group",
        }.get(raised.linked, "; the first exception is lost")
        second = ", the fault of the release," if raised.is_second else ""
        what = f"{raised.type}: {raised.text[:120]}{second} came out instead, raised in {frame}{how}"
        return [Problem("masked", frame, frame == target or frame not in seen.fault_stack[seen.own :], what)]
    wrong: list[str] = []
    if raised.altered:
        wrong.append(f"{', '.join(raised.altered)} changed on the way")
    if not raised.ends_at_fault:
        wrong.append("its traceback no longer ends at the place of the fault")
    if not raised.passes_target:
        wrong.append("its traceback no longer passes through the target")
    if not wrong:
        return []
    return [Problem("traceback", target, True, "the first exception comes out, but " + "; ".join(wrong))]
