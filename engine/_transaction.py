"""Constructing as a transaction: what was acquired is handed over whole, or given back whole."""

from __future__ import annotations

import functools
import inspect
import logging
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from types import TracebackType
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from engine._record import Event, What
from engine._release import Outcome, run_release
from engine._signals import HeldSignals, default_action

T = TypeVar("T")
S = TypeVar("S")
P = ParamSpec("P")
Release = str | Callable[[Any], object]
State = Literal["open", "committed", "rolled back"]

DEADLINE = 30.0
"""Seconds a release may take, unless told otherwise: long enough for an orderly end of worker processes."""

GRACE = 5.0
"""Seconds an escalation may take, and a release after it."""

_logger = logging.getLogger("engine")


class _Owned:
    """One acquisition: nothing is owned until `values` holds what its constructor returned."""

    __slots__ = ("deadline", "escalate", "name", "releases", "taken", "values")

    def __init__(
        self,
        name: str,
        releases: Sequence[Release],
        deadline: float | None,
        escalate: Callable[[Any], object] | None,
    ) -> None:
        self.name = name
        self.releases = releases
        self.deadline = deadline
        self.escalate = escalate
        self.values: list[Any] = []
        self.taken = 0
        """How many of the releases have begun: each runs once, however often a rollback is asked for."""


