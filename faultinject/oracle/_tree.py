"""The verdict of a case in a tree of processes."""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase

from faultinject._amounts import human_bytes
from faultinject.facts import Case, CaseResult, Problem, Recording
from faultinject.oracle._problems import main_problem
from faultinject.probes._groups import name_group, path_group
from faultinject.trees._declared import CALLER
from faultinject.trees._fault import TreeFault, parse_tree_fault
from faultinject.trees._messages import ProcessSeen, TreeObservation

PROCESSES = "processes"
SHARED = "shared memory"
FILES = "temporary files"

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE})


def judge_tree(
    seen: TreeObservation,
    case: Case,
    recording: Recording,
    *,
    deadline: float = 5.0,
    ignore: Iterable[str] = (),
) -> CaseResult:
    """Judge one case of level ``milestones``.

    Args:
        seen: what was observed from outside.
        case: the milestone (caller: the role, callee: its name) and the fault.
        recording: of the unharmed run; what that leaves too is no fault's doing.
        deadline: seconds from the fault in which every process must be gone.
        ignore: globs ``probe:key`` of what is not the target's.
    """
    fault = parse_tree_fault(case.fault)
    problems = list(_problems(seen, fault, recording, deadline, tuple(ignore)))
    main = main_problem(problems)
    return CaseResult(
        id=case.id,
        point=case.point,
        phase=case.point.phase,
        fault=case.fault,
        verdict=main.verdict if main is not None else "clean",
        violation=main.violation if main is not None else False,
        charged_to=main.charged_to if main is not None else "",
        owned=(),
        released=(),
        left=tuple(name for problem in problems if problem.verdict == "leak" for name in problem.resources),
        exception=": ".join(part for part in seen.raised[0] if part) if seen.raised else "",
        runner=seen.runner,
        seconds=seen.seconds,
        problems=tuple(problems),
        notes=tuple(_notes(seen)),
        times=case.times,
    )


def _problems(
    seen: TreeObservation, fault: TreeFault, recording: Recording, deadline: float, ignore: tuple[str, ...]
) -> Iterable[Problem]:
    if not seen.reached or not seen.done:
        why = seen.why_not or ("the run took too long" if seen.timed_out else "the tree ended before it")
        yield Problem("not-reached", "", False, f"the fault was not done: {why}")
        return
    yield from _crashes(seen)
    waited = f"within {deadline:g} s of {_deed(seen, fault)}"
    stopped = next((p for p in seen.processes if p.role == CALLER and p.told == "SIGSTOP"), None)
    if not seen.caller_ended and stopped is None:
        yield Problem("hang", CALLER, True, f"the caller had not ended {waited}", (CALLER,))
    yield from _left(seen, fault, recording, waited, ignore)
    if seen.returned_before or _is_gone(seen, fault):
        return
    if seen.raised:
        if not names_root_cause(seen, fault):
            yield Problem(
                "masked",
                CALLER,
                True,
                f"what the caller got says nothing of {_cause(seen, fault)}: "
                f"{seen.raised[0][0]}: {_first_line(seen.raised[0][1])}",
            )
    elif seen.returned:
        yield Problem("handled", CALLER, False, f"the target returned in spite of {_deed(seen, fault)}")


def _left(
    seen: TreeObservation, fault: TreeFault, recording: Recording, waited: str, ignore: tuple[str, ...]
) -> Iterable[Problem]:
    """What outlived the deadline, or is left when every process is gone."""
    usual = Counter({(probe, group): count for probe, group, count in recording.unreleased})

    def counts(probe: str, name: str) -> bool:
        if any(fnmatchcase(f"{probe}:{name}", glob) for glob in ignore):
            return False
        key = (probe, group_of(probe, name))
        usual[key] -= 1
        return usual[key] < 0

    for one in seen.survivors:
        if one.role == CALLER or not counts(PROCESSES, one.role):
            continue
        holds = f", holding {', '.join(one.holds)}" if one.holds else ""
        yield Problem(
            "leak",
            one.role,
            True,
            f"{one.role} (pid {one.pid}, state {one.state}, {one.age:.1f} s old) was not gone "
            f"{waited}{holds}",
            (one.role,),
        )
    held = {name.partition(" ")[0].removeprefix("/dev/shm/") for s in seen.survivors for name in s.holds}
    names = [
        (name, size, role)
        for name, size, role in seen.shared
        # A caller that still runs may still need it; it hangs, and that is said.
        if (seen.caller_ended or name not in held) and counts(SHARED, name)
    ]
    if names and seen.caller_ended:
        total = human_bytes(sum(size for _, size, _ in names))
        shown = ", ".join(f"{name} ({human_bytes(size)})" for name, size, _ in names[:6])
        groups = tuple(sorted({f"/dev/shm/{name_group(name)}" for name, _, _ in names}))
        yield Problem("leak", CALLER, True, f"{total} of shared memory stay: {shown}", groups)
    files = [name for name in seen.files if counts(FILES, name)]
    if files and seen.caller_ended:
        yield Problem(
            "leak",
            CALLER,
            True,
            f"files stay: {', '.join(files[:6])}",
            tuple(sorted({group_of(FILES, f) for f in files})),
        )


