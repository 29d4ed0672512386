"""Where temporary files go, without asking tempfile, which writes a file to find out."""

from __future__ import annotations

import os
import sys


def temporary_directory() -> str:
    """The directory that ``tempfile.gettempdir()`` has chosen, or would choose first.

    ``gettempdir`` tries a file in each candidate on its first call, which a probe must not.
    """
    chosen = getattr(sys.modules.get("tempfile"), "tempdir", None)
    if isinstance(chosen, bytes):
        chosen = os.fsdecode(chosen)
    if isinstance(chosen, str):
        return os.path.abspath(chosen)
    for name in ("TMPDIR", "TEMP", "TMP"):
        value = os.environ.get(name)
        if value and os.path.isdir(value):
            return os.path.abspath(value)
    return next((d for d in ("/tmp", "/var/tmp", "/usr/tmp") if os.path.isdir(d)), os.getcwd())
