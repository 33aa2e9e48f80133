"""Generic functions: the class of the first argument selects the version, in Python and inside compiled loops.

numba's disk cache never finds kernels that take a jitted function as an argument. But the class of a NamedTuple is part of a kernel's
signature: numba selects the version at compile time, and the kernel is cached. Without the JIT the same names dispatch in Python.

Example:
    >>> from typing import NamedTuple
    >>> @generic(abstract=True)
    ... def area(shape):
    ...     '''Return the area.'''
    >>> class Square(NamedTuple):
    ...     side: float
    >>> @area.register(Square)
    ... def _area(shape):
    ...     return shape.side * shape.side
    >>> area(Square(3.0))
    9.0
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from numba.core.errors import TypingError
from numba.extending import overload

from vcgym.network.kernels.jit import options_of

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", int, bool)


class Generic(Protocol[P, R_co]):
    """A function with versions by class.

    Attributes:
        versions: the registered functions by class.
    """

    versions: Mapping[type, Callable[..., Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the version of the first argument's class."""

    def register(self, *classes: type) -> Callable[[F], F]:
        """Register the decorated function as the version of these classes, as `functools.singledispatch` does.

        Raises:
            TypeError: its argument names differ from the generic function's, or a class has a version already.
        """


def generic(*, abstract: bool = False, allocates: bool = False, inlined: bool = False) -> Callable[[Callable[P, R]], Generic[P, R]]:
    """Return a decorator that makes a function generic in the class of its first argument.

    Args:
        abstract: reject classes without a version; otherwise the decorated function is their version.
        allocates: versions may allocate arrays; otherwise they compile without reference counts (`vcgym.network.kernels.jit.kernel`).
        inlined: versions are inlined into their callers, as kernels are. Otherwise each call passes every array and field of the arguments
            on the stack, which costs more than the work of most versions.
    """

    def make(function: Callable[P, R]) -> Generic[P, R]:
        default = None if abstract else function
        arguments = list(inspect.signature(function).parameters)
        versions: dict[type, Callable[..., Any]] = {}

        @functools.wraps(function)
        def dispatch(first: Any, *others: Any) -> Any:
            version = versions.get(type(first), default)
            if version is None:
                raise TypeError(f"{function.__name__} has no version for {first!r}; allowed: {_names(versions)}")
            return version(first, *others)

        def register(*classes: type) -> Callable[[F], F]:
            def add(version: F) -> F:
                named = list(inspect.signature(version).parameters)
                if named != arguments:
                    raise TypeError(f"{version.__qualname__}({', '.join(named)}): allowed is ({', '.join(arguments)})")
                for cls in classes:
                    if cls in versions:
                        raise TypeError(f"{function.__name__} has a version for {cls.__name__} already; allowed is one")
                    versions[cls] = version
                return version

            return add

        def choose(*types: Any) -> Callable[..., Any] | None:
            return versions.get(_class_of(types[0]), default)

        overload(dispatch, strict=False, jit_options=options_of(allocates, inlined))(choose)
        made = cast(Any, dispatch)
        made.register, made.versions = register, MappingProxyType(versions)
        return cast(Generic[P, R], made)

    return make


def forward(cls: type, field: str, *functions: Any, when: str = "", otherwise: str = "") -> None:
    """Register versions that call the function again, with ``params.FIELD`` in place of `params`.

    Args:
        cls: class of parameters.
        field: field of `params`; with `when` of `state` too.
        functions: generic functions.
        when: condition, in terms of their arguments; "": always.
        otherwise: the field, of `params` and `state`, that is passed where the condition does not hold.
    """
    for function in functions:
        name, arguments = function.__name__, list(inspect.signature(function).parameters)

        def again(field: str, name: str = name, others: list[str] = arguments[1:]) -> str:
            passed = [f"state.{field}" if when and one == "state" else one for one in others]
            return f"return {name}({', '.join([f'params.{field}', *passed])})"

        body = f"if {when}:\n        {again(field)}\n    {again(otherwise)}" if when else again(field)
        known = {"__name__": cls.__module__, name: function}
        exec(f"def version({', '.join(arguments)}):\n    {body}", known)  # numba needs each argument by its name
        function.register(cls)(known["version"])


def class_constant(of_class: Callable[[type], C]) -> Callable[[Any], C]:
    """Return a function of `params` with the value ``of_class(type(params))``, a constant inside kernels.

    Args:
        of_class: may raise TypeError for an unknown class; compiling a kernel for that class then fails.
    """

    def constant_of(params: Any) -> C:
        return of_class(type(params))

    @overload(constant_of, strict=False, jit_options=options_of(allocates=True, inlined=False))
    def choose(params: Any) -> Callable[[Any], C]:
        try:
            constant = of_class(_class_of(params))
        except TypeError as error:
            raise TypingError(str(error)) from error
        return lambda params: constant

    return constant_of


def _class_of(numba_type: Any) -> type:
    """Return the NamedTuple class of a numba type, or the class of None."""
    cls: type = getattr(numba_type, "instance_class", type(None))
    return cls


def _names(versions: Mapping[type, object]) -> str:
    return ", ".join(sorted(cls.__name__ for cls in versions))
