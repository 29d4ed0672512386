"""A vLLM whose start-up gives back exactly what it owned, whatever fails in it.

`OwnershipTransaction` and `transactional` serve any constructor and know nothing of vLLM; `harden` puts
them around vLLM's own classes in this process. Importing this package changes nothing and imports neither
torch nor vLLM.
"""

from __future__ import annotations

from engine._harden import Hardening, harden, restore
from engine._processes import stop_processes
from engine._record import Event
from engine._startup import Cause, ExecutorError, StartupError
from engine._transaction import OwnershipTransaction, transactional

__all__ = [
    "Cause",
    "Event",
    "ExecutorError",
    "Hardening",
    "OwnershipTransaction",
    "StartupError",
    "harden",
    "restore",
    "stop_processes",
    "transactional",
]
