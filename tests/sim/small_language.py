"""Core programs from a few lines of Python-like text, so that tests show what they run and reports can show it again.

vector = '''
x = tile(Vec, [64, 64], DT_FP32, 0)
ring = group(Vec, [32, 64], DT_FP32, [0, 8192], ids=[0, 1])
for i in range(0, n):
    load(x, source, [i * 64, 0])
'''
program(vector=vector, source=tensor([n, 64]), n=scalar())
"""

import ast
import linecache
import textwrap

from pypto.cores import program as p
from pypto.cores.enums import (
    AccPhase,
    AccToVecMode,
    AtomicType,
    CoreType,
    CrossCoreSyncMode,
    MemorySpace,
    PipeType,
    STPhase,
    SyncCoreType,
    TensorLayout,
)
from pypto.cores.types import Group, Pointer, Scalar, Struct, Tensor, Tile
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.ops.tile.synchronisation import pipe_of_call
from pypto.ops.tile.table import find

FP32 = DataType.DT_FP32
DEFAULT_LAYOUT = {
    MemorySpace.Mat: TensorLayout.NZ,
    MemorySpace.Left: TensorLayout.NZ,
    MemorySpace.Right: TensorLayout.ZN,
    MemorySpace.Acc: TensorLayout.NZ,
}
NAMES = {
    **MemorySpace.__members__,
    **DataType.__members__,
    **PipeType.__members__,
    **TensorLayout.__members__,
    **AtomicType.__members__,
    **AccToVecMode.__members__,
    **CrossCoreSyncMode.__members__,
    **SyncCoreType.__members__,
    "AccFinal": AccPhase.Final,
    "AccPartial": AccPhase.Partial,
    "StoreFinal": STPhase.Final,
    "StorePartial": STPhase.Partial,
}
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def tensor(shape, dtype=FP32):
    return Tensor(tuple(shape), dtype)


def scalar(dtype=DataType.DT_INT32):
    return Scalar(dtype)


def pointer(dtype=FP32):
    return Pointer(dtype)


def program(cube=None, vector=None, chip="950", **parameters):
    """A kernel; the text of each core becomes the file ``cube.py`` or ``vector.py`` of reports."""
    cores = {
        core: None if text is None else _Reader(core, text, parameters).core_program()
        for core, text in ((CoreType.CUBE, cube), (CoreType.VECTOR, vector))
    }
    listed = tuple(p.Parameter(name, kind) for name, kind in parameters.items())
    return p.TileProgram("kernel", listed, cores[CoreType.CUBE], cores[CoreType.VECTOR], chip)


