"""The parts that need no process."""

from __future__ import annotations

import asyncio
import sys
import types

import msgspec
import pytest

from faultinject.errors import UsageError
from faultinject.facts import Case, Point, Recording
from faultinject.oracle._tree import judge_tree, names_root_cause
from faultinject.trees import parse_tree_fault
from faultinject.trees._agent._wrap import WhenImported, around
from faultinject.trees._caller import chain
from faultinject.trees._declared import Milestone, Roles, check_milestones, is_of, role_order
from faultinject.trees._messages import ProcessSeen, Survivor, TreeObservation


def test_a_role_is_recognised_by_name_arguments_title_or_order() -> None:
    roles = Roles(
        {"engine": "process:Engine*", "api": "argv:*serve*", "titled": "title:VLLM::*", "second": "start:2"}
    )
    assert roles.role_of("EngineCore", "", "", 0, ()) == "engine"
    assert roles.role_of("", "python serve.py", "", 0, ()) == "api"
    assert roles.role_of("", "", "VLLM::Worker", 0, ()) == "titled"
    assert roles.role_of("", "", "", 2, ()) == "second"
    assert roles.role_of("", "", "", 3, ()) == "process[3]"


def test_a_numbered_role_takes_the_number_of_the_name_else_the_next() -> None:
    roles = Roles({"worker[*]": "process:Worker-*", "helper[*]": "argv:*helper*"})
    assert roles.role_of("Worker-7", "", "", 0, ()) == "worker[7]"
    assert roles.role_of("Worker-7", "", "", 1, ("worker[7]",)) == "worker[0]"
    assert roles.role_of("", "helper.py", "", 0, ("helper[0]",)) == "helper[1]"


@pytest.mark.parametrize("rule", ["Engine", "name:Engine", "process:", "start:first"])
def test_a_rule_that_recognises_nothing_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match="says not how its process is recognised"):
        Roles({"engine": rule})


def test_the_callers_role_is_taken() -> None:
    with pytest.raises(UsageError, match="is that of the process that calls the target"):
        Roles({"caller": "process:Main"})


def test_roles_are_sorted_caller_first_and_by_number() -> None:
    roles = ["worker[10]", "process[0]", "worker[2]", "engine", "caller"]
    assert sorted(roles, key=role_order) == ["caller", "engine", "worker[2]", "worker[10]", "process[0]"]
    assert is_of("worker[3]", "worker")
    assert not is_of("workers", "worker")


@pytest.mark.parametrize(
    "bad",
    [
        (Milestone("engine", "x", "nowhere"),),
        (Milestone("engine", "process up", "a:b"),),
        (Milestone("engine", "x", "a:b"), Milestone("engine", "x", "a:c")),
        (Milestone("engine", "x/y", "a:b"),),
    ],
)
def test_a_milestone_that_cannot_be_one_is_refused(bad: tuple[Milestone, ...]) -> None:
    with pytest.raises(UsageError):
        check_milestones(bad)


def test_a_fault_is_read_from_its_text() -> None:
    stop = parse_tree_fault("SIGSTOP@engine+1.5s")
    assert (stop.kind, stop.what, stop.role, stop.continues_after, stop.ends) == (
        "signal",
        "SIGSTOP",
        "engine",
        1.5,
        False,
    )
    later = parse_tree_fault("SIGSTOP@worker[0]+caller/ready")
    assert (later.continues, later.continues_after) == ("caller/ready", None)
    assert parse_tree_fault("OSError:ENOSPC@engine").kind == "exception"
    assert parse_tree_fault("nospace").what == "nospace:/dev/shm"
    assert parse_tree_fault("portinuse:8000").port == 8000
    assert parse_tree_fault("SIGTERM@engine").ends


class _Wrapped:
    def method(self) -> str:
        return "method"

    @classmethod
    def of_class(cls) -> str:
        return cls.__name__

    @staticmethod
    def of_none() -> str:
        return "none"

    async def awaited(self) -> str:
        return "awaited"


class _Heir(_Wrapped):
    pass


def test_every_kind_of_function_can_be_a_milestone() -> None:
    module = types.ModuleType("a_module_of_the_tests")
    module.Heir = type("Heir", (_Wrapped,), {})  # type: ignore[attr-defined]
    module.plain = lambda: "plain"  # type: ignore[attr-defined]
    seen: list[str] = []
    missing: list[str] = []
    names = [
        "plain",
        "Heir.method",
        "Heir.of_class",
        "Heir.of_none",
        "Heir.awaited",
        "Heir",
        "absent",
        "Heir.absent",
    ]
    wanted = {module.__name__: [(n, around("after", lambda n=n: seen.append(n))) for n in names]}
    sys.modules[module.__name__] = module
    try:
        WhenImported(wanted, missing.append).install()
    finally:
        del sys.modules[module.__name__]
    made = module.Heir()
    results = [module.plain(), made.method(), made.of_class(), made.of_none(), asyncio.run(made.awaited())]
    assert results == ["plain", "method", "Heir", "none", "awaited"]
    assert seen == ["Heir", "plain", "Heir.method", "Heir.of_class", "Heir.of_none", "Heir.awaited"]
    assert missing == [f"{module.__name__}:absent", f"{module.__name__}:Heir.absent"]
    assert "method" not in vars(_Heir)


