from __future__ import annotations

import msgspec

from faultinject.facts import (
    Acquisition,
    Item,
    Left,
    Observation,
    Owned,
    Raised,
    Recording,
    ReleaseCall,
    StateChange,
    Step,
)
from faultinject.reports import amounts_of, render_discovery, render_timeline
from faultinject.reports._screen import to_text
from faultinject.reports._words import clock, counted, human_bytes, singular, some
from tests.reports._sample import CALLEES, INIT, NESTED, RECORDING, acquisition, point, problem, result

DISCOVERY = """\
acme:Engine: 5 steps, 10 fault points at level steps (2 runs, 1.8 s)

step  line  call                came to life
─────────────────────────────────────────────────────────────────────────────────────
   1    11  load_plugins
   2    14  Executor.__init__   +2 processes, +480 MiB shared memory, +52 fds
                                executor, held by self.executor, released by shutdown
   3    17  Engine._profile     +2 fds
   4    23  Scheduler.__init__  scheduler, held by self.scheduler, released by close
   5    31  freeze_heap         GC frozen
                                gc freeze, released by gc.unfreeze

Owned by the target, first to be released first
owned      from step             held by         released by
────────────────────────────────────────────────────────────
gc freeze  5 freeze_heap         -               gc.unfreeze
executor   2 Executor.__init__   self.executor   shutdown
scheduler  4 Scheduler.__init__  self.scheduler  close
The finished target is given back by shutdown.

Notes
- probe device memory: no GPU
- differs from run to run: m:f #2
- stays once per process, even after the normal release: 1 threads (logger)
- stays after each normal release: 3 fds (/tmp/*)
- 7 calls beyond the cap of level steps left out
"""

TIMELINE = """\
case 08d8c8b6: before Scheduler.__init__ (Engine.__init__:23), RuntimeError
  runner  zygote
  owned   executor

Timeline
0.000 s  started
0.100 s  fault
1.250 s  left the target

Acquired
- step 1: 7 (fds)

Fault
- raised acme/engine.py:23
- beneath Engine.__init__ > f
- the injected exception left the target: RuntimeError: injected

Released
- scheduler.close by Engine.__init__
- pool.shutdown by Engine.__init__, not owned, failed

Left
- process 12 (processes), never given back, charged to Engine.__init__
- gc.enabled: True before, False after (gc)

Verdict
- leak (violation), charged to Engine.__init__
- leak: executor.shutdown was not called
- leak: not released, beneath the target
- probe fds failed: no /proc
- second construction: port taken
"""


def test_discovery_is_what_a_reader_of_the_code_would_write_down() -> None:
    freeze = Owned(name="gc freeze", step=5, callee=CALLEES[4], release="gc.unfreeze", amounts=("GC frozen",))
    recording = msgspec.structs.replace(
        RECORDING,
        owned=(*RECORDING.owned, freeze),
        residue=(("threads", "logger", 1),),
        unreleased=(("fds", "/tmp/*", 3),),
        unstable=("m:f #2",),
        capped=7,
    )
    text = to_text(render_discovery(recording))
    assert text == DISCOVERY.replace("(2 runs, 1.8 s)", "(2 runs, no two agree, 1.8 s)")


def test_a_target_that_makes_no_call_is_discovered_too() -> None:
    text = to_text(render_discovery(Recording(target="m:f", level="steps", points=(), steps=(), owned=())))
    assert "m:f: 0 steps, 0 fault points" in text
    assert "The target makes no call of its own." in text
    assert "nothing that outlives the call that made it" in text


def test_an_object_that_nobody_owns_is_named_with_its_step() -> None:
    made = Acquisition("object", "1", Item("Pool"), 1, release="terminate", holder="self.pool")
    recording = msgspec.structs.replace(RECORDING, owned=(), steps=(Step(1, "m:f", 3, acquired=(made,)),))
    assert "Pool, held by self.pool, released by terminate" in to_text(render_discovery(recording))


def test_a_replay_shows_what_happened_in_order() -> None:
    observation = Observation(
        case="x",
        runner="zygote",
        reached=True,
        place="acme/engine.py:23",
        fault_stack=(INIT, "m:f"),
        raised=Raised("RuntimeError", "injected", same_object=True),
        acquired=(acquisition("fds", "7"),),
        left=(Left("processes", "12", Item("process 12"), INIT, nested=False, grade="never"),),
        state=(StateChange("gc", "enabled", "gc.enabled", "True", "False"),),
        releases=(
            ReleaseCall("pool", "shutdown", INIT, owned=False, failed=True, sequence=2),
            ReleaseCall("scheduler", "close", INIT, owned=True, sequence=1),
        ),
        probe_errors=(("fds", "no /proc"),),
        retry="port taken",
        timeline=((1.25, "left the target"), (0.0, "started"), (0.1, "fault")),
    )
    case = result(point(4), problem(what="executor.shutdown was not called"), NESTED, owned=("executor",))
    text = to_text(render_timeline(observation, case))
    assert text == TIMELINE.replace("08d8c8b6", case.id)


def test_a_replay_that_missed_or_hung_says_so() -> None:
    missed = to_text(render_timeline(Observation("x", "fork"), result(point(4), verdict="not-reached")))
    assert "- the point was not reached" in missed
    assert missed.count("- nothing\n") == 3
    hung = Observation(
        "x", "fork", reached=True, hang_stack="File a\n  wait()", handled_by="m:g", returned=True
    )
    text = to_text(render_timeline(hung, result(point(4), verdict="hang")))
    assert text.endswith("Where it hung\nFile a\n  wait()\n")
    assert "- handled by g\n- the target returned\n" in text


def test_amounts_are_told_probe_by_probe() -> None:
    assert amounts_of(
        [
            acquisition("threads", "a"),
            acquisition("fds", "3"),
            acquisition("fds", "4"),
            acquisition("shared memory", "/x", amount=400 << 20, unit="bytes"),
            acquisition("shared memory", "/y", amount=80 << 20, unit="bytes"),
            acquisition("processes", "9", amount=1),
            acquisition("gc", "frozen", "gc.frozen", value="9"),
            acquisition("object", "o"),
        ]
    ) == ("+1 process", "+480 MiB shared memory", "+2 fds", "+1 thread", "gc.frozen = 9")
    assert amounts_of([]) == ()


def test_numbers_are_told_in_words() -> None:
    assert [human_bytes(n) for n in (0, 512, 1536, 480 << 20, 1 << 50)] == [
        "0 B",
        "512 B",
        "1.5 KiB",
        "480 MiB",
        "1024 TiB",
    ]
    assert [clock(s) for s in (0.84, 42, 59.7, 185, 7800)] == [
        "0.8 s",
        "42 s",
        "1 min 00 s",
        "3 min 05 s",
        "2 h 10 min",
    ]
    assert [counted(n, "process") for n in (0, 1, 2300)] == ["0 processes", "1 process", "2,300 processes"]
    assert [singular(n) for n in ("fds", "processes", "boxes", "access")] == [
        "fd",
        "process",
        "box",
        "access",
    ]
    assert (some((), 2), some(("a", "b"), 2), some(("a", "b", "c"), 2)) == (
        "nothing",
        "a, b",
        "a, b and 1 more",
    )
