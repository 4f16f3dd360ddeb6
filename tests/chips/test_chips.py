"""Chip files: what they say, and what is said about bad ones."""

from pathlib import Path

import pytest

import pypto.chips
from pypto.chips import chip, names
from pypto.chips.model import Rate
from pypto.cores.enums import CoreType, MemorySpace, PipeType
from pypto.errors import simulation as errors

tomllib = pytest.importorskip("tomllib")  # Python 3.11
FILES = sorted(Path(pypto.chips.__file__).parent.glob("*.toml"))


def test_names_and_aliases():
    assert names() == ("910B", "950")
    assert chip() is chip("950") is chip("a5") is chip("Ascend950")
    assert chip("a2") is chip("a3") is chip("910b")
    assert chip(chip("a2")) is chip("a2")


@pytest.mark.parametrize("name, left, accumulator, vector", [("950", 65536, 262144, 253952), ("910B", 65536, 131072, 196608)])
def test_memories(name, left, accumulator, vector):
    found = chip(name).memories
    sizes = [found[space].bytes for space in (MemorySpace.Left, MemorySpace.Acc, MemorySpace.Vec)]
    assert sizes == [left, accumulator, vector]
    assert found[MemorySpace.Right].alignment == 512


def test_only_the_950_joins_the_cores():
    for path in [(MemorySpace.Acc, MemorySpace.Vec), (MemorySpace.Vec, MemorySpace.Mat)]:
        assert chip("950").has_path(*path) and not chip("910B").has_path(*path)
    assert chip("910B").identifiers["mutex"] == 0 and chip("950").identifiers["mutex"] == 32
    assert PipeType.FIX in chip().pipes[CoreType.CUBE] and PipeType.V in chip().pipes[CoreType.VECTOR]


def test_time():
    assert chip("910B").microseconds(1850) == pytest.approx(1.0)
    rate = chip("910B").rate("COPY_IN")
    assert (rate.latency, rate.cycles(957), rate.cycles(3200, first=True)) == (1400, pytest.approx(15), 105)
    assert chip("910B").rate("DIV").cycles(1310, "fp32") == pytest.approx(59)
    assert chip("910B").rate("no such rate") == chip("910B").rates["default"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_number_has_a_source(file):
    table = tomllib.loads(file.read_text())
    parts = [table["cores"], table["identifiers"], table["cycles"], table["paths"], table["pipes"]]
    parts += [*table["memories"].values(), *table["rates"].values()]
    words = ("notes", "tile API", "assumed", "uncalibrated, derived from 910B")
    assert all(any(word in part["source"] for word in words) for part in parts)


BASE = FILES[-1].read_text()


def written(folder, text):
    path = folder / "own.toml"
    path.write_text(text)
    return path


def test_a_file_of_the_users_own(tmp_path):
    path = written(tmp_path, BASE.replace('name = "950"', 'name = "mine"').replace("253952", "1024"))
    assert chip(path).name == "mine" and chip(str(path)).memories[MemorySpace.Vec].bytes == 1024


@pytest.mark.parametrize(
    "old, new, kind, text",
    [
        ("bytes = 253952", "bytes = -1", errors.ChipFileEntry, "memories.Vec.bytes must not be negative, got -1"),
        ("bytes = 253952", "bytes = 0", errors.ChipFileEntry, "memories.Vec.bytes must be positive, got 0"),
        ("bytes = 253952", 'bytes = "many"', errors.ChipFileEntry, "memories.Vec.bytes must be a number, got 'many'"),
        ("bytes = 253952", "", errors.ChipFileEntry, "memories.Vec.bytes is missing"),
        ("bytes = 253952", "bytes = 253952\nlines = 1", errors.ChipFileEntry, "memories.Vec.lines is not known here"),
        ("[memories.Vec]", "[memories.Vectors]", errors.ChipFileEntry, "names 'Vectors', which does not exist"),
        ('"Vec Mat"', '"Vec"', errors.ChipFileEntry, "holds pairs such as \"DDR Vec\", got 'Vec'"),
        ("[rates.default]", "[rates.other]", errors.ChipFileEntry, "rates.default is missing"),
        ("clock_hertz", "clock", errors.ChipFileEntry, "clock_hertz is missing"),
        ("bytes = 253952", "bytes = =", errors.ChipFileSyntax, "cannot be read"),
    ],
)
def test_bad_files(tmp_path, old, new, kind, text):
    assert old in BASE
    with pytest.raises(kind) as error:
        chip(written(tmp_path, BASE.replace(old, new)))
    assert text in str(error.value) and str(tmp_path / "own.toml") in str(error.value)


def test_unknown_chips(tmp_path):
    with pytest.raises(errors.UnknownChip, match="no chip is called '911'"):
        chip("911")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        chip(tmp_path / "none.toml")


def test_rates_by_type():
    rate = Rate("EXP", 10, 100, types={"fp32": 200})
    assert (rate.cycles(1000, "fp16"), rate.cycles(1000, "fp32")) == (20, 15)
