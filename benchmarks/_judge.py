"""Sweeps targets of ``tests/ownership`` one after the other, until the first that shows something wrong.

Run in an interpreter of its own, with a directory first on the path that holds a copy of `engine` and of
the targets: ``python _judge.py DIRECTORY NUMBER...``, numbers as of `JUDGED` and then `HEAVY`. Prints
one line of JSON: what was seen, or an empty ``target``.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from faultinject.errors import TargetError, UsageError
from tests.ownership.judged import HEAVY, JUDGED, Judged, is_red, sweep


class _Red(Exception):
    """Enough was seen."""


class _UntilRed:
    """A reporter that ends the sweep at the first case that shows something."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.seen = ""

    def start(self, *_: Any) -> None: ...

    def case(self, result: Any) -> None:
        # What a copy of the process alone has seen may be put right by a whole run; no whole run looks again
        # for a signal that was lost.
        if (result.confirmed or result.verdict == "handled") and is_red(result, self.judged):
            self.seen = result.verdict
            raise _Red

    def progress(self, *_: Any) -> None: ...

    def finish(self, *_: Any) -> None: ...

    def close(self) -> None: ...


def seen_by(judged: Judged, directory: Path) -> str:
    """The verdict of the first case that shows something, or ``""``; ``refused`` if nothing can be swept, and
    ``unmade`` if the constructor never gets to its last step."""
    reporter = _UntilRed(judged)
    try:
        with contextlib.suppress(_Red):
            sweep(judged, directory, reporter)
    except TargetError:
        return "refused"
    except UsageError:
        # A point, or a frame of the target's own, is not there any more. Where that is not the last step,
        # another target shows what it does.
        return "unmade" if judged.at_the_end else ""
    return reporter.seen


def main() -> None:
    directory = Path(sys.argv[1])
    for number in map(int, sys.argv[2:]):
        judged = (*JUDGED, *HEAVY)[number]
        verdict = seen_by(judged, directory)
        if verdict:
            print(json.dumps({"target": judged.name, "verdict": verdict}))
            return
    print(json.dumps({"target": "", "verdict": ""}))


if __name__ == "__main__":
    main()
