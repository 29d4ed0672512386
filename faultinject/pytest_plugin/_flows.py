"""The targets that are ready: each recorded once, its lanes kept until others need the room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from faultinject.facts import Case, Recording
from faultinject.points import point_key
from faultinject.pytest_plugin._planned import Planned, keys_of
from faultinject.sweep import CaseByCase, Judged, Options

_READY = 4
"""Targets kept ready at a time: each has a process that has imported it."""


class Flow:
    """One target: its recording, its cases by what plans name them by, and what is judged of them."""

    def __init__(self, options: Options, matrix: str) -> None:
        if matrix:
            options = msgspec.structs.replace(options, matrices=str(Path(matrix).parent))
        self.options = options
        self._flow = CaseByCase(options).__enter__()
        keys = {point_key(point): key for key, point in keys_of(self.recording.points).items()}
        self._found = {(keys[point_key(case.point)], case.fault): case for case in self._flow.cases}
        self._ahead: dict[str, Judged] = {}
        self.expects = False
        """Whether it was told which cases will be asked for."""
        self._modules = dict(self._flow.modules)

    @property
    def recording(self) -> Recording:
        return self._flow.recording

    @property
    def keys(self) -> set[str]:
        """Of every point of the recording."""
        return {key for key, _ in self._found}

    def modules_once(self) -> dict[str, str]:
        """By name, the file of each module whose lines are of interest; when asked again, nothing."""
        modules, self._modules = self._modules, {}
        return modules

    def find(self, planned: Planned) -> Case | None:
        """The case, unless the target does not make that call this time."""
        return self._found.get((planned.key, planned.fault))

    @property
    def lanes(self) -> int:
        """How many cases it runs at a time."""
        return self.options.lanes

    def expect(self, planned: Iterable[Planned]) -> None:
        """Say which cases will be asked for."""
        self.expects = True
        self._flow.expect(self._of(planned))

    def judge(self, case: Case, next_ones: Iterable[Planned]) -> Judged:
        """Judge one case, and in lanes that would be idle those that come next. Asked again, it is run again.

        Raises:
            TargetError: see `CaseByCase.judge`.
        """
        if case.id not in self._ahead:
            together = [case, *(one for one in self._of(next_ones) if one.id not in self._ahead)]
            for one, judged in zip(together, self._flow.judge(together), strict=True):
                self._ahead[one.id] = judged
        return self._ahead.pop(case.id)

    def _of(self, planned: Iterable[Planned]) -> list[Case]:
        found = {case.id: case for one in planned if (case := self.find(one)) is not None}
        return list(found.values())

    def close(self) -> None:
        self._flow.close()


class Flows:
    """The flows of a process, by what they were asked for; the one that was used longest ago goes first."""

    def __init__(self) -> None:
        self._ready: OrderedDict[bytes, Flow] = OrderedDict()

    def get(self, options: Options, matrix: str = "") -> Flow:
        """The flow of a target; made where there is none.

        Raises:
            TargetError, UsageError: see `CaseByCase`.
        """
        key = msgspec.json.encode((options, matrix))
        flow = self._ready.pop(key, None)
        if flow is None:
            while len(self._ready) >= _READY:
                self._ready.popitem(last=False)[1].close()
            flow = Flow(options, matrix)
        self._ready[key] = flow
        return flow

    def drop(self, flow: Flow) -> None:
        """End a flow whose lanes are of no more use."""
        for key in [key for key, one in self._ready.items() if one is flow]:
            del self._ready[key]
        flow.close()

    def close(self) -> None:
        while self._ready:
            self._ready.popitem()[1].close()
