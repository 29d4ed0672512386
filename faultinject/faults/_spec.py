"""Which fault to inject, as a plain value."""

from __future__ import annotations

import importlib.util
import signal
from typing import Literal

import msgspec

from faultinject._near import near
from faultinject.errors import UsageError
from faultinject.faults._catalogue import NAMED, UNHANDLED_SIGNALS, signal_names
from faultinject.faults._classes import LIST_THEM, class_of, errno_of, missing_package, unknown


class FaultSpec(msgspec.Struct, frozen=True):
    """One fault of the catalogue, or an exception class of the user's.

    Attributes:
        name: as the user wrote it, such as ``OSError:ENOSPC``; it says everything, the other fields
            are only read from it.
        kind: ``exception`` (raised at the point) or ``signal`` (sent to the process at the point).
        errno: number of the errno of an ``OSError:NAME``, otherwise 0.
    """

    name: str
    kind: Literal["exception", "signal"] = "exception"
    errno: int = 0

    @property
    def is_ordinary(self) -> bool:
        """Whether ``except Exception`` sees it; not so for a signal, whose handler may raise anything."""
        if self.kind == "signal":
            return False
        entry = NAMED.get(self.name)
        if entry is not None:
            # Known without importing the class's module (torch).
            return entry.group == "ordinary"
        return issubclass(class_of(self.name), Exception)

    @property
    def signal(self) -> signal.Signals:
        """The signal to send.

        Raises:
            ValueError: this fault is not a signal.
        """
        if self.kind != "signal":
            raise ValueError(f"{self.name} is not a signal")
        return signal.Signals[self.name]


DEFAULT_FAULTS = "RuntimeError,KeyboardInterrupt"
"""One ordinary exception and one that ``except Exception`` does not see."""


def parse_faults(text: str = DEFAULT_FAULTS) -> tuple[FaultSpec, ...]:
    """The faults of a comma-separated list, in its order, each once.

    Args:
        text: such as ``"RuntimeError,OSError:ENOSPC,SIGINT,mypackage.errors:Broken"``.

    Raises:
        UsageError: a name is unknown, needs a package that is missing, or names a class that cannot
            be subclassed or made from one message.
    """
    names = [name.strip() for name in text.split(",")]
    if not any(names):
        raise UsageError(f"no fault given: name one or more, as in {DEFAULT_FAULTS}; {LIST_THEM}")
    return tuple(parse_fault(name) for name in dict.fromkeys(filter(None, names)))


def parse_fault(name: str) -> FaultSpec:
    """The fault called `name`; errors as of `parse_faults`."""
    if name in UNHANDLED_SIGNALS:
        raise UsageError(f"{name} cannot be handled by the process it is sent to; take SIGTERM or SIGINT")
    if name in signal_names():
        return FaultSpec(name, kind="signal")
    if name.startswith("SIG") and name.isalnum() and name.isupper():
        raise UsageError(f"unknown signal {name!r}{near(name, signal_names())}; {LIST_THEM}")
    if name.startswith("OSError:"):
        return FaultSpec(name, errno=errno_of(name))
    entry = NAMED.get(name)
    if entry is not None:
        module = entry.path.partition(":")[0]
        # Not imported here: torch takes seconds, and only the process of a case needs it.
        if module == "torch" and importlib.util.find_spec("torch") is None:
            raise UsageError(missing_package(name, "torch"))
        return FaultSpec(name)
    if not name.replace(".", "").replace(":", "", 1).isidentifier():
        raise unknown(name)
    spec = FaultSpec(name)
    from faultinject.faults._injected import make

    make(spec)
    return spec
