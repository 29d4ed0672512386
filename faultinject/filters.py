"""Which of the fault points are to be swept.

A pattern is a plain name or a glob (``*``, ``?``, ``[...]``). A plain module name stands for the module and
everything in its package; a plain qualified name for every name that holds it as whole dotted parts
(``Scheduler`` fits ``Scheduler.__init__``, ``load_model`` fits ``Worker.load_model``). Both are looked
for in the caller and the callee of a point; ``caller=`` or ``callee=`` in front limits a pattern to one.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from faultinject.errors import UsageError
from faultinject.facts import Phase, Point
from faultinject.points import PHASES, module_of, point_key, qualname_of

SIDES: Final = ("caller=", "callee=")


class PointFilter(msgspec.Struct, frozen=True):
    """A choice of fault points; the empty one chooses all.

    A point is chosen if it fits one of the includes of each kind given, none of the excludes, every
    `stack_has`, no `stack_lacks`, and one of the phases.

    Attributes:
        modules: modules to include.
        exclude_modules: modules to leave out.
        names: qualified names to include, with or without ``module:`` in front.
        exclude_names: qualified names to leave out.
        stack_has: names of frames that the stack from the target to the point must hold.
        stack_lacks: names of frames that it must not hold.
        phases: phases to include; empty for both.
    """

    modules: tuple[str, ...] = ()
    exclude_modules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    exclude_names: tuple[str, ...] = ()
    stack_has: tuple[str, ...] = ()
    stack_lacks: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()

    def __post_init__(self) -> None:
        for option, patterns in self._patterns():
            for pattern in patterns:
                if not _split_side(pattern)[1].strip():
                    raise UsageError(f"--{option} {pattern!r} is empty: give a name or a glob")
        for phase in self.phases:
            if phase not in PHASES:
                raise UsageError(f"unknown phase {phase!r}: choose from {', '.join(PHASES)}")

    def matches(self, point: Point, stack: Sequence[str] = ()) -> bool:
        """Whether the point is chosen.

        Args:
            point: the point.
            stack: ``module:qualname`` of the frames from the target to the point, target first. Where
                it is empty the point's own stack and caller are taken.
        """
        frames = tuple(stack) or (*point.stack, point.caller)
        return (
            (not self.phases or point.phase in self.phases)
            and (not self.modules or any(_module_fits(p, point) for p in self.modules))
            and (not self.names or any(_name_fits(p, point) for p in self.names))
            and not any(_module_fits(p, point) for p in self.exclude_modules)
            and not any(_name_fits(p, point) for p in self.exclude_names)
            and all(_frame_fits(p, frames) for p in self.stack_has)
            and not any(_frame_fits(p, frames) for p in self.stack_lacks)
        )

    def apply(
        self, points: Sequence[Point], stacks: Mapping[str, tuple[str, ...]] | None = None
    ) -> tuple[Point, ...]:
        """The points chosen, in their order.

        Args:
            points: all of the recording.
            stacks: by `point_key`, the frames from the target to the point, target first.

        Raises:
            UsageError: one filter fits no point at all, or all of them together leave none.
        """
        known = {} if stacks is None else stacks
        frames = [known.get(point_key(point), ()) or (*point.stack, point.caller) for point in points]
        self._check(points, frames)
        chosen = tuple(p for p, stack in zip(points, frames, strict=True) if self.matches(p, stack))
        if points and not chosen:
            raise UsageError(
                f"the filters together leave none of {len(points)} fault points: {self.describe()}; drop one"
            )
        return chosen

    def describe(self) -> str:
        """The filters as options of the command line; empty for none."""
        options = [f"--{option} {p}" for option, patterns in self._patterns() for p in patterns]
        if self.phases:
            options.append(f"--phases {','.join(self.phases)}")
        return " ".join(options)

    def _patterns(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return (
            ("module", self.modules),
            ("exclude-module", self.exclude_modules),
            ("name", self.names),
            ("exclude-name", self.exclude_names),
            ("stack-has", self.stack_has),
            ("stack-lacks", self.stack_lacks),
        )

    def _check(self, points: Sequence[Point], frames: Sequence[tuple[str, ...]]) -> None:
        fits: Callable[[str, Point, tuple[str, ...]], bool]
        for option, patterns in self._patterns():
            if option.endswith("module"):
                fits, candidates = (lambda p, point, _: _module_fits(p, point)), _modules(points)
            elif option.endswith("name"):
                fits, candidates = (lambda p, point, _: _name_fits(p, point)), _names(points)
            else:
                fits = lambda p, _, stack: _frame_fits(p, stack)  # noqa: E731 - three of one shape
                candidates = {frame for stack in frames for frame in stack}
            for pattern in patterns:
                if not any(fits(pattern, p, s) for p, s in zip(points, frames, strict=True)):
                    raise UsageError(_nothing(option, pattern, len(points), candidates))
        for phase in self.phases:
            if not any(point.phase == phase for point in points):
                raise UsageError(f"--phases {phase} fits none of {len(points)} fault points")


def _split_side(pattern: str) -> tuple[str, str]:
    for side in SIDES:
        if pattern.startswith(side):
            return side, pattern[len(side) :]
    return "", pattern


def _ends(side: str, point: Point) -> Iterable[str]:
    if side != "callee=":
        yield point.caller
    if side != "caller=":
        yield point.callee


def _is_glob(pattern: str) -> bool:
    return any(sign in pattern for sign in "*?[")


def _module_fits(pattern: str, point: Point) -> bool:
    side, wanted = _split_side(pattern)
    return any(_is_in_module(module_of(name), wanted) for name in _ends(side, point))


def _is_in_module(module: str, wanted: str) -> bool:
    if _is_glob(wanted):
        return fnmatch.fnmatchcase(module, wanted)
    return module == wanted or module.startswith(f"{wanted}.")


def _name_fits(pattern: str, point: Point) -> bool:
    side, wanted = _split_side(pattern)
    return any(_is_named(name, wanted) for name in _ends(side, point))


def _is_named(name: str, wanted: str) -> bool:
    subject = name if ":" in wanted else qualname_of(name)
    # `<locals>` and `<lambda>` hold no glob signs, a subscripted class would: an exact match comes first.
    if subject == wanted:
        return True
    if _is_glob(wanted):
        return fnmatch.fnmatchcase(subject, wanted)
    if ":" in wanted:
        return subject.startswith(f"{wanted}.")
    return f".{wanted}." in f".{subject}."


def _frame_fits(pattern: str, frames: Iterable[str]) -> bool:
    return any(_is_named(frame, pattern) for frame in frames)


def _modules(points: Iterable[Point]) -> set[str]:
    return {module_of(name) for point in points for name in (point.caller, point.callee)} - {""}


def _names(points: Iterable[Point]) -> set[str]:
    return {name for point in points for name in (point.caller, point.callee)}


def _nothing(option: str, pattern: str, total: int, candidates: set[str]) -> str:
    _, wanted = _split_side(pattern)
    bare = {name if ":" in wanted or "module" in option else qualname_of(name) for name in candidates}
    near = difflib.get_close_matches(wanted.strip("*?"), sorted(bare), n=3, cutoff=0.5)
    hint = f"; near: {', '.join(near)}" if near else ""
    return f"--{option} {pattern} fits none of {total} fault points{hint}"
