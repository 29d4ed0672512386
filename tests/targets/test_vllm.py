from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from faultinject.errors import TargetError
from faultinject.targets import TargetSpec, resolve
from faultinject.targets._vllm import MODEL

CONSTRUCT_TWICE = """
import gc, os
from faultinject.targets import TargetSpec, resolve

def seen():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), gc.get_freeze_count()

target = resolve(TargetSpec("vllm:EngineCore"))
assert target.version and target.release == "shutdown" and target.screen and not target.is_async
assert {k: os.environ[k] for k in target.environment} == dict(target.environment)
configs = []
for _ in range(2):
    function, args, kwargs = target.prepare()
    assert function.__name__ == "EngineCore" and args[1].__name__ == "UniProcExecutor"
    configs.append(args[0])
    before = seen()
    engine = function(*args, **kwargs)
    assert seen()[0] > before[0] and seen()[2] > 0
    engine.shutdown()
    del engine
    gc.collect()
    assert seen() == before, (before, seen())
assert configs[0] is not configs[1]
"""


def test_the_model_ships_as_a_config_that_the_cpu_can_run() -> None:
    config = json.loads((MODEL / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["num_hidden_layers"] == 2
    assert config["head_dim"] == config["hidden_size"] // config["num_attention_heads"] == 64


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_a_missing_vllm_says_how_to_get_it() -> None:
    with pytest.raises(TargetError, match=r"pip install 'faultinject\[vllm\]'.*tox run -e sweep"):
        resolve(TargetSpec("vllm:EngineCore"))


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(Exception, match="did you mean vllm:EngineCore"):
        resolve(TargetSpec("vllm.EngineCor"))


@pytest.mark.engine
def test_the_engine_constructs_and_shuts_down_again_and_again_in_one_process() -> None:
    subprocess.run([sys.executable, "-c", CONSTRUCT_TWICE], check=True, timeout=240)
