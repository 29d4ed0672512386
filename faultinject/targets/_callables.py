"""``module:callable``: a class, function, method, context manager's entry or coroutine function."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from faultinject._near import near
from faultinject.errors import TargetError, UsageError
from faultinject.targets._target import Call, Target

HOW = "write it as module:callable, such as package.module:Class or package.module:function"


@dataclass(frozen=True)
class Found:
    """A callable that was found by its name.

    Attributes:
        name: as written.
        module: the module before the colon.
        function: what to call; for a method of an instance it still lacks the instance.
        owner: the class that a zero-argument instance of is to be made for every construction, or
            ``None``.
    """

    name: str
    module: str
    function: Callable[..., Any]
    owner: type[Any] | None = None

    def bind(self) -> Callable[..., Any]:
        """The callable itself, with a fresh instance where it is a method of one."""
        if self.owner is None:
            return self.function
        instance = self.owner()
        bound: Callable[..., Any] = self.function.__get__(instance, self.owner)
        return bound


def from_name(name: str) -> Target:
    """The target ``module:callable``, called without arguments; errors as of `resolve`."""
    found = find(name)
    check_arguments(found, (), {})

    def prepare() -> Call:
        return found.bind(), (), {}

    return Target(
        name=name,
        prepare=prepare,
        is_async=is_async(found.function),
        version=version_of(found.module),
    )


def find(name: str, what: str = "target") -> Found:
    """Imports the module and looks the callable up.

    Args:
        name: ``module:callable``.
        what: what the name stands for, for the error's text.
    """
    module_name, colon, qualname = name.partition(":")
    parts = qualname.split(".")
    if not colon or not all(p.isidentifier() for p in (*module_name.split("."), *parts)):
        raise UsageError(f"{what} {name!r} is not a name of that form; {HOW}")
    module = _import(name, module_name, what)
    holder: Any = None
    value: Any = module
    for i, part in enumerate(parts):
        holder = value
        try:
            value = getattr(holder, part)
        except AttributeError:
            where = module_name + (f":{'.'.join(parts[:i])}" if i else "")
            hint = near(part, dir(holder))
            raise TargetError(
                f"{what} {name!r}: {where} has no {part!r}{hint}; check the name after the colon"
            ) from None
    if not callable(value):
        raise TargetError(
            f"{what} {name!r} is a {type(value).__name__}, which cannot be called; name a class or a function"
        )
    return Found(name, module_name, value, _instance_owner(holder, parts[-1], value, name, what))


def check_arguments(
    found: Found, args: tuple[Any, ...], kwargs: Mapping[str, Any], what: str = "target"
) -> None:
    """Refuses a call that could only raise TypeError.

    A callable whose signature is not known (some C types) passes: the recording shows what it does.
    """
    try:
        signature = inspect.signature(found.function)
    except (TypeError, ValueError):
        return
    if found.owner is not None:
        args = (None, *args)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        if args or kwargs:
            raise TargetError(
                f"{what} {found.name!r} cannot be called with the given arguments ({error}); "
                f"its signature is {signature}"
            ) from None
        needed = [
            p.name
            for p in signature.parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        raise TargetError(
            f"{what} {found.name!r} needs arguments ({', '.join(needed)}); give them in a table under "
            "[tool.faultinject.targets] of pyproject.toml, or name a factory that takes none"
        ) from None


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine that has to be awaited."""
    if inspect.iscoroutinefunction(function):
        return True
    return not isinstance(function, type) and inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004
    )


def version_of(module: str) -> str:
    """The version of the package that `module` belongs to, or ``""``."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return sys.version.split()[0]
    value = getattr(sys.modules.get(top), "__version__", "")
    if isinstance(value, str) and value:
        return value
    if "-packages" not in (getattr(sys.modules.get(top), "__file__", None) or ""):
        return ""
    # Here, since it doubles the size of a small process, and each case is a fork of it.
    import importlib.metadata

    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _instance_owner(holder: Any, attribute: str, value: Any, name: str, what: str) -> type[Any] | None:
    """The class of which `value`, reached through that class, needs an instance as its first argument."""
    if not isinstance(holder, type):
        return None
    raw = inspect.getattr_static(holder, attribute)
    # staticmethod and classmethod objects are no functions, and a nested class is called as it is; a
    # slot wrapper or method descriptor is the method of a type made in C, such as a lock's __enter__.
    if raw is not value or not (isinstance(raw, FunctionType) or inspect.ismethoddescriptor(raw)):
        return None
    maker = Found(f"{name.partition(':')[0]}:{holder.__qualname__}", "", holder)
    try:
        check_arguments(maker, (), {}, what)
    except TargetError as error:
        raise TargetError(
            f"{what} {name!r} is a method of an instance, and {holder.__qualname__} cannot be made without "
            "arguments; name it through a ready instance of the module (module:object.method)"
        ) from error
    return holder


def _import(name: str, module_name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise TargetError(
                f"{what} {name!r}: no module {missing!r} can be imported{_near_module(missing)}; "
                "check the name, and that the command runs in the project's directory"
            ) from None
        raise _broken(name, module_name, what, error) from error
    except (Exception, SystemExit) as error:
        # SystemExit: a script that was taken for a module ends itself when it is imported.
        raise _broken(name, module_name, what, error) from error


def _near_module(name: str) -> str:
    """A hint for a module that cannot be found: its neighbours in the package, or at the top level."""
    parent, _, leaf = name.rpartition(".")
    if not parent:
        return near(leaf, {m.name for m in pkgutil.iter_modules()} | set(sys.stdlib_module_names))
    # Its parent was imported on the way, or else it would be the one that is missing.
    path = getattr(sys.modules.get(parent), "__path__", ())
    return near(name, [f"{parent}.{m.name}" for m in pkgutil.iter_modules(path)])


def _broken(name: str, module_name: str, what: str, error: BaseException) -> TargetError:
    # The user's own frames only: the first ones are this file's and the import system's.
    tb = error.__traceback__
    while tb is not None and (
        tb.tb_frame.f_code.co_filename.startswith("<frozen importlib")
        or tb.tb_frame.f_globals.get("__name__") in (__name__, "importlib")
    ):
        tb = tb.tb_next
    return TargetError(
        f"{what} {name!r}: importing {module_name} raised {type(error).__name__}: {error}; "
        "make it import without a fault first",
        original="".join(traceback.format_exception(type(error), error, tb)),
    )
