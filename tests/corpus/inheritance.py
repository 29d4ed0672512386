"""A base class acquires, a subclass fails."""

from __future__ import annotations

import os

from tests.corpus._parts import configure, source
from tests.corpus._specimen import Specimen, at


class Base:
    """Owns a descriptor once its constructor has returned."""

    _fd = -1

    def __init__(self) -> None:
        self._fd = os.open(source(), os.O_RDONLY)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class Second:
    """Another base, with a descriptor of its own."""

    _second_fd = -1

    def __init__(self) -> None:
        self._second_fd = os.open(source(), os.O_RDONLY)

    def close_second(self) -> None:
        fd, self._second_fd = self._second_fd, -1
        if fd >= 0:
            os.close(fd)


class ForgetfulSubclass(Base):
    """Forgets that its base class has acquired something."""

    def __init__(self) -> None:
        super().__init__()
        self.size = configure()


class CarefulSubclass(Base):
    """The same, done right."""

    def __init__(self) -> None:
        try:
            super().__init__()
            self.size = configure()
        except BaseException:
            self.close()
            raise


class Inherited(ForgetfulSubclass):
    """Has no constructor of its own: the inherited one is the target."""


class ForgetfulHeir(Base, Second):
    """Builds one base after the other, and forgets the first if the second fails."""

    def __init__(self) -> None:
        Base.__init__(self)
        Second.__init__(self)
        try:
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.close_second()
        super().close()


class CarefulHeir(Base, Second):
    """The same, done right."""

    def __init__(self) -> None:
        try:
            Base.__init__(self)
            Second.__init__(self)
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.close_second()
        super().close()


_ME = "tests.corpus.inheritance"
SPECIMENS = (
    Specimen(
        f"{_ME}:ForgetfulSubclass",
        "inheritance",
        "what the base made is forgotten",
        (at("*:configure", "leak"),),
    ),
    Specimen(f"{_ME}:CarefulSubclass", "inheritance"),
    Specimen(
        f"{_ME}:Inherited", "inheritance", "an inherited constructor forgets", (at("*:configure", "leak"),)
    ),
    Specimen(
        f"{_ME}:ForgetfulHeir", "inheritance", "one base is forgotten", (at("*:Second.__init__", "leak"),)
    ),
    Specimen(f"{_ME}:CarefulHeir", "inheritance"),
)
