from __future__ import annotations

import os

from faultinject.probes._environment import Environment


def test_a_variable_is_seen_from_setting_to_removal(monkeypatch):
    probe = Environment()
    before = dict(probe.snapshot())
    monkeypatch.setenv("FAULTINJECT_SAMPLE", "one")
    assert probe.snapshot()["FAULTINJECT_SAMPLE"].value == "one"
    monkeypatch.setenv("FAULTINJECT_SAMPLE", "two")
    assert probe.snapshot()["FAULTINJECT_SAMPLE"].value == "two"
    monkeypatch.delenv("FAULTINJECT_SAMPLE")
    assert probe.snapshot() == before


def test_a_secret_is_told_from_another_but_not_told(monkeypatch):
    probe = Environment()
    monkeypatch.setenv("SAMPLE_API_KEY", "do not print me")
    first = probe.snapshot()["SAMPLE_API_KEY"]
    monkeypatch.setenv("SAMPLE_API_KEY", "nor me, either.")
    second = probe.snapshot()["SAMPLE_API_KEY"]
    assert "print" not in first.value
    assert first.value != second.value


def test_a_fork_has_its_own(in_fork):
    probe = Environment()
    before = dict(probe.snapshot())

    def there():
        same = probe.snapshot() == before
        os.environ["FAULTINJECT_SAMPLE"] = "there"
        return [same, probe.snapshot()["FAULTINJECT_SAMPLE"].value]

    assert in_fork(there) == [True, "there"]
    assert probe.snapshot() == before
