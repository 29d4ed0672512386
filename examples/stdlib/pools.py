"""Targets that start several workers: multiprocessing's pools and the executors of concurrent.futures.

The two executors start their workers in `submit`, not in their constructor, so the target here is a
construction followed by the first `submit`. Where that fails, the target does its own part (it shuts
down what it constructed), so whatever is left is the executor's.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import Pool

_WORKERS = 3


def stop_pool(pool: Pool) -> None:
    """Terminate a pool and wait for its workers and its three threads."""
    pool.terminate()
    pool.join()


def process_executor() -> ProcessPoolExecutor:
    """Construct a process executor and submit one job (row M20)."""
    executor = ProcessPoolExecutor(_WORKERS, mp_context=multiprocessing.get_context("fork"))
    try:
        executor.submit(pow, 2, 5)
    except BaseException:
        executor.shutdown(wait=True)
        raise
    return executor


_executors: dict[int, ThreadPoolExecutor] = {}


def lent_executor() -> ThreadPoolExecutor:
    """The one thread executor of this process, made before the target runs."""
    if os.getpid() not in _executors:
        _executors[os.getpid()] = ThreadPoolExecutor(1)
    return _executors[os.getpid()]


def _open_descriptor() -> int:
    return os.open(os.devnull, os.O_RDONLY)


def opened_by_thread(executor: ThreadPoolExecutor) -> int:
    """Have a lent executor open a descriptor (row M23).

    A rejected job that runs all the same when the next one is accepted leaves nothing behind at the
    time of the failure. It shows in the second, unharmed construction: that one holds two
    descriptors where the first, unharmed one held one.
    """
    return executor.submit(_open_descriptor).result()


def close_and_stop(descriptor: int) -> None:
    """Close the descriptor and end the lent executor; the next construction is lent a new one."""
    os.close(descriptor)
    _executors.pop(os.getpid()).shutdown()
