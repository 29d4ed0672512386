"""What the workers of one run of pytest-xdist share: a directory that all know, named by the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec
import pytest

from faultinject._writing import replace_file


class Running(msgspec.Struct, frozen=True):
    """The case that a worker is at, for whoever finds the worker dead."""

    nodeid: str
    title: str
    replay: str


class Shared:
    """The directory of a run; where there are no workers, nothing is shared and there is none.

    Args:
        directory: what the process that started the workers has made, and removes.
    """

    def __init__(self, directory: str | None) -> None:
        self.is_worker = directory is not None
        self.directory = Path(directory or os.devnull)

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """What a worker, or a run without workers, has."""
        return cls(getattr(config, "workerinput", {}).get("faultinject_directory"))

    def once(self, key: bytes, make: Callable[[], bytes]) -> bytes:
        """What `make` gives, made by the first worker that asks for `key`; the others wait for it.

        Workers must collect the same tests, and two recordings of one target need not agree to the last call.
        """
        if not self.is_worker:
            return make()
        path = self.directory / f"once-{sha256(key).hexdigest()[:16]}"
        with self._locked(path):
            if path.exists():
                return path.read_bytes()
            made = make()
            replace_file(path, made)
            return made

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        with open(path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def running(self, what: Running) -> Iterator[None]:
        """While this lasts, the death of this worker is that case's."""
        if not self.is_worker:
            yield
            return
        path = self._path_of(what.nodeid)
        path.write_bytes(msgspec.json.encode(what))
        try:
            yield
        finally:
            path.unlink(missing_ok=True)

    def was_running(self, nodeid: str) -> Running | None:
        """The case of that test, if the worker that ran it has not come back from it."""
        try:
            return msgspec.json.decode(self._path_of(nodeid).read_bytes(), type=Running)
        except (OSError, msgspec.MsgspecError):
            return None

    def _path_of(self, nodeid: str) -> Path:
        return self.directory / f"running-{sha256(nodeid.encode()).hexdigest()[:16]}"
