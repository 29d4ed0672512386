"""Environment variables."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping

from faultinject.facts import Item
from faultinject.probes._groups import printable
from faultinject.probes._protocol import Cost, Nature

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


class Environment:
    """``os.environ``, variable by variable.

    What native code sets by ``setenv`` is not in ``os.environ`` and is not seen. The value of a variable
    whose name speaks of a secret is given as a length and a checksum, because values end up in reports.
    """

    name: str = "environment"
    nature: Nature = "state"
    cost: Cost = "cheap"
    fork_visible: bool = True
    private: bool = True

    def __init__(self) -> None:
        self._seen: dict[object, object] = {}
        self._last: dict[str, Item] = {}

    def unavailable(self) -> str | None:
        return None

    def snapshot(self) -> Mapping[str, Item]:
        # The mapping beneath os.environ: comparing it costs a microsecond, decoding it a hundred.
        data: dict[object, object] = getattr(os.environ, "_data", None) or dict(os.environ)
        if data == self._seen:
            return self._last
        self._seen = dict(data)
        self._last = {name: _item(name, value) for name, value in list(os.environ.items())}
        return self._last


def _item(name: str, value: str) -> Item:
    if _SECRET.search(name):
        shown = f"<{len(value)} characters, checksum {zlib.crc32(os.fsencode(value)):08x}>"
    else:
        shown = printable(value)
    return Item(f"environment variable {printable(name)}", value=shown, group=printable(name))
