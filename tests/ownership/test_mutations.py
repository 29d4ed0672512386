"""The judge is judged: with a part of `engine` deleted, the same sweeps are not clean."""

from __future__ import annotations

import ast

import pytest

from benchmarks._mutations import Mutation, mutations
from benchmarks.mutations import ROOT, judge
from tests.ownership.judged import JUDGED

MUTATIONS = tuple(mutations(ROOT / "engine"))
SEEN = [
    ("the call self._signals.hold()", "Supervised", {"masked", "leak"}),
    ("deadline=owned.deadline", "Stuck", {"hang"}),
    ("the while of owned.taken < len(owned.releases)", "Threads", {"leak"}),
]


def found(what: str) -> Mutation:
    (mutation,) = (one for one in MUTATIONS if one.what == what)
    return mutation


@pytest.mark.parametrize(("what", "target", "verdicts"), SEEN, ids=[target for _, target, _ in SEEN])
def test_a_sweep_sees_what_is_deleted_and_nothing_where_nothing_is(
    what: str, target: str, verdicts: set[str]
) -> None:
    numbers = [number for number, judged in enumerate(JUDGED) if judged.name == target]
    assert judge(None, numbers).verdict == ""
    outcome = judge(found(what), numbers)
    assert outcome.target == target
    assert outcome.verdict in verdicts


def test_every_part_of_the_transaction_has_mutations_and_all_of_them_are_python() -> None:
    assert len(MUTATIONS) >= 25
    for one in MUTATIONS:
        compile(one.source, one.file, "exec")
    files = {one.file for one in MUTATIONS}
    assert files >= {
        "_transaction.py",
        "_release.py",
        "_signals.py",
        "_processes.py",
        "_gc_state.py",
        "_core.py",
    }
    kinds = {one.what.split()[0] for one in MUTATIONS}
    assert kinds >= {"the", "deadline=owned.deadline", "escalate=None", "ownership"}


def test_a_mutation_changes_one_thing() -> None:
    text = (ROOT / "engine" / "_transaction.py").read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(text)).splitlines()
    changed = found("the call self._signals.hold()").source.splitlines()
    differs = [(old, new) for old, new in zip(plain, changed, strict=True) if old != new]
    assert differs == [("        self._signals.hold()", "        pass")]
