from __future__ import annotations

import atexit
import functools
import subprocess
import sys

from faultinject.probes._atexit import ExitCallbacks


def _hook():
    pass


def _mine(probe):
    return [item.value for key, item in probe.snapshot().items() if key.endswith("._hook")]


def test_a_callback_is_counted_until_it_is_unregistered(in_fork):
    probe = ExitCallbacks()
    atexit.register(_hook)
    atexit.register(_hook)
    assert _mine(probe) == ["2"]
    assert in_fork(lambda: _mine(probe)) == ["2"]
    in_fork(lambda: atexit.unregister(_hook))
    assert _mine(probe) == ["2"]
    atexit.unregister(_hook)
    assert _mine(probe) == []


def test_a_callable_object_is_seen_by_its_type():
    probe = ExitCallbacks()
    before = probe.snapshot()
    callback = functools.partial(_hook)
    atexit.register(callback)
    seen = {key for key, item in probe.snapshot().items() if before.get(key) != item}
    atexit.unregister(callback)
    assert seen == {"<functools.partial>"}
    assert probe.snapshot() == before


def test_looking_removes_nothing():
    code = (
        "import atexit; from faultinject.probes._atexit import ExitCallbacks\n"
        "atexit.register(print, 'first'); atexit.register(print, 'second')\n"
        "for _ in range(3): ExitCallbacks().snapshot()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["second", "first"]


def test_threadings_own_list_is_looked_at_too(in_fork):
    def there():
        import concurrent.futures.thread  # noqa: F401

        return list(ExitCallbacks().snapshot())

    # Other tests of this process may have imported more that registers itself.
    assert "threading: concurrent.futures.thread._python_exit" in in_fork(there)
