from __future__ import annotations

import sys

import pytest

from faultinject.probes._sys_path import SysPath


@pytest.mark.parametrize(
    ("name", "entry"), [("path", "/no/such/place"), ("meta_path", object()), ("path_hooks", len)]
)
def test_an_entry_is_seen_until_it_is_removed(name, entry, monkeypatch):
    probe = SysPath()
    before = probe.snapshot()
    monkeypatch.setattr(sys, name, [*getattr(sys, name), entry])
    after = probe.snapshot()
    monkeypatch.undo()
    assert [key for key in after if after[key] != before[key]] == [name]
    assert probe.snapshot() == before


def test_a_fork_has_its_own(in_fork):
    probe = SysPath()
    before = probe.snapshot()

    def there():
        same = probe.snapshot() == before
        sys.path.append("/no/such/place")
        return [same, probe.snapshot() != before]

    assert in_fork(there) == [True, True]
    assert probe.snapshot() == before
