from __future__ import annotations

import signal

from faultinject.probes import state_changed
from faultinject.probes._signals import Signals


def _changed(probe, before):
    after = probe.snapshot()
    return {key: after[key].value for key in after if state_changed(probe, key, before[key], after[key])}


def test_a_handler_is_seen_until_the_old_one_is_back():
    def handler(number, frame):
        pass

    probe = Signals()
    before = probe.snapshot()
    old = signal.signal(signal.SIGUSR1, handler)
    seen = _changed(probe, before)
    signal.signal(signal.SIGUSR1, old)
    assert seen.keys() == {"SIGUSR1"}
    assert "test_a_handler_is_seen" in seen["SIGUSR1"]
    assert not _changed(probe, before)


def test_another_handler_of_the_same_name_is_another_handler():
    def make():
        return lambda number, frame: None

    probe = Signals()
    first, second = make(), make()
    old = signal.signal(signal.SIGUSR1, first)
    before = probe.snapshot()
    signal.signal(signal.SIGUSR1, second)
    assert _changed(probe, before).keys() == {"SIGUSR1"}
    signal.signal(signal.SIGUSR1, old)


def test_an_ignored_signal_is_said_to_be_ignored():
    probe = Signals()
    old = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    value = probe.snapshot()["SIGUSR2"].value
    signal.signal(signal.SIGUSR2, old)
    assert value == "ignored"


def test_a_blocked_signal_is_seen_until_it_is_unblocked():
    probe = Signals()
    before = probe.snapshot()
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    seen = _changed(probe, before)
    signal.pthread_sigmask(signal.SIG_SETMASK, old)
    assert seen == {"blocked": "SIGUSR1"}
    assert not _changed(probe, before)


def test_a_running_timer_is_seen_until_it_is_off():
    probe = Signals()
    before = probe.snapshot()
    signal.setitimer(signal.ITIMER_VIRTUAL, 100_000)
    seen = _changed(probe, before)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    assert seen == {"ITIMER_VIRTUAL": "running"}
    assert not _changed(probe, before)


def test_a_fork_has_the_same_handlers_and_leaves_ours_alone(in_fork):
    probe = Signals()
    before = probe.snapshot()

    def there():
        same = not _changed(probe, before)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        return [same, list(_changed(probe, before))]

    assert in_fork(there) == [True, ["SIGUSR1"]]
    assert not _changed(probe, before)
