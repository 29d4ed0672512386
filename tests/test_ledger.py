"""A ledger for one block: what it left, and what it did not."""

from __future__ import annotations

import os
import tempfile
import threading

import pytest

from faultinject.errors import UsageError
from faultinject.ledger import LeftBehind, resource_ledger


def test_a_block_that_gives_everything_back_passes() -> None:
    with resource_ledger() as ledger, tempfile.TemporaryFile() as file:
        file.write(b"x")
    assert ledger.left == ()


def test_what_a_block_leaves_is_named() -> None:
    ends: list[int] = []
    with (
        pytest.raises(LeftBehind, match=r"the block left behind: fd \d+ -> pipe") as caught,
        resource_ledger(),
    ):
        ends += os.pipe()
    for end in ends:
        os.close(end)
    assert len(caught.value.left) == 2


def test_changed_state_is_left_behind_with_both_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LeftBehind, match=r"\(absent\) before, fast after \(environment\)"), resource_ledger():
        monkeypatch.setenv("LEDGER_MODE", "fast")
    with resource_ledger(ignore=["environment:LEDGER_*"]):
        monkeypatch.setenv("LEDGER_MODE", "slow")


def test_an_exception_goes_on_and_carries_what_was_left() -> None:
    ends: list[int] = []

    def fail() -> None:
        ends.extend(os.pipe())
        raise ValueError("its own")

    with pytest.raises(ValueError, match="own") as caught, resource_ledger():
        fail()
    for end in ends:
        os.close(end)
    assert caught.value.__notes__[0].startswith("the block left behind: fd ")


def test_a_thread_on_its_way_out_is_waited_for() -> None:
    go = threading.Event()
    with resource_ledger(settle=30.0):
        thread = threading.Thread(target=go.wait)
        thread.start()
        go.set()
    thread.join()


def test_what_only_a_collection_gives_back_counts_unless_one_is_asked_for() -> None:
    def leave_in_a_cycle() -> None:
        held: list[object] = [open(os.devnull)]  # noqa: SIM115 - left on purpose
        held.append(held)

    with pytest.raises(LeftBehind), resource_ledger(probes=["fds"]):
        leave_in_a_cycle()
    with pytest.warns(ResourceWarning), resource_ledger(probes=["fds"], collect=True):
        leave_in_a_cycle()


def test_temporary_files_are_those_of_the_block_and_not_of_others() -> None:
    with resource_ledger():
        handle, other = tempfile.mkstemp(dir=os.path.dirname(tempfile.gettempdir()))
        os.close(handle)
    os.unlink(other)
    with pytest.raises(LeftBehind, match=r"\(temporary files\)") as caught, resource_ledger():
        os.close(tempfile.mkstemp()[0])
    assert len(caught.value.left) == 1


def test_a_probe_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="unknown probe 'fsd'"):
        resource_ledger(probes=["fsd"])


def test_the_fixture_is_the_same_ledger(resource_ledger: type[resource_ledger]) -> None:
    with resource_ledger(probes=["fds"]):
        os.close(os.dup(0))


def test_the_fixture_inject_takes_back_what_it_put(inject: object, request: pytest.FixtureRequest) -> None:
    seen = inject(f"{__name__}:os.dup", OSError)  # type: ignore[operator]
    with pytest.raises(OSError, match="injected"):
        os.dup(0)
    assert seen.reached
