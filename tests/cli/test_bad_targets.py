"""A target that cannot be swept: one clear line, status 2, the target's own traceback where there is one."""

from __future__ import annotations

import pytest

from tests.cli._command import Command, one_line

TARGETS = """
import os, threading

value = 3

def helper(): pass

class Needs:
    def __init__(self, port): pass

class Fails:
    def __init__(self):
        helper()
        raise LookupError("nothing is here")

async def fails_later():
    helper()
    raise LookupError("nothing is here")

class Hangs:
    def __init__(self):
        helper()
        threading.Event().wait()

class Changes:
    def __init__(self):
        made = {"__name__": "changing"}
        name = "f" + os.urandom(4).hex()
        exec(f"def {name}(): pass", made)
        made[name]()

class Silent:
    def __init__(self):
        self.a = 1

class Exits:
    def __init__(self):
        helper()
        os._exit(3)

class NeedsAtRelease:
    def __init__(self): helper()
    def close(self): pass
"""


@pytest.fixture
def bad(command: Command) -> Command:
    command.write("bad.py", TARGETS)
    command.write("broken.py", "import os\nraise ArithmeticError('no import today')\n")
    command.write("leaves.py", "import os\nos._exit(4)\n")
    command.write("quits.py", "raise SystemExit('I am a script')\n")
    return command


CASES = [
    (["nowhere:Thing"], ["no module 'nowhere'"]),
    (["bad:nothing"], ["bad has no 'nothing'", "check the name"]),
    (["bad:Hang"], ["bad has no 'Hang'", "Hangs"]),
    (["bad"], ["bad"]),
    (["a b:c"], ["module:callable"]),
    (["bad:value"], ["cannot be called"]),
    (["bad:Needs"], ["needs arguments (port)"]),
    (["bad:Exits"], ["status 3 without any fault"]),
    (["bad:Silent"], ["no fault point at level steps", "--level opcodes"]),
    (["bad:Silent", "--level", "sites"], ["no fault point at level sites", "--level opcodes"]),
    (["bad:Changes"], ["unstable", "changed in each of 5 runs", "changing:f", "--exclude-name"]),
    (["leaves:Thing"], ["ended the process that did it"]),
    (["bad:NeedsAtRelease", "--release", "shut"], ["no method 'shut'", "--release"]),
    (["bad:NeedsAtRelease", "--release", "nowhere:shut"], ["--release nowhere:shut", "No module named"]),
    (["bad:NeedsAtRelease", "--release", "bad:shut"], ["--release bad:shut", "no attribute 'shut'"]),
    (["light:Light", "-C", "gone"], ["no directory", "gone"]),
]


@pytest.mark.parametrize(("arguments", "words"), CASES, ids=[" ".join(arguments) for arguments, _ in CASES])
def test_a_target_that_cannot_be_swept_is_said_in_one_line(
    bad: Command, arguments: list[str], words: list[str]
) -> None:
    done = bad.run("sweep", *arguments)
    assert done.returncode == 2
    line = one_line(done.stderr)
    assert all(word in line for word in words), line
    assert "Traceback" not in done.stderr
    assert bad.left() == []


@pytest.mark.parametrize("target", ["bad:Fails", "bad:fails_later"])
def test_a_target_that_fails_without_a_fault_shows_its_own_traceback(bad: Command, target: str) -> None:
    done = bad.run("sweep", target)
    assert done.returncode == 2
    assert "fails without any fault: LookupError: nothing is here" in one_line(done.stderr)
    assert 'raise LookupError("nothing is here")' in done.stderr
    assert bad.left() == []


@pytest.mark.parametrize(("target", "words"), [("broken:X", "no import today"), ("quits:X", "I am a script")])
def test_a_module_that_does_not_import_shows_its_own_traceback(bad: Command, target: str, words: str) -> None:
    done = bad.run("sweep", target)
    assert done.returncode == 2
    assert words in one_line(done.stderr)
    assert f'{target.partition(":")[0]}.py", line' in done.stderr


@pytest.mark.parametrize(("runner", "limit"), [("zygote", "1"), ("spawn", "2")])
def test_a_target_that_hangs_without_a_fault_is_ended_and_shows_where(
    bad: Command, runner: str, limit: str
) -> None:
    done = bad.run("sweep", "bad:Hangs", "--time-limit", limit, "--runner", runner)
    assert done.returncode == 2
    assert "hangs without any fault" in one_line(done.stderr)
    assert 'bad.py", line 23 in __init__' in done.stderr
    assert bad.left() == []


@pytest.mark.parametrize("command_name", ["discover", "matrix"])
def test_the_other_commands_refuse_it_alike(bad: Command, command_name: str) -> None:
    done = bad.run(command_name, "bad:Fails")
    assert done.returncode == 2
    assert "fails without any fault" in one_line(done.stderr)
