"""Clean-up coverage: which lines of ``except``, ``finally`` and ``__exit__`` bodies ran under some fault."""

from __future__ import annotations

from faultinject.cleanup_coverage._data import write_data
from faultinject.cleanup_coverage._regions import Region, regions_of
from faultinject.cleanup_coverage._tally import FileCoverage, Tally, ranges

__all__ = ["FileCoverage", "Region", "Tally", "ranges", "regions_of", "write_data"]
