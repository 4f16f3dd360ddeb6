"""What a failing launch leaves behind, so that it can be run again: program, sources, arguments, settings, message.

``error.bundle`` is the folder, a note of the error names it; ``python <folder>/replay.py`` repeats the failure. It lies with the artefacts
of the kernel (``PYPTOPRO_BUILD_DIR`` moves them, see ``artefacts``); the next failure of the same kernel replaces it.
"""

from __future__ import annotations

import contextlib
import json
import linecache
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pypto.cores.program import TileProgram, walk
from pypto.dtypes import BY_NUMPY
from pypto_pro.runtime import artefacts
from pypto_pro.runtime.compilation import Compiled
from pypto_pro.runtime.simulation import Settings

LARGEST = 256 << 20  # bytes of arguments that are saved; larger ones are drawn again from their shapes
COPIED = 64 << 20  # bytes of arguments that are copied before the launch; of larger ones the state after the failure is saved
SETTINGS = ("check", "seed", "timing", "permissive", "stop_on_assert")
_SAVED = "argument_"  # keeps names of parameters apart from those of numpy.savez
REPLAY = '''"""Runs a failed launch of '{kernel}' again."""

from pathlib import Path

from pypto_pro.runtime.bundle import replay

replay(Path(__file__).parent)
'''


def before(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as they are now: a launch writes into them."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    if sum(value.nbytes for value in arrays.values()) > COPIED:
        return values
    return {**values, **{name: value.copy() for name, value in arrays.items()}}


def save(error: Exception, compiled: Compiled, values: Mapping[str, Any], block_dim: int, now: Settings) -> Path | None:
    """Writes the bundle and tells the error where it is; None where nothing can be written."""
    root = artefacts.build_directory()
    if root is None:
        return None
    name = artefacts.clean(compiled.program.name)
    folder = (compiled.folder or root / name) / "failure"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in _files(error, compiled, values, block_dim, now):
            target = folder / file
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        _save_arrays(folder, values)
    except (OSError, pickle.PicklingError, TypeError, AttributeError, UnicodeError):  # the failure itself is what matters
        return None
    error.bundle = folder  # type: ignore[attr-defined]
    if hasattr(error, "add_note"):
        error.add_note(f"to run it again: python {folder / 'replay.py'}")
    return folder


def _files(
    error: Exception, compiled: Compiled, values: Mapping[str, Any], block_dim: int, now: Settings
) -> Iterator[tuple[str, str | bytes]]:
    program = compiled.program
    yield "program.pickle", pickle.dumps(program)
    yield "launch.json", json.dumps(_facts(program, values, block_dim, now), indent=1)
    yield "error.txt", f"{error}\n"
    yield "core_programs.txt", compiled.text
    yield "replay.py", REPLAY.format(kernel=program.name)
    if compiled.generated:
        yield "pipeline_generated.py", compiled.generated
    if Path(program.chip).is_file():
        yield "chip.toml", Path(program.chip).read_bytes()
    for file in _sources(program):
        yield f"sources/{artefacts.clean(Path(file).name)}", "".join(linecache.getlines(file))


def _facts(program: TileProgram, values: Mapping[str, Any], block_dim: int, now: Settings) -> dict[str, Any]:
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    kinds = {name: (str(value.dtype), list(value.shape)) for name, value in arrays.items()}
    plain = {name: value for name, value in values.items() if name not in arrays}
    settings = {name: getattr(now, name) for name in SETTINGS}
    return {"chip": program.chip, "block_dim": block_dim, **settings, "values": plain, "arrays": kinds}


def _sources(program: TileProgram) -> set[str]:
    """The files that the kernel, its stages and helpers stand in."""
    found: set[str] = set()
    for core in program.cores:
        for statement in walk(core.body):
            place = getattr(statement, "place", None)
            if place is not None:
                found.update(one.file for one in (place, *place.callers))
    return found


def _save_arrays(folder: Path, values: Mapping[str, Any]) -> None:
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    file = folder / "arguments.npz"
    if sum(value.nbytes for value in arrays.values()) > LARGEST:
        file.unlink(missing_ok=True)
    else:
        flat = {_SAVED + name: np.ascontiguousarray(value).reshape(-1).view(np.uint8) for name, value in arrays.items()}
        np.savez(file, **flat)  # type: ignore[arg-type]


def replay(folder: Any, **changes: Any) -> Any:
    """Runs the launch of a bundle again; keywords replace those of the failing run (``seed``, ``check``, ``timing``, ``observer``)."""
    import ml_dtypes  # noqa: F401  (numpy learns bfloat16 and the small floats by name)

    from pypto.sim.run import simulate

    path = Path(folder)
    facts = json.loads((path / "launch.json").read_text())
    program = pickle.loads((path / "program.pickle").read_bytes())
    settings = {name: facts[name] for name in ("check", "seed", "timing", "permissive")}
    settings["assertions"] = "stop" if facts["stop_on_assert"] else "continue"
    if (path / "chip.toml").exists():
        settings["chip"] = path / "chip.toml"
    values = {**facts["values"], **_arrays(path, facts["arrays"])}
    return simulate(program, values, block_dim=facts["block_dim"], **{**settings, **changes})


def _arrays(path: Path, kinds: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The saved arguments, or others of the same shapes where they were too large to be saved."""
    file = path / "arguments.npz"
    if not file.exists():
        draw = np.random.default_rng(0)
        return {name: _drawn(draw, np.dtype(dtype), shape) for name, (dtype, shape) in kinds.items()}
    with contextlib.closing(np.load(file)) as saved:
        return {name: saved[_SAVED + name].view(np.dtype(dtype)).reshape(shape) for name, (dtype, shape) in kinds.items()}


def _drawn(draw: np.random.Generator, dtype: np.dtype, shape: list[int]) -> np.ndarray:
    known = BY_NUMPY.get(dtype)
    values = draw.standard_normal(shape, np.float32) if known is not None and known.is_float else draw.integers(0, 2, shape)
    return values.astype(dtype)
