"""A pure-Python constructor that makes ten calls of its own, and owns nothing a probe can see."""

from __future__ import annotations


class Part:
    def __init__(self, number: int) -> None:
        self.number = number


class TenSteps:
    def __init__(self) -> None:
        self.a = Part(1)
        self.b = Part(2)
        self.c = Part(3)
        self.d = Part(4)
        self.e = Part(5)
        self.f = Part(6)
        self.g = Part(7)
        self.h = Part(8)
        self.i = Part(9)
        self.j = Part(10)

    def close(self) -> None:
        """Nothing to give back."""
