"""Functions defined inside interpreted code, and binding of arguments to parameters."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from pypto.errors.frontend import WrongCall
from pypto.frontend.frames import Frame
from pypto.frontend.interpret import Interpreter
from pypto.frontend.python import Code, new_code


class InterpretedFunction:
    """A nested ``def`` or a lambda of a kernel. Calling it interprets it, also when Python's own code does the calling."""

    def __init__(self, interpreter: Interpreter, frame: Frame, code: Code, defaults: dict[str, Any]) -> None:
        self.interpreter = interpreter
        self.frame = frame
        self.code = code
        self.defaults = defaults
        self.__name__ = code.name
        self.__qualname__ = code.name
        self.__doc__ = ast.get_docstring(code.node) if isinstance(code.node, ast.FunctionDef) else None

    @classmethod
    def define(cls, interpreter: Interpreter, frame: Frame, node: Any, name: str) -> InterpretedFunction:
        """The function that a definition met in ``frame`` makes; its defaults are evaluated now."""
        code = getattr(node, "pypto_code", None)
        if code is None:
            code = node.pypto_code = new_code(name, frame.code.file, node)
        if code.problem is not None:
            raise code.problem
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = {
            argument.arg: interpreter.value(frame, default)
            for argument, default in zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
        }
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = interpreter.value(frame, default)
        return cls(interpreter, frame, code, defaults)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.run(arguments, keywords)

    def run(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        frames = self.interpreter.tracer.frames
        values = bind(self.code, self.signature(), arguments, keywords)
        frame = self.interpreter.inner_frame(self.code, self.frame, frames[-1] if frames else None)
        return self.interpreter.call(frame, values)

    def signature(self) -> inspect.Signature:
        return signature_of(self.code, self.defaults)


def signature_of(code: Code, defaults: dict[str, Any]) -> inspect.Signature:
    """Python's view of the parameters of a definition."""
    kinds = inspect.Parameter
    arguments = code.node.args
    groups: list[tuple[list[ast.arg], Any]] = [
        (arguments.posonlyargs, kinds.POSITIONAL_ONLY),
        (arguments.args, kinds.POSITIONAL_OR_KEYWORD),
        ([arguments.vararg] if arguments.vararg else [], kinds.VAR_POSITIONAL),
        (arguments.kwonlyargs, kinds.KEYWORD_ONLY),
        ([arguments.kwarg] if arguments.kwarg else [], kinds.VAR_KEYWORD),
    ]
    return inspect.Signature(
        [kinds(a.arg, kind, default=defaults.get(a.arg, kinds.empty)) for group, kind in groups for a in group]
    )


def shown_signature(signature: inspect.Signature) -> str:
    """Parameters and defaults, for messages: ``(input, dim=-1)``."""
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


def bind(code: Code, signature: inspect.Signature, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Values of all parameters, defaults included; a call that does not fit is the user's mistake."""
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise WrongCall(function=code.name, problem=str(error), signature=f"{code.name}{shown_signature(signature)}")
    bound.apply_defaults()
    return bound.arguments
