"""Kernels made at random: chains of cube and vector stages that hand data on through channels.

``Chain`` describes one, ``source`` writes it as a module, ``load`` imports it: the transform reads functions from files.
"""

import importlib.util
from dataclasses import dataclass

ROOM = {"vector": 0x40000, "cube": 0x80000}  # channels into UB, channels into L1


@dataclass(frozen=True)
class Link:
    """A channel between two neighbours. ``reader``: the pipes of the consumer (V, MTE3, both, in place)."""

    slots: int
    backward: bool
    one_id: bool
    reader: str = "V"


@dataclass(frozen=True)
class Chain:
    """``first``: core of the first stage; ``outer``: a loop around the pipelined one; ``locks``: automatic locking."""

    first: str
    links: tuple[Link, ...]
    outer: bool = False
    locks: bool = True

    @property
    def stages(self) -> int:
        return len(self.links) + 1

    def core(self, stage: int) -> str:
        return ("cube", "vector")[(stage + (self.first == "vector")) % 2]

    def ids(self) -> int:
        return sum((1 if link.one_id else link.slots) * (2 if link.backward else 1) for link in self.links)


def source(chain: Chain) -> str:
    lines = ["import pypto_pro.language as pl", ""]
    for stage in range(chain.stages):
        lines += _stage(chain, stage)
    lines += _kernel(chain)
    return "\n".join(lines) + "\n"


def _stage(chain: Chain, stage: int) -> list[str]:
    core = chain.core(stage)
    lines = ["@pl.pipeline.stage", f"def stage{stage}(k, out, work, other, channel_in, channel_out):", "    w = work.next()"]
    if core == "cube":
        lines.append("    a = other.next()")
    reader = chain.links[stage - 1].reader if stage else ""
    if stage:
        lines.append("    x = channel_in.next()")
        lines += _reads(core, reader)
    if core == "cube":
        lines += ["    pl.load(w, out, [k, 0])"] if not stage else []
        lines.append("    pl.matmul(a, w, w)")
    elif not stage or reader == "MTE3":
        lines.append("    pl.expands(w, 1.0)")
    if stage < chain.stages - 1:
        lines.append("    y = channel_out.next()")
        lines.append("    pl.move(y, a)" if core == "cube" else "    pl.insert(y, w, [0, 0])")
    else:
        lines.append("    pl.store(out, a, [k, 0])" if core == "cube" else "    pl.store(out, w, [k, 0])")
    return [*lines, ""]


def _reads(core: str, reader: str) -> list[str]:
    if core == "cube":
        return ["    pl.move(w, x)"]
    found = {
        "V": ["    pl.relu(w, x)"],
        "MTE3": ["    pl.store(out, x, [k, 64])"],
        "both": ["    pl.relu(w, x)", "    pl.store(out, x, [k, 64])"],
        "in place": ["    pl.relu(x, x)", "    pl.exp(w, x)"],
    }
    return found[reader]


def _kernel(chain: Chain) -> list[str]:
    lines = ["def kernel(out: pl.Tensor[[1024, 1024], pl.DT_FP32], n: pl.DT_INT32, m: pl.DT_INT32):"]
    token, event, address = 16, 0, dict(ROOM)
    for number, link in enumerate(chain.links):
        into = chain.core(number + 1)
        space, size = ("Vec", 1024) if into == "vector" else ("Mat", 1024)
        count = 1 if link.one_id else link.slots
        events = [list(range(event, event + count)), list(range(event + count, event + 2 * count))]
        event += count * (2 if link.backward else 1)
        backward = f", bwd_ids={events[1]}" if link.backward else ""
        kind = f"pl.TileType(shape=[16, 16], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.{space})"
        tokens = [token % 32 for token in range(token, token + link.slots)]
        token += link.slots
        lines.append(
            f"    ch{number} = pl.make_tile_group(type={kind}, addrs={address[into]}, mutex_ids={tokens}, fwd_ids={events[0]}{backward})"
        )
        address[into] += size * link.slots
    for name, space in (("left", "Left"), ("acc", "Acc"), ("work", "Vec"), ("more", "Vec")):
        kind = f"pl.TileType(shape=[16, 16], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.{space})"
        first = {"left": 0, "acc": 2, "work": 4, "more": 6}[name]
        lines.append(f"    {name} = pl.make_tile_group(type={kind}, addrs={first * 4096}, mutex_ids=[{first}, {first + 1}])")
    pad = "    "
    if chain.outer:
        lines.append("    for i in pl.range(0, m):")
        pad += "    "
    lines.append(f"{pad}for k in pl.range(0, n):")
    for stage in range(chain.stages):
        core = chain.core(stage)
        own = "left, acc" if core == "cube" else "work, more"
        ends = f"{f'ch{stage - 1}' if stage else 'None'}, {f'ch{stage}' if stage < chain.stages - 1 else 'None'}"
        lines += [f"{pad}    with pl.section_{core}():", f"{pad}        stage{stage}(k, out, {own}, {ends})"]
    return lines


def load(chain: Chain, folder, name: str):
    """The kernel of a chain, from a file in ``folder``."""
    file = folder / f"{name}.py"
    file.write_text(source(chain))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel
