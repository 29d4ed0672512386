"""The command line in this process: for what needs none of its own."""

from __future__ import annotations

from faultinject.cli import app
from faultinject.errors import FaultinjectError


def here(*words: str) -> tuple[int, str]:
    """The exit status of a command, and the line that it says where something is wrong."""
    try:
        status = app([*words], standalone_mode=False)
    except FaultinjectError as error:
        return 2, f"faultinject: {error}"
    return status if isinstance(status, int) else 0, ""
