from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from faultinject.probes import ProbeSet, load_probes
from faultinject.tracking import Ledger
from faultinject.tracking._claims import is_ours, path_of

HOLD = "import sys; f = open(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def block() -> Iterator[SharedMemory]:
    made = SharedMemory(create=True, size=4096)
    yield made
    made.close()
    made.unlink()


def path(block: SharedMemory) -> str:
    return f"/dev/shm/{block.name.lstrip('/')}"


def test_a_block_that_this_process_holds_is_ours(block: SharedMemory) -> None:
    assert is_ours(path(block))


def test_a_name_that_nobody_here_holds_is_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "name").write_text("")
    assert not is_ours(str(tmp_path / "name"))


def test_what_a_child_process_holds_is_ours(tmp_path: Path) -> None:
    name = tmp_path / "name"
    name.write_text("")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        assert is_ours(str(name))
        assert child.stdin is not None
        child.stdin.close()
    assert not is_ours(str(name))


def test_the_key_of_a_block_leads_to_its_path(block: SharedMemory) -> None:
    (probe,) = load_probes(["shared memory"], plugins=False)
    keys = [key for key in probe.snapshot() if block.name.lstrip("/") in key]
    assert [path_of("shared memory", key) for key in keys] == [path(block)]


def test_a_new_block_is_charged_to_the_target_only_if_the_target_holds_it() -> None:
    probes = ProbeSet(load_probes(["shared memory"], plugins=False))
    ledger = Ledger(probes, probes.snapshot("all"))
    foreign = Path(f"/dev/shm/faultinject-test-{os.getpid()}")
    own = SharedMemory(create=True, size=4096)
    try:
        foreign.write_text("nobody has this open")
        ledger.look(lambda: ((1, "m:target"),), 1)
        labels = [entry.item.label for entry in ledger.live.values()]
    finally:
        foreign.unlink()
        own.close()
        own.unlink()
    assert any(own.name.lstrip("/") in label for label in labels)
    assert not any(foreign.name in label for label in labels)
