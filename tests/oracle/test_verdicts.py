"""Each verdict has a defect that produces it, and a repaired twin that does not."""

from __future__ import annotations

import itertools
import signal
from typing import Any, get_args

import msgspec
import pytest

from faultinject.facts import Case, Point, Problem, ReleaseCall, Verdict
from faultinject.oracle import SEVERITY, judge, main_problem
from tests.oracle._facts import (
    CASE,
    POINT,
    POOL_CLOSED,
    RECORDING,
    SCHEDULER_SHUT_DOWN,
    TARGET,
    changed,
    left,
    raised,
    recording,
    seen,
    verdict,
)

STRANGER = ReleaseCall("Borrowed", "close", TARGET, False, sequence=3)
LIVES_ON = left(grade="dropped")

DEFECTS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("leak", "a descriptor stays", {"left": (left(),)}, {"left": ()}),
    ("leak", "nobody shuts the scheduler down", {"releases": (POOL_CLOSED,)}, {}),
    ("late", "it goes when the exception is dropped", {"left": (LIVES_ON,)}, {}),
    ("late", "it goes with a collection", {"left": (left(grade="collected"),)}, {}),
    ("late", "only a finalizer shuts the scheduler down", {"prompt_releases": 0}, {"prompt_releases": 2}),
    ("state", "the collector stays frozen", {"state": (changed(),)}, {"state": ()}),
    ("state", "the second construction fails", {"retry": "OSError: in use"}, {"retry": "ok"}),
    ("state", "the second holds less", {"retry_differs": ("fds: 0 instead of 1",)}, {}),
    (
        "double-release",
        "the pool is closed twice",
        {"releases": (SCHEDULER_SHUT_DOWN, POOL_CLOSED, POOL_CLOSED)},
        {"releases": (SCHEDULER_SHUT_DOWN, POOL_CLOSED)},
    ),
    (
        "wrong-release",
        "a borrowed object is closed",
        {"releases": (SCHEDULER_SHUT_DOWN, POOL_CLOSED, STRANGER)},
        {"releases": (SCHEDULER_SHUT_DOWN, POOL_CLOSED)},
    ),
    (
        "wrong-release",
        "somebody's segment is removed",
        {"foreign_removed": (("shared memory", "block x", TARGET),)},
        {"foreign_vanished": (("shared memory", "block x"),)},
    ),
    (
        "order",
        "the oldest is released first, against its normal order",
        {"order": (("pool", 1, 1), ("scheduler", 2, 2))},
        {"order": (("scheduler", 2, 1), ("pool", 1, 2))},
    ),
    (
        "masked",
        "another exception comes out",
        {"raised": raised(type="OSError", same_object=False, replaced_in=TARGET)},
        {"raised": raised()},
    ),
    ("traceback", "the place of the fault is cut off", {"raised": raised(ends_at_fault=False)}, {}),
    ("traceback", "the target is cut out", {"raised": raised(passes_target=False)}, {}),
    ("traceback", "its cause was changed", {"raised": raised(altered=("__cause__",))}, {}),
    (
        "handled",
        "a half-built object is returned",
        {"raised": None, "returned": True, "handled_by": TARGET, "missing_attributes": ("pool",)},
        {},
    ),
    (
        "handled",
        "the object that is returned cannot be used",
        {"raised": None, "returned": True, "retry": "AttributeError: pool"},
        {},
    ),
    ("hang", "the clean-up does not end", {"stage": "fault", "raised": None, "timed_out": True}, {}),
    ("hang", "the program cannot end", {"timed_out": True}, {"timed_out": False}),
    ("hang", "the clean-up takes too long", {"clean_up_seconds": 6.0}, {"clean_up_seconds": 4.0}),
    ("crash", "the clean-up ends the process", {"stage": "fault", "raised": None, "exit_status": 3}, {}),
    ("crash", "it is killed at exit", {"exit_status": -11}, {"exit_status": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "defect", "broken", "repaired"), DEFECTS, ids=[d[1] for d in DEFECTS])
