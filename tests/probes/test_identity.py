from __future__ import annotations

import weakref

from faultinject.probes._identity import name_of, serial


class _Thing:
    def method(self):
        pass

    def __getattr__(self, name):
        raise AssertionError("asked")


def test_a_reused_address_is_not_a_reused_number():
    numbers = [serial(_Thing()) for _ in range(50)]
    assert len(set(numbers)) == 50


def test_a_number_stays_and_keeps_nothing_alive():
    thing = _Thing()
    assert serial(thing) == serial(thing)
    reference = weakref.ref(thing)
    del thing
    assert reference() is None


def test_naming_an_object_runs_none_of_its_code():
    assert name_of(_Thing()).endswith("_Thing>")
    assert name_of(_Thing().method).endswith("._Thing.method")
    assert name_of(len) == "builtins.len"
    assert name_of(_Thing).endswith("._Thing")
