from __future__ import annotations

import warnings

from faultinject.probes._warnings import Warnings


def test_a_filter_is_seen_until_it_is_gone():
    probe = Warnings()
    before = probe.snapshot()
    with warnings.catch_warnings():
        assert probe.snapshot()["filters"] == before["filters"]
        warnings.filterwarnings("ignore", "about a sample", UserWarning)
        assert probe.snapshot()["filters"].value.startswith("ignore:about a sample:builtins.UserWarning")
    assert probe.snapshot() == before


def test_a_replaced_show_function_is_seen_until_it_is_back(monkeypatch):
    probe = Warnings()
    before = probe.snapshot()
    monkeypatch.setattr(warnings, "showwarning", print)
    assert probe.snapshot()["showwarning"] != before["showwarning"]
    monkeypatch.undo()
    assert probe.snapshot() == before


def test_a_fork_has_its_own(in_fork):
    probe = Warnings()
    before = probe.snapshot()

    def there():
        same = probe.snapshot() == before
        warnings.simplefilter("always")
        return [same, probe.snapshot()["filters"] != before["filters"]]

    assert in_fork(there) == [True, True]
    assert probe.snapshot() == before