def test_a_defect_gets_its_verdict_and_its_repaired_twin_none(
    expected: str, defect: str, broken: dict[str, Any], repaired: dict[str, Any]
) -> None:
    result = verdict(**broken)
    assert (result.verdict, result.violation, result.charged_to) == (expected, True, TARGET)
    twin = verdict(**repaired)
    assert (twin.verdict, twin.violation, twin.charged_to, twin.problems) == ("clean", False, "", ())


def test_a_fault_that_was_not_reached_says_nothing_of_the_target() -> None:
    result = verdict(reached=False, raised=None, returned=True, stage="left-target")
    assert (result.verdict, result.violation) == ("not-reached", False)
    assert "the target returned" in result.problems[0].what


def test_another_failure_before_the_point_is_told() -> None:
    result = verdict(reached=False, raised=raised(type="OSError", text="busy", same_object=False))
    assert result.verdict == "not-reached"
    assert "left by another exception, OSError: busy" in result.problems[0].what


@pytest.mark.parametrize(("how", "expected"), [({"timed_out": True}, "hang"), ({"exit_status": -9}, "crash")])
def test_a_construction_that_never_came_to_the_point_accuses_nobody(
    how: dict[str, Any], expected: str
) -> None:
    result = verdict(reached=False, raised=None, stage="armed", **how)
    assert (result.verdict, result.violation) == (expected, False)


@pytest.mark.parametrize("by", ["m:start", ""])
def test_a_fault_that_a_frame_handles_well_is_handled_and_no_violation(by: str) -> None:
    result = verdict(raised=None, returned=True, handled_by=by)
    assert (result.verdict, result.violation) == ("handled", False)
    assert result.handled_by == by


@pytest.mark.parametrize(
    ("fault", "violation"),
    [("RuntimeError", False), ("KeyboardInterrupt", True), ("SystemExit", True), ("SIGINT", True)],
)
def test_what_asks_the_program_to_stop_must_not_be_swallowed_by_the_target(
    fault: str, violation: bool
) -> None:
    case = msgspec.structs.replace(CASE, fault=fault)
    result = judge(seen(raised=None, returned=True, handled_by=TARGET), case, recording())
    assert (result.verdict, result.violation) == ("handled", violation)


def test_leaks_are_judged_although_the_fault_was_handled() -> None:
    result = verdict(raised=None, returned=True, left=(left(),))
    assert (result.verdict, result.violation) == ("leak", True)


# ---- severity ----


def test_the_gravest_problem_names_the_case_and_the_rest_stay_listed() -> None:
    result = verdict(left=(left(),), state=(changed(),), raised=raised(same_object=False, replaced_in=TARGET))
    assert result.verdict == "leak"
    assert [p.verdict for p in result.problems] == ["masked", "leak", "state"]


@pytest.mark.parametrize(
    ("graver", "lesser"), list(itertools.pairwise(SEVERITY)), ids=lambda verdict: verdict
)
def test_each_verdict_outweighs_the_next_whatever_their_order(graver: Verdict, lesser: Verdict) -> None:
    one, other = Problem(graver, TARGET, True, ""), Problem(lesser, TARGET, True, "")
    assert main_problem([one, other]) is main_problem([other, one]) is one


def test_every_verdict_has_its_place() -> None:
    assert sorted(SEVERITY) == sorted(get_args(Verdict))
    assert main_problem([]) is None


def test_what_is_charged_to_the_target_outweighs_what_is_not() -> None:
    own, nested = Problem("state", TARGET, True, ""), Problem("crash", "m:Pool.__init__", False, "")
    assert main_problem([nested, own]) is own


# ---- who answers ----


def test_what_a_layer_beneath_lost_is_its_own() -> None:
    result = verdict(left=(left(charged_to="m:Pool.__init__", nested=True),))
    assert (result.verdict, result.violation, result.charged_to) == ("leak", False, "m:Pool.__init__")


