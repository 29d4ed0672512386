"""``python -m faultinject.targets._vllm_peer``: what an engine's process shakes hands with.

Stands for the launcher and the client, for as long as standard input is open: it answers each HELLO with the
addresses, and takes whatever else it is sent. Its sockets are in a directory, which it prints once it serves.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import msgspec


def main() -> None:
    """Serve, from a directory that goes with this process."""
    with tempfile.TemporaryDirectory(prefix="peer-") as directory:
        serve(directory)


def serve(directory: str) -> None:
    """Serve until standard input is at its end."""
    import zmq as typeless

    zmq: Any = typeless
    addresses = {name: f"ipc://{directory}/{name}" for name in ("handshake", "input", "output")}
    context = zmq.Context()
    handshakes, inputs, outputs = (context.socket(kind) for kind in (zmq.ROUTER, zmq.ROUTER, zmq.PULL))
    poller = zmq.Poller()
    for socket, name in ((handshakes, "handshake"), (inputs, "input"), (outputs, "output")):
        if socket is not outputs:
            # Each engine has the identity that the one before it had.
            socket.router_handover = True
        socket.bind(addresses[name])
        poller.register(socket, zmq.POLLIN)
    poller.register(0, zmq.POLLIN)
    print(directory, flush=True)
    told = {
        "addresses": {"inputs": [addresses["input"]], "outputs": [addresses["output"]]},
        "parallel_config": {},
    }
    while True:
        events = dict(poller.poll())
        if 0 in events and not os.read(0, 1):
            context.destroy(linger=0)
            return
        if handshakes in events:
            identity, message = handshakes.recv_multipart()
            if msgspec.msgpack.decode(message)["status"] == "HELLO":
                handshakes.send_multipart([identity, msgspec.msgpack.encode(told)])
        for socket in (inputs, outputs):
            if socket in events:
                socket.recv_multipart()


if __name__ == "__main__":
    main()
