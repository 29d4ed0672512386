"""``python -m faultinject.runners._spawned``: one order in a fresh interpreter (the spawn runner)."""

from __future__ import annotations

import os
import socket
import sys
import time


def main() -> None:
    """Read the target and the order from standard input, carry the order out, end as any program does."""
    from faultinject.runners._inside import carry_out
    from faultinject.runners._lane import prepare_process
    from faultinject.runners._messages import Frames, decode
    from faultinject.runners._zygote import load
    from faultinject.targets import TargetSpec

    outlet = socket.socket(fileno=int(sys.argv[1]))
    bodies = Frames().feed(sys.stdin.buffer.read())
    spec, order = decode(bodies[0]), decode(bodies[1])
    assert isinstance(spec, TargetSpec)
    target = load(spec)
    log = f"/proc/self/fd/{sys.stdout.fileno()}"
    prepare_process(
        os.path.realpath(log), os.environ["TMPDIR"], sys.argv[2], float(sys.argv[3]) - time.monotonic()
    )
    carry_out(order, target, outlet, "spawn")


if __name__ == "__main__":
    main()
