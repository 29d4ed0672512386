"""Memory on CUDA devices."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from faultinject.facts import Item
from faultinject.probes._processes import descendants, has_children
from faultinject.probes._protocol import Cost, Nature

_CONTROL = "/dev/nvidiactl"


class DeviceMemory:
    """What this process's tensors and its child processes hold on each CUDA device.

    This process is asked through torch, for live allocations: what torch's cache and the CUDA context
    hold stays until the process ends and is nobody's. Children are asked of the driver, through NVML
    (module ``pynvml`` where it is loaded, opened and closed each time, so that no descriptor stays). In a
    container the driver may number processes differently, and then none of the children is recognised.
    """

    name: str = "device memory"
    nature: Nature = "resource"
    cost: Cost = "costly"
    fork_visible: bool = False
    private: bool = True

    def unavailable(self) -> str | None:
        return None if os.path.exists(_CONTROL) else "no GPU"

    def snapshot(self) -> Mapping[str, Item]:
        found: dict[str, Item] = {}
        cuda: Any = sys.modules.get("torch.cuda")
        if cuda is not None and cuda.is_initialized():
            for number in range(cuda.device_count()):
                held = cuda.memory_allocated(number)
                if held:
                    found[f"torch:cuda:{number}"] = Item(
                        f"tensors on cuda:{number}",
                        amount=held,
                        unit="bytes",
                        group=f"tensors on cuda:{number}",
                    )
        if has_children():
            found.update(_held_by_children())
        return found


def _held_by_children() -> Iterator[tuple[str, Item]]:
    nvml = _nvml()
    if nvml is None:
        return
    ours = dict(descendants())
    for number, pid, used in _driver_list(nvml):
        facts = ours.get(pid)
        if facts is not None:
            yield (
                f"cuda:{number}:{pid}:{facts.start}",
                Item(
                    f"process {facts.command!r} (pid {pid}) on cuda:{number}",
                    amount=used,
                    unit="bytes",
                    group=f"process on cuda:{number}",
                ),
            )


def _nvml() -> Any:
    for name in ("pynvml", "vllm.third_party.pynvml"):
        if name in sys.modules:
            return sys.modules[name]
    return None


def _driver_list(nvml: Any) -> list[tuple[int, int, int]]:
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return []
    try:
        entries: list[tuple[int, int, int]] = []
        for number in range(nvml.nvmlDeviceGetCount()):
            device = nvml.nvmlDeviceGetHandleByIndex(number)
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(device):
                entries.append((number, process.pid, process.usedGpuMemory or 0))
        return entries
    finally:
        nvml.nvmlShutdown()
