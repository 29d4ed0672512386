"""What counts as a C callee, the same for every backend.

`sys.setprofile` reports built-in functions and methods but not C types; `sys.monitoring` reports
every callable. Both are brought to one view here: functions and methods written in C, and C types
other than the built-in data types and exceptions, whose construction acquires nothing.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_DATA_MODULES = frozenset(
    """
    builtins types typing _collections collections functools itertools _functools operator _operator
    decimal _decimal datetime _struct re _sre weakref _weakref _contextvars contextvars _abc enum
    array ctypes _ctypes
    """.split()
)


def is_c_type(thing: object) -> bool:
    """Whether calling `thing` constructs an object with no Python code and may acquire something."""
    if not isinstance(thing, type) or thing.__module__ in _DATA_MODULES:
        return False
    if issubclass(thing, BaseException):
        return False
    meta: Any = type(thing)
    for owner in (thing, meta):
        for name in ("__init__", "__new__") if owner is thing else ("__call__",):
            if isinstance(getattr(owner, name, None), FunctionType):
                return False
    return True


def callee_name(thing: object) -> str:
    """``module:qualname`` of a C callee."""
    qualname = (
        getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None) or type(thing).__name__
    )
    module = getattr(thing, "__module__", None)
    bound = thing.__self__ if isinstance(thing, BuiltinFunctionType) else None
    if module is None and bound is not None and not isinstance(bound, (ModuleType, type)):
        # `sys.setprofile` reports a bound method where `sys.monitoring` reports the method of the class: both
        # go by the class that defines it.
        assert isinstance(thing, BuiltinFunctionType)
        for kind in type(bound).__mro__:
            if thing.__name__ in kind.__dict__:
                return f"{kind.__module__}:{kind.__qualname__}.{thing.__name__}"
    if module is None:
        owner = getattr(thing, "__self__", None)
        if owner is None:
            owner = getattr(thing, "__objclass__", None)
        if isinstance(owner, ModuleType):
            module = owner.__name__
        elif owner is not None:
            module = (owner if isinstance(owner, type) else type(owner)).__module__
    return f"{module or 'builtins'}:{qualname}"
