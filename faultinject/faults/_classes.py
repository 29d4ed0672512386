"""From the name of an exception to its class."""

from __future__ import annotations

import builtins
import errno
import functools
import importlib
import importlib.util
import os
import traceback

from faultinject._near import near
from faultinject.errors import UsageError
from faultinject.faults._catalogue import NAMED, signal_names

LIST_THEM = "`faultinject faults` lists them all"


def unknown(name: str) -> UsageError:
    """The error for a name that is in no list."""
    return UsageError(
        f"unknown fault {name!r}{near(name, [*NAMED, *_built_in(), *signal_names()])}; {LIST_THEM}"
    )


def missing_package(name: str, package: str) -> str:
    """The text for a fault of the catalogue whose class is not to be had."""
    return f"fault {name!r} needs {package}, which is not installed here: install it or leave it out"


def errno_of(name: str) -> int:
    """The number of ``OSError:NAME``'s errno.

    Raises:
        UsageError: this system has no errno of that name.
    """
    code = name.partition(":")[2]
    number = getattr(errno, code, None) if code.isidentifier() and code.startswith("E") else None
    if not isinstance(number, int):
        known = [f"OSError:{n}" for n in errno.errorcode.values()]
        raise UsageError(
            f"fault {name!r}: no errno is called {code!r} here{near(name, known)}; "
            "write it as in OSError:ENOSPC"
        )
    return number


@functools.cache
def class_of(name: str) -> type[BaseException]:
    """The real exception class that `name` stands for; imports its module.

    Raises:
        UsageError: no such class, not an exception class, or its module does not import.
    """
    if name.startswith("OSError:"):
        # OSError(errno, text) makes the subclass that the system call would raise (PEP 3151).
        code = errno_of(name)
        return type(OSError(code, os.strerror(code)))
    entry = NAMED.get(name)
    path = entry.path if entry else name
    if "." not in path and ":" not in path:
        found = getattr(builtins, path, None)
        if found is None:
            raise unknown(name)
    else:
        found = _load(name, path)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise UsageError(
            f"fault {name!r} is not an exception class but {found!r}; name a class of exceptions"
        )
    return found


def _built_in() -> list[str]:
    return [n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException)]


def _load(name: str, path: str) -> object:
    """The object at ``package.module:Class`` or ``package.module.Class``."""
    module_name, colon, qualname = path.partition(":")
    candidates: list[tuple[str, list[str]]]
    if colon:
        candidates = [(module_name, qualname.split("."))]
    else:
        parts = path.split(".")
        candidates = [(".".join(parts[:i]), parts[i:]) for i in range(len(parts) - 1, 0, -1)]
    if not all(part.isidentifier() for m, q in candidates for part in (*m.split("."), *q)):
        raise unknown(name)
    for module_name, names in candidates:
        try:
            found: object = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if module_name == missing or module_name.startswith(f"{missing}."):
                continue
            raise _broken(name, module_name, error) from error
        except Exception as error:
            raise _broken(name, module_name, error) from error
        for attribute in names:
            if not hasattr(found, attribute):
                raise UsageError(
                    f"fault {name!r}: {module_name} has no {'.'.join(names)}{near(attribute, dir(found))}"
                )
            found = getattr(found, attribute)
        return found
    first = candidates[-1][0].split(".")[0]
    if name in NAMED:
        raise UsageError(missing_package(name, first))
    if not colon and importlib.util.find_spec(first) is None:
        raise UsageError(
            f"fault {name!r}: no module {first!r} can be imported{near(name, list(NAMED))}; "
            "write your own class as package.module:Class"
        )
    raise UsageError(
        f"fault {name!r}: no module {candidates[0][0]!r} can be imported; check its name, "
        "and that the command runs in its directory"
    )


def _broken(name: str, module_name: str, error: BaseException) -> UsageError:
    return UsageError(
        f"fault {name!r}: importing {module_name} raised {type(error).__name__}: {error}",
        original="".join(traceback.format_exception(error)),
    )
