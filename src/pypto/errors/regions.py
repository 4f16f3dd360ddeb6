"""Mistakes in naming a part of a tensor: indices, slices, views, stores, reshapes."""

from __future__ import annotations

from pypto.errors.base import UserError


class TooManyEllipses(UserError, ValueError):
    code = 0xF00002
    message = "an index can have one `...` only"
    help = "write the other axes as `:`, for example t[..., 0, :]"


class IndexCount(UserError, IndexError):
    code = 0xF00008
    message = "too many indices: the tensor has {expected} dimension(s), {got} were given"
    help = "use at most {expected} indices; pypto.unsqueeze(t, 0) adds an axis"


class IndexKind(UserError, ValueError):
    code = 0xF00002
    message = "a tensor is indexed with ints, symbolic scalars and slices, got {got}"
    help = "{advice}"


class SliceStep(UserError, ValueError):
    code = 0xF00002
    message = "a slice of a tensor must have step 1, got {step}"
    help = "take what lies in between, too, and choose with pypto.index_select(t, dim, index)"


class SliceExtent(UserError, ValueError):
    code = 0xF00002
    message = "Not concrete value. the extent `{text}` of axis {axis} must be known at compile time"
    help = "view the largest extent and say how much of it is valid: pypto.view(t, [extent, ...], [start, ...], valid_shape=[{text}, ...])"


class SliceEmpty(UserError, ValueError):
    code = 0xF00002
    message = "the slice {start}:{stop} of axis {axis} has no extent"
    help = "the stop of a slice lies behind its start: t[{stop}:{start}]"


class IndexOutOfRange(UserError, IndexError):
    code = 0xF00008
    message = "index {index} is out of range for axis {axis} with size {size}"
    help = "indices run from 0 to size - 1; -1 is the last"


class GatherAxis(UserError, TypeError):
    code = 0xF00001
    message = "in t[dim:index] with a tensor index, dim must be an int, got {got}"
    help = "t[0:index], or pypto.gather(t, 0, index)"


class StoreShape(UserError, ValueError):
    code = 0xF00002
    message = "a value of shape {got} cannot be written into a region of shape {expected}"
    help = "match the slice to the value's shape, or give only its start: t[i:, :] = value"


class StoreRank(UserError, ValueError):
    code = 0xF00002
    message = "a value of rank {got} cannot be written through {expected} slice(s)"
    help = "give the value one axis per slice: pypto.reshape(value, shape), or write t[i : i + 1, :] = value"


class StoreType(UserError, TypeError):
    code = 0xF00001
    message = "a {got} value cannot be written into the {expected} tensor '{name}'"
    help = "convert it first: pypto.cast(value, pypto.{dtype})"


class StoreOutside(UserError, IndexError):
    code = 0xF00008
    message = "the value reaches to {reach} on axis {axis} of '{name}', which has size {size}"
    help = "make the value's valid shape end at the tensor's edge"


class StoreValue(UserError, TypeError):
    code = 0xF00001
    message = "{what}, got {got}"
    help = "{advice}"


class ViewArguments(UserError, ValueError):
    code = 0xF00002
    message = "view(): {problem}"
    help = "pypto.view(x, [rows, columns], [row, column], valid_shape=[...])"


class AssembleArguments(UserError, ValueError):
    code = 0xF00002
    message = "Assemble: {problem}"
    help = "assemble(src, offsets, dst), assemble([(src, offsets), ...], dst), or dst.assemble(src, offsets)"


class ReshapeNeedsIntegers(UserError, TypeError):
    code = 0xF00001
    message = "reshape() requires integer shape when using non-inplace reshape, but got {shape}"
    help = "reshape a static view inside the loop, or use inplace=True on a tensor with its own memory"


class ReshapeInplace(UserError, ValueError):
    code = 0xF00002
    message = "Reshape(Inplace=true) is not supported for tensors derived from dynamic view: valid_shape cannot be given"
    help = "drop valid_shape, or drop inplace=True"


class ReshapeSize(UserError, ValueError):
    code = 0xF00002
    message = "reshape(): {got} has not as many elements as {expected}"
    help = "the sizes must multiply to the same number; -1 is not inferred across a DYNAMIC axis"


class MovedNotTensor(UserError, TypeError):
    code = 0xF00001
    message = "{got} type cannot be moved to Tensor"
    help = "out.move(pypto.full(shape, number, dtype)), or out[...] = number for one element"
