"""What the tests of the hardened engine share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine._forge import Forge


@pytest.fixture(scope="session")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """A process with vLLM imported: one for all that run beside each other."""
    one = Forge(tmp_path_factory.mktemp("forge") / "log")
    yield one
    one.close()
