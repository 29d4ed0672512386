from __future__ import annotations

import os

import pytest

from faultinject.probes import check_probe
from faultinject.probes._device_memory import DeviceMemory


def test_a_machine_without_a_gpu_is_said_to_have_none():
    assert DeviceMemory().unavailable() == (None if os.path.exists("/dev/nvidiactl") else "no GPU")


@pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="no GPU")
@pytest.mark.engine
def test_a_tensor_is_seen_until_it_is_freed():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch without CUDA")
    probe = DeviceMemory()
    torch.zeros(1, device="cuda:0")
    before = probe.snapshot()
    tensor = torch.zeros(1 << 20, device="cuda:0")
    assert probe.snapshot()["torch:cuda:0"].amount >= tensor.nbytes
    del tensor
    assert probe.snapshot() == before
    check_probe(probe)
