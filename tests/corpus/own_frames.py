"""A constructor whose own code is more than one frame: its base class's, and helpers written for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from tests.corpus._base import Base
from tests.corpus._parts import Channel, configure, measure
from tests.corpus._specimen import Specimen, at


class Forgets(Base):
    """Takes no care of what its base class has acquired when something fails."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = measure()


class ForgetsOne(Base):
    """Rolls one of the two back."""

    def __init__(self) -> None:
        try:
            super().__init__()
            self.weight = measure()
        except BaseException:
            if self._second is not None:
                self._second.close()
            raise


class RollsBack(Base):
    """The same, done right."""

    def __init__(self) -> None:
        try:
            super().__init__()
            self.weight = measure()
        except BaseException:
            self.close()
            raise


class Sized(Channel):
    """A channel that takes an argument."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


class Keeper:
    """Makes things and keeps them in one call of a C function: there is no moment in between."""

    def __init__(self) -> None:
        self.kept: list[Sized] = []

    def acquire(self, make: Callable[[int], Sized], size: int) -> Sized:
        self.kept.extend(map(make, (size,)))
        return self.kept[-1]

    def release_all(self) -> None:
        while self.kept:
            self.kept.pop().close()


class KeepsAndForgets:
    """Has a keeper and does not use it when something fails."""

    def __init__(self) -> None:
        keeper = Keeper()
        self.first = keeper.acquire(Sized, 1)
        self.size = configure()
        self.second = keeper.acquire(Sized, 2)
        self.weight = measure()

    def close(self) -> None:
        self.second.close()
        self.first.close()


class KeepsAndReleases:
    """The same, done right."""

    def __init__(self) -> None:
        keeper = Keeper()
        try:
            self.first = keeper.acquire(Sized, 1)
            self.size = configure()
            self.second = keeper.acquire(Sized, 2)
            self.weight = measure()
        except BaseException:
            keeper.release_all()
            raise

    def close(self) -> None:
        self.second.close()
        self.first.close()


class HelperSwallows:
    """A helper of its own swallows whatever comes, and the constructor returns."""

    def __init__(self) -> None:
        self.channel = Channel()
        self.weight = self._weigh()

    def _weigh(self) -> int:
        try:
            return measure()
        except BaseException:
            self.channel.close()
            return 0

    def close(self) -> None:
        self.channel.close()


class HelperHides:
    """A helper of its own lets another exception come out."""

    def __init__(self) -> None:
        self.weight = self._weigh()

    def _weigh(self) -> int:
        try:
            return measure()
        except BaseException:
            raise ValueError("no weight") from None

    def close(self) -> None: ...


class HelperHalfBuilds:
    """A helper of its own leaves out what fails, and the constructor returns all the same."""

    def __init__(self) -> None:
        self._weigh()

    def _weigh(self) -> None:
        with contextlib.suppress(Exception):
            self.weight = measure()

    def close(self) -> None: ...


class HelperForgets:
    """A helper of its own makes something for itself and forgets it when something fails."""

    def __init__(self) -> None:
        self.weight = self._weigh()

    def _weigh(self) -> int:
        channel = Channel()
        weight = measure()
        channel.close()
        return weight

    def close(self) -> None: ...


class HelperPassesOn:
    """The same, done right: it gives back what it made and passes on what came."""

    def __init__(self) -> None:
        self.weight = self._weigh()

    def _weigh(self) -> int:
        channel = Channel()
        try:
            return measure()
        finally:
            channel.close()

    def close(self) -> None: ...


class Fluent:
    """Its methods return it, which makes nobody the owner of anything."""

    def __init__(self) -> None:
        self.channel: Channel | None = None
        self.name = "none"
        self._call_it("fluent")
        self.weight = measure()
        self.channel = Channel()

    def _call_it(self, name: str) -> Fluent:
        self.name = name
        return self

    def close(self) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        if self.channel is not None:
            self.channel.close()


_ME = "tests.corpus.own_frames"
_BASE = ("tests.corpus._base:Base.__init__",)
_KEEPER = (f"{_ME}:Keeper.*",)
_HELPER = (f"{_ME}:Helper*._weigh",)
SPECIMENS = (
    Specimen(
        f"{_ME}:Forgets",
        "own-frames",
        "what the base made is forgotten",
        (
            at("*:Base.__init__", "leak", phase="after"),
            at("*:Channel.__init__", "leak", occurrence=2),
            at("*:configure", "leak"),
            at("*:measure", "leak"),
        ),
        own=_BASE,
    ),
    Specimen(
        f"{_ME}:ForgetsOne",
        "own-frames",
        "one of two is forgotten",
        (
            at("*:Base.__init__", "leak", phase="after"),
            at("*:Channel.__init__", "leak", occurrence=2),
            at("*:configure", "leak"),
            at("*:measure", "leak"),
        ),
        own=_BASE,
    ),
    Specimen(f"{_ME}:RollsBack", "own-frames", own=_BASE),
    Specimen(
        f"{_ME}:KeepsAndForgets",
        "own-frames",
        "what was kept is forgotten",
        (
            at("*:Keeper.acquire", "leak", occurrence=2),
            at("*:Keeper.acquire", "leak", phase="after"),
            at("*:list.extend", "leak", occurrence=2),
            at("*:list.extend", "leak", phase="after"),
            at("builtins:map", "leak", occurrence=2),
            at("*:Sized.__init__", "leak", occurrence=2),
            at("*:configure", "leak"),
            at("*:measure", "leak"),
        ),
        own=_KEEPER,
    ),
    Specimen(f"{_ME}:KeepsAndReleases", "own-frames", own=_KEEPER),
    Specimen(
        f"{_ME}:HelperSwallows",
        "own-frames",
        "a helper swallows what must not be swallowed",
        (
            at("*:measure", "handled", fault="KeyboardInterrupt"),
            at("*:measure", "handled", fault="RuntimeError", violation=False),
            at("*:HelperSwallows._weigh", "leak"),
        ),
        own=_HELPER,
    ),
    Specimen(
        f"{_ME}:HelperHides", "own-frames", "a helper replaces what came", (at("*:measure", "masked"),),
        own=_HELPER,
    ),
    Specimen(
        f"{_ME}:HelperHalfBuilds",
        "own-frames",
        "a helper leaves an attribute out",
        (at("*:measure", "handled", fault="RuntimeError"),),
        own=_HELPER,
    ),
    Specimen(
        f"{_ME}:HelperForgets", "own-frames", "a helper forgets its own", (at("*:measure", "leak"),),
        own=_HELPER,
    ),
    Specimen(f"{_ME}:HelperPassesOn", "own-frames", own=_HELPER),
    Specimen(f"{_ME}:Fluent", "own-frames"),
)  # fmt: skip
