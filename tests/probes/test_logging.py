from __future__ import annotations

import logging
import logging.config

import pytest

from faultinject.probes._logging import Logging


def _changed(probe, before):
    after = probe.snapshot()
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


@pytest.fixture
def logger():
    return logging.getLogger("tests.probes.sample")


def test_a_handler_is_seen_at_its_logger_and_in_the_registry_until_it_is_closed(logger):
    probe = Logging()
    before = probe.snapshot()
    handler = logging.StreamHandler()
    logger.addHandler(handler)
    seen = _changed(probe, before)
    logger.removeHandler(handler)
    handler.close()
    del handler
    assert seen == ["logger tests.probes.sample", "shutdown registry"]
    assert not _changed(probe, before)


def test_a_level_a_switch_and_a_filter_are_seen_until_they_are_set_back(logger):
    probe = Logging()
    before = probe.snapshot()
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addFilter(bool)
    value = probe.snapshot()["logger tests.probes.sample"].value
    logger.setLevel(logging.NOTSET)
    logger.propagate = True
    logger.removeFilter(bool)
    assert value.startswith("level=DEBUG propagate=False filters=builtins.bool")
    assert not _changed(probe, before)


def test_a_logger_that_was_only_asked_for_changes_nothing():
    probe = Logging()
    before = probe.snapshot()
    logging.getLogger("tests.probes.never.asked.before")
    assert not _changed(probe, before)


def test_a_registry_that_dict_config_emptied_is_seen(tmp_path, in_fork):
    def there():
        root = logging.FileHandler(tmp_path / "kept.log")
        logging.getLogger().addHandler(root)
        probe = Logging()
        before = probe.snapshot()
        handlers = {
            "one": {"class": "logging.FileHandler", "filename": str(tmp_path / "one.log")},
            "two": {"class": "logging.FileHandler", "filename": str(tmp_path / "no such" / "two.log")},
        }
        try:
            logging.config.dictConfig(
                {"version": 1, "handlers": handlers, "root": {"handlers": ["one", "two"]}}
            )
        except ValueError:
            return [before["shutdown registry"].value, _changed(probe, before)]

    registry, changed = in_fork(there)
    assert "FileHandler" in registry
    assert "shutdown registry" in changed


def test_a_fork_sees_the_same_and_changes_its_own_only(logger, in_fork):
    probe = Logging()
    before = probe.snapshot()

    def there():
        same = probe.snapshot() == before
        logger.addHandler(logging.NullHandler())
        return [same, "logger tests.probes.sample" in _changed(probe, before)]

    assert in_fork(there) == [True, True]
    assert not _changed(probe, before)