def test_both_layers_answer_each_for_its_own() -> None:
    result = verdict(left=(left(), left(key="8", charged_to="m:Pool.__init__", nested=True)))
    charged = {(p.charged_to, p.violation) for p in result.problems}
    assert charged == {(TARGET, True), ("m:Pool.__init__", False)}
    assert (result.violation, result.charged_to) == (True, TARGET)


def test_what_an_object_kept_although_it_was_told_to_release_is_its_layers() -> None:
    of_the_pool = (left(step=1),)
    told = verdict(left=of_the_pool)
    assert (told.violation, told.charged_to) == (False, "m:Pool.close")
    untold = verdict(left=of_the_pool, releases=(SCHEDULER_SHUT_DOWN,))
    assert (untold.violation, untold.charged_to) == (True, TARGET)


@pytest.mark.parametrize(
    ("by", "frame", "violation"),
    [(TARGET, TARGET, True), ("m:Pool.__init__", "m:Pool.__init__", False), ("m:helper", TARGET, True)],
)
def test_a_wrong_release_is_charged_to_the_frame_of_the_faults_stack_that_made_it(
    by: str, frame: str, violation: bool
) -> None:
    stranger = msgspec.structs.replace(STRANGER, by=by)
    result = verdict(
        fault_stack=(TARGET, "m:Pool.__init__"), releases=(SCHEDULER_SHUT_DOWN, POOL_CLOSED, stranger)
    )
    assert (result.verdict, result.charged_to, result.violation) == ("wrong-release", frame, violation)


BASE = "m:Base.__init__"
OWN_STACK = (TARGET, BASE, "m:Pool.__init__")


@pytest.mark.parametrize("own", [1, 2])
def test_what_an_own_frame_does_is_a_violation_under_its_name(own: int) -> None:
    releases = (SCHEDULER_SHUT_DOWN, POOL_CLOSED, msgspec.structs.replace(STRANGER, by=BASE))
    replaced = raised(type="OSError", same_object=False, linked="context", replaced_in=BASE)
    removed = (("shared memory", "theirs", BASE),)
    for facts in ({"releases": releases}, {"raised": replaced}, {"foreign_removed": removed}):
        result = verdict(fault_stack=OWN_STACK, own=own, **facts)
        assert (result.charged_to, result.violation) == (BASE, own == 2), facts


@pytest.mark.parametrize(("handler", "violation"), [(TARGET, True), (BASE, True), ("m:Pool.__init__", False)])
def test_what_an_own_frame_must_not_swallow_is_charged_to_it(handler: str, violation: bool) -> None:
    case = msgspec.structs.replace(CASE, fault="KeyboardInterrupt")
    result = verdict(
        RECORDING, case, fault_stack=OWN_STACK, own=2, returned=True, raised=None, handled_by=handler
    )
    assert (result.verdict, result.charged_to, result.violation) == ("handled", handler, violation)


@pytest.mark.parametrize(("handler", "violation"), [(TARGET, True), (BASE, True), ("m:Pool.__init__", False)])
def test_a_half_built_object_is_the_doing_of_the_own_frame_that_swallowed(
    handler: str, violation: bool
) -> None:
    result = verdict(
        fault_stack=OWN_STACK, own=2, returned=True, raised=None, handled_by=handler,
        missing_attributes=("pool",),
    )  # fmt: skip
    assert (result.verdict, result.charged_to, result.violation) == ("handled", handler, violation)


def test_a_release_that_nobody_called_is_charged_to_the_own_frame_that_had_received_the_object() -> None:
    result = verdict(fault_stack=OWN_STACK, own=2, releases=(POOL_CLOSED,), owned_by=(TARGET, BASE))
    assert (result.verdict, result.charged_to, result.violation) == ("leak", BASE, True)


