"""Runs a transformed kernel in plain Python, one core at a time, and reasons about the order that its events enforce.

``run``: what a core does, in order: ``("wait", pipe, id)``, ``("set", pipe, id)``, ``("stage", name, arguments, keywords)``. ``Order`` is
the order between all operations of both cores that follows from nothing but queues, locks and events, as on hardware.
"""

import ast
import copy
from collections import defaultdict
from types import SimpleNamespace

import pypto_pro.language as pl
from pypto.cores.enums import PipeType

CORES = ("cube", "vector")


class _Tile:
    pass


class _Group:
    """Answers every way of taking a tile with its number."""

    def __init__(self, slots):
        self.slots = slots
        self.cursor = slots - 1

    def next(self):
        self.cursor = (self.cursor + 1) % self.slots
        return self.cursor

    def current(self):
        return self.cursor

    def previous(self):
        return (self.cursor + self.slots - 1) % self.slots

    def __getitem__(self, index):
        return index


class _Language:
    """Stands for ``pl``: events are noted, everything else does nothing."""

    def __init__(self, log):
        self.log = log
        self.PipeType = PipeType
        self.system = SimpleNamespace(
            set_cross_core=lambda pipe, event_id: log.append(("set", pipe, event_id)),
            wait_cross_core=lambda pipe, event_id: log.append(("wait", pipe, event_id)),
            sync_all=lambda **keywords: log.append(("all",)),
        )

    range = staticmethod(range)
    struct = staticmethod(pl.struct)
    struct_array = staticmethod(pl.struct_array)

    def make_tile_group(self, **keywords):
        return _Group(keywords.get("depth") or len(keywords["mutex_ids"]))

    def get_subblock_idx(self):
        return 0

    def __getattr__(self, name):
        if name.startswith("section_") or name[0].isupper():
            return getattr(pl, name)
        return lambda *arguments, **keywords: SimpleNamespace(name=name)


class _OneCore(ast.NodeTransformer):
    """Drops the sections of the other core."""

    def __init__(self, core):
        self.other = "section_vector" if core == "cube" else "section_cube"

    def visit_With(self, node):
        self.generic_visit(node)
        text = ast.unparse(node.items[0].context_expr)
        return ast.copy_location(ast.Pass(), node) if self.other in text else node


def run(transformed, namespace, core, *arguments):
    """What one core does, with the kernel's parameters."""
    node = _OneCore(core).visit(copy.deepcopy(transformed.node))
    node.decorator_list = []
    for argument in node.args.args:
        argument.annotation = None
    log = []
    names = dict(namespace)
    names["pl"] = _Language(log)
    for report in transformed.loops:
        for stage in report.loop.stages:
            names[stage.name] = _noted(log, stage.name)
    module = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(module, "<core>", "exec"), names)
    names[node.name](*arguments)
    return log


def _noted(log, name):
    return lambda *arguments, **keywords: log.append(("stage", name, arguments, keywords))


def tokens(log_cube, log_vector):
    """(receiving core, id) -> (sets, waits): what cube sets, vector waits for."""
    found = defaultdict(lambda: [0, 0])
    for core, log in (("cube", log_cube), ("vector", log_vector)):
        other = "vector" if core == "cube" else "cube"
        for entry in log:
            if entry[0] == "set":
                found[other, entry[2]][0] += 1
            elif entry[0] == "wait":
                found[core, entry[2]][1] += 1
    return {key: tuple(value) for key, value in found.items()}


class Order:
    """All operations of a run as a graph: queue order, lock and data order inside a core, k-th set before k-th wait across cores."""

    def __init__(self, report, logs, locks=True):
        self.locks = locks
        self.after = defaultdict(set)
        self.operations = []  # (core, stage order, task, step number)
        self.index = {}
        self.before_count = defaultdict(int)
        traces = {stage.name: (stage, report.traces[stage]) for stage in report.loop.stages}
        sets, waits = defaultdict(list), defaultdict(list)
        for core in CORES:
            self._core(core, logs[core], traces, sets, waits)
        for key, waiting in waits.items():
            for ready, wait in zip(sets[key], waiting, strict=False):
                self._edge(ready, wait)
        self.unmatched = {key: (len(sets[key]), len(waits[key])) for key in {*sets, *waits} if len(sets[key]) != len(waits[key])}

    def _core(self, core, log, traces, sets, waits):
        last_on_pipe, last_on_tile = {}, defaultdict(list)
        count = defaultdict(int)
        other = "vector" if core == "cube" else "cube"
        for number, entry in enumerate(log):
            if entry[0] == "stage":
                stage, trace = traces[entry[1]]
                task = count[entry[1]]
                count[entry[1]] += 1
                for position, step in enumerate(trace.steps):
                    node = (core, stage.order, task, position)
                    self.operations.append(node)
                    self._queue(node, step.pipe, last_on_pipe)
                    for access in step.accesses:
                        tile = (access.buffer, task)
                        for role, earlier in last_on_tile[tile]:
                            if self.locks or "W" in (role, access.role):
                                self._edge(earlier, node)
                        last_on_tile[tile].append((access.role, node))
            else:
                node = (core, entry[0], number)
                self._queue(node, entry[1], last_on_pipe)
                (sets[other, entry[2]] if entry[0] == "set" else waits[core, entry[2]]).append(node)

    def _queue(self, node, pipe, last_on_pipe):
        if pipe in last_on_pipe:
            self._edge(last_on_pipe[pipe], node)
        last_on_pipe[pipe] = node
        self.after.setdefault(node, set())

    def _edge(self, first, second):
        if first != second:
            self.after[first].add(second)

    def circular(self):
        """Whether the order contradicts itself: the run would hang."""
        state = {}
        for start in list(self.after):
            if start in state:
                continue
            stack = [(start, iter(self.after[start]))]
            state[start] = 1
            while stack:
                node, following = stack[-1]
                step = next(following, None)
                if step is None:
                    state[node] = 2
                    stack.pop()
                elif state.get(step) == 1:
                    return True
                elif step not in state:
                    state[step] = 1
                    stack.append((step, iter(self.after[step])))
        return False

    def reaches(self, first, second):
        seen, pending = {first}, [first]
        while pending:
            for following in self.after[pending.pop()] - seen:
                if following == second:
                    return True
                seen.add(following)
                pending.append(following)
        return False


def missing_orders(report, order, tasks):
    """Conflicting accesses of one lane by different cores that nothing orders (in serial order)."""
    missing = []
    nodes = report.graph.nodes
    regions = report.graph.regions
    for first in nodes:
        for second in nodes:
            region = regions[first.buffer]
            if regions[second.buffer] != region or first.stage.core == second.stage.core or "W" not in (first.role, second.role):
                continue
            for task in range(tasks):
                for later in (task, task + region.slots):
                    ordered = later < tasks and (later > task or second.sequence > first.sequence)
                    if ordered:
                        a = (first.stage.core, first.stage.order, task, first.step)
                        b = (second.stage.core, second.stage.order, later, second.step)
                        if not order.reaches(a, b):
                            missing.append((first.label, task, second.label, later))
    return missing
