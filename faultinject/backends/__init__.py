"""How a fault gets raised at a point: one interface, one file for each mechanism."""

from __future__ import annotations

import sys
from collections.abc import Callable

from faultinject.backends._protocol import HARNESS, Backend, Listener, is_target_frame
from faultinject.errors import UsageError

__all__ = [
    "HARNESS",
    "Backend",
    "Listener",
    "backend_names",
    "check_backend",
    "check_reached",
    "choose_backend",
    "choose_name",
    "is_target_frame",
]


def backend_names() -> tuple[str, ...]:
    """The backends that this interpreter has, the preferred one first."""
    return ("monitoring", "patching") if sys.version_info >= (3, 12) else ("setprofile", "patching")


def choose_name(name: str = "", attributes: tuple[str, ...] = ()) -> str:
    """The name of the backend that `choose_backend` takes, for the reports."""
    return name or ("patching" if attributes else backend_names()[0])


def choose_backend(name: str = "", attributes: tuple[str, ...] = ()) -> Backend:
    """The backend called `name`, or the interpreter's preferred one.

    Args:
        attributes: for ``patching``, the ``module:qualname`` of each callable to wrap.

    Raises:
        UsageError: unknown here; a weaker one is never taken in silence.
    """
    chosen = choose_name(name, attributes)
    if chosen == "monitoring" and sys.version_info >= (3, 12):
        from faultinject.backends._monitoring import MonitoringBackend

        return MonitoringBackend()
    if chosen == "setprofile" and sys.version_info < (3, 12):
        from faultinject.backends._setprofile import SetprofileBackend

        return SetprofileBackend()
    if chosen == "patching":
        from faultinject.backends._patching import PatchingBackend

        return PatchingBackend(attributes)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise UsageError(
        f"no backend {chosen!r} on Python {python}; choose one of {', '.join(backend_names())}, "
        "or leave --backend out"
    )


def check_backend(make: Callable[[], Backend]) -> None:
    """Check that a backend keeps its promises; see `faultinject.backends._conformance`.

    Args:
        make: makes a fresh backend.

    Raises:
        HookTakenError: a debugger, profiler or coverage is active here.
        AssertionError: one line for each promise that was broken.
    """
    from faultinject.backends._conformance import check_backend as check

    check(make)


def check_reached(backend: Backend, *, offered: bool) -> None:
    """Refuse a recording in which a callable that was named was never called beneath the target.

    Args:
        offered: whether the recording has any fault point.

    Raises:
        UsageError: names what was missed, and why that may be.
    """
    missed = getattr(backend, "unreached", ())
    if missed:
        raise UsageError(
            f"--patch {', '.join(missed)}: never called through that name beneath the target. Who imported "
            "it with `from module import name` before keeps the original: name it in the module that calls it"
        )
    if backend.name == "patching" and not offered:
        raise UsageError(
            "what --patch names is called beneath the target, but no call of it is a fault point: calls that "
            "release need --cleanup, and level steps has only the calls that the target itself makes"
        )
