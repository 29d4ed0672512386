"""``hardened-vllm serve`` beside ``vllm serve``, over HTTP and by an OpenAI client, on a real vLLM."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.engine._served import Served, completion, prepare
from tests.engine.checks_background import left_after, living, segments

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("alone_with_shared_memory"),
]

pytest.importorskip("vllm", reason="needs an installed vLLM")

PROMPTS = ("hello", "Paris is", "def f(x):", "0123456789")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    prepare(made)
    return made


def test_it_answers_as_vllm_does_byte_for_byte_and_leaves_nothing(directory: Path) -> None:
    with Served("vllm", directory) as plain, plain.client() as client:
        expected = [completion(client, prompt) for prompt in PROMPTS]
    before = segments()
    with Served("hardened-vllm", directory) as hardened, hardened.client() as client:
        assert [completion(client, prompt) for prompt in PROMPTS] == expected
        below = psutil.Process(hardened.process.pid).children(recursive=True)
        assert hardened.end() == plain.process.returncode
    assert living(below, 5.0) == []
    assert left_after(before, 5.0) == []


def test_a_server_that_is_killed_takes_all_that_it_started_along(directory: Path) -> None:
    before = segments()
    with Served("hardened-vllm", directory) as hardened:
        below = psutil.Process(hardened.process.pid).children(recursive=True)
        assert any("EngineCore" in " ".join(one.cmdline()) for one in below)
        hardened.process.kill()
        hardened.process.wait()
        assert living(below, 5.0) == []
    assert left_after(before, 5.0) == []
