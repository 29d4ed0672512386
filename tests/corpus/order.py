"""The order in which owned things are released."""

from __future__ import annotations

from tests.corpus._parts import Channel, configure
from tests.corpus._specimen import Specimen, at


class OldestFirst:
    """Closes the channel that the other one was built upon, before that other one."""

    def __init__(self) -> None:
        self._first: Channel | None = None
        self._second: Channel | None = None
        try:
            self._first = Channel()
            self._second = Channel()
            self.size = configure()
        except BaseException:
            if self._first is not None:
                self._first.close()
            if self._second is not None:
                self._second.close()
            raise

    def close(self) -> None:
        if self._second is not None:
            self._second.close()
        if self._first is not None:
            self._first.close()


class NewestFirst:
    """The same, done right."""

    def __init__(self) -> None:
        self._first: Channel | None = None
        self._second: Channel | None = None
        try:
            self._first = Channel()
            self._second = Channel()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._second is not None:
            self._second.close()
        if self._first is not None:
            self._first.close()


class OwnOrder:
    """Oldest first, as in its normal shutdown: that is its order, and no defect."""

    def __init__(self) -> None:
        self._first: Channel | None = None
        self._second: Channel | None = None
        try:
            self._first = Channel()
            self._second = Channel()
            self.size = configure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._first is not None:
            self._first.close()
        if self._second is not None:
            self._second.close()


_ME = "tests.corpus.order"
SPECIMENS = (
    Specimen(f"{_ME}:OldestFirst", "order", "released oldest first", (at("*:configure", "order"),)),
    Specimen(f"{_ME}:NewestFirst", "order"),
    Specimen(f"{_ME}:OwnOrder", "order"),
)
