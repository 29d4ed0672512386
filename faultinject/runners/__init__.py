"""Isolation of a case: a process of its own, watched from outside."""

from __future__ import annotations

from faultinject.runners._messages import Expectation, Ready, Record, Recorded, RunCase, Screen, Settings
from faultinject.runners._pool import Pool, Start

__all__ = ["Expectation", "Pool", "Ready", "Record", "Recorded", "RunCase", "Screen", "Settings", "Start"]
