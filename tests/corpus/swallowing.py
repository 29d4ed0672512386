"""The fault never reaches the caller."""

from __future__ import annotations

from tests.corpus._parts import configure, measure
from tests.corpus._specimen import Specimen, at


class HalfBuilt:
    """Gives up in silence: the caller gets an object that lacks what it should have."""

    def __init__(self) -> None:
        try:
            self.size = configure()
            self.length = measure()
        except RuntimeError:
            return


class ReturnsInFinally:
    """``return`` in a ``finally`` drops whatever was on its way."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        finally:
            return  # noqa: B012 - the defect


class FallsBack:
    """A size that cannot be found is replaced by a good one: no defect."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except Exception:
            self.size = 1


class FallsBackFromAll:
    """The same, but Ctrl-C is taken for a reason to fall back too."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException:
            self.size = 1


class Complete:
    """The same, done right: complete or not at all."""

    def __init__(self) -> None:
        self.size = configure()
        self.length = measure()


_ME = "tests.corpus.swallowing"
SPECIMENS = (
    Specimen(
        f"{_ME}:HalfBuilt",
        "swallowed",
        "returns a half-built object",
        (at("*", "handled", fault="RuntimeError"),),
        release="",
    ),
    Specimen(
        f"{_ME}:ReturnsInFinally",
        "swallowed",
        "return in a finally",
        (at("*:configure", "handled"),),
        release="",
    ),
    Specimen(
        f"{_ME}:FallsBack",
        "swallowed",
        expected=(at("*:configure", "handled", fault="RuntimeError", violation=False),),
        release="",
    ),
    Specimen(
        f"{_ME}:FallsBackFromAll",
        "swallowed",
        "swallows KeyboardInterrupt",
        (
            at("*:configure", "handled", fault="RuntimeError", violation=False),
            at("*:configure", "handled", fault="KeyboardInterrupt"),
        ),
        release="",
    ),
    Specimen(f"{_ME}:Complete", "swallowed", release=""),
)
