"""Names of the dead: shared memory, sockets and files that they made, removed if they are the very ones."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from ._proc import Identity, has_ended, namespace, read
from ._wire import pack, unpack

SHARED_MEMORY = "shared_memory"
SOCKET = "socket"
FILE = "file"
_FIELDS = 6


class Name:
    """A path, and which file it was when its maker told of it; 0 for a socket that is only going to be made.

    The file is held by a descriptor that can do nothing with it (``O_PATH``), so that its number cannot
    become another's. Not so shared memory: that would keep its pages after its maker has removed it, and
    its file system gives no number twice.
    """

    __slots__ = ("device", "inode", "kind", "path", "pin")

    def __init__(self, kind: str, path: str, device: int, inode: int) -> None:
        self.kind = kind
        self.path = path
        self.device = device
        self.inode = inode
        self.pin: int | None = None

    def hold(self) -> None:
        """Keeps the file's number from being given away; does without where that cannot be."""
        if self.kind != SHARED_MEMORY and self.inode and self.pin is None:
            with contextlib.suppress(OSError):
                self.pin = os.open(self.path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)

    def let_go(self) -> None:
        """Gives back what `hold` took."""
        if self.pin is not None:
            os.close(self.pin)
            self.pin = None

    def is_there(self) -> bool:
        """Whether the path still leads to that very file, and it is this user's."""
        try:
            seen = os.lstat(self.path)
        except OSError:
            return False
        own = seen.st_uid == os.geteuid() and not stat.S_ISDIR(seen.st_mode)
        if self.is_expected():
            return own and stat.S_ISSOCK(seen.st_mode)
        return own and (seen.st_dev, seen.st_ino) == (self.device, self.inode)

    def is_expected(self) -> bool:
        """Whether it is a socket that was to be made after it was told of."""
        return self.kind == SOCKET and not self.inode

    def has_gone(self) -> bool:
        """Whether the held file has lost its last name, so that holding it only costs space."""
        return self.pin is not None and os.fstat(self.pin).st_nlink == 0


class Names:
    """Removes names, and keeps a list of them in a file, for the case that the guardian is killed too.

    Args:
        me: the guardian.
    """

    def __init__(self, me: Identity) -> None:
        self._me = me
        self._path = ""
        self._written = b""
        self._here = [_boot(), namespace()]

    def remove(self, name: Name) -> bool:
        """Removes it, if it is still the one; whether it did."""
        try:
            if name.is_there():
                os.unlink(name.path)
                return True
        except OSError:
            pass
        finally:
            name.let_go()
        return False

    def write(self, owned: list[tuple[Identity, Name]]) -> None:
        """Writes the list anew; without names there is none."""
        fields: list[str | int] = [*self._here, self._me[0], self._me[1]]
        for who, name in owned:
            fields += [who[0], who[1], name.kind, name.path, name.device, name.inode]
        try:
            text = pack(*fields) if owned else b""
        except ValueError:
            return
        if text == self._written:
            return
        with contextlib.suppress(OSError):
            if not text:
                os.unlink(self._path)
                os.rmdir(os.path.dirname(self._path))
            else:
                directory = registry(make=True)
                if directory is None:
                    return
                self._path = f"{directory}/{self._me[0]}-{self._me[1]}"
                _replace(self._path, text)
        self._written = text

    def remove_those_of_dead_runs(self) -> list[str]:
        """Removes names whose maker and whose guardian are both dead; returns their paths.

        Lists from before the last boot, and from other pid namespaces, are left alone: whether their makers
        live cannot be known from here.
        """
        directory = registry(make=False)
        if directory is None:
            return []
        removed: list[str] = []
        lists: list[tuple[str, list[tuple[Identity, Name]]]] = []
        claimed: set[str] = set()
        for path in [f"{directory}/{name}" for name in os.listdir(directory)]:
            entries = self._read(path)
            if entries is None:
                continue
            guardian, owned = entries
            if not has_ended(guardian):
                claimed.update(name.path for _, name in owned)
            else:
                lists.append((path, owned))
                claimed.update(name.path for who, name in owned if not has_ended(who))
        for path, owned in lists:
            for _, name in owned:
                if name.path not in claimed and not _listens(name) and self.remove(name):
                    removed.append(name.path)
            if not any(name.path in claimed for _, name in owned):
                with contextlib.suppress(OSError):
                    os.unlink(path)
                    os.rmdir(directory)
        return removed

    def _read(self, path: str) -> tuple[Identity, list[tuple[Identity, Name]]] | None:
        try:
            fields = unpack(read(path))
            if fields[:2] != self._here:
                return None
            guardian = (int(fields[2]), int(fields[3]))
            owned = []
            for at in range(4, len(fields), _FIELDS):
                pid, start, kind, name, device, inode = fields[at : at + _FIELDS]
                owned.append(((int(pid), int(start)), Name(kind, name, int(device), int(inode))))
        except (OSError, ValueError, IndexError):
            return None
        return guardian, owned


def registry(*, make: bool) -> str | None:
    """The directory of the lists, in ``$XDG_RUNTIME_DIR``, ``$TMPDIR`` or ``/tmp``, for this user alone.

    Args:
        make: whether to make it where it is not.

    Returns:
        Its path; ``None`` if there is none, or another user made it.
    """
    tried = [os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"), "/tmp"]
    for base in tried:
        if not base or not os.path.isabs(base):
            continue
        path = f"{base}/engine-lifeline-{os.geteuid()}"
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path, 0o700)
            seen = os.lstat(path)
        except OSError:
            continue
        private = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid() and not seen.st_mode & 0o077
        if private and os.access(path, os.W_OK | os.X_OK):
            return path
    return None


def _replace(path: str, text: bytes) -> None:
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)
    os.rename(path + ".new", path)


def _listens(name: Name) -> bool:
    """Whether somebody answers at a socket."""
    if name.kind != SOCKET:
        return False
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(name.path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            # Full, of another type, or not to be asked: then it is left alone.
            return True
    return True


def _boot() -> str:
    try:
        return read("/proc/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        return ""
