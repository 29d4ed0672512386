"""A child's own part: it tells the guardian of itself, and watches its parent from within too."""

from __future__ import annotations

import os
import select
import signal
import threading
import time

from engine.lifeline._errors import LifelineError
from engine.lifeline._guard._ending import kill_with_descendants
from engine.lifeline._guard._proc import Identity, children, has_ended, identity, open_pidfd
from engine.lifeline._guard._wire import LIMIT_S, VARIABLE, use_pidfds
from engine.lifeline._link import Link, current_link

GRACE_LIMIT_S = LIMIT_S
"""The longest grace there is."""

_LOOK_S = 0.25
"""Between two looks at the parent where there is no pidfd."""

_HANDOVER_S = 0.25
"""Seconds the guardian has to end this process before it ends itself."""

_RESTARTS = 5
"""Guardians that one watcher starts anew: whoever goes on killing them wants none."""


def arm(*, grace: float = 0.0) -> None:
    """From now on this process ends when its parent does, however that ends and whatever this one is doing.

    The parent is the process that made the ticket this one got through a fork, through multiprocessing or in
    its environment (`child_environment`), or else whose child it is now. If that has died already, this
    process ends at once. Calling it again changes nothing but the grace.

    Where the guardian cannot be reached there is still a thread that watches the parent, and ends this
    process as soon as it can run: not in the middle of a call that holds the interpreter's lock.

    Args:
        grace: seconds, at most 1.5, between SIGTERM and SIGKILL. Without it there is no SIGTERM.

    Raises:
        ValueError: `grace` is negative, or more than there is.
        LifelineError: there is no guardian and none starts; the watching thread works all the same.
    """
    if not 0 <= grace <= GRACE_LIMIT_S:
        raise ValueError(f"a grace of {grace} s is not between 0 and {GRACE_LIMIT_S}")
    link = current_link()
    parent = _parent_of(link)
    if parent is None:
        return
    first = link.known.armed is None
    if link.known.armed == (parent, grace) and link.guardian[0]:
        return
    link.known.armed = (parent, grace)
    os.environ[VARIABLE] = str(link.own_ticket)
    if grace == 0 and _is_dead(parent):
        os.kill(os.getpid(), signal.SIGKILL)
    if first:
        # Before the guardian is asked: it may be hung, and this one wait for its answer.
        _Watcher(link, parent).start()
    link.ask("arm", *parent, grace)


def _parent_of(link: Link) -> Identity | None:
    if link.known.armed is not None:
        return link.known.armed[0]
    if link.ticket.owner != link.me:
        return link.ticket.owner
    pid = os.getppid()
    # A parent outside this pid namespace is called 0, and cannot be watched from in here.
    try:
        return identity(pid) if pid else None
    except OSError as error:
        raise LifelineError(f"the parent cannot be looked at: {error}") from error


def _is_dead(who: Identity) -> bool:
    try:
        return has_ended(who)
    except OSError:
        pass
    # No descriptor is left to read what the kernel says: a pid is less, but something.
    try:
        os.kill(who[0], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


class _Watcher(threading.Thread):
    """Waits for the death of the parent, or of the guardian, which it replaces."""

    def __init__(self, link: Link, parent: Identity) -> None:
        super().__init__(name="engine-lifeline", daemon=True)
        self._link = link
        self._parent = parent
        self._pidfds = use_pidfds()

    def run(self) -> None:
        restarts = 0
        while True:
            guardian = self._link.guardian
            watched = [self._parent, guardian] if restarts < _RESTARTS else [self._parent]
            self._wait_for(
                [who for who in watched if who[0]], self._pidfds and all(who[0] for who in watched)
            )
            if _is_dead(self._parent):
                self._end()
            if guardian[0] and restarts < _RESTARTS and _is_dead(guardian):
                restarts += 1
                self._asked()

    @staticmethod
    def _wait_for(watched: list[Identity], for_ever: bool) -> None:
        """Until one of them has died; for a while where that cannot be waited for."""
        descriptors: list[int] = []
        try:
            poll = select.poll()
            for who in watched:
                descriptor = open_pidfd(who) if for_ever else None
                if descriptor is not None:
                    descriptors.append(descriptor)
                    poll.register(descriptor, select.POLLIN)
            poll.poll(None if len(descriptors) == len(watched) else _LOOK_S * 1000)
        except ProcessLookupError:
            return
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _asked(self) -> bool:
        """Whether there is a guardian now; one that is new is told what this process knows."""
        try:
            self._link.ask("state")
        except LifelineError:
            return False
        return True

    def _end(self) -> None:
        """The parent is dead. The guardian ends this process; where it does not, this thread does."""
        grace = self._link.known.armed[1] if self._link.known.armed else 0.0
        time.sleep(_HANDOVER_S)
        if grace and _is_dead(self._link.guardian):
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace)
        below = [found for pid in children(os.getpid()) if (found := identity(pid)) is not None]
        # Their own lifelines may not be up yet, and nobody else is left to end them.
        kill_with_descendants([(who, None) for who in below], set(), False)
        os.kill(os.getpid(), signal.SIGKILL)