@pytest.mark.parametrize(
    ("where", "violation"), [(TARGET, True), ("m:Pool.__init__", False), ("elsewhere:clean_up", True)]
)
def test_a_masking_exception_is_charged_to_the_frame_that_raised_it(where: str, violation: bool) -> None:
    replaced = raised(type="OSError", same_object=False, linked="context", replaced_in=where)
    result = verdict(fault_stack=(TARGET, "m:Pool.__init__"), raised=replaced)
    assert (result.verdict, result.charged_to, result.violation) == ("masked", where, violation)


@pytest.mark.parametrize(
    ("linked", "said"),
    [
        ("cause", "is its __cause__"),
        ("context", "is only its __context__"),
        ("group", "is inside this group"),
        ("", "is lost"),
    ],
)
def test_a_masking_exception_says_how_it_leads_back(linked: str, said: str) -> None:
    result = verdict(raised=raised(type="OSError", same_object=False, linked=linked, replaced_in=TARGET))
    assert said in result.problems[0].what


# ---- when it was given back ----


@pytest.mark.parametrize(
    ("grade", "expected"), [("dropped", "late"), ("collected", "late"), ("exit", "leak"), ("never", "leak")]
)
def test_finalization_is_late_and_what_outlives_it_is_a_leak(grade: str, expected: str) -> None:
    result = verdict(left=(left(grade=grade),))
    assert (result.verdict, result.grade) == (expected, grade)


def test_late_and_leaked_things_are_two_problems() -> None:
    result = verdict(left=(left(grade="dropped"), left(key="8")))
    assert {(p.verdict, p.grade) for p in result.problems} == {("leak", "exit"), ("late", "dropped")}
    assert (result.verdict, result.grade) == ("leak", "exit")


def test_an_object_with_resources_of_its_own_is_judged_by_them() -> None:
    # Nobody called pool.close(), and yet its descriptor is gone.
    assert verdict(releases=(SCHEDULER_SHUT_DOWN,)).verdict == "clean"


def test_a_release_that_failed_was_called_but_did_not_give_back() -> None:
    failed = msgspec.structs.replace(POOL_CLOSED, failed=True)
    result = verdict(releases=(SCHEDULER_SHUT_DOWN, failed), left=(left(step=1),))
    assert result.released == ("scheduler",)


# ---- order ----


def test_the_targets_own_normal_order_is_as_good_as_newest_first() -> None:
    usual = recording(owned=tuple(
        msgspec.structs.replace(row, order=row.step) for row in recording().owned
    ))  # fmt: skip
    oldest_first = (("pool", 1, 1), ("scheduler", 2, 2))
    assert verdict(usual, order=oldest_first).verdict == "clean"
    assert verdict(order=oldest_first).verdict == "order"


def test_what_the_normal_release_leaves_has_no_place_in_its_order() -> None:
    # It does not close the log.
    assert verdict(order=(("scheduler", 2, 1), ("log", 4, 2), ("pool", 1, 3))).verdict == "clean"
    assert verdict(order=(("pool", 1, 1), ("log", 4, 2), ("scheduler", 2, 3))).verdict == "order"
    assert verdict(order=(("pool", 1, 1), ("log", 4, 2))).verdict == "order"
    assert verdict(order=(("GC freeze", 3, 1), ("log", 4, 2))).verdict == "order"


def test_what_another_process_made_at_some_moment_has_no_order() -> None:
    # Step 5 acquires nothing in the recording.
    between = (("scheduler", 2, 1), ("a worker's memory", 5, 2), ("pool", 1, 3))
    assert verdict(order=between).verdict == "clean"
    swapped = (("pool", 1, 1), ("a worker's memory", 5, 2), ("scheduler", 2, 3))
    assert verdict(order=swapped).verdict == "order"


def test_what_goes_at_one_time_has_no_order() -> None:
    assert verdict(order=(("pool", 1, 5), ("scheduler", 2, 5))).verdict == "clean"


def test_a_normal_release_that_calls_twice_may_do_so_after_a_fault_too() -> None:
    twice = (SCHEDULER_SHUT_DOWN, POOL_CLOSED, POOL_CLOSED)
    assert verdict(recording(release_counts=(("pool.close", 2),)), releases=twice).verdict == "clean"


