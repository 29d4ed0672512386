"""Which C functions can have taken a name of somebody else's away."""

from __future__ import annotations

import _posixshmem
import os
import pathlib
from _multiprocessing import sem_unlink
from collections import deque

import pytest

from faultinject.tracking._unwinding import _removes_names


@pytest.mark.parametrize(
    "function",
    [os.unlink, os.remove, os.rmdir, os.rename, os.replace, _posixshmem.shm_unlink, sem_unlink],
    ids=lambda function: function.__name__,
)
def test_a_function_of_the_system_can_take_a_name_away(function) -> None:
    assert _removes_names(function, function.__name__)


@pytest.mark.parametrize(
    "function",
    [[].remove, deque().remove, "".replace, str.replace, list.remove, (lambda: 0).__code__.replace],
    ids=lambda function: function.__qualname__,
)
def test_a_method_that_is_called_alike_cannot(function) -> None:
    assert not _removes_names(function, function.__name__)


def test_nor_can_any_other_function() -> None:
    assert not _removes_names(os.close, "close")
    assert not _removes_names(pathlib.Path.exists, "exists")
