from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli._command import LIGHT, Command, Gate


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """The command line, in a directory with a module ``light``."""
    made = Command(tmp_path)
    made.write("light.py", LIGHT)
    yield made
    made.clean_up()


@pytest.fixture
def gate(command: Command) -> Iterator[Gate]:
    made = Gate(command)
    yield made
    made.close()
