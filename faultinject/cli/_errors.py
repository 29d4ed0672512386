"""An error as the command line says it."""

from __future__ import annotations

import sys

from faultinject.errors import FaultinjectError


def tell(error: FaultinjectError) -> None:
    """The target's own traceback, if there is one, and the line beneath it, on standard error."""
    if error.original:
        print(error.original.rstrip(), file=sys.stderr)
    print(f"faultinject: {error}", file=sys.stderr)