def group_of(probe: str, name: str) -> str:
    """What two runs call by one name."""
    return path_group(f"/tmp/{name}").removeprefix("/tmp/") if probe == FILES else name_group(name)


def _crashes(seen: TreeObservation) -> Iterable[Problem]:
    """Processes that died of a signal nobody sent."""
    for one in seen.processes:
        if one.status is not None and one.status < 0 and -one.status in _CRASHES:
            name = signal.Signals(-one.status).name
            yield Problem("crash", one.role, True, f"{one.role} (pid {one.pid}) died of {name}", (one.role,))


def _is_gone(seen: TreeObservation, fault: TreeFault) -> bool:
    """Whether the caller was itself ended by the fault: nobody is left to be told."""
    return seen.victim == CALLER and fault.ends and not seen.raised


def names_root_cause(seen: TreeObservation, fault: TreeFault) -> bool:
    """Whether any exception that the caller's leads to names what went wrong first.

    That is, of an injected exception, its type and message; of a process that was ended or stopped, which
    one (role, name or pid) and, unless it was stopped, how (the signal or the exit status); of a system fault
    what the system said, or the signal that the process died of to which it was done.
    """
    texts = [f"{kind}: {text}" for kind, text in seen.raised]
    whole = "\n".join(texts)
    if fault.kind == "exception":
        kind, message = seen.injected
        return message in whole and kind.rpartition(".")[2].partition(":")[0] in whole
    victim = next((p for p in seen.processes if p.role == seen.victim), None)
    if fault.kind == "system":
        status = victim.status if victim is not None else None
        if victim is not None and status is not None and status < 0 and _names(victim, whole):
            return _names_signal(signal.Signals(-status).name, status, whole)
        return _speaks_of_system(fault, whole)
    if seen.victim == CALLER:
        return _names_signal(fault.what, None, whole) or "KeyboardInterrupt" in whole or "SystemExit" in whole
    if victim is None or not _names(victim, whole):
        return False
    return fault.what == "SIGSTOP" or _names_signal(fault.what, victim.status, whole)


_SYSTEM_WORDS = {
    "nospace": r"ENOSPC|No space left|not enough space|shared memory",
    "nofile": r"EMFILE|Too many open files",
    "nofork": r"EAGAIN|Resource temporarily unavailable|can't start new|injected by faultinject",
    "portinuse": r"EADDRINUSE|Address already in use|in use",
    "nomemory": r"ENOMEM|MemoryError|Cannot allocate memory|out of memory|not enough memory|can't allocate",
}


def _speaks_of_system(fault: TreeFault, whole: str) -> bool:
    return re.search(_SYSTEM_WORDS[fault.what.partition(":")[0]], whole, re.I) is not None


def _names(victim: ProcessSeen, whole: str) -> bool:
    words = [victim.role, victim.name, re.sub(r"\[(\d+)\]", r" \1", victim.role), str(victim.pid)]
    return any(word and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", whole, re.I) for word in words)


def _names_signal(name: str, status: int | None, whole: str) -> bool:
    number = int(signal.Signals[name])
    # A shell, and a process that ends itself in a handler, say 128 and the signal's number.
    said = rf"{name}|signal {number}(?!\d)|(?<![\w-])-{number}(?!\d)|(?<!\d){128 + number}(?!\d)"
    if status is not None and status != -number:
        # It ended by itself, as it was asked to: its status then tells.
        said += rf"|(?:status|code|exited with)\D{{0,4}}{status}(?!\d)"
    return re.search(said, whole) is not None


def _deed(seen: TreeObservation, fault: TreeFault) -> str:
    return f"{fault.what} in {seen.victim}" if fault.kind != "signal" else f"{fault.what} to {seen.victim}"


def _cause(seen: TreeObservation, fault: TreeFault) -> str:
    if fault.kind == "exception":
        return f"the {fault.what} in {seen.victim}"
    if fault.kind == "system":
        return f"{fault.what} in {seen.victim}"
    return f"{fault.what} and {seen.victim}"


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0][:200]


def _notes(seen: TreeObservation) -> Iterable[str]:
    if seen.why_not:
        yield seen.why_not
    if seen.gone_after is not None:
        yield f"all processes gone {seen.gone_after:.2f} s after the fault"
    statuses = [
        f"{p.role} {p.status}" + (f" ({p.told})" if p.told else "")
        for p in seen.processes
        if p.status is not None and p.role and not p.helper
    ]
    if statuses:
        yield f"exit statuses: {', '.join(statuses)}"
    if seen.ports:
        yield f"still listened at: {', '.join(seen.ports)}"
    if seen.release_error:
        yield f"the release raised {seen.release_error}"
    if seen.refused:
        yield f"{seen.refused} processes outside of the tree tried to speak"
