"""The catalogue of faults: what can be injected at a fault point."""

from __future__ import annotations

from faultinject.faults._arriving import Arriving, arriving
from faultinject.faults._catalogue import BaseFault, Entry, describe
from faultinject.faults._injected import InjectedFault, deliver, is_injected, make
from faultinject.faults._second import (
    DEFAULT_SECOND_FAULTS,
    HANG,
    SecondFault,
    parse_second,
    parse_second_faults,
)
from faultinject.faults._spec import DEFAULT_FAULTS, FaultSpec, parse_fault, parse_faults

Fault = FaultSpec
"""The word of the documentation for what a `FaultSpec` names."""

__all__ = [
    "DEFAULT_FAULTS",
    "DEFAULT_SECOND_FAULTS",
    "HANG",
    "Arriving",
    "BaseFault",
    "Entry",
    "Fault",
    "FaultSpec",
    "InjectedFault",
    "SecondFault",
    "arriving",
    "deliver",
    "describe",
    "is_injected",
    "make",
    "parse_fault",
    "parse_faults",
    "parse_second",
    "parse_second_faults",
]
