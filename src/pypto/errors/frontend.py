"""Mistakes in the text of a kernel: syntax, names, loops, branches, handles, regions."""

from __future__ import annotations

from pypto.errors.base import UserError


class SyntaxMistake(UserError, SyntaxError):
    """Base of what the language does not have. ``msg`` is what Python prints for a SyntaxError."""

    code = 0xF0FFFF

    @property
    def msg(self) -> str:  # type: ignore[override]
        return str(self)


class NoSource(UserError, RuntimeError):
    code = 0xF00003
    message = "the source of '{name}' cannot be read: {reason}"
    help = "put the kernel into a file (or a notebook cell): it is compiled from its text"


class UnsupportedStatement(SyntaxMistake):
    message = "Unsupported syntax: `{what}` is not supported in a kernel"
    help = "write it with assignments, calls, `if`, `for` and `assert`"


class VariableArguments(SyntaxMistake):
    code = 0xF00005
    message = "Unsupported syntax: {what} are not supported in a kernel"
    help = "give every parameter a name"


class JumpInLoop(SyntaxMistake):
    message = "Unsupported syntax: {word} is not supported in pypto.loop: all iterations are traced as one"
    help = "put the rest of the body under `if`, or choose the loop bounds accordingly"


class KernelReturns(SyntaxMistake):
    message = "Unsupported syntax: `return` is not supported in the kernel '{name}'"
    help = "results go into tensor parameters: out[:] = value; put the rest of the body under `if` to end early"


class ReturnInBranch(SyntaxMistake):
    message = "`return` under the symbolic condition at line {line} must stand in the outermost block of '{name}'"
    help = "bind a name in the branch and return it at the end of the function"


class LoopTarget(SyntaxMistake):
    message = "{text}"
    help = "bind plain names in the `for` statement, exactly as many as the loop gives"


# -- names ------------------------------------------------------------------------------------------------------------------


class UnboundName(UserError, NameError):
    code = 0xF00004
    message = "name '{name}' is not defined"
    help = "bind it before, import it, or pass it to the kernel as an argument"


class UnboundLocal(UserError, UnboundLocalError):
    code = 0xF00004
    message = "local name '{name}' is used before it is bound"
    help = "bind '{name}' first; a name that iterations hand on needs a value before the loop"


class MaybeUnbound(UserError, UnboundLocalError):
    code = 0xF00004
    message = "'{name}' may be unbound here: it is bound at line {line} only, {when} (line {other})"
    help = "bind '{name}' before, or on every path"


class ConflictedVariable(UserError, RuntimeError):
    code = 0xF00003
    message = "Conflicted var {name}: it is {first} on one path and {second} on the other (line {line})"
    help = "give '{name}' the same type on both paths, or use two names"


class CarriedChanges(UserError, TypeError):
    code = 0xF00001
    message = "'{name}' changes from one iteration of the loop to the next: {first} before, {second} after the body"
    help = "a value carried through pypto.loop keeps its shape, dtype and kind; {advice}"


class ContainerChanged(UserError, RuntimeError):
    code = 0xF00003
    message = "{what} is changed inside {where}, which is traced once: the change would not happen per iteration or branch"
    help = "bind a plain name instead (names are carried), or write into a pypto.tensor"


class EscapedTensor(UserError, RuntimeError):
    code = 0xF00003
    message = "{what} was made inside a loop or branch that has ended and cannot be used after it"
    help = "bind it to a plain name that exists before the loop (or in both branches), or write it into a pypto.tensor"


# -- loops ------------------------------------------------------------------------------------------------------------------


class LoopArguments(UserError, TypeError):
    code = 0xF00001
    message = "pypto.{function} takes 1 to 3 positional arguments (stop; start, stop; start, stop, step), got {count}"
    help = "for i in pypto.{function}(start, stop, step)"


class LoopKeyword(UserError, TypeError):
    code = 0xF00001
    message = "pypto.{function} has no argument '{name}'"
    help = "known: name, idx_name, unroll_list, submit_before_loop, parallel"


