"""Shared memory, whose name outlives the object, and often the process."""

from __future__ import annotations

from multiprocessing.shared_memory import SharedMemory

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at


class ForgottenSegment:
    """Creates a segment and forgets its name when a later step fails."""

    def __init__(self) -> None:
        self._memory = SharedMemory(create=True, size=4096)
        self.size = configure()

    def close(self) -> None:
        self._memory.close()
        self._memory.unlink()


class KeptName:
    """Closes its mapping, but the name stays."""

    def __init__(self) -> None:
        self._memory = SharedMemory(create=True, size=4096)
        try:
            self.size = configure()
        except BaseException:
            self._memory.close()
            raise

    def close(self) -> None:
        self._memory.close()
        self._memory.unlink()


class RemovedSegment:
    """The same, done right: the mapping and the name."""

    def __init__(self) -> None:
        self._memory = SharedMemory(create=True, size=4096)
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._memory.close()
        self._memory.unlink()


_ME = "tests.corpus.memory"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgottenSegment", "shared memory", "a segment is forgotten", (at("*:configure", "leak"),)
    ),
    Specimen(f"{_ME}:KeptName", "shared memory", "closed but never unlinked", (at("*:configure", "leak"),)),
    Specimen(f"{_ME}:RemovedSegment", "shared memory"),
)
