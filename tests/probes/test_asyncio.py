from __future__ import annotations

import asyncio

from faultinject.probes._asyncio import Asyncio


def test_a_loop_that_is_set_is_seen_until_it_is_closed(in_fork):
    def there():
        probe = Asyncio()
        before = list(probe.snapshot())
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        open_ = [item.group for item in probe.snapshot().values()]
        loop.close()
        return [before, open_, list(probe.snapshot())]

    assert in_fork(there) == [[], ["event loop _UnixSelectorEventLoop"], []]


def test_a_pending_task_is_seen_with_its_loop_until_it_is_done():
    probe = Asyncio()
    before = probe.snapshot()
    loop = asyncio.new_event_loop()
    task = loop.create_task(asyncio.sleep(0), name="fetch-12")
    seen = {item.group for key, item in probe.snapshot().items() if key not in before}
    assert seen == {"task fetch-#", "event loop _UnixSelectorEventLoop"}
    loop.run_until_complete(task)
    loop.close()
    assert probe.snapshot() == before


def test_a_running_loop_is_seen_from_within_and_from_a_fork(in_fork):
    probe = Asyncio()

    async def main():
        mine = probe.snapshot()
        assert {item.group for item in mine.values()} == {"task main", "event loop _UnixSelectorEventLoop"}
        assert in_fork(lambda: sorted(probe.snapshot())) == sorted(mine)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(loop.create_task(main(), name="main"))
    loop.close()


def test_asking_makes_no_loop(in_fork):
    assert in_fork(lambda: [list(Asyncio().snapshot()), list(Asyncio().snapshot())]) == [[], []]
