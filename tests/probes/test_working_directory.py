from __future__ import annotations

import os

from faultinject.probes._working_directory import WorkingDirectory


def test_a_change_of_directory_is_seen_until_it_is_undone(tmp_path, monkeypatch):
    probe = WorkingDirectory()
    before = probe.snapshot()
    monkeypatch.chdir(tmp_path)
    assert probe.snapshot()["cwd"].value == str(tmp_path)
    monkeypatch.undo()
    assert probe.snapshot() == before


def test_a_directory_that_is_gone_is_said_to_be(tmp_path, in_fork):
    def there():
        os.mkdir(tmp_path / "gone")
        os.chdir(tmp_path / "gone")
        os.rmdir(tmp_path / "gone")
        return WorkingDirectory().snapshot()["cwd"].value

    assert in_fork(there) == "(removed)"


def test_the_umask_is_read_without_being_set():
    probe = WorkingDirectory()
    before = probe.snapshot()
    old = os.umask(0o027)
    try:
        assert probe.snapshot()["umask"].value == "0027"
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(old)
    assert probe.snapshot() == before


def test_a_fork_has_its_own(in_fork):
    probe = WorkingDirectory()
    before = probe.snapshot()

    def there():
        same = probe.snapshot() == before
        os.chdir("/")
        return same

    assert in_fork(there)
    assert probe.snapshot() == before
