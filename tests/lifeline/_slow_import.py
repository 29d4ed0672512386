"""Takes a minute to import, all of it in a C call that does not give the interpreter's lock back."""

from __future__ import annotations

import ctypes
import os

from tests.lifeline._programs import report

report(*os.environ["LIFELINE_TEST"].split())
ctypes.PyDLL(None).sleep(60)
