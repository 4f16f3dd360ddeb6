"""``Tensor``: what users hold. In a kernel a handle on a value or a storage; outside, the description of one.

Indexing is in ``indexing.py``, moving data in ``structure.py``; arithmetic methods and operators come from the op table
(``install_operations``).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pypto.dtypes import DataType
from pypto.enums import CachePolicy, StatusType, TileOpFormat
from pypto.errors.arguments import TensorShape
from pypto.errors.base import UserError
from pypto.errors.frontend import NotIterable, TensorIsNoNumber, UnknownAttribute
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.ir.program import Storage, TensorType, Value
from pypto.ir.symbols import Expression, Scalar
from pypto.ops.table import OPERATIONS, RECORDER, Operation

if TYPE_CHECKING:
    from pypto.frontend.trace import Tracer

Mark = Any  # an int, a SymbolicScalar, a StatusType or ... (Ellipsis)


class Tensor:
    """A tensor of a kernel, or (outside) what a kernel expects of an argument.

    ``Tensor([pypto.DYNAMIC, 64], pypto.DT_FP32)`` annotates a parameter: every axis is an int, ``pypto.DYNAMIC`` (any size, one
    compiled program), ``pypto.STATIC`` (any size, compiled per size), and a last ``...`` stands for more ``STATIC`` axes. No shape:
    any. In a kernel, ``pypto.tensor([8, 64], pypto.DT_FP32, "t")`` makes a local tensor whose contents are undefined until written.
    Raises ``ValueError`` for other shape entries.

    >>> import pypto
    >>> t = pypto.Tensor([8, 64], pypto.DT_BF16)
    >>> t.shape, t.dim, t.dtype
    ([8, 64], 2, DataType.DT_BF16)
    """

    __slots__ = (
        "__weakref__",
        "_device",
        "_format",
        "_frozen",
        "_home",
        "_name",
        "_policies",
        "_read",
        "_serial",
        "_storage",
        "_tracer",
        "_value",
        "data_ptr",
        "explicit_dtype",
        "explicit_format",
        "host",
        "marks",
        "ori_shape",
        "wanted_dtype",
    )

    def __init__(
        self,
        shape: Sequence[Mark] | None = None,
        dtype: DataType | None = None,
        name: str = "",
        format: TileOpFormat | None = None,
        data_ptr: int | None = None,
        device: Any = None,
        ori_shape: Sequence[int] | None = None,
    ) -> None:
        self._reset(None, 0)
        self.marks: list[Mark] | None = None if shape is None else check_marks(shape)
        self.wanted_dtype = DataType.DT_FP32 if dtype is None else check_dtype(dtype)
        self.explicit_dtype, self.explicit_format = dtype is not None, format is not None
        self._name, self._format = name, format or TileOpFormat.TILEOP_ND
        self.data_ptr, self._device = data_ptr, device
        self.ori_shape = None if ori_shape is None else list(ori_shape)
        self.host: Any = None
        if hasattr(RECORDER.get(), "new_local"):
            RECORDER.get().new_local(self)  # type: ignore[union-attr]

    def _reset(self, tracer: Tracer | None, serial: int) -> None:
        self._tracer = tracer
        self._serial = serial
        self._value: Value | None = None
        self._storage: Storage | None = None
        self._home = 0
        self._read = -1  # number of loops opened when it was last read
        self._frozen: Callable[[], UserError] | None = None  # why it must not be written
        self._policies: dict[Any, bool] | None = None

    @classmethod
    def of(cls, tracer: Tracer, serial: int, value: Value | None = None, storage: Storage | None = None) -> Tensor:
        """A handle made while tracing; not for users."""
        self = cls.__new__(cls)
        self._reset(tracer, serial)
        self._value, self._storage, self._home = value, storage, tracer.blocks[-1]
        self._name = storage.name if storage is not None else ""
        self._format = TileOpFormat.TILEOP_ND
        self.marks = None
        self.host = None
        return self

    def __class_getitem__(cls, parameters: Any) -> TensorAnnotation:
        return TensorAnnotation.of(parameters if isinstance(parameters, tuple) else (parameters,))

    # -- what it is --------------------------------------------------------------------------------------------------------------

    def _type(self) -> TensorType | None:
        if self._storage is not None:
            return self._storage.type
        return self._value.type if self._value is not None else None

    @property
    def dtype(self) -> DataType:
        """Element type."""
        found = self._type()
        return self.wanted_dtype if found is None else found.dtype

    @property
    def shape(self) -> list[Any]:
        """Sizes: ints, and symbolic scalars for DYNAMIC axes. Of an annotation: what was written."""
        found = self._type()
        if found is not None:
            return [as_user(size) for size in found.shape]
        return [self._axis(axis, mark) for axis, mark in enumerate(self.marks or [])]

    def _axis(self, axis: int, mark: Mark) -> Any:
        if isinstance(mark, int) and mark == -1:
            return SymbolicScalar(f"RUNTIME_GetInputShapeDim(ARG_{self._name},{axis})")
        return mark

    @property
    def status_shape(self) -> list[Mark]:
        """The marks of an annotation."""
        return list(self.marks or [])

    @property
    def valid_shape(self) -> list[SymbolicScalar]:
        """How much of every axis holds data."""
        found = self._type()
        sizes = found.valid if found is not None else self.shape
        return [size if isinstance(size, SymbolicScalar) else SymbolicScalar(size) for size in sizes]

    @property
    def dim(self) -> int:
        """Number of axes."""
        found = self._type()
        return len(self.marks or []) if found is None else found.rank

    @property
    def id(self) -> int:
        """A number unique to this handle."""
        return self._serial or id(self)

    @property
    def format(self) -> TileOpFormat:
        """Memory layout; always ND on the CPU."""
        return self._format

    @property
    def device(self) -> Any:
        """Device of the host tensor behind it, if any."""
        return getattr(self, "_device", None)

    @property
    def name(self) -> str:
        """Name in messages and program text."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = str(value)

    def described(self) -> str:
        """For messages."""
        name = self._name or (self._value.hint if self._value is not None else "")
        return f"the tensor '{name}'" if name else "a tensor"

    def is_empty(self) -> bool:
        """Whether it has no contents and no shape to put some in."""
        return self._type() is None and not self.marks

    def copy(self, name: str = "") -> Tensor:
        """A new tensor of the same shape, dtype and format, without the contents."""
        return Tensor(self.shape, self.dtype, name or self._name, self._format)

    def to_tensor(self, name: str = "") -> Tensor:
        """This description, renamed if a name is given."""
        if name:
            self._name = name
        return self

    def base(self) -> Tensor:
        """The handle itself; there is no second object behind it."""
        return self

    logical_tensor = base

    def set_logical_tensor(self, other: Tensor) -> None:
        self.move(other)

    @classmethod
    def from_base(cls, base: Tensor) -> Tensor:
        return base

    from_logical_tensor = from_base

    def set_cache_policy(self, policy: CachePolicy, value: bool) -> None:
        """Remember a caching wish; without effect on numbers."""
        self._policies = {**(self._policies or {}), policy: bool(value)}

    def get_cache_policy(self, policy: CachePolicy) -> bool:
        return (self._policies or {}).get(policy, False)

    # -- regions and moves -----------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        from pypto.frontend.indexing import get_item

        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from pypto.frontend.indexing import set_item

        set_item(self, key, value)

    def move(self, other: Tensor) -> None:
        """Take over the contents of ``other`` (same shape and dtype), which stays usable."""
        from pypto.frontend.structure import move

        move(self, other)

    # -- what it is not ----------------------------------------------------------------------------------------------------------

    __hash__ = None  # type: ignore[assignment]  # == records an operation, so hashing would be a trap

    __array_ufunc__ = None  # numpy's operators leave `array + tensor` to us, its functions refuse

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise TensorIsNoNumber(what="numpy array")

    def __pos__(self) -> Tensor:
        return self

    def __iter__(self) -> Any:
        raise NotIterable(what="a tensor", advice="slice it with numbers: for k in range(rows): row = t[k : k + 1, :]")

    def __len__(self) -> int:
        raise TensorIsNoNumber(what="len()", advice="use t.shape[0]")

    def __bool__(self) -> bool:
        raise TensorIsNoNumber(what="truth value")

    def __int__(self) -> int:
        raise TensorIsNoNumber(what="int() value")

    def __float__(self) -> float:
        raise TensorIsNoNumber(what="float() value")

    def __index__(self) -> int:
        raise TensorIsNoNumber(what="value as an index")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Tensor.__slots__:
            raise AttributeError(name)
        near = difflib.get_close_matches(name, [n for n in dir(Tensor) if not n.startswith("_")], n=1)
        raise UnknownAttribute(name=name, nearest=f"; did you mean '{near[0]}'?" if near else "")

    def __repr__(self) -> str:
        sizes = ", ".join("..." if mark is ... else str(getattr(mark, "name", mark)) for mark in self.shape)
        name = f", {self._name!r}" if self._name else ""
        return f"Tensor([{sizes}], {self.dtype.name}{name})"


