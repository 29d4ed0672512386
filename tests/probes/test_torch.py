from __future__ import annotations

import subprocess
import sys

import pytest

from faultinject.facts import Item
from faultinject.probes import check_probe, state_changed
from faultinject.probes._torch import ProcessGroups, TorchRandomState, TorchSettings

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.engine


def _changed(probe, before):
    after = probe.snapshot()
    return [key for key in after if state_changed(probe, key, before.get(key), after[key])]


@pytest.mark.parametrize(
    ("key", "change", "undo"),
    [
        (
            "default dtype",
            lambda: torch.set_default_dtype(torch.float64),
            lambda: torch.set_default_dtype(torch.float32),
        ),
        ("default device", lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
        ("grad mode", lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)),
        (
            "deterministic algorithms",
            lambda: torch.use_deterministic_algorithms(True),
            lambda: torch.use_deterministic_algorithms(False),
        ),
        (
            "matmul precision",
            lambda: torch.set_float32_matmul_precision("high"),
            lambda: torch.set_float32_matmul_precision("highest"),
        ),
    ],
)
def test_a_setting_is_seen_until_it_is_set_back(key, change, undo):
    probe = TorchSettings()
    before = probe.snapshot()
    change()
    try:
        assert _changed(probe, before) == [key]
    finally:
        undo()
    assert not _changed(probe, before)


def test_the_number_of_threads_is_seen_until_it_is_set_back(in_fork):
    def there():
        probe = TorchSettings()
        before = probe.snapshot()
        old = torch.get_num_threads()
        torch.set_num_threads(old + 1)
        seen = _changed(probe, before)
        torch.set_num_threads(old)
        return [seen, _changed(probe, before)]

    # In a fork, because torch keeps the threads that it has once started.
    assert in_fork(there) == [["threads"], []]


def test_a_drawn_number_is_seen_until_the_state_is_set_back():
    probe = TorchRandomState()
    state = torch.get_rng_state()
    before = probe.snapshot()
    torch.rand(1)
    seen = _changed(probe, before)
    torch.set_rng_state(state)
    assert seen == ["cpu"]
    assert not _changed(probe, before)


def test_a_process_group_is_seen_until_it_is_destroyed(new, in_fork, tmp_path):
    probe = ProcessGroups()
    before = probe.snapshot()
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    (item,) = new(probe, before).values()
    assert "gloo" in item.label
    assert in_fork(lambda: len(new(probe, before))) == 1
    torch.distributed.destroy_process_group()
    assert not new(probe, before)


def test_an_import_of_torch_is_no_change_unless_it_differs_from_torchs_defaults():
    plain, odd = (
        Item("torch default dtype", value="torch.float32"),
        Item("torch default dtype", value="torch.half"),
    )
    assert not state_changed("torch", "default dtype", None, plain)
    assert state_changed("torch", "default dtype", None, odd)
    assert not state_changed("torch rng", "cpu", None, Item("random state", value="12"))


def test_a_fork_sees_the_same(in_fork):
    settings, drawn = TorchSettings(), TorchRandomState()
    mine = [{key: item.value for key, item in probe.snapshot().items()} for probe in (settings, drawn)]
    theirs = in_fork(lambda: [{k: i.value for k, i in p.snapshot().items()} for p in (settings, drawn)])
    assert theirs == mine


@pytest.mark.parametrize("kind", [TorchSettings, TorchRandomState, ProcessGroups])
def test_the_promises_are_kept_with_torch_loaded(kind):
    check_probe(kind())


def test_torch_is_not_imported_for_it():
    code = (
        "import sys; from faultinject.probes import ProbeSet, load_probes\n"
        "taken = ProbeSet(load_probes(plugins=False)).snapshot('all')\n"
        "assert not taken.errors, taken.errors; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
