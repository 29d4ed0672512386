from __future__ import annotations

import os
import tempfile

import pytest

from faultinject.probes._temporary_files import TemporaryFiles


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """A temporary directory in which nobody else works."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return str(tmp_path)


def test_files_and_directories_are_seen_until_they_are_removed(directory, new):
    probe = TemporaryFiles()
    before = probe.snapshot()
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as made:
        labels = {item.label for item in new(probe, before).values()}
        assert labels == {file.name, made + "/"}
    assert probe.snapshot() == before


def test_two_names_that_tempfile_drew_are_one_group(directory, new):
    probe = TemporaryFiles()
    before = probe.snapshot()
    with (
        tempfile.NamedTemporaryFile(prefix="weights-", suffix=".bin"),
        tempfile.NamedTemporaryFile(prefix="weights-", suffix=".bin"),
    ):
        (group,) = {item.group for item in new(probe, before).values()}
    assert group.endswith("/weights-*.bin")


def test_a_change_right_after_a_look_is_not_missed(directory, new):
    probe = TemporaryFiles()
    for number in range(200):
        path = os.path.join(directory, f"file {number}")
        before = probe.snapshot()
        os.close(os.open(path, os.O_CREAT))
        assert [item.label for item in new(probe, before).values()] == [path]
        os.unlink(path)
        assert not new(probe, before)


def test_a_file_that_replaces_another_is_another_key(directory):
    probe = TemporaryFiles()
    for name in ("a", "b"):
        os.close(os.open(os.path.join(directory, name), os.O_CREAT))
    before = probe.snapshot()
    os.replace(os.path.join(directory, "b"), os.path.join(directory, "a"))
    after = probe.snapshot()
    assert [key for key in after if key.startswith("a:")] != [key for key in before if key.startswith("a:")]


def test_a_fork_sees_the_file_and_takes_it_from_everybody(directory, in_fork, new):
    probe = TemporaryFiles()
    before = probe.snapshot()
    path = os.path.join(directory, "ours")
    os.close(os.open(path, os.O_CREAT))
    mine = new(probe, before)

    def there():
        seen = list(new(probe, before))
        os.unlink(path)
        return seen

    assert in_fork(there) == list(mine)
    assert not new(probe, before)


def test_looking_writes_no_file_where_tempfile_has_not_chosen_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = os.stat(tmp_path).st_mtime_ns
    TemporaryFiles().snapshot()
    assert tempfile.tempdir is None
    assert os.stat(tmp_path).st_mtime_ns == before