class LoopBound(UserError, TypeError):
    code = 0xF00001
    message = "bounds of pypto.{function} are ints or symbolic scalars, got {got}"
    help = "read a scalar from a tensor by indexing every axis: t[i] or t[b, i]"


class LoopStepZero(UserError, ValueError):
    code = 0xF00002
    message = "the step of pypto.{function} must not be zero"
    help = "give a step that moves: pypto.{function}(start, stop, 1)"


class UnrollFactor(UserError, ValueError):
    code = 0xF00002
    message = "unroll_list of pypto.{function} needs positive integers, got {got}"
    help = "unroll_list=[4, 2, 1]"


class DuplicateIndexName(UserError, ValueError):
    code = 0xF21006
    message = "Forbid duplicate name of loop idx. It names '{name}' again; the outer loop is at line {line}"
    help = "give nested loops different idx_name"


class NestedParallel(UserError, RuntimeError):
    code = 0xF21001
    message = "parallel attribute value does not allow nesting; the outer parallel loop is at line {line}"
    help = "drop parallel=True on one of them"


class NotLoopIndex(UserError, ValueError):
    code = 0xF00002
    message = "{function}: {got} is not loop index of an open pypto.loop"
    help = "pass the index that `for i in pypto.loop(...)` gave, unchanged"


class LoopNotInFor(UserError, TypeError):
    code = 0xF00001
    message = (
        "pypto.{function} can only stand in a `for` statement of a kernel that is followed: `for i in pypto.{function}(...)`"
    )
    help = "write the loop in the kernel or in a plain helper function, without enumerate, zip or a comprehension around it"


class SymbolicIteration(UserError, TypeError):
    code = 0xF00001
    message = "{function}() needs numbers, `{text}` is known only when the kernel runs"
    help = "loop with `for i in pypto.loop({text})`"


class SymbolicListIndex(UserError, TypeError):
    code = 0xF00001
    message = "a {container} cannot be indexed by `{text}`, which is known only when the kernel runs"
    help = "keep the values in a tensor and index that, or unroll with a Python loop: for i in range(...)"


class SymbolicCondition(UserError, ValueError):
    code = 0xF00002
    message = "{where} needs a truth value now, `{text}` is known only when the kernel runs"
    help = "{advice}"


class SymbolicInNative(UserError, ValueError):
    code = 0xF00002
    message = (
        "Not concrete value. '{function}' runs as plain Python ({reason}) and needs the value of `{text}`, "
        "which is known only when the kernel runs"
    )
    help = "move the decision into the kernel, or make '{function}' a plain function that can be followed"


class RecursionWithoutEnd(UserError, RecursionError):
    code = 0xF00003
    message = "'{name}' calls itself too deeply"
    help = "recursion in a kernel must end by values known at compile time"


# -- handles ------------------------------------------------------------------------------------------------------------------


class NotIterable(UserError, TypeError):
    code = 0xF00001
    message = "{what} is not iterable"
    help = "{advice}"


class TensorIsNoNumber(UserError, TypeError):
    code = 0xF00001
    message = "a tensor has no {what} while the kernel is traced"
    help = "read one element by indexing every axis (t[i, j]), or compare with the operations of pypto"


class UnknownAttribute(UserError, AttributeError):
    code = 0xF00004
    message = "'Tensor' object has no attribute '{name}'{nearest}"
    help = "what a tensor has: help(pypto.Tensor)"


class EmptyTensor(UserError, ValueError):
    code = 0xF00002
    message = "Empty tensor. {what} has no shape yet"
    help = "give it a shape (pypto.tensor([rows, columns], dtype)) or move a value into it first"


class ForeignTensor(UserError, RuntimeError):
    code = 0xF00003
    message = "{what} was not made in this kernel"
    help = "pass it to the kernel as an argument"


class HostTensorInside(UserError, TypeError):
    code = 0xF00001
    message = "a {got} cannot be used inside a kernel"
    help = "pass it to the kernel as an argument, or build the constant with pypto.full / pypto.arange"


