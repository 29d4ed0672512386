"""vLLM's HTTP server as its users start it, ``vllm serve``, and ``hardened-vllm serve``. Needs vLLM.

The model is the tiny one, with a tokenizer of single bytes. vLLM's builds for a CPU are called otherwise than
``vllm``, which its command line asks for: a directory on the path says that this one is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from faultinject.targets._vllm import KV_CACHE_BLOCKS, MODEL, environment, vllm_version

ARGUMENTS = (
    "--load-format dummy --dtype float32 --enforce-eager --max-model-len 128 --max-num-seqs 8 "
    f"--num-gpu-blocks-override {KV_CACHE_BLOCKS} --host 127.0.0.1 --served-model-name tiny"
).split()

COMMANDS = {"vllm": "vllm.entrypoints.cli.main", "hardened-vllm": "engine._command"}
"""What the two console scripts run."""


def prepare(directory: Path) -> None:
    """Write model and distribution into `directory`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    model = directory / "model"
    shutil.copytree(MODEL, model)
    known = ["<unk>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {token: number for number, token in enumerate(known)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    tokenizer.save(str(model / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (model / "tokenizer_config.json").write_text(json.dumps({**settings, "unk_token": "<unk>"}))
    version = f"{vllm_version()}+cpu"
    described = directory / "path" / f"vllm-{version}.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")


class Served:
    """One server, from its start until the block ends.

    Args:
        command: ``vllm`` or ``hardened-vllm``.
        directory: as `prepare` has left it; the server's output goes there too.
        limit: seconds in which it has to answer.

    Raises:
        RuntimeError: it has ended, or does not answer in time.
    """

    def __init__(self, command: str, directory: Path, limit: float = 300.0) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = directory / f"{command}.log"
        path = [str(directory / "path"), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        more = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
        where = ("--port", str(self.port))
        started = time.monotonic()
        run = f"from {COMMANDS[command]} import main; import sys; sys.argv[0] = {command!r}; main()"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", run, "serve", str(directory / "model"), *ARGUMENTS, *where],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment(), **more, "VLLM_CPU_OMP_THREADS_BIND": "0"},
                start_new_session=True,
            )
        try:
            while not self._answers():
                if self.process.poll() is not None or time.monotonic() > started + limit:
                    raise RuntimeError(f"{command} serve does not answer:\n{self.log.read_text()[-4000:]}")
                time.sleep(0.02)
        except BaseException:
            self.end()
            raise
        self.seconds = time.monotonic() - started
        """Until the first answer."""

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *failure: object) -> None:
        self.end()

    def end(self) -> int:
        """Ask it to end, and wait; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60.0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def client(self) -> Any:
        """An OpenAI client of it; its block closes the connections."""
        from openai import OpenAI

        return OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=10) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def completion(client: Any, prompt: str, tokens: int = 32) -> bytes:
    """What a server says to a prompt at temperature 0, without what names the request and its time."""
    raw = client.completions.with_raw_response.create(
        model="tiny", prompt=prompt, max_tokens=tokens, temperature=0, logprobs=1
    )
    body = json.loads(raw.content)
    for name in ("id", "created"):
        body.pop(name)
    return json.dumps(body).encode()