def test_before_comes_before_and_after_only_where_the_function_returned() -> None:
    said: list[str] = []

    def fails() -> None:
        said.append("runs")
        raise LookupError

    for phase in ("before", "after"):
        with pytest.raises(LookupError):
            around(phase, lambda phase=phase: said.append(phase))(fails)()
    assert said == ["before", "runs", "runs"]


def test_a_chain_holds_causes_contexts_members_and_notes() -> None:
    cause = ValueError("the cause")
    cause.add_note("a note")
    error = RuntimeError("the error")
    error.__cause__ = cause
    group = ExceptionGroup("several", [error])
    assert [kind for kind, _ in chain(group)] == ["ExceptionGroup", "RuntimeError", "ValueError"]
    assert chain(cause) == [("ValueError", "the cause\na note")]


VICTIM = ProcessSeen("worker[1]", 4321, "engine", "VllmWorker-1", status=-9, told="SIGKILL")
SEEN = TreeObservation(
    "x", reached=True, done=True, victim="worker[1]", caller_ended=True, processes=(VICTIM,)
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("worker[1] was killed by SIGKILL", True),
        ("VllmWorker-1 died, exit code -9", True),
        ("process 4321 ended by signal 9", True),
        ("worker 1: exit status 137", True),
        ("VllmWorker-1 died", False),
        ("a worker got SIGKILL", False),
        ("worker[1] failed after 95 s", False),
        ("process 43210 ended by signal 9", False),
        ("Engine core initialization failed. See root cause above. Failed core proc(s): {}", False),
    ],
)
def test_an_error_names_a_killed_process_if_it_says_which_and_how(text: str, named: bool) -> None:
    seen = msgspec.structs.replace(SEEN, raised=(("RuntimeError", text),))
    assert names_root_cause(seen, parse_tree_fault("SIGKILL@worker[1]")) is named


def test_an_error_names_an_exception_by_type_and_message() -> None:
    fault = parse_tree_fault("RuntimeError@worker[1]")
    message = "injected by faultinject at worker[1]: loading"
    for text, named in (
        (f"RuntimeError: {message}", True),
        (message, False),
        ("RuntimeError: loading", False),
    ):
        seen = msgspec.structs.replace(SEEN, injected=("RuntimeError", message), raised=(("Failed", text),))
        assert names_root_cause(seen, fault) is named


def test_an_error_names_a_system_fault_by_what_the_system_said_or_the_signal_it_died_of() -> None:
    fault = parse_tree_fault("nospace@worker[1]")
    for text, status, named in (
        ("[Errno 28] No space left on device", 1, True),
        ("VllmWorker-1 failed, exit status 1", 1, False),
        ("VllmWorker-1 failed, exit status -7", -7, True),
    ):
        victim = msgspec.structs.replace(VICTIM, status=status, told="")
        seen = msgspec.structs.replace(SEEN, processes=(victim,), raised=(("Failed", text),))
        assert names_root_cause(seen, fault) is named


CASE = Case("x", Point("milestones", "after", "worker[1]", "loading", 1), "SIGKILL@worker[1]")
RECORDING = Recording(
    "t",
    "milestones",
    (CASE.point,),
    (),
    (),
    unreleased=(("shared memory", "kept_#", 1), ("temporary files", "*", 1)),
)
RAISED = (("Failed", "worker[1]: SIGKILL"),)


def test_what_an_unharmed_run_leaves_too_is_not_the_faults() -> None:
    seen = msgspec.structs.replace(SEEN, raised=RAISED, shared=(("kept_1", 10, ""),))
    assert judge_tree(seen, CASE, RECORDING).verdict == "clean"
    seen = msgspec.structs.replace(seen, shared=(("kept_1", 10, ""), ("kept_2", 10, "")))
    assert judge_tree(seen, CASE, RECORDING).verdict == "leak"


def test_what_is_ignored_is_not_judged() -> None:
    engine = Survivor("engine", 1, 2.0, "S", "python")
    seen = msgspec.structs.replace(SEEN, raised=RAISED, survivors=(engine,), files=("cache/x",))
    assert judge_tree(seen, CASE, RECORDING).verdict == "leak"
    assert (
        judge_tree(seen, CASE, RECORDING, ignore=("processes:engine", "temporary files:cache/*")).verdict
        == "clean"
    )


def test_a_process_that_died_of_a_signal_nobody_sent_is_a_crash() -> None:
    broken = msgspec.structs.replace(VICTIM, role="engine", status=-7, told="")
    seen = msgspec.structs.replace(SEEN, raised=RAISED, processes=(VICTIM, broken))
    result = judge_tree(seen, CASE, RECORDING)
    assert (result.verdict, result.charged_to) == ("crash", "engine")