# ---- hanging, trying again ----


def test_a_hang_at_exit_is_named_by_what_keeps_the_program_from_ending() -> None:
    thread = left(probe="threads", key="Thread-1")
    result = verdict(timed_out=True, left=(thread,))
    assert (result.verdict, result.charged_to) == ("leak", TARGET)
    assert "hang" in [p.verdict for p in result.problems]


def test_a_hang_at_exit_is_charged_to_whoever_left_what_hangs() -> None:
    thread = left(probe="threads", key="Thread-1", charged_to="m:Pool.__init__", nested=True)
    result = verdict(timed_out=True, left=(thread,))
    assert not result.violation
    assert {p.charged_to for p in result.problems} == {"m:Pool.__init__"}


def test_a_failing_second_construction_is_not_told_again_of_a_leak() -> None:
    result = verdict(left=(left(),), retry="OSError: address in use")
    assert [p.verdict for p in result.problems] == ["leak"]


def test_a_second_construction_that_hangs_or_ends_the_process_is_told() -> None:
    hangs = verdict(stage="retrying", timed_out=True, retry="")
    assert hangs.verdict == "hang"
    assert "a second construction" in hangs.problems[0].what
    ends = verdict(stage="retrying", exit_status=4, retry="")
    assert ends.verdict == "crash"
    assert "a second construction ended the process with status 4" in ends.problems[0].what


# ---- the result as it stands in a report ----


def test_what_was_owned_and_released_is_named() -> None:
    result = verdict()
    assert result.owned == ("pool", "scheduler", "GC freeze", "log")
    assert result.released == ("scheduler", "pool")
    assert (result.id, result.phase, result.fault) == (CASE.id, "before", "RuntimeError")


def test_what_the_target_did_not_yet_have_is_not_owned() -> None:
    early = verdict(step=2, owned=("pool",), releases=(POOL_CLOSED,))
    assert early.owned == ("pool",)


def test_what_is_left_is_named_by_its_owner_with_its_amounts() -> None:
    result = verdict(left=(left(step=1),), releases=(SCHEDULER_SHUT_DOWN,))
    assert result.left == ("pool (+1 fds: fd 7 -> pipe)",)
    assert result.problems[0].resources == ("pool",)


def test_a_failing_probe_is_a_note_and_no_problem() -> None:
    result = verdict(probe_errors=(("fds", "OSError: no /proc"),))
    assert (result.verdict, result.notes) == ("clean", ("probe fds failed: OSError: no /proc",))


def test_without_a_stack_the_target_is_the_recordings_frame() -> None:
    inner = Case("ab", Point("sites", "before", "m:deep", "m:deeper", 1), "RuntimeError")
    observation = seen(fault_stack=(), left=(left(charged_to=""),))
    assert judge(observation, inner, recording(level="sites")).charged_to == TARGET
    assert judge(observation, msgspec.structs.replace(CASE, point=POINT), recording()).charged_to == TARGET


def test_the_oracle_changes_nothing_it_reads() -> None:
    observation, known = seen(left=(left(),)), recording()
    before = (msgspec.json.encode(observation), msgspec.json.encode(known))
    first, second = judge(observation, CASE, known), judge(observation, CASE, known)
    assert first == second
    assert (msgspec.json.encode(observation), msgspec.json.encode(known)) == before


def test_the_end_of_a_process_by_the_very_signal_injected_is_nobodys_crash() -> None:
    case = msgspec.structs.replace(CASE, fault="SIGTERM")
    ended = verdict(RECORDING, case, stage="fault", raised=None, exit_status=-signal.SIGTERM)
    assert (ended.verdict, ended.violation) == ("crash", False)
    killed = verdict(RECORDING, case, stage="fault", raised=None, exit_status=-signal.SIGKILL)
    assert (killed.verdict, killed.violation) == ("crash", True)
