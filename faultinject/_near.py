"""Hints for a name that was not found."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> str:
    """A hint such as `` (did you mean A or B?)``, or ``""`` when nothing is near.

    Args:
        name: what was given.
        names: what there is; compared without regard to case.
    """
    folded = {n.casefold(): n for n in names}
    found = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.7)
    return f" (did you mean {' or '.join(folded[f] for f in found)}?)" if found else ""
