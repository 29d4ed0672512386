"""What the handler catches, and the right ways to guard a constructor."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from tests.corpus._parts import Channel, configure, measure, source
from tests.corpus._specimen import Specimen, at


class CatchesException:
    """``except Exception`` lets a KeyboardInterrupt pass, and the channel with it."""

    def __init__(self) -> None:
        self._channel = Channel()
        try:
            self.size = configure()
        except Exception:
            self._channel.close()
            raise

    def close(self) -> None:
        self._channel.close()


class CatchesInterrupt:
    """The mirror image: prepared for Ctrl-C only."""

    def __init__(self) -> None:
        self._channel = Channel()
        try:
            self.size = configure()
        except KeyboardInterrupt:
            self._channel.close()
            raise

    def close(self) -> None:
        self._channel.close()


class CatchesBaseException:
    """The same, done right."""

    def __init__(self) -> None:
        self._channel = Channel()
        try:
            self.size = configure()
        except BaseException:
            self._channel.close()
            raise

    def close(self) -> None:
        self._channel.close()


class FlagInFinally:
    """A success flag, looked at in ``finally``."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        done = False
        try:
            self._channel = Channel()
            self.size = configure()
            done = True
        finally:
            if not done:
                self.close()

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()


class FlagTooEarly:
    """The flag is set before the last step that can fail."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        done = False
        try:
            self._channel = Channel()
            self.size = configure()
            done = True
            self.length = measure()
        finally:
            if not done:
                self.close()

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()


class StackThatIsKept:
    """An exit stack owns everything until `pop_all` hands it to the finished object."""

    def __init__(self) -> None:
        with contextlib.ExitStack() as stack:
            self._fd = os.open(source(), os.O_RDONLY)
            stack.callback(os.close, self._fd)
            self._channel = Channel()
            stack.callback(self._channel.close)
            self.size = configure()
            self._stack = stack.pop_all()

    def close(self) -> None:
        self._stack.close()


class StackPoppedTooEarly:
    """The stack is emptied before the last step that can fail."""

    def __init__(self) -> None:
        with contextlib.ExitStack() as stack:
            self._channel = Channel()
            stack.callback(self._channel.close)
            self.size = configure()
            self._stack = stack.pop_all()
        self.length = measure()

    def close(self) -> None:
        self._stack.close()


@contextlib.contextmanager
def _scratch() -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="faultinject-")
    try:
        yield path
    finally:
        shutil.rmtree(path)


class UsesContextManagers:
    """What it needs only while it is built is held by context managers."""

    def __init__(self) -> None:
        with _scratch() as path, open(source(), "rb") as origin:
            self.name = os.path.basename(path)
            self.first = origin.readline()
            self.size = configure()


_ME = "tests.corpus.handlers"
SPECIMENS = (
    Specimen(
        f"{_ME}:CatchesException",
        "handler",
        "misses BaseException",
        (at("*:configure", "leak", fault="KeyboardInterrupt"),),
    ),
    Specimen(
        f"{_ME}:CatchesInterrupt",
        "handler",
        "misses every other exception",
        (at("*:configure", "leak", fault="RuntimeError"),),
    ),
    Specimen(f"{_ME}:CatchesBaseException", "handler"),
    Specimen(f"{_ME}:FlagInFinally", "handler"),
    Specimen(f"{_ME}:FlagTooEarly", "handler", "the last step is not guarded", (at("*:measure", "leak"),)),
    Specimen(f"{_ME}:StackThatIsKept", "handler"),
    Specimen(
        f"{_ME}:StackPoppedTooEarly", "handler", "the last step is not guarded", (at("*:measure", "leak"),)
    ),
    Specimen(f"{_ME}:UsesContextManagers", "handler", release=""),
)
