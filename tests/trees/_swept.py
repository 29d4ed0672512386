"""Sweeps of `tests.trees.starts` through everything but the command line."""

from __future__ import annotations

from pathlib import Path

from faultinject.facts import CaseResult
from faultinject.filters import PointFilter
from faultinject.sweep import Options
from faultinject.targets import TargetSpec
from faultinject.trees import TreePool, TreeSweep
from tests.sweep._collected import Collected

Places = dict[str, tuple[str, str, str]]
"""Name of a milestone -> the role, the function in `tests.trees.starts`, the phase."""

ROLES = '{ engine = "process:Engine", "worker[*]" = "process:Worker-*" }'
PLACES: Places = {
    "connecting": ("engine", "connect", "before"),
    "workers started": ("engine", "started", "after"),
    "cleaning up": ("engine", "clean_up", "before"),
    "loading": ("worker", "load", "before"),
}


def write_target(
    directory: Path,
    *flaws: str,
    method: str = "fork",
    what: str = "Start",
    places: Places = PLACES,
    environment: dict[str, str] | None = None,
) -> TargetSpec:
    """A pyproject.toml with a target called ``start``, which has the flaws."""
    milestones = ", ".join(
        f'{{ role = "{role}", name = "{name}", at = "tests.trees.starts:{function}", phase = "{phase}" }}'
        for name, (role, function, phase) in places.items()
    )
    variables = ", ".join(f'{name} = "{value}"' for name, value in (environment or {}).items())
    kwargs = f'kwargs = {{ method = "{method}" }}\n' if what == "Start" else ""
    (directory / "pyproject.toml").write_text(
        f'[tool.faultinject.targets.start]\ncallable = "tests.trees.starts:{what}"\n'
        f"args = {list(flaws)!r}\n{kwargs}roles = {ROLES}\nmilestones = [{milestones}]\n"
        f"environment = {{ {variables} }}\n"
    )
    return TargetSpec("start", directory=str(directory))


class _Sweep(TreeSweep):
    private = True

    def _pool(self) -> TreePool:
        options = self.options
        return TreePool(options.target, fresh=options.runner == "spawn", private=self.private)


def swept(
    spec: TargetSpec,
    fault: str,
    *places: str,
    deadline: float = 3.0,
    private: bool = True,
    runner: str = "auto",
) -> Collected:
    """Sweep the milestones called `places`, or all, with one fault or several."""
    collected = Collected()
    options = Options(
        target=spec,
        level="milestones",
        faults=tuple(fault.split(",")),
        filter=PointFilter(names=tuple(f"callee={place}" for place in places)),
        deadline=deadline,
        repeats=1,
        runner=runner,  # type: ignore[arg-type]
    )
    sweep = _Sweep(options, collected)
    sweep.private = private
    sweep.run()
    return collected


def one_of(collected: Collected, role: str) -> CaseResult:
    """The one case at the milestone of that role."""
    found = [r for r in collected.results.values() if r.point.caller == role]
    assert len(found) == 1, found
    return found[0]
