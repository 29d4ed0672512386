"""A program that starts vLLM with two workers, and ends: ``python -m tests.engine._program upstream|hardened
good|bad``. The bad one asks for less memory than vLLM needs. Nobody shuts anything down."""

from __future__ import annotations

import os
import sys


def main() -> None:
    how, which = sys.argv[1:]
    from faultinject.targets import _vllm_trees

    target = _vllm_trees.llm_tp2()
    os.environ.update({**target.environment, _vllm_trees.METHOD: "fork"})
    assert target.warm_up is not None
    target.warm_up()
    if how == "hardened":
        import engine

        engine.harden()
    call, arguments, keywords = target.prepare()
    if which == "bad":
        keywords = {**keywords, "num_gpu_blocks_override": 1, "max_model_len": 256}
    llm = call(*arguments, **keywords)
    llm.generate([{"prompt_token_ids": [1, 2, 3]}], use_tqdm=False)


if __name__ == "__main__":
    main()
