"""A reference engine that takes the passes at their word, in the least convenient way.

A lazy load is read again at every use (also through movement ops), an update in place changes the storage at once, an
independent loop runs backwards and from the middle.
"""

import numpy as np

from pypto.ir.program import Op, Value
from pypto.ops.table import OPERATIONS, Kind
from pypto.reference.engine import Machine


class Late(dict):
    """Values by name; some are computed anew whenever they are looked at."""

    def __init__(self):
        super().__init__()
        self.late = {}

    def __getitem__(self, value):
        return self.late[value]() if value in self.late else super().__getitem__(value)


class Adversary(Machine):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.values = Late()
        self.source = {}

    def statement(self, statement):
        if not isinstance(statement, Op):
            return super().statement(statement)
        for result in statement.results:
            self.values.late.pop(result, None)
        attributes = {k: v for k, v in statement.attributes.items() if k != "in_place"}
        plain = Op(statement.name, statement.operands, attributes, statement.results, statement.span)
        if statement.attributes.get("lazy"):
            self.source[statement.result] = statement
            self.late(plain)
        elif self.follows(statement):
            self.late(plain)
        elif statement.attributes.get("in_place"):
            self.in_place(statement, plain)
        else:
            super().statement(plain)

    def follows(self, op):
        row = OPERATIONS.get(op.name)
        return (
            row is not None
            and row.kind is Kind.MOVEMENT
            and any(o in self.values.late for o in op.operands if isinstance(o, Value))
        )

    def late(self, op):
        super().statement(op)  # errors show where they stand

        def again():
            now = dict(self.symbols)
            self.symbols.update(symbols)
            try:
                Machine.statement(self, op)
            finally:
                self.symbols = now
            return dict.__getitem__(self.values, op.result)

        symbols = dict(self.symbols)
        self.values.late[op.result] = again

    def in_place(self, op, plain):
        if op.name == "store":
            return
        super().statement(plain)
        load = self.source[op.operands[0]]
        self.source[op.result] = load
        memory = self.storages[load.operands[0]]
        memory.store(self.evaluated(tuple(load.attributes["offsets"])), self.values[op.result].region)

    def loop(self, loop):
        if not loop.independent:
            return super().loop(loop)
        indices = list(range(*(int(self.number(b)) for b in (loop.start, loop.stop, loop.step))))
        middle = len(indices) // 2
        for index in [*reversed(indices[middle:]), *indices[:middle]]:
            self.symbols[loop.index] = index
            self.block(loop.body)


def run_adversary(program, arrays, scalars):
    machine = Adversary(program, arrays, scalars, poison=True, checked=False, output=print)
    with np.errstate(all="ignore"):
        machine.block(program.body)
