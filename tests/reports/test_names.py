from __future__ import annotations

import pytest

from faultinject.reports._names import broken


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("Engine.__init__", 15, ["Engine.__init__"]),
        ("Engine.__init__", 14, ["Engine.", "__init__"]),
        ("set_up_once", 9, ["set_up_", "once"]),
        ("executor, self.pool", 12, ["executor,", "self.pool"]),
        ("executor, self.pool", 8, ["executor", ", self.", "pool"]),
        ("_PollLikeSelector.register", 10, ["_PollLikeS", "elector.", "register"]),
        ("f.<locals>.g", 5, ["f.<lo", "cals>", ".g"]),
        ("outside any call", 12, ["outside any", "call"]),
        ("\u4e00\u4e01\u4e02", 4, ["\u4e00\u4e01", "\u4e02"]),
        ("_____", 3, ["___", "__"]),
        ("", 3, [""]),
        ("ab", 1, ["a", "b"]),
    ],
)
def test_names_are_broken_at_blanks_then_dots_then_underscores_then_anywhere(
    text: str, width: int, lines: list[str]
) -> None:
    assert broken(text, width) == lines
