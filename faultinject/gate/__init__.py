"""The gate of continuous integration: sweeps against a committed baseline; and what differs between two."""

from __future__ import annotations

from faultinject.gate._accept import Grant, accept, parse_grant
from faultinject.gate._baseline import Baseline, Suppression, baseline_path, read_baseline
from faultinject.gate._bisect import FirstChange, Trail
from faultinject.gate._budget import parse_duration
from faultinject.gate._changes import OwnedRow
from faultinject.gate._compare import CHANGED, FAILED, PASSED, Outcome, compare
from faultinject.gate._diff import (
    DIFF_SCHEMA,
    Difference,
    diff_reports,
    encode_difference,
    print_difference,
)
from faultinject.gate._document import GATE_SCHEMA, GateDocument, write_document
from faultinject.gate._print import Watch, print_end, print_sweep, status_of
from faultinject.gate._ruling import ruling_of, shown, suite_of
from faultinject.gate._run import Broken, GateSweep, Made, Ran, run_gate
from faultinject.gate._self_test import self_test
from faultinject.gate._settings import GateSettings, Row, read_settings
from faultinject.gate._write import format_baseline, write_baseline

__all__ = [
    "CHANGED",
    "DIFF_SCHEMA",
    "FAILED",
    "GATE_SCHEMA",
    "PASSED",
    "Baseline",
    "Broken",
    "Difference",
    "FirstChange",
    "GateDocument",
    "GateSettings",
    "GateSweep",
    "Grant",
    "Made",
    "Outcome",
    "OwnedRow",
    "Ran",
    "Row",
    "Suppression",
    "Trail",
    "Watch",
    "accept",
    "baseline_path",
    "compare",
    "diff_reports",
    "encode_difference",
    "format_baseline",
    "parse_duration",
    "parse_grant",
    "print_difference",
    "print_end",
    "print_sweep",
    "read_baseline",
    "read_settings",
    "ruling_of",
    "run_gate",
    "self_test",
    "shown",
    "status_of",
    "suite_of",
    "write_baseline",
    "write_document",
]
