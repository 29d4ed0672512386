"""A parent's own part: it tells the guardian of its children."""

from __future__ import annotations

from engine.lifeline._errors import LifelineError
from engine.lifeline._guard._proc import identity
from engine.lifeline._guard._wire import VARIABLE
from engine.lifeline._link import current_link


def start() -> None:
    """Start the guardian if there is none: what the first of the other calls does otherwise (about 50 ms).

    Raises:
        LifelineError: it does not start.
    """
    current_link().ask("state")


def register_child(pid: int) -> None:
    """Have a process that this one has just started end when this one dies, by SIGKILL with all below it.

    A child that calls `arm` itself is known by that too; this covers the time before, and programs that do
    not know of lifelines. It is to be called before the child is waited for: until then its pid is its own.

    Args:
        pid: of the child. One that has ended already is nobody to guard, but what it started is.

    Raises:
        LifelineError: there is no guardian and none starts, or it refuses. The child lives on; it is tried
            again at the next call that reaches a guardian.
    """
    try:
        who = identity(pid)
    except OSError as error:
        raise LifelineError(f"process {pid} cannot be looked at: {error}") from error
    if who is None:
        return
    link = current_link()
    link.known.children.add(who)
    if len(link.known.children) > 64:
        link.known.requests()  # Forgets those that have ended.
    link.ask("child", *who)


def child_environment() -> dict[str, str]:
    """What to add to the environment of a program that is to belong to this process.

    A program that calls `arm` takes this process for its parent by it, though another stands in between (a
    shell). One that does not, and was not registered, is found by it when this process dies, unless it
    cleared its environment. Children of multiprocessing get it in another way.
    """
    return {VARIABLE: str(current_link().own_ticket)}
