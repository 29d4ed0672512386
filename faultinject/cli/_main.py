"""The entry point: exit statuses, and one line for each thing that can be wrong."""

from __future__ import annotations

import os
import signal
import sys
import time

from faultinject.cli._app import app
from faultinject.cli._errors import tell
from faultinject.errors import FaultinjectError


class _Terminated(BaseException):
    """SIGTERM arrived."""


_CLEANING = 30.0
"""Seconds after a first signal in which a further one is not heard: the clean-up is bounded, and must not be
interrupted."""

_stopped_at: list[float] = []


def _stop(number: int, frame: object) -> None:
    now = time.monotonic()
    if _stopped_at and now - _stopped_at[-1] < _CLEANING:
        return
    _stopped_at.append(now)
    raise KeyboardInterrupt if number == signal.SIGINT else _Terminated


def main() -> None:
    """Entry point: exit statuses, and one line for each thing that can be wrong."""
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)
    status = 0
    try:
        outcome = app(prog_name="faultinject", standalone_mode=False)
        status = outcome if isinstance(outcome, int) else 0
    except FaultinjectError as error:
        tell(error)
        status = 2
    except KeyboardInterrupt:
        status = _interrupted()
    except _Terminated:
        print("faultinject: terminated; nothing was left running", file=sys.stderr)
        status = 143
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except OSError as error:
        print(f"faultinject: the system refused something that a sweep needs: {error}", file=sys.stderr)
        status = 2
    except Exception as error:
        # Abort is what click makes of a KeyboardInterrupt.
        status = _interrupted() if type(error).__name__ == "Abort" else _wrong_request(error)
    if _stopped_at:
        # The interpreter takes its own handlers out on its way out: one more Ctrl-C would change the status.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    sys.exit(status)


def _interrupted() -> int:
    print("faultinject: interrupted; nothing was left running", file=sys.stderr)
    return 130


def _wrong_request(error: Exception) -> int:
    """Show one of click's own errors (a wrong option, a missing argument) as a line."""
    text = getattr(error, "format_message", None)
    if text is None:
        raise error
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return 2
    how = f"; `{context.command_path} --help` lists what there is" if context is not None else ""
    print(f"faultinject: {text().rstrip('.')}{how}", file=sys.stderr)
    return 2
