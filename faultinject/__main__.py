"""``python -m faultinject`` is the ``faultinject`` command."""

from __future__ import annotations

from faultinject.cli import main

if __name__ == "__main__":
    main()
