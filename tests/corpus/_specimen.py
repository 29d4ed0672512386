"""What a specimen is: a small constructor, what is wrong with it, and what must be said of it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

BOTH = ("RuntimeError", "KeyboardInterrupt")


@dataclass(frozen=True)
class Expect:
    """The verdict expected at the points, and with the faults, that its globs fit.

    Attributes:
        phase: ``before``, ``after``, or ``*``.
        callee: glob for ``module:qualname`` of what is called.
        fault: glob for the name of the fault.
        verdict: what the judge must say where the target is to blame, or ``clean`` or ``handled``.
        occurrence: which call of this callee, 1 for the first; ``None`` for each.
        violation: whether the case is one; a swallowed fault may be a legitimate ``handled``.
        second: glob for the second fault, empty in a case without one.
        line: glob for the text of the line that the point is in.
    """

    phase: str
    callee: str
    fault: str
    verdict: str
    occurrence: int | None = None
    violation: bool = True
    second: str = "*"
    line: str = "*"

    def fits(
        self, phase: str, callee: str, occurrence: int, fault: str, second: str = "", line: str = ""
    ) -> bool:
        """Whether it speaks of this point and fault."""
        return (
            fnmatchcase(phase, self.phase)
            and fnmatchcase(callee, self.callee)
            and fnmatchcase(fault, self.fault)
            and self.occurrence in (None, occurrence)
            and fnmatchcase(second, self.second)
            and fnmatchcase(line, self.line)
        )


@dataclass(frozen=True)
class Specimen:
    """A constructor with one known defect, or deliberately none.

    Attributes:
        target: ``module:callable``, importable with the root of the repository on ``sys.path``.
        kind: the family of the defect, the same for a specimen and its repaired twin.
        defect: one line that says what is wrong; ``""`` where nothing is.
        expected: the first that fits a point decides; a point that none fits must be clean.
        release: method of the result that gives it back.
        faults: what is to be injected, by name.
        time_limit: seconds after which a case counts as hung; ``None`` for the tool's own limit.
        second: what also happens to each release of the clean-up, if anything does.
        own: globs of frames that are the target's own, beside the outermost.
        level: at which level its points are.
    """

    target: str
    kind: str
    defect: str = ""
    expected: tuple[Expect, ...] = ()
    release: str = "close"
    faults: tuple[str, ...] = BOTH
    time_limit: float | None = None
    own: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    level: str = "steps"

    @property
    def name(self) -> str:
        """Short name for test ids."""
        return self.target.removeprefix("tests.corpus.")


def at(
    callee: str,
    verdict: str,
    *,
    phase: str = "*",
    fault: str = "*",
    occurrence: int | None = None,
    violation: bool | None = None,
    second: str = "*",
    line: str = "*",
) -> Expect:
    """An `Expect` in the order in which it reads: at this callee, this verdict."""
    guilty = verdict != "clean" if violation is None else violation
    return Expect(phase, callee, fault, verdict, occurrence, guilty, second, line)


def expectation(
    specimen: Specimen, phase: str, callee: str, occurrence: int, fault: str, second: str = "", line: str = ""
) -> Expect:
    """What is expected of one case."""
    for expect in specimen.expected:
        if expect.fits(phase, callee, occurrence, fault, second, line):
            return expect
    return at(callee, "clean")


def expected_verdict(specimen: Specimen, phase: str, callee: str, occurrence: int, fault: str) -> str:
    """The verdict expected of one case; see `expectation` for whether it is a violation."""
    return expectation(specimen, phase, callee, occurrence, fault).verdict