class OwnershipTransaction:
    """Acquire, record, commit; or roll back: everything owned, each once.

    What `contextlib.ExitStack` is to a block, this is to a constructor: it ends with all its resources handed
    over, or with none left. Beyond an ExitStack,

    - a resource is recorded in the same step of the interpreter in which its constructor returns: there is no
      moment at which a signal finds it made and not recorded;
    - each release is isolated: whatever one raises, BaseException included, the next still runs, and the
      exception that began the rollback leaves with its identity, ``__cause__``, ``__context__`` and
      traceback;
    - each release has a deadline and may have an escalation, so that a rollback ends;
    - SIGINT and SIGTERM that arrive during a rollback are held until it is done;
    - `record` tells what happened.

    Nothing depends on finalization: there is no ``__del__`` and no weak reference here.

    In a constructor, use `transactional`, which puts one around it without a gap. As a context manager it
    commits at the end of the block and rolls back on any BaseException::

        with OwnershipTransaction("server") as transaction:
            pool = transaction.acquire("pool", ThreadPoolExecutor, 4, release="shutdown")
            store = transaction.acquire("store", open_store, path, release=close_store)

    but a signal that arrives after the block and before its results are stored is then the caller's affair.

    Args:
        name: of what is being constructed, for the log.
        order: names of resources in the order in which the owner's normal shutdown releases them. What
            is not named is released before these, newest first.
        deadline: seconds that each release may take; None for no limit, in which case releases run in the
            calling thread, and otherwise each in a thread of its own (see `prepare`).
        grace: seconds for an escalation, and again for a release to come back after it.
        prepare: called in the calling thread before each release; what it returns is run first in the
            release's own thread, for state that belongs to a thread, such as the current device.
        logger: told of every release that fails; by default the logger ``engine``.

    Raises:
        TypeError, ValueError: `order` is one string, or a time is no number of seconds.
    """

    def __init__(
        self,
        name: str,
        *,
        order: Sequence[str] = (),
        deadline: float | None = DEADLINE,
        grace: float = GRACE,
        prepare: Callable[[], Callable[[], object] | None] | None = None,
        logger: logging.Logger | None = None,
    ) -> None:
        if isinstance(order, str):
            raise TypeError(f"{name}: order is {order!r}: give a list of names")
        check_seconds(f"{name}: deadline", deadline)
        check_seconds(f"{name}: grace", grace)
        self.name = name
        self.state: State = "open"
        self.record: list[Event] = []
        self._order = tuple(order)
        self._deadline = deadline
        self._grace = grace
        self._prepare = prepare
        self._logger = logger or _logger
        self._owned: list[_Owned] = []
        self._signals = HeldSignals()

    def acquire(
        self,
        name: str,
        construct: Callable[..., T],
        /,
        *args: Any,
        release: Release | Sequence[Release],
        deadline: float | Literal["default"] | None = "default",
        escalate: Callable[[T], object] | None = None,
        keywords: Mapping[str, Any] | None = None,
    ) -> T:
        """Construct something and own it from the moment its constructor returns.

        Args:
            name: of the resource, unique within the transaction.
            construct: called with `args` and `keywords`. If it raises, nothing is owned and nothing will be
                released: what a constructor made before it failed is that constructor's to give back.
            release: how it is given back: the name of a method, or a function called with it; or several
                of them, each isolated from the others, in their order.
            deadline: seconds for each of its releases, instead of the transaction's.
            escalate: called with it when a release has not come back in time.
            keywords: keyword arguments of `construct`.

        Returns:
            What `construct` returned.

        Raises:
            RuntimeError: the transaction is over, or has a resource of that name.
            TypeError: `release` is neither a name nor callable, or `deadline` is no number of seconds.
        """
        owned = self._new(name, release, deadline, escalate)
        # From the return of `construct` to the append inside of `extend` the interpreter runs C code only. It
        # looks for signals (and asynchronous exceptions) at the start of a function, at a jump backwards
        # and after a call, all of them in Python code: so none comes between, and after `extend` it finds
        # the value recorded. See Python/ceval.c, CHECK_EVAL_BREAKER.
        owned.values.extend(starmap(functools.partial(construct, **(keywords or {})), (args,)))
        self._note("acquired", name)
        return owned.values[0]  # type: ignore[no-any-return]

    def own(
        self,
        name: str,
        value: T,
        *,
        release: Release | Sequence[Release],
        deadline: float | Literal["default"] | None = "default",
        escalate: Callable[[T], object] | None = None,
    ) -> T:
        """Own something that exists already, from the return of this call on; arguments as of `acquire`.

        For what no constructor makes, such as process-wide state that is about to be changed: own it first,
        with a release that puts back what it finds changed.
        """
        owned = self._new(name, release, deadline, escalate)
        owned.values.append(value)
        self._note("acquired", name)
        return value

    def owns(self, name: str) -> bool:
        """Whether a resource of that name is owned, and no release of it has begun."""
        return any(one.name == name and one.values and not one.taken for one in self._owned)

    def commit(self) -> None:
        """Declare the construction complete: its owner's normal shutdown is in charge from here on.

        What is owned stays known until the transaction object goes, so that an interrupt that arrives
        between this call and the return of the constructor can still be rolled back.

        Raises:
            RuntimeError: it was rolled back already.
        """
        if self.state == "rolled back":
            raise RuntimeError(f"{self.name}: nothing to commit, it was rolled back")
        self.state = "committed"
        self._note("committed", self.name)

    def rollback(self) -> Iterator[None]:
        """Release everything owned, each once, in order; never raises what a release raises.

        Asked for again it goes on where it was interrupted, and does nothing once it is through.

        Returns:
            An iterator that sends the signals which arrived meanwhile once more. Unpack it, as ``_ =
            [*sent]``, right before the ``raise`` or ``return`` that leaves the constructor: the handlers
            then run in its caller, after the first exception has left. (A SIGTERM without a handler has
            ended the process by then, at the end of this call.)
        """
        self._signals.hold()
        self.state = "rolled back"
        for owned in self._in_order():
            while owned.taken < len(owned.releases):
                owned.taken += 1
                self._release(owned, owned.releases[owned.taken - 1])
            # Not kept alive by this object, which the traceback of the exception may hold for long.
            owned.values.clear()
        self._signals.let_go()
        default_action(self._signals.arrived)
        for number in self._signals.arrived:
            self._note("signal held", str(number))
        return self._signals.resend()

    def interrupted(self, error: BaseException) -> Iterator[None]:
        """Go on with a rollback that `error` cut short, before signals were held; otherwise as `rollback`."""
        self._note("interrupted", self.name, error)
        # The first exception leaves; what a person or a supervisor asked for is not lost with this one.
        if isinstance(error, KeyboardInterrupt):
            self._signals.again(signal.SIGINT)
        elif isinstance(error, SystemExit):
            self._signals.again(signal.SIGTERM)
        return self.rollback()

    def __enter__(self) -> OwnershipTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
            return
        try:
            sent = self.rollback()
        except BaseException as second:
            sent = self.interrupted(second)
        _ = [*sent]

    def _new(
        self,
        name: str,
        release: Release | Sequence[Release],
        deadline: float | Literal["default"] | None,
        escalate: Callable[[Any], object] | None,
    ) -> _Owned:
        if self.state != "open":
            raise RuntimeError(f"{self.name}: {name} cannot be acquired, the transaction is {self.state}")
        # One that did not come about may be tried again.
        if any(one.name == name and one.values for one in self._owned):
            raise RuntimeError(f"{self.name}: has a resource called {name} already")
        several = isinstance(release, (tuple, list))
        releases: Sequence[Release] = release if several else (release,)  # type: ignore[assignment]
        if not releases or not all(isinstance(one, str) or callable(one) for one in releases):
            raise TypeError(f"{self.name}: the release of {name} is neither a method's name nor callable")
        limit = self._deadline if deadline == "default" else deadline
        check_seconds(f"{self.name}: deadline of {name}", limit)
        owned = _Owned(name, tuple(releases), limit, escalate)
        self._owned.append(owned)
        return owned

    def _in_order(self) -> list[_Owned]:
        """What is owned, in the order of its release."""
        place = {name: index for index, name in enumerate(self._order)}
        newest_first = [one for one in reversed(self._owned) if one.values]
        return sorted(newest_first, key=lambda one: place.get(one.name, -1))

    def _release(self, owned: _Owned, release: Release) -> None:
        value, name = owned.values[0], owned.name
        said = release if isinstance(release, str) else getattr(release, "__name__", "release")
        call = _call_of(value, release)
        escalate = owned.escalate
        outcome = run_release(
            f"{name} of {self.name}",
            call,
            deadline=owned.deadline,
            grace=self._grace,
            escalate=None if escalate is None else lambda: escalate(value),
            prepare=self._prepare,
        )
        self._tell(name, said, owned.deadline, outcome)
        # What a release raised leads, by its traceback, back to this frame, and with it to `value`.
        del outcome

    def _tell(self, name: str, said: str, deadline: float | None, outcome: Outcome) -> None:
        """Note how a release went."""
        for failure in outcome.unprepared:
            self._note("not prepared", name, failure)
            self._log(
                name,
                "%s: what prepares %s of %s failed; it is released all the same",
                self.name,
                said,
                name,
                exc_info=failure,
            )
        if outcome.escalated:
            self._note("escalated", name)
        ended: What = "released" if outcome.error is None else "release failed"
        kind = ended if outcome.finished else "abandoned"
        self._note(kind, f"{name}.{said}", outcome.error)
        if kind == "abandoned":
            self._log(
                name,
                "%s: %s of %s had not ended %.1f s after it began and was given up. It is at:\n%s",
                self.name,
                said,
                name,
                deadline or 0.0,
                outcome.stack or "(unknown)",
            )
        elif kind == "release failed":
            self._log(
                name,
                "%s: %s of %s failed; what else is owned is still released",
                self.name,
                said,
                name,
                exc_info=outcome.error,
            )

    def _log(self, name: str, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Say what went wrong with `name`. A logger that fails is no reason to stop."""
        try:
            self._logger.error(text, *args, exc_info=exc_info)
        except BaseException as error:
            self._note("log failed", name, error)

    def _note(self, what: What, name: str, error: BaseException | None = None) -> None:
        self.record.append(Event.now(what, name, error))


def transactional(
    name: str, **options: Any
) -> Callable[[Callable[Concatenate[S, OwnershipTransaction, P], T]], Callable[Concatenate[S, P], T]]:
    """Make a constructor a transaction: it gets one as its second argument, and no gap is left around it.

    ::

        class Server:
            @transactional("Server", order=("pool", "store"), deadline=10)
            def __init__(self, transaction, path):
                self.pool = transaction.acquire("pool", ThreadPoolExecutor, 4, release="shutdown")
                self.store = transaction.acquire("store", open_store, path, release=close_store)

    Args:
        name: of what is constructed.
        options: as of `OwnershipTransaction`.
    """

    def decorate(
        function: Callable[Concatenate[S, OwnershipTransaction, P], T],
    ) -> Callable[Concatenate[S, P], T]:
        @functools.wraps(function)
        def construct(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            transaction = OwnershipTransaction(name, **options)
            try:
                result = function(self, transaction, *args, **kwargs)
                transaction.commit()
                # A signal pending at the end of that call is handled there, inside of the try. No more calls
                # follow, so the next one is handled in the caller, which has the object then.
                return result
            except BaseException:
                try:
                    sent = transaction.rollback()
                except BaseException as second:
                    sent = transaction.interrupted(second)
                _ = [*sent]
                raise

        # What a caller passes; `__wrapped__` alone would have it pass the transaction.
        signature = inspect.signature(function, follow_wrapped=False)
        if "__wrapped__" in vars(function):
            # What it stands for knows of no transaction.
            signature = inspect.signature(function)
            parameters = list(signature.parameters.values())
        else:
            parameters = [one for index, one in enumerate(signature.parameters.values()) if index != 1]
        construct.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return construct

    return decorate


def check_seconds(what: str, seconds: object) -> None:
    """Refuse what is no time, before it is needed: in a rollback it would be too late.

    Raises:
        TypeError, ValueError: not None, and no number of seconds from 0 on.
    """
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{what} is {seconds!r}: give seconds, or None for no limit")
    if not seconds >= 0:
        raise ValueError(f"{what} is {seconds!r}: give seconds from 0 on, or None for no limit")


def _call_of(value: Any, release: Release) -> Callable[[], object]:
    if isinstance(release, str):
        return lambda: getattr(value, release)()
    return lambda: release(value)
