"""Targets of asyncio: a server on two addresses, a datagram endpoint.

The loop is lent by the caller and goes on afterwards, as in a program that tries to open a server and
then carries on without it. What a failed attempt leaves registered with such a loop stays for good.
"""

from __future__ import annotations

import asyncio
import os

_ANY_PORT = 0

_loops: dict[int, asyncio.AbstractEventLoop] = {}


def lent_loop() -> asyncio.AbstractEventLoop:
    """The one loop of this process, made before the target runs. Never closed by the target.

    One a process, not one a module: a forked copy would share the selector of the original.
    """
    if os.getpid() not in _loops:
        _loops[os.getpid()] = asyncio.new_event_loop()
    return _loops[os.getpid()]


def two_addresses(loop: asyncio.AbstractEventLoop) -> asyncio.Server:
    """Serve on two addresses (row M43)."""
    return loop.run_until_complete(
        loop.create_server(asyncio.Protocol, ["127.0.0.1", "127.0.0.2"], _ANY_PORT)
    )


def one_address(loop: asyncio.AbstractEventLoop) -> asyncio.Server:
    """Serve on one address (row M44). The ordinary trigger is a cancellation just after it listens."""
    return loop.run_until_complete(loop.create_server(asyncio.Protocol, "127.0.0.1", _ANY_PORT))


def quiet_protocol() -> asyncio.DatagramProtocol:
    """The protocol factory that fails in row M46."""
    return asyncio.DatagramProtocol()


def datagram_endpoint(loop: asyncio.AbstractEventLoop) -> asyncio.DatagramTransport:
    """Open a datagram endpoint (row M46)."""
    transport, _ = loop.run_until_complete(
        loop.create_datagram_endpoint(quiet_protocol, local_addr=("127.0.0.1", _ANY_PORT))
    )
    return transport


def hang_up(transport: asyncio.DatagramTransport) -> None:
    """Close an endpoint and let the loop run once, which is when the socket is closed."""
    transport.close()
    lent_loop().run_until_complete(asyncio.sleep(0))