class _Reader:
    def __init__(self, core, text, parameters):
        self.core, self.text = core, textwrap.dedent(text).strip("\n") + "\n"
        self.file = f"{core.name.lower()}.py"
        linecache.cache[self.file] = (len(self.text), None, self.text.splitlines(keepends=True), self.file)
        self.types = dict(parameters)

    def core_program(self):
        body = self.body(ast.parse(self.text).body)
        return p.CoreProgram(self.core, body, self.types)

    def body(self, statements):
        return tuple(one for statement in statements if (one := self.statement(statement)) is not None)

    def span(self, node):
        return Span(self.file, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def statement(self, node):
        if isinstance(node, ast.Assign):
            return self.assign(node.targets[0], node.value)
        if isinstance(node, ast.For):
            bounds = [self.expression(one) for one in node.iter.args]
            start, stop, step = (bounds + [p.Constant(1)])[:3] if len(bounds) > 1 else (p.Constant(0), bounds[0], p.Constant(1))
            return p.Loop(node.target.id, start, stop, step, self.body(node.body), self.span(node))
        if isinstance(node, ast.While):
            return p.Repeat(self.body(node.body), self.span(node))
        if isinstance(node, ast.If):
            return p.If(self.expression(node.test), self.body(node.body), self.body(node.orelse), self.span(node))
        if isinstance(node, ast.Break):
            return p.Break()
        if isinstance(node, ast.Return):
            return p.Return()
        if isinstance(node, ast.Pass):
            return None
        return self.instruction(node.value, None)

    def assign(self, target, value):
        if isinstance(target, ast.Attribute):
            return p.SetField(self.expression(target.value), target.attr, self.expression(value), None, self.span(value))
        name = target.id
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            maker = {"tile": self.tile, "group": self.group, "struct": self.struct}.get(value.func.id)
            if maker is not None:
                return maker(name, value)
            if value.func.id not in ("choose", "extent", "valid", "block_idx", "block_num", "subblock_idx"):
                return self.instruction(value, name)
        found = self.expression(value)
        if isinstance(found, p.Slot):
            self.types[name] = self.types[found.group.name].tile
        elif isinstance(found, (p.Name, p.Window)):
            self.types[name] = self.types[(found if isinstance(found, p.Name) else found.tile).name]
        return p.Assign(name, found, self.span(value))

    def plain(self, node):
        """Constants of a declaration: numbers, names of enumerations, lists."""
        if isinstance(node, ast.Name):
            return NAMES[node.id]
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple(self.plain(one) for one in node.elts)
        return ast.literal_eval(node)

    def keywords(self, call):
        return {one.arg: self.plain(one.value) for one in call.keywords}

    def kind(self, call, keywords):
        space, shape, dtype = (self.plain(one) for one in call.args[:3])
        layout = keywords.get("layout", DEFAULT_LAYOUT.get(space, TensorLayout.ND))
        plain = layout in (TensorLayout.ND, TensorLayout.DN)
        fractal = 0 if plain else 1024 if space is MemorySpace.Acc else 512
        return Tile(shape, dtype, space, layout, fractal)

    def tile(self, name, call):
        keywords = self.keywords(call)
        self.types[name] = kind = self.kind(call, keywords)
        return p.DeclareTile(name, kind, self.plain(call.args[3]), tuple(keywords.get("ids", ())), self.span(call))

    def group(self, name, call):
        keywords = self.keywords(call)
        kind, addresses = self.kind(call, keywords), self.plain(call.args[3])
        ids = tuple(one if isinstance(one, tuple) else (one,) for one in keywords.get("ids", ()))
        self.types[name] = Group(kind, len(addresses), ids)
        return p.DeclareGroup(name, kind, addresses, ids, place=self.span(call))

    def struct(self, name, call):
        fields = tuple((one.arg, self.expression(one.value)) for one in call.keywords)
        kinds = tuple((one.arg, DataType.DT_INT32, None) for one in call.keywords)
        self.types[name] = Struct(name, kinds)
        return p.DeclareStruct(name, name, fields, None, self.span(call))

    def instruction(self, call, result):
        name = call.func.id
        row = find(name)
        operands = tuple(self.operand(one) for one in call.args)
        attributes = {one.arg: self.attribute(one.value) for one in call.keywords}
        pipe = pipe_of_call(name, attributes)
        if pipe is None:
            spaces = [getattr(self.type_of(one), "space", None) for one in operands]
            pipe = row.pipe if isinstance(row.pipe, PipeType) else row.pipe(spaces)
        if name in ("getval", "setval") or result is not None:
            pipe = PipeType.S
        if result is not None:
            self.types[result] = Scalar(FP32)
        return p.Instruction(name, pipe, operands, attributes, result, self.span(call))

    def type_of(self, operand):
        if isinstance(operand, p.Name):
            return self.types.get(operand.name)
        if isinstance(operand, p.Slot):
            return self.types[operand.group.name].tile
        return self.type_of(operand.tile) if isinstance(operand, p.Window) else None

    def operand(self, node):
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple(self.expression(one) for one in node.elts)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return self.expression(node)

    def attribute(self, node):
        if isinstance(node, ast.Name) and node.id in NAMES:
            return NAMES[node.id]
        return self.operand(node)

    def expression(self, node):
        if isinstance(node, ast.Constant):
            dtype = FP32 if isinstance(node.value, float) else DataType.DT_INT64
            return p.Constant(node.value, dtype)
        if isinstance(node, ast.UnaryOp):
            return p.Constant(-node.operand.value)
        if isinstance(node, ast.Name):
            return p.Name(node.id)
        if isinstance(node, ast.BinOp):
            return p.Operation(OPERATORS[type(node.op)], (self.expression(node.left), self.expression(node.right)))
        if isinstance(node, ast.Compare):
            operands = (self.expression(node.left), self.expression(node.comparators[0]))
            return p.Operation(OPERATORS[type(node.ops[0])], operands, DataType.DT_BOOL)
        if isinstance(node, ast.Attribute):
            return p.Field(self.expression(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return self.window(node)
        return self.called(node)

    def window(self, node):
        if not isinstance(node.slice, ast.Tuple):
            return p.Slot(self.expression(node.value), "at", self.expression(node.slice))
        rows, columns = node.slice.elts
        bounds = (rows.lower, rows.upper, columns.lower, columns.upper)
        return p.Window(self.expression(node.value), *(self.expression(one) for one in bounds))

    def called(self, node):
        if isinstance(node.func, ast.Attribute):
            return p.Slot(self.expression(node.func.value), node.func.attr)
        name = node.func.id
        if name == "choose":
            return p.Operation("choose", tuple(self.expression(one) for one in node.args))
        if name == "extent":
            return p.Extent(self.expression(node.args[0]), node.args[1].value)
        if name == "valid":
            return p.ValidExtent(self.expression(node.args[0]), node.args[1].value)
        return p.System(name)
