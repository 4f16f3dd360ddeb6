"""Kernels made at random: chains of cube and vector stages that hand data on through channels.

``Chain`` describes one, ``source`` writes it as a module, ``load`` imports it: the transform reads functions from files. The kernels
run on the simulator: ``kernel(source, weights, out, side, n, m)`` with blocks of 32 × 32.
"""

import importlib.util
from dataclasses import dataclass

ROWS, HALF = 32, 16
FIRST_ADDRESS = 0x10000  # of channels, in UB and in L1
FIRST_TOKEN = 12  # tokens below belong to the stages' own tiles


@dataclass(frozen=True)
class Link:
    """A channel between two neighbours. ``reader``: what a vector consumer does with it, on the pipes V and MTE3."""

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


READS = {  # x is the tile of the channel, w the stage's own
    "V": ["pl.relu(w, x)"],
    "MTE3": ["pl.store(side, x, [row, {column}])", "pl.expands(w, 1.0)"],
    "both": ["pl.abs(w, x)", "pl.store(side, x, [row, {column}])"],
    "in place": ["pl.mul(x, x, 0.5)", "pl.abs(w, x)"],
}


def source(chain: Chain) -> str:
    lines = ["import pypto_pro.language as pl", ""]
    for stage in range(chain.stages):
        lines += _cube_stage(chain, stage) if chain.core(stage) == "cube" else _vector_stage(chain, stage)
    return "\n".join(lines + _kernel(chain)) + "\n"


def _head(stage: int) -> list[str]:
    return [
        "@pl.pipeline.stage",
        f"def stage{stage}(k, row, src, out, side, weights, work, other, acc, channel_in, channel_out):",
    ]


def _cube_stage(chain: Chain, stage: int) -> list[str]:
    lines = ["left = work.next()", "right = other.next()", "sums = acc.next()"]
    if stage:
        lines += ["x = channel_in.next()", "pl.move(left, x)"]
    else:
        lines += ["a = weights[1 + k % 2]", "pl.load(a, src, [row, 0])", "pl.move(left, a)"]
    lines += ["w = weights[0]", "pl.move(right, w)", "pl.matmul(sums, left, right)"]
    if stage == chain.stages - 1:
        lines.append("pl.store(out, sums, [row, 0])")
    else:
        lines += ["y = channel_out.next()", "pl.move(y, sums, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)"]
    return [*_head(stage), *(f"    {line}" for line in lines), ""]


def _vector_stage(chain: Chain, stage: int) -> list[str]:
    lines = ["half = pl.get_subblock_idx()", f"row = row + half * {HALF}", "w = work.next()"]
    if stage:
        lines += ["x = channel_in.next()"]
        lines += [line.format(column=stage * ROWS) for line in READS[chain.links[stage - 1].reader]]
    else:
        lines.append("pl.load(w, src, [row, 0])")
    if stage == chain.stages - 1:
        lines.append("pl.store(out, w, [row, 0])")
    else:
        lines += ["z = other.next()", "pl.move(z, w)", "y = channel_out.next()", f"pl.insert(y, z, [half * {HALF}, 0])"]
    return [*_head(stage), *(f"    {line}" for line in lines), ""]


KERNEL = """def kernel(
    src: pl.Tensor[[pl.DYNAMIC, 32], pl.DT_FP32],
    wsrc: pl.Tensor[[32, 32], pl.DT_FP32],
    out: pl.Tensor[[pl.DYNAMIC, 32], pl.DT_FP32],
    side: pl.Tensor[[pl.DYNAMIC, 256], pl.DT_FP32],
    n: pl.DT_INT32,
    m: pl.DT_INT32,
):
    vec = pl.TileType(shape=[16, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
    mat = pl.TileType(shape=[32, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
    l0a = pl.TileType(shape=[32, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ)
    l0b = pl.TileType(shape=[32, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN)
    l0c = pl.TileType(shape=[32, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024)
    vec_nz = pl.TileType(shape=[16, 32], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.NZ)
{channels}
    with pl.section_cube():
        weights = pl.make_tile_group(type=mat, addrs=0, mutex_ids=[0, 1, 2])
        left = pl.make_tile_group(type=l0a, addrs=0, mutex_ids=[3, 4])
        right = pl.make_tile_group(type=l0b, addrs=0, mutex_ids=[5, 6])
        acc = pl.make_tile_group(type=l0c, addrs=0, mutex_ids=[7, 8])
        w = weights[0]
        pl.load(w, wsrc, [0, 0])
    with pl.section_vector():
        work = pl.make_tile_group(type=vec, addrs=0, mutex_ids=[0, 1])
        fractal = pl.make_tile_group(type=vec_nz, addrs=0x2000, mutex_ids=[2, 3])
"""


def _channels(chain: Chain) -> str:
    token, event, lines = FIRST_TOKEN, 0, []
    address = {"vector": FIRST_ADDRESS, "cube": FIRST_ADDRESS}
    for number, link in enumerate(chain.links):
        into, count = chain.core(number + 1), 1 if link.one_id else link.slots
        forward, backward = (list(range(event + i * count, event + (i + 1) * count)) for i in (0, 1))
        event += count * (2 if link.backward else 1)
        tokens = [FIRST_TOKEN + (token - FIRST_TOKEN + i) % 20 for i in range(link.slots)]
        token += link.slots
        ids = f"fwd_ids={forward}" + (f", bwd_ids={backward}" if link.backward else "")
        kind = "vec" if into == "vector" else "mat"
        lines.append(f"    ch{number} = pl.make_tile_group(type={kind}, addrs={address[into]}, mutex_ids={tokens}, {ids})")
        address[into] += 0x1000 * link.slots
    return "\n".join(lines)


def _kernel(chain: Chain) -> list[str]:
    lines = KERNEL.format(channels=_channels(chain)).splitlines()
    pad = "    "
    if chain.outer:
        lines.append("    for i in pl.range(0, m):")
        pad += "    "
    task = "i * n + k" if chain.outer else "k"
    lines += [f"{pad}for k in pl.range(0, n):", f"{pad}    row = ({task}) * {ROWS}"]
    for stage in range(chain.stages):
        core = chain.core(stage)
        own = "weights, left, right, acc" if core == "cube" else "None, work, fractal, None"
        ends = f"{f'ch{stage - 1}' if stage else 'None'}, {f'ch{stage}' if stage < chain.stages - 1 else 'None'}"
        lines += [f"{pad}    with pl.section_{core}():", f"{pad}        stage{stage}(k, row, src, out, side, {own}, {ends})"]
    return lines


def load(chain: Chain, folder, name: str):
    """The kernel of a chain, from a file in ``folder``."""
    file = folder / f"{name}.py"
    file.write_text(source(chain))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel
