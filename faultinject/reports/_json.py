"""The JSON report: written case by case, a valid document at every moment.

A case is written over the closing brackets of the document, followed by those brackets again, in one
``pwrite``. What was there grows and never shrinks, so no truncation lies in between: whoever reads the
file, or kills the sweep, finds the cases so far. The cost of a case is its own size, and nothing of it is
kept in memory. (Replacing the file atomically at each case would be quadratic; JSON lines would not be the
one document the schema promises.) A write that comes up short, on a full disk, is undone to the last
whole case.

Linux writes page by page, and a SIGKILL ends a write between two of them (``generic_perform_write`` in
mm/filemap.c asks ``fatal_signal_pending`` before each). Such a file ends with a page, in the middle of its
last case, and `read_report` closes it before that case.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from faultinject._reading import REPORT_LIMIT, check_ids, decode_json, lowered, place, quoted, read_bytes
from faultinject.errors import UsageError
from faultinject.facts import CaseResult, Level, Point, Recording, Summary
from faultinject.points import point_key
from faultinject.reports._protocol import Environment
from faultinject.reports._words import counted

SCHEMA: Final = "faultinject-report/1"

T = TypeVar("T")

_CLOSE: Final = b"\n]\n}\n"
_PAGE: Final = 4096
"""Bytes; pages of other sizes are multiples of it."""
_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


class Report(msgspec.Struct, frozen=True):
    """A report as it stands in its file. Fields unknown to this version are passed over.

    Attributes:
        recording: what the unharmed run showed, with ``points`` left empty: they stand beside it.
        cases: in the order in which they were judged; of an id that stands twice, the later one.
        summary: absent from a sweep that was killed.
    """

    schema: str
    target: str
    level: Level
    environment: Environment
    points: tuple[Point, ...]
    cases: tuple[CaseResult, ...]
    recording: Recording | None = None
    summary: Summary | None = None

    @property
    def complete(self) -> bool:
        """Whether the sweep came to its end."""
        return self.summary is not None and self.summary.complete

    def full_recording(self) -> Recording:
        """The recording with its points."""
        if self.recording is None:
            return Recording(target=self.target, level=self.level, points=self.points, steps=(), owned=())
        return msgspec.structs.replace(self.recording, points=self.points)


class _Head(msgspec.Struct):
    schema: str = ""


class JsonReporter:
    """Writes the JSON report.

    Args:
        path: the file. It is replaced at `start`, in one step, by a document that already holds the
            cases in `earlier`, so resuming a report onto itself never loses what it had.
        earlier: cases of the report that is being resumed.
    """

    def __init__(self, path: Path, *, earlier: Sequence[CaseResult] = ()) -> None:
        self.path = path
        self._earlier = tuple(earlier)
        self._fd = -1
        self._end = 0
        """Offset at which the next case goes: where the closing brackets begin."""
        self._close = _CLOSE
        self._count = 0
        self._ids: set[str] = set()
        self._said_again = False
        self._started: tuple[Recording, Environment] | None = None

    def start(self, recording: Recording, environment: Environment, total: int) -> None:
        """Write everything but the new cases.

        Raises:
            UsageError: the file cannot be written.
        """
        self.close()
        self._started = (recording, environment)
        self._ids.clear()
        self._said_again = False
        part = self.path.with_name(f".{self.path.name}.part")
        head = _head(recording, environment)
        try:
            self._fd = os.open(part, _CREATE, 0o666)
            self._end, self._count, self._close = 0, 0, _CLOSE
            self._put(head)
            for result in self._earlier:
                self.case(result)
            os.replace(part, self.path)
        except BaseException as error:
            self.close()
            with contextlib.suppress(OSError):
                part.unlink()
            if isinstance(error, OSError):
                raise self._cannot(error) from error
            raise

    def case(self, result: CaseResult) -> None:
        """Append a case.

        Raises:
            UsageError: the disk is full or the file went bad; what was written before is kept whole.
        """
        self._said_again = self._said_again or result.id in self._ids
        self._ids.add(result.id)
        separator = b",\n" if self._count else b"\n"
        self._put(separator + encode(result))
        self._count += 1

    def progress(self, stage: str, done: int, total: int) -> None:
        """Not reported: a file holds cases only."""

    def finish(self, summary: Summary) -> None:
        """Add the summary and close the file.

        Raises:
            UsageError: it cannot be written.
        """
        self._close = b'\n],\n"summary": ' + encode(summary) + b"\n}\n"
        self._put(b"")
        # An interruption may have come between the writing of a case and its being counted.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, self._end + len(self._close))
        self.close()
        if self._said_again and self._started is not None:
            # Confirmed and repeated cases stand there more than once; a finished report says each once.
            once = JsonReporter(self.path, earlier=read_report(self.path).cases)
            try:
                once.start(*self._started, total=0)
                once.finish(summary)
            finally:
                once.close()

    def close(self) -> None:
        """Close the file, whole as it is."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _put(self, text: bytes) -> None:
        if self._fd < 0:
            raise RuntimeError("the report is not open: start() comes first")
        left = -(self._end + len(text)) % _PAGE
        if left < len(self._close):
            # Brackets on two pages could be left half overwritten by a write that is ended between these.
            text += b" " * left
        data = text + self._close
        try:
            written = os.pwrite(self._fd, data, self._end)
            if written < len(data):
                # The second try names the reason of a short first one: ENOSPC, EFBIG or EDQUOT.
                written += os.pwrite(self._fd, data[written:], self._end + written)
            if written < len(data):
                raise OSError("the disk took only a part of it")
        except OSError as error:
            self._undo()
            raise self._cannot(error) from error
        self._end += len(text)

    def _undo(self) -> None:
        try:
            os.ftruncate(self._fd, self._end)
            os.pwrite(self._fd, _CLOSE, self._end)
        except OSError:
            pass  # the report of the first error matters more; read_report says what is wrong with the file

    def _cannot(self, error: OSError) -> UsageError:
        kept = f"; {counted(self._count, 'case')} kept" if self._count else ""
        return UsageError(f"cannot write the report {self.path}: {error.strerror or error}{kept}")


def read_report(path: Path) -> Report:
    """Read a report, of a finished sweep or of one that was cut short.

    Raises:
        UsageError: no such file, too large a one, no whole JSON document, another schema, a key that is there
            twice, a field that is missing or of the wrong type, or an id that is none; one line with what,
            where and what to do.
    """
    return checked(read_document(path, {SCHEMA: Report}), path)


def read_document(path: Path, types: Mapping[str, type[T]]) -> T:
    """Read a document whose `schema` says what it is; see `checked` for what that leaves open.

    Args:
        path: the file.
        types: what a document is, by each schema that is taken.

    Raises:
        UsageError: as of `read_report`.
    """
    data = read_bytes(path, "report", REPORT_LIMIT)
    name = place(path)
    try:
        data, head = _closed(data)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} is no faultinject report: {lowered(error)}") from None
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{name} is no whole JSON document: {lowered(error)}{_position(data, str(error))}: sweep again"
        ) from None
    if head.schema not in types:
        what = f"of schema {quoted(head.schema)}" if head.schema else "without a schema"
        taken = " or ".join(map(repr, types))
        raise UsageError(f"{name} is a report {what}, this faultinject reads {taken}: sweep again")
    try:
        return msgspec.json.decode(data, type=types[head.schema])
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} does not follow {head.schema}: {lowered(error)}: sweep again") from None


def _closed(data: bytes) -> tuple[bytes, _Head]:
    """A document and its head; one that was cut between two pages ends with the last case that is whole.

    Raises:
        msgspec.DecodeError: as of `decode_json`.
    """
    try:
        return data, decode_json(data, _Head)
    except msgspec.DecodeError:
        if not data or len(data) % _PAGE:
            raise
        last_line = data.rfind(b"\n")
        for whole in (
            data + b"}\n",  # cut behind the summary
            data.removesuffix(b",") + _CLOSE,  # behind a case
            data[:last_line].removesuffix(b",").removesuffix(b"\n]") + _CLOSE,  # within one
        ):
            with contextlib.suppress(msgspec.DecodeError):
                head = decode_json(whole, _Head)
                if head.schema == SCHEMA:
                    return whole, head
        raise


def checked(report: Report, path: Path) -> Report:
    """A report that was decoded, with each case once, and ids that are such.

    Raises:
        UsageError: an id is none.
    """
    check_ids(_ids(report), path)
    last = {case.id: case for case in report.cases}
    if len(last) == len(report.cases):
        return report
    return msgspec.structs.replace(report, cases=tuple(last.values()))


def check_resumable(report: Report, recording: Recording, environment: Environment | None = None) -> None:
    """See that a report is of the same sweep as the one about to go on.

    Args:
        report: the earlier one.
        recording: of this run.
        environment: of this run; versions are compared where it is given.

    Raises:
        UsageError: target, level, versions or fault points differ.
    """
    again = "sweep again without --resume"
    for what, before, now in (
        ("target", report.target, recording.target),
        ("level", report.level, recording.level),
    ):
        if before != now:
            raise UsageError(f"the report to resume is of {what} {before}, not {now}: {again}")
    if environment is not None:
        for what, before, now in (
            ("target version", report.environment.target_version, environment.target_version),
            ("Python", _minor(report.environment.python), _minor(environment.python)),
        ):
            if before != now:
                raise UsageError(f"the report to resume is of {what} {before or '?'}, not {now}: {again}")
    before_keys, now_keys = _keys(report.points), _keys(recording.points)
    if before_keys != now_keys:
        gone, new = sorted(before_keys - now_keys), sorted(now_keys - before_keys)
        example = (gone or new)[0]
        raise UsageError(
            f"the fault points differ from those of the report to resume: {len(gone)} gone, {len(new)} new, "
            f"such as {example!r}: {again}"
        )


def finished_ids(report: Report, recording: Recording | None = None) -> frozenset[str]:
    """Ids of the cases that need not run again.

    Args:
        report: the earlier one.
        recording: of this run, to be checked as by `check_resumable`.

    Raises:
        UsageError: the report is of another sweep.
    """
    if recording is not None:
        check_resumable(report, recording)
    return frozenset(case.id for case in report.cases)


def _keys(points: Iterable[Point]) -> set[str]:
    return {point_key(point) for point in points}


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _position(data: bytes, message: str) -> str:
    named = re.search(r"\(byte (\d+)\)", message)
    byte = int(named.group(1)) if named else len(data)
    line = data.count(b"\n", 0, byte) + 1
    return f", line {line}" if named else f" at byte {byte}, line {line}"


def _ids(report: Report) -> Iterator[str]:
    for case in report.cases:
        yield case.id
        if case.confirmed_by:
            yield case.confirmed_by
    if report.summary is not None:
        yield from report.summary.unsteady
        yield from (finding.smallest for finding in report.summary.findings)


def _head(recording: Recording, environment: Environment) -> bytes:
    points = b",\n".join(encode(point) for point in recording.points)
    bare = msgspec.structs.replace(recording, points=())
    fields = {
        "schema": encode(SCHEMA),
        "target": encode(recording.target),
        "level": encode(recording.level),
        "environment": encode(environment),
        "recording": encode(bare),
        "points": b"[\n" + points + b"\n]",
        "cases": b"[",
    }
    return b"{\n" + b",\n".join(b'"%s": %s' % (key.encode(), value) for key, value in fields.items())


def encode(value: Any) -> bytes:
    """JSON of a value, whatever the names in it are made of."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # A path that is no UTF-8 reaches us with lone surrogates, which JSON cannot hold.
        return msgspec.json.encode(_clean(msgspec.to_builtins(value)))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
