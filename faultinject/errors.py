"""The errors a user of faultinject can meet."""

from __future__ import annotations


class FaultinjectError(Exception):
    """Base of every error that faultinject raises for its user.

    Args:
        message: one line: what, where, what to do.
        original: traceback text of the target's own exception, where there is one.
    """

    def __init__(self, message: str, *, original: str = "") -> None:
        super().__init__(message)
        self.original = original

    @property
    def whole(self) -> str:
        """The original, if there is one, and the line beneath it."""
        return f"{self.original.rstrip()}\n{self}" if self.original else str(self)


class UsageError(FaultinjectError):
    """The arguments or a file that was given are wrong."""


class TargetError(FaultinjectError):
    """The target cannot be swept: not found, not callable, fails or hangs without any fault."""


class HookTakenError(FaultinjectError):
    """A debugger, profiler or coverage holds the interpreter hook that a backend needs."""
