"""What a failing launch leaves behind, so that it can be run again: program, arguments, settings, message.

``error.bundle`` is the folder; ``python <folder>/replay.py`` repeats the failure. Arguments are saved as they are after the failure: what
the kernel only reads is what it was.
"""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pypto.errors.base import UserError
from pypto_pro.runtime import artefacts
from pypto_pro.runtime.compilation import Compiled
from pypto_pro.runtime.simulation import Settings

LARGEST = 256 << 20  # bytes of arguments that are saved
REPLAY = '''"""Runs a failed launch of '{kernel}' again."""

from pathlib import Path

from pypto_pro.runtime.bundle import replay

replay(Path(__file__).parent)
'''


def save(error: UserError, compiled: Compiled, values: Mapping[str, Any], block_dim: int, now: Settings) -> Path | None:
    """Writes the bundle and tells the error where it is; None where nothing can be written."""
    root = artefacts.build_directory()
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    if root is None or sum(value.nbytes for value in arrays.values()) > LARGEST:
        return None
    name = artefacts.clean(compiled.program.name)
    folder = (compiled.folder or root / name) / "failure"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, error, compiled, arrays, _facts(values, arrays, block_dim, now))
    except (OSError, pickle.PicklingError, TypeError, AttributeError):  # the failure itself is what matters
        return None
    error.bundle = folder  # type: ignore[attr-defined]
    if hasattr(error, "add_note"):
        error.add_note(f"to run it again: python {folder / 'replay.py'}")
    return folder


def _facts(values: Mapping[str, Any], arrays: Mapping[str, Any], block_dim: int, now: Settings) -> dict[str, Any]:
    plain = {name: value for name, value in values.items() if name not in arrays}
    return {"block_dim": block_dim, "check": now.check, "seed": now.seed, "timing": now.timing, "values": plain}


def _write(folder: Path, error: UserError, compiled: Compiled, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    (folder / "program.pickle").write_bytes(pickle.dumps(compiled.program))
    kinds = {name: (str(value.dtype), list(value.shape)) for name, value in arrays.items()}
    np.savez(folder / "arguments.npz", **{name: value.reshape(-1).view(np.uint8) for name, value in arrays.items()})
    (folder / "launch.json").write_text(json.dumps({**facts, "arrays": kinds}, indent=1))
    (folder / "error.txt").write_text(f"{error}\n", encoding="utf-8")
    (folder / "core_programs.txt").write_text(compiled.text, encoding="utf-8")
    (folder / "replay.py").write_text(REPLAY.format(kernel=compiled.program.name))
    if compiled.generated:
        (folder / "pipeline_generated.py").write_text(compiled.generated, encoding="utf-8")


def replay(folder: Any, **changes: Any) -> Any:
    """Runs the launch of a bundle again; keywords replace those of the failing run (``seed``, ``check``, ``timing``, ``observer``)."""
    import ml_dtypes  # noqa: F401  (numpy learns bfloat16 and the small floats by name)

    from pypto.sim.run import simulate

    path = Path(folder)
    facts = json.loads((path / "launch.json").read_text())
    program = pickle.loads((path / "program.pickle").read_bytes())
    values: dict[str, Any] = dict(facts["values"])
    with contextlib.closing(np.load(path / "arguments.npz")) as saved:
        for name, (dtype, shape) in facts["arrays"].items():
            values[name] = saved[name].view(np.dtype(dtype)).reshape(shape)
    settings = {name: facts[name] for name in ("check", "seed", "timing")}
    return simulate(program, values, block_dim=facts["block_dim"], **{**settings, **changes})
