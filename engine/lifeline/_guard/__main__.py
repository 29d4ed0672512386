"""``python -I -S .../engine/lifeline/_guard``: without importing `engine`, which is much larger."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Last, and instead of this directory: nothing here may stand in for a module of the standard library.
    sys.path[0:1] = []
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from _guard._serve import main  # type: ignore[import-not-found]

    main()
