from __future__ import annotations

import asyncio
import fcntl
import os
import sys
import threading
import types

import pytest

from faultinject.probes._locks import FileLocks, Locks


@pytest.fixture
def module(monkeypatch):
    """A loaded module with nothing in it."""
    made = types.ModuleType("sample_of_locks")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def _held(probe):
    return [key for key in probe.snapshot() if key.startswith("sample_of_locks.")]


@pytest.mark.parametrize(
    "kind", [threading.Lock, threading.RLock, threading.Condition, lambda: threading.BoundedSemaphore(2)]
)
def test_a_lock_of_a_module_is_seen_while_it_is_held(kind, module):
    probe = Locks()
    module.LOCK = kind()
    assert _held(probe) == []
    with module.LOCK:
        assert _held(probe) == ["sample_of_locks.LOCK"]
    assert _held(probe) == []


def test_a_lock_of_a_class_and_one_of_a_global_object_are_seen(module):
    class Registry:
        lock = threading.Lock()

        def __init__(self):
            self.own = threading.Lock()

    Registry.__module__ = module.__name__
    module.Registry, module.registry = Registry, Registry()
    probe = Locks()
    with Registry.lock, module.registry.own:
        assert _held(probe) == ["sample_of_locks.Registry.lock", "sample_of_locks.registry.own"]
    assert _held(probe) == []


def test_a_lock_that_a_module_got_later_is_found(module):
    probe = Locks()
    assert _held(probe) == []
    module.LOCK = threading.Lock()
    with module.LOCK:
        assert _held(probe) == ["sample_of_locks.LOCK"]


def test_an_asyncio_lock_is_seen_while_it_is_held(module):
    async def main():
        module.LOCK = asyncio.Lock()
        async with module.LOCK:
            return _held(Locks())

    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(main()) == ["sample_of_locks.LOCK"]
    loop.close()


def test_looking_keeps_no_lock_alive_and_wakes_no_lazy_module(module, monkeypatch):
    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            raise AssertionError("woken")

    monkeypatch.setitem(sys.modules, "sample_of_laziness", Lazy("sample_of_laziness"))
    probe = Locks()
    module.LOCK = threading.Lock()
    with module.LOCK:
        assert _held(probe)
        module.LOCK.__class__  # noqa: B018
    del module.LOCK
    assert _held(probe) == []


def test_a_fork_sees_the_held_lock_and_releases_its_own_only(module, in_fork):
    probe = Locks()
    module.LOCK = threading.Lock()

    def there():
        held = _held(probe)
        module.LOCK.release()
        return [held, _held(probe)]

    with module.LOCK:
        assert in_fork(there) == [["sample_of_locks.LOCK"], []]
        assert _held(probe) == ["sample_of_locks.LOCK"]


def test_a_lock_on_a_file_is_seen_with_its_path_until_it_is_released(tmp_path, new):
    probe = FileLocks()
    if probe.unavailable():
        pytest.skip(str(probe.unavailable()))
    before = probe.snapshot()
    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (item,) = new(probe, before).values()
        assert item.label == f"flock write lock on {tmp_path / 'lock'}"
        fcntl.flock(file, fcntl.LOCK_UN)
        assert not new(probe, before)
        fcntl.lockf(file, fcntl.LOCK_EX)
        (item,) = new(probe, before).values()
        assert item.label == f"posix write lock on {tmp_path / 'lock'}"
    assert not new(probe, before)


def test_a_fork_does_not_see_the_lock_on_a_file_yet_unlocks_it_for_both(tmp_path, new, in_fork):
    probe = FileLocks()
    if probe.unavailable():
        pytest.skip(str(probe.unavailable()))
    before = probe.snapshot()
    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert new(probe, before)

        def there():
            seen = list(new(probe, before))
            fcntl.flock(file, fcntl.LOCK_UN)
            return seen

        assert in_fork(there) == []
        assert not new(probe, before)
        assert os.path.exists(file.name)
