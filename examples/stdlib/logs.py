"""What the target ``logging.config:dictConfig`` needs: a configuration, a root handler, a way back."""

from __future__ import annotations

import logging
import logging.config
import os
from typing import Any

_lent = logging.NullHandler()


def _lend_root_handler() -> None:
    """Give the root logger a handler of its own, as in a program that had logged before."""
    if _lent not in logging.getLogger().handlers:
        logging.getLogger().addHandler(_lent)
        logging._addHandlerRef(_lent)  # type: ignore[attr-defined]  # dictConfig empties the registry


def two_files() -> dict[str, Any]:
    """A configuration of two file handlers (row M41), made anew: `dictConfig` changes what it is given."""
    _lend_root_handler()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {
            "first": {"class": "logging.FileHandler", "filename": os.devnull},
            "second": {"class": "logging.FileHandler", "filename": os.devnull},
        },
        "root": {"handlers": ["first", "second"]},
    }


def put_back(_: None) -> None:
    """Close the two handlers and give the root logger its former one back."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
        handler.close()
    _lend_root_handler()
