from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.lifeline._tree import Tree, tree


@pytest.fixture
def trees() -> Iterator[Tree]:
    with tree() as made:
        yield made


@pytest.fixture(params=["pidfd", "pipe"])
def watching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to learn of a death: the kernel's, and the one for kernels that have no pidfd."""
    if request.param == "pipe":
        monkeypatch.setenv("ENGINE_LIFELINE_PIDFD", "0")
    else:
        monkeypatch.delenv("ENGINE_LIFELINE_PIDFD", raising=False)
    return str(request.param)


@pytest.fixture
def segment() -> Iterator[str]:
    """A name for shared memory, removed after the test whoever has made it."""
    name = f"lifeline-test-{os.getpid()}-{os.urandom(4).hex()}"
    yield name
    if os.path.exists(f"/dev/shm/{name}"):
        os.unlink(f"/dev/shm/{name}")
