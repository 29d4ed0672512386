"""The second fault of a case: what happens to one release of the clean-up, as a plain value."""

from __future__ import annotations

import msgspec

from faultinject.errors import UsageError
from faultinject.facts import Phase
from faultinject.faults._spec import parse_fault

HANG = "hang"
"""Instead of a fault's name: the release blocks for ever, as on a lock that nobody frees."""

DEFAULT_SECOND_FAULTS = f"RuntimeError,KeyboardInterrupt,{HANG}"


class SecondFault(msgspec.Struct, frozen=True):
    """One release of the clean-up, and what happens to it.

    Attributes:
        release: ``NAME.METHOD``: the name of what is owned, and what gives it back.
        phase: ``before``: in place of the release. ``after``: out of it, its work done.
        fault: a name of the catalogue, a dotted path, or ``hang`` (only in phase ``before``).
    """

    release: str
    phase: Phase
    fault: str

    @property
    def text(self) -> str:
        """``model_executor.shutdown/before/RuntimeError``."""
        return f"{self.release}/{self.phase}/{self.fault}"

    @property
    def hangs(self) -> bool:
        return self.fault == HANG

    @property
    def gives_nothing_back(self) -> bool:
        """Whether the release never did its work, so that what it would have given back stays."""
        return self.phase == "before"


def parse_second(text: str) -> SecondFault:
    """The second fault that ``NAME.METHOD/PHASE/FAULT`` stands for.

    Raises:
        UsageError: a part is missing, the phase is none, or as of `parse_fault`.
    """
    place, _, fault = text.rpartition("/")
    release, _, word = place.rpartition("/")
    if not release or not fault or word not in ("before", "after"):
        raise UsageError(
            f"second fault {text!r}: write NAME.METHOD/PHASE/FAULT, as in pool.close/before/RuntimeError"
        )
    phase: Phase = "before" if word == "before" else "after"
    if fault != HANG:
        parse_fault(fault)
    elif phase == "after":
        raise UsageError(f"second fault {text!r}: a release that has done its work does not hang")
    return SecondFault(release, phase, fault)


def parse_second_faults(text: str = DEFAULT_SECOND_FAULTS) -> tuple[str, ...]:
    """The names of a comma-separated list of second faults, in its order, each once.

    Args:
        text: what ``--fault`` takes, and ``hang``.

    Raises:
        UsageError: it is empty, or as of `parse_fault`.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"no second fault given: name one or more, as in {DEFAULT_SECOND_FAULTS}")
    for name in names:
        # A class of the user's is looked for where the target's modules can be imported.
        if name != HANG and "." not in name and not (":" in name and not name.startswith("OSError:")):
            parse_fault(name)
    return names
