"""The fixture `inject`: one fault at one named place of this process."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import pytest

from faultinject.errors import FaultinjectError
from faultinject.facts import Phase
from faultinject.injection import Injected, Injection, fault_name, injected


class Inject:
    """Called in a test; what it has put is taken back when the test is over.

    A test whose fault never came has shown nothing: it fails, unless ``required=False`` was given.
    """

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._required: list[Injected] = []

    def __call__(
        self,
        place: str,
        fault: Any = "RuntimeError",
        *,
        phase: Phase = "before",
        occurrence: int = 1,
        times: int = 1,
        required: bool = True,
    ) -> Injected:
        """Make calls of `place` fail from now on.

        Args:
            place: ``module:qualname`` of what is called, named where it is looked up.
            fault: a name such as ``OSError:ENOSPC``, or an exception class.
            phase: ``before``: in place of the call. ``after``: out of it, its work done.
            occurrence: which call is the first to fail, counted from now.
            times: how many calls in a row fail; 0 for all of them.
            required: fail the test if the fault never comes.

        Returns:
            What becomes of it: how often the place was called, and whether the fault came.

        The test fails where the place is not found, or the fault is unknown.
        """
        __tracebackhide__ = True
        try:
            one = Injection(place, fault_name(fault), phase, occurrence, times)
            seen = self._undo.enter_context(injected(one))
        except FaultinjectError as error:
            wrong = str(error)
        else:
            wrong = ""
        if wrong:
            pytest.fail(f"inject: {wrong}", pytrace=False)
        if required:
            self._required.append(seen)
        return seen

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()
        missed = [str(one) for seen in self._required for one in seen.missed]
        if missed and kind is None:
            pytest.fail(f"the fault never came: {'; '.join(missed)}", pytrace=False)
