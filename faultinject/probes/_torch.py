"""torch's process-wide settings, random state and process groups."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping
from typing import Any

from faultinject.facts import Item
from faultinject.probes._compare import values_differ
from faultinject.probes._groups import name_group
from faultinject.probes._identity import serial
from faultinject.probes._protocol import Cost, Nature

_UNTOUCHED = {
    "default dtype": "torch.float32",
    "default device": "cpu",
    "grad mode": "True",
    "inference mode": "False",
    "deterministic algorithms": "False",
    "matmul precision": "highest",
}


def _torch() -> Any:
    """torch, if somebody else has imported all of it."""
    torch = sys.modules.get("torch")
    # get_default_device is defined late in torch/__init__.py; before that names are missing.
    return torch if torch is not None and hasattr(torch, "get_default_device") else None


class TorchSettings:
    """Default dtype and device, thread counts, grad and inference mode, determinism, matmul precision.

    The default device is read from where torch keeps it: ``torch.get_default_device()`` makes a tensor, and
    by that a CUDA context, where the device has no index.
    """

    name: str = "torch"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        torch = _torch()
        if torch is None:
            return {}
        context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
        values: dict[str, object] = {
            "default dtype": torch.get_default_dtype(),
            "default device": getattr(context, "device", "cpu"),
            "threads": torch.get_num_threads(),
            "interop threads": torch.get_num_interop_threads(),
            "grad mode": torch.is_grad_enabled(),
            "inference mode": torch.is_inference_mode_enabled(),
            "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
            "matmul precision": torch.get_float32_matmul_precision(),
        }
        return {key: Item(f"torch {key}", value=str(value), group=key) for key, value in values.items()}

    def compare(self, key: str, before: Item | None, after: Item | None) -> bool:
        """Importing torch changes nothing: what was not there before is compared with torch's default."""
        if before is None and after is not None:
            return after.value != _UNTOUCHED.get(key, after.value)
        return values_differ(before, after)


class TorchRandomState:
    """The state of torch's random generators, as checksums. Name it in ``ignore`` where a target may draw."""

    name: str = "torch rng"
    nature: Nature = "state"
    cost: Cost = "costly"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        torch = _torch()
        if torch is None:
            return {}
        found = {"cpu": _random_item("cpu", torch.random.default_generator)}
        cuda = sys.modules.get("torch.cuda")
        if cuda is not None and cuda.is_initialized():
            for number, generator in enumerate(cuda.default_generators):
                found[f"cuda:{number}"] = _random_item(f"cuda:{number}", generator)
        return found

    def compare(self, key: str, before: Item | None, after: Item | None) -> bool:
        """A generator that came with an import or with a device was not there to be changed."""
        return before is not None and values_differ(before, after)


class ProcessGroups:
    """torch.distributed's process groups, the default one included."""

    name: str = "process groups"
    nature: Nature = "resource"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        world = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)
        if world is None:
            return {}
        found: dict[str, Item] = {}
        names = world.pg_names
        for group, (backend, _store) in list(world.pg_map.items()):
            name = names.get(group, "?")
            found[f"{name}:{serial(group)}"] = Item(
                f"process group {name!r} ({backend})", group=f"{name_group(str(name))} ({backend})"
            )
        return found


def _random_item(name: str, generator: Any) -> Item:
    state = generator.get_state()
    try:
        checksum = zlib.crc32(state.numpy())
    except (RuntimeError, TypeError):  # torch without numpy.
        checksum = zlib.crc32(bytes(state.tolist()))
    return Item(f"torch random state of {name}", value=f"{checksum:08x}", group=name)