class ForeignFunction(UserError, TypeError):
    code = 0xF00001
    message = "{function} cannot work on a tensor of a kernel"
    help = "use the operations of pypto, or compute it before the kernel"


class WriteIntoView(UserError, RuntimeError):
    code = 0xF00003
    message = "writing into a view does not change '{base}'"
    help = "write into the tensor itself: {name}[{region}] = value, or pypto.assemble(value, [{offsets}], {name})"


class AmbiguousWrite(UserError, RuntimeError):
    code = 0xF00003
    message = "cannot tell which tensor is written here: {why}"
    help = "write into each tensor by its own name"


class OutputRebound(UserError, RuntimeError):
    code = 0xF00003
    message = "`{name} = …` binds a new value to the name of a parameter"
    help = "write into the tensor: {name}[:] = value, {name}.move(value), or {name}.assemble(value, [{zeros}])"


class NothingWritten(UserError, RuntimeError):
    code = 0xF00003
    message = "the kernel '{name}' writes none of its tensor parameters ({parameters}), so calling it has no effect"
    help = "write results with out[:] = value, out.move(value), or out.assemble(value, offsets)"


# -- calls ------------------------------------------------------------------------------------------------------------------


class WrongCall(UserError, TypeError):
    """An exception that a function of this package raised because of its arguments."""

    code = 0xF00001
    message = "{function}(): {problem}"
    help = "its arguments: {signature}"


class WrongValue(UserError, ValueError):
    code = 0xF00002
    message = "{function}(): {problem}"
    help = "its arguments: {signature}"


class UnsupportedUse(UserError, TypeError):
    """Python's own refusal of an operation on one of our objects."""

    code = 0xF00001
    message = "{problem}"
    help = "{advice}"


class UnknownMember(UserError, AttributeError):
    code = 0xF00004
    message = "{problem}"
    help = "{advice}"


class KernelAssertion(UserError, AssertionError):
    code = 0xF0FFFF
    message = "AssertionError: {text}"


class RaiseInBranch(SyntaxMistake):
    message = (
        "`raise` under a symbolic condition or in pypto.loop would always happen: the code is traced whatever the values are"
    )
    help = "use `assert condition, text`: it is checked when the kernel runs"


class FunctionNested(UserError, RuntimeError):
    code = 0xF00003
    message = "function nested is not allowed: a pypto.function block or kernel is already being recorded"
    help = "end one `with pypto.function(...)` block before the next, and call kernels outside of it"


class TooManyPaths(UserError, RuntimeError):
    code = 0xF00003
    message = "the conditions in this block make more than {limit} paths"
    help = "write the kernel with @pypto.frontend.jit: there every branch is traced once"


class ConditionOutsideLoop(UserError, RuntimeError):
    code = 0xF00003
    message = "pypto.cond needs a pypto.loop around it in a `with pypto.function(...)` block"
    help = "put the code into `for _ in pypto.loop(1)`, or write the kernel with @pypto.frontend.jit"


class NoFunctionRecorded(UserError, RuntimeError):
    code = 0xF00003
    message = "there is no finished `with pypto.function(...)` block to run"
    help = 'record one first: with pypto.function("NAME", a, b): ...'


class NestedFunctionArguments(UserError, ValueError):
    code = 0xF00002
    message = "In nested function '{function}': {problem}"
    help = "call '{function}' with what its annotations say, or write pypto.DYNAMIC where sizes vary"


class TileRankTooSmall(UserError, RuntimeError):
    code = 0xFC1000
    message = (
        "{operation}(): Tile shape size {got} is not matched the output shape size {expected}: "
        "set_vec_tile_shapes gave {tile}, the result has rank {expected}"
    )
    help = "call pypto.set_vec_tile_shapes with {expected} numbers before {operation}"


class EscapedScalar(UserError, RuntimeError):
    code = 0xF00003
    message = "the symbolic scalar '{name}', used by {what}, was made inside a loop or branch that has ended"
    help = "bind it to a plain name: names that are bound before the loop are carried"
