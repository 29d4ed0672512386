"""The lines of each case as data of coverage.py, a context for each, for its own reports."""

from __future__ import annotations

import os
from pathlib import Path

from faultinject._writing import make_private
from faultinject.cleanup_coverage._tally import Tally


def write_data(tally: Tally, path: Path) -> bool:
    """Write a data file that ``coverage html --data-file=PATH --show-contexts`` reads.

    Returns:
        Whether coverage.py is there to write it (``pip install 'faultinject[coverage]'``).

    Raises:
        OSError: the folder of the file is a symbolic link, or cannot be made.
    """
    try:
        from coverage import CoverageData
    except ImportError:
        return False
    make_private(path.parent)
    path.unlink(missing_ok=True)
    data = CoverageData(basename=os.fspath(path))
    for title, lines in tally.by_case.items():
        data.set_context(title)
        data.add_lines({file: sorted(numbers) for file, numbers in lines.items()})
    data.touch_files(tally.files)
    data.write()
    data.close()
    return True
