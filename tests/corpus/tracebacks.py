"""The same exception leaves the target, but no longer tells what it told."""

from __future__ import annotations

from tests.corpus._parts import configure
from tests.corpus._specimen import Specimen, at


class CutsTraceback:
    """Raises the exception again without the way it came."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException as error:
            raise error.with_traceback(None)  # noqa: B904 - the defect


class ChangesArguments:
    """Writes its own text into the exception that passes."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException as error:
            error.args = ("could not start",)
            raise


class AddsNote:
    """Leaves a note on an exception that is not its own."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException as error:
            error.add_note("could not start")
            raise


class RaisesStored:
    """Keeps the exception and raises it later, whole: no defect."""

    def __init__(self) -> None:
        failure: BaseException | None = None
        try:
            self.size = configure()
        except BaseException as error:
            failure = error
        if failure is not None:
            try:
                raise failure
            finally:
                del failure


class RaisesItselfFromNone:
    """``raise error from None`` of the very same exception hides nothing that was there: no defect."""

    def __init__(self) -> None:
        try:
            self.size = configure()
        except BaseException as error:
            raise error from None


_ME = "tests.corpus.tracebacks"
SPECIMENS = (
    Specimen(
        f"{_ME}:CutsTraceback",
        "traceback",
        "the traceback is cut",
        (at("*:configure", "traceback"),),
        release="",
    ),
    Specimen(
        f"{_ME}:ChangesArguments",
        "traceback",
        "args are replaced",
        (at("*:configure", "traceback"),),
        release="",
    ),
    Specimen(
        f"{_ME}:AddsNote", "traceback", "a note is added", (at("*:configure", "traceback"),), release=""
    ),
    Specimen(f"{_ME}:RaisesStored", "traceback", release=""),
    Specimen(f"{_ME}:RaisesItselfFromNone", "traceback", release=""),
)
