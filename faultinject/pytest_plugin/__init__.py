"""The pytest plugin, entry point ``faultinject`` of the group ``pytest11``. PYTEST_DONT_REWRITE

Whoever installs faultinject has this module loaded by every pytest run of that environment. So it imports
nothing but pytest, and has only the hooks that tell whether the plugin is wanted; what does the work is
imported and registered when the first test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from faultinject.ledger import resource_ledger as Ledger
    from faultinject.pytest_plugin._cases import FaultCase
    from faultinject.pytest_plugin._inject import Inject
    from faultinject.pytest_plugin._sweeping import FaultSweep

OPTIONS = (
    ("level", "LEVEL", "how fine the fault points are: steps, sites, stacks, opcodes, nth"),
    ("faults", "NAMES", "comma-separated faults; `faultinject faults` lists them"),
    ("runner", "RUNNER", "auto, fork, zygote or spawn"),
    ("jobs", "N", "cases at a time; 0 for one a core, and for one in a worker of pytest-xdist"),
    ("time-limit", "SECONDS", "seconds that a case may take; 0 to derive it"),
    ("matrices", "FOLDER", "where the committed lifecycle matrices are (default: matrices)"),
    ("baseline", "WHAT", "none, matrix or gate: what the committed file excuses is an expected failure"),
    ("budget", "N", "at most N cases of each test, the shallowest first; 0 for all"),
    ("seed", "SEED", "of the budget's sample: a number, or random"),
    ("durations", "N", "show the N slowest cases; 0 for all"),
)
"""Name, placeholder and help of each setting that is an option (``--faultinject-NAME``) and an ini setting
(``faultinject_NAME``) alike."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faultinject", "fault injection")
    for name, placeholder, text in OPTIONS:
        group.addoption(f"--faultinject-{name}", metavar=placeholder, default=None, help=text)
        parser.addini(f"faultinject_{name.replace('-', '_')}", text, default="")
    group.addoption(
        "--faultinject-case", metavar="ID", default=None,
        help="run only this case of the blocks of `fault_sweep`",
    )  # fmt: skip
    group.addoption(
        "--faultinject-cov", metavar="MODULES", nargs="?", const="", default=None,
        help="show which lines of clean-ups ran under some fault, in the target's package or these modules",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "faultinject(target, level, faults, ...): one test for each place at which the target can fail "
        "and each fault; without a target, settings of the `fault_sweep` in the test's body",
    )
    if hasattr(config, "workerinput"):
        return  # The process that started this one has looked.
    wanted = _is_set(config)
    if wanted:
        from faultinject.pytest_plugin._settings import check_run

        check_run(config)
    # Where tests are only collected, pytest-xdist starts no worker.
    if getattr(config.option, "dist", "no") != "no" and not config.option.collectonly:
        from faultinject.pytest_plugin._xdist import ControllerHooks

        config.pluginmanager.register(ControllerHooks(config, wanted), "faultinject controller")
    elif wanted:
        from faultinject.pytest_plugin._session import session_of

        session_of(config)


def _is_set(config: pytest.Config) -> bool:
    """Whether the command line or the ini file says anything of this plugin."""
    for name, _, _ in OPTIONS:
        key = f"faultinject_{name.replace('-', '_')}"
        if config.getoption(key) is not None or config.getini(key):
            return True
    return any(config.getoption(f"faultinject_{name}") is not None for name in ("case", "cov"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of a class of `unittest`, pytest makes no parameters: a marked test in it would pass, nothing tried."""
    report = yield
    if isinstance(collector, pytest.Class) and report.passed:
        for item in report.result:
            mark = None if hasattr(item, "callspec") else item.get_closest_marker("faultinject")
            if mark is not None and "fault_sweep" not in getattr(item, "fixturenames", ()):
                report.outcome = "failed"
                report.longrepr = (
                    f"faultinject: {item.nodeid}: a method of a unittest.TestCase takes no mark: make it a "
                    "function, or a method of a class of its own"
                )
                report.result = []
                break
    return report


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("faultinject")
    if mark is not None:
        from faultinject.pytest_plugin._collect import generate

        generate(metafunc, mark)


@pytest.fixture
def fault_case(request: pytest.FixtureRequest) -> FaultCase:
    """The case of this test, judged before the body of the test begins."""
    from faultinject.pytest_plugin._cases import case_of

    return case_of(request)


@pytest.fixture
def fault_sweep(request: pytest.FixtureRequest) -> FaultSweep:
    """``with fault_sweep() as sweep:`` makes the block the target, and sweeps it."""
    from faultinject.pytest_plugin._sweeping import sweep_of

    return sweep_of(request)


@pytest.fixture
def resource_ledger() -> type[Ledger]:
    """``with resource_ledger():`` fails the test if the block leaves anything behind."""
    from faultinject.ledger import resource_ledger as ledger

    return ledger


@pytest.fixture
def inject() -> Iterator[Inject]:
    """``inject("module:callable", fault)`` makes one call fail; taken back after the test."""
    from faultinject.pytest_plugin._inject import Inject

    with Inject() as one:
        yield one
