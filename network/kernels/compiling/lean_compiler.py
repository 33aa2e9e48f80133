"""A compiler of kernels that leaves out what numba does for nothing here; the code that runs is the same.

numba optimises a function alone, then cheaply with all that it calls, and then in full, all for the removal of reference counts, which few
kernels have. It also translates each function that is inlined into others to machine code, which nobody calls.

All of it rests on private names of numba. Where one is missing, importing this module raises ImportError, and numba compiles as it does for
everybody: the results are the same, and the first call takes about half as long again.
"""

from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler, CompileResult
from numba.core.environment import lookup_environment

from vcgym.network.kernels.compiling.disk_cache import CompiledCode, DiskCache

_NEEDED: dict[type, set[str]] = {
    JITCodeLibrary: {
        "_codegen", "_final_module", "_finalize_dynamic_globals", "_finalize_final_module", "_finalized", "_get_module_for_linking",
        "_optimize_final_module", "_optimize_functions", "enable_object_caching",
    },
    JITCPUCodegen: {"_data_layout", "_module_pass_manager", "_pass_builder", "set_env"},  # from 0.62 on, managers come with their builders
    Compiler: {"define_pipelines", "state"},
}  # fmt: skip


def _names(of_class: type) -> set[str]:
    """Return the names of a class's attributes, and of what its constructors set."""
    constructors = [vars(one)["__init__"] for one in of_class.__mro__[:-1] if "__init__" in vars(one)]
    return {*dir(of_class), *(name for made in constructors for name in made.__code__.co_names)}


for _class, _needed in _NEEDED.items():
    if missing := _needed - _names(_class):
        raise ImportError(f"numba {numba.__version__}: {_class.__name__} has no {', '.join(sorted(missing))}")

_ENVIRONMENT = "_ZN08NumbaEnv"  # prefix of the variables that refer to a function's environment
_INLINED = "inlined"


class LeanLibrary(JITCodeLibrary):
    """Code of a kernel that Python calls: optimised once, with all that is inlined into it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        for name in (one.name for one in self._final_module.global_variables if one.name.startswith(_ENVIRONMENT)):
            environment = lookup_environment(name)
            if environment is not None:  # of an `InlinedLibrary`, which cannot set it
                self._codegen.set_env(name, environment)


class _NoMachineCode:
    """The code generator that an `InlinedLibrary` shows."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class InlinedLibrary(LeanLibrary):
    """Code of a kernel that only kernels call: optimised for its callers, without machine code."""

    codegen = _NoMachineCode()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return the content for the disk cache."""
        return self.name, _INLINED, self._get_module_for_linking().as_bitcode()


class LeanCompiler(Compiler):
    """numba's compiler into a `LeanLibrary`, or with the option `no_cpython_wrapper` into an `InlinedLibrary`."""

    def define_pipelines(self) -> list[Any]:
        """Choose the library, and return numba's passes."""
        state = self.state
        kind = InlinedLibrary if state.flags.no_cpython_wrapper else LeanLibrary
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        passes: list[Any] = super().define_pipelines()
        return passes


LEAN = {"no_cfunc_wrapper": True, "pipeline_class": LeanCompiler}
"""Arguments of numba's decorators for every compiled function."""


class _InlinedCode(CompiledCode):
    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> CompileResult:
        """Return the compiled kernel, in an `InlinedLibrary`."""
        (name, _, bitcode), fndesc, environment, signature, objectmode, lifted, annotation, reload_init, referenced = payload
        library = InlinedLibrary(target_context.codegen(), name)
        library._final_module = llvm.parse_bitcode(bitcode)
        library._finalize_final_module()
        return CompileResult(
            typing_context=target_context.typing_context, target_context=target_context, typing_error=None,
            entry_point=target_context.get_executable(library, fndesc, environment),
            type_annotation=annotation, signature=signature, objectmode=objectmode, lifted=lifted, fndesc=fndesc, library=library,
            call_helper=None, environment=environment, metadata=None, reload_init=reload_init, referenced_envs=referenced,
        )  # fmt: skip


class _InlinedCache(DiskCache):
    _impl_class = _InlinedCode


def add_inlined_form(compiled: Any, options: dict[str, Any]) -> None:
    """Give a compiled function a second form without machine code, to which kernels that call it are linked.

    Args:
        compiled: numba's dispatcher of the function, updated: Python calls it, compiled functions get the second form.
        options: its options, with `LEAN`.
    """
    inlined: Any = numba.njit(nogil=True, no_cpython_wrapper=True, **options)(compiled.py_func)
    _InlinedCache(compiled.py_func, "inlined").serve(inlined)
    compiled.get_call_template, compiled.get_overload = inlined.get_call_template, inlined.get_overload
