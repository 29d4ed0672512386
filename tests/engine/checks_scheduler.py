"""What is checked of the scheduler layer, with a real publisher of events; run by `_forge`."""

from __future__ import annotations

import tempfile
import threading
from typing import Any

from faultinject.targets._vllm import prepare_engine_core
from tests.engine.checks import holdings, raising, replaced, settled


def a_scheduler_that_fails_after_its_publisher() -> list[Any]:
    """What the caller got, and what there is more while it has that: threads by name, descriptors."""
    import zmq as typeless
    from vllm.config.kv_events import KVEventsConfig
    from vllm.v1.core.sched import scheduler

    zmq: Any = typeless
    # The process's one context, which publishers share and nobody ends.
    zmq.Context.instance().socket(zmq.PUB).close()
    construct, (config, *arguments), keywords = prepare_engine_core()
    with tempfile.TemporaryDirectory() as directory:
        config.kv_events_config = KVEventsConfig(
            enable_kv_cache_events=True, publisher="zmq", endpoint=f"ipc://{directory}/events"
        )
        threads, before = set(threading.enumerate()), holdings()
        with replaced(scheduler, "create_request_queue", raising(ZeroDivisionError("planted"))):
            try:
                construct(config, *arguments, **keywords)
            except ZeroDivisionError as error:
                after = settled(before, limit=3.0)
                more = sorted(one.name for one in set(threading.enumerate()) - threads)
                return [str(error), more, after["fds"] - before["fds"]]
    raise AssertionError("the construction did not fail")


def the_order_in_which_connectors_and_publisher_go() -> list[str]:
    """Connectors that stand for such as need hardware; the publisher is made between them."""
    from vllm.v1.core.sched import scheduler

    released: list[str] = []

    class Made:
        requires_kv_delivery = False

        def __init__(self, name: str) -> None:
            self.name = name

        def shutdown(self) -> None:
            released.append(self.name)

    class Factory:
        def __init__(self, name: str) -> None:
            self.create_connector = self.create = lambda *args, **kwargs: Made(name)

    _, (config, *_), _ = prepare_engine_core()
    config.kv_transfer_config = config.ec_transfer_config = _Asked()
    config.cache_config.num_gpu_blocks = 8
    with (
        replaced(scheduler, "KVConnectorFactory", Factory("KV connector")),
        replaced(scheduler, "EventPublisherFactory", Factory("publisher")),
        replaced(scheduler, "ECConnectorFactory", Factory("EC connector")),
        replaced(scheduler, "create_request_queue", raising(ZeroDivisionError("planted"))),
    ):
        try:
            scheduler.Scheduler(config, None, None, 16)
        except ZeroDivisionError:
            return released
    raise AssertionError("the construction did not fail")


class _Asked:
    """A configuration of a connector, as far as the scheduler looks at it."""

    kv_load_failure_policy = "recompute"
    is_kv_consumer = False