class TensorAnnotation:
    """``Tensor[[rows, columns], dtype]``: the other way to annotate. Parts are recognised by their type."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    @classmethod
    def of(cls, parts: tuple[Any, ...]) -> TensorAnnotation:
        fields: dict[str, Any] = {}
        kinds = (((list, tuple), "shape"), (DataType, "dtype"), (TileOpFormat, "format"), (str, "name"))
        for part in parts:
            if isinstance(part, dict):
                fields.update(part)
            fields.update({name: part for kind, name in kinds if isinstance(part, kind)})
        return cls(**fields)

    def to_tensor(self, name: str = "") -> Tensor:
        """The description; a missing dtype counts as FP32, asked for."""
        fields = {"shape": [], "dtype": DataType.DT_FP32, **self.fields}
        made = Tensor.__new__(Tensor)
        with_no_recorder(lambda: made.__init__(**fields))  # type: ignore[misc]
        return made.to_tensor(name)


def with_no_recorder(function: Callable[[], Any]) -> Any:
    """Run ``function`` so that tensors made in it are descriptions even inside a kernel."""
    token = RECORDER.set(None)
    try:
        return function()
    finally:
        RECORDER.reset(token)


def as_user(size: Scalar) -> Any:
    """An ir scalar as users see it: a number or a SymbolicScalar."""
    return SymbolicScalar(size) if isinstance(size, Expression) else size


def check_dtype(dtype: Any) -> DataType:
    if not isinstance(dtype, DataType):
        raise TensorShape(problem=f"the dtype must be a pypto.DT_..., got {type(dtype).__name__} {dtype!r}")
    return dtype


def check_marks(shape: Any) -> list[Mark]:
    """The shape argument as a list of ints, symbolic scalars, marks and a last ``...``."""
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TensorShape(problem=f"the shape must be a list of sizes, got {type(shape).__name__} {shape!r}")
    marks = list(shape)
    for axis, mark in enumerate(marks):
        if mark is ... and axis == len(marks) - 1:
            continue
        if not isinstance(mark, StatusType) and (isinstance(mark, float) or scalar_of(mark) is None):
            raise TensorShape(problem=f"size {axis} must be an int, a SymbolicScalar or a mark, got {mark!r}")
        if isinstance(mark, int) and mark < -1:
            raise TensorShape(problem=f"size {axis} must not be negative, got {mark}")
    return marks


# -- methods and operators from the op table ---------------------------------------------------------------------------------------


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


def install_operations() -> None:
    """Give ``Tensor`` the methods and operators that the rows of the op table name. Called once all rows are entered."""
    for row in OPERATIONS.values():
        if row.method:
            name = row.name if row.method is True else row.method
            setattr(Tensor, name, row.function)
        for operator in row.operators:
            setattr(Tensor, operator, _operator(row, operator))


def _operator(row: Operation, operator: str) -> Callable[..., Any]:
    if operator.startswith("__r") and operator not in ("__rshift__", "__round__"):
        return _reflected(row.function)
    return row.function
