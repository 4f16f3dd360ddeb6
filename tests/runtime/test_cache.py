"""Object cache: keys, damage, limits, many processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pypto import options
from pypto.runtime import cache as module
from pypto.runtime.cache import Metadata, ObjectCache, cache, fingerprints, key_of

ABOUT = Metadata(kernel="softmax", source_file="k.py", options={"threads": 2}, target="+avx2", parts={"source": "1"})


def test_what_is_put_is_found_again(tmp_path: Path) -> None:
    ObjectCache(tmp_path).put("k", b"code", ABOUT)
    other = ObjectCache(tmp_path)
    assert other.get("k") == b"code"
    assert other.get("absent") is None
    (entry,) = other.entries()
    assert (entry.key, entry.about.kernel, entry.about.options, entry.about.target) == ("k", "softmax", {"threads": 2}, "+avx2")
    assert entry.about.created > 0 and entry.bytes > 4


def test_memory_serves_without_a_disk() -> None:
    memory = ObjectCache(None)
    memory.put("k", b"code", ABOUT)
    assert memory.get("k") == b"code"
    assert memory.entries() == []
    memory.forget("k")
    assert memory.get("k") is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMORY_LIMIT", 100)
    memory = ObjectCache(None)
    for index in range(10):
        memory.put(str(index), b"x" * 30, ABOUT)
    assert [key for key in map(str, range(10)) if memory.get(key)] == ["7", "8", "9"]


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign"])
def test_damaged_entries_are_dropped(tmp_path: Path, damage: str) -> None:
    ObjectCache(tmp_path).put("k", b"code" * 100, ABOUT)
    path = tmp_path / "k.object"
    image = bytearray(path.read_bytes())
    image[-1] ^= 1
    path.write_bytes({"flip": bytes(image), "cut": bytes(image[:-9]), "empty": b"", "foreign": b"x" * 1000}[damage])
    fresh = ObjectCache(tmp_path)
    assert fresh.get("k") is None
    assert fresh.dropped == 1 and not path.exists()
    fresh.put("k", b"new", ABOUT)
    assert ObjectCache(tmp_path).get("k") == b"new"


def test_oldest_entries_go_first(tmp_path: Path) -> None:
    small = ObjectCache(tmp_path, limit=5000)
    for index in range(5):
        small.put(str(index), bytes(1000), ABOUT)
        os.utime(tmp_path / f"{index}.object", (1000 + index, 1000 + index))
    small.put("last", bytes(1000), ABOUT)
    kept = {entry.key for entry in ObjectCache(tmp_path, limit=5000).entries()}
    assert "last" in kept and "0" not in kept
    assert sum(entry.bytes for entry in small.entries()) <= 5000


def test_a_hit_makes_an_old_entry_young(tmp_path: Path) -> None:
    ObjectCache(tmp_path).put("k", b"code", ABOUT)
    os.utime(tmp_path / "k.object", (1000, 1000))
    ObjectCache(tmp_path).get("k")
    assert (tmp_path / "k.object").stat().st_mtime > 2000


def test_an_entry_above_the_limit_stays_in_memory(tmp_path: Path) -> None:
    small = ObjectCache(tmp_path, limit=100)
    small.put("k", bytes(1000), ABOUT)
    assert small.get("k") == bytes(1000)
    assert list(tmp_path.iterdir()) == []


def test_remains_of_a_dead_writer_are_swept(tmp_path: Path) -> None:
    (tmp_path / "dead.part").write_bytes(b"half")
    os.utime(tmp_path / "dead.part", (1000, 1000))
    (tmp_path / "alive.part").write_bytes(b"half")
    ObjectCache(tmp_path).put("k", b"code", ABOUT)
    assert {path.name for path in tmp_path.iterdir()} == {"alive.part", "k.object"}


def test_trouble_with_the_disk_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    broken = ObjectCache(tmp_path / "file" / "below")
    broken.put("k", b"code", ABOUT)
    assert broken.get("k") == b"code"
    assert broken.entries() == [] and broken.clear() == 0


def test_clear_empties_memory_and_disk(tmp_path: Path) -> None:
    full = ObjectCache(tmp_path)
    full.put("a", b"1", ABOUT)
    full.put("b", b"2", ABOUT)
    assert full.clear() == 2
    assert full.get("a") is None and full.entries() == []


def test_keys_depend_on_content_only() -> None:
    assert key_of({"a": "1", "b": b"2"}) == key_of({"b": "2", "a": "1"})
    different = [{"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": ""}, {"a1": ""}, {"": "a1"}]
    assert len({key_of(parts) for parts in different}) == len(different)


def test_a_miss_says_which_part_changed(tmp_path: Path) -> None:
    parts = {"source": "def f", "options": "threads=1", "target": "+avx2"}
    one = ObjectCache(tmp_path)
    assert one.why("f", parts) == "first compilation"
    one.put(key_of(parts), b"1", Metadata(kernel="f", parts=fingerprints(parts)))
    assert one.why("f", parts | {"options": "threads=2"}) == "changed: options"
    assert one.why("f", parts | {"source": "def g", "extra": "1"}) == "changed: extra, source"
    assert one.why("g", parts) == "first compilation"


def test_options_choose(tmp_path: Path) -> None:
    with options.scope("test", {"run.cache_dir": str(tmp_path), "run.cache_limit_mb": 1, "run.cache": True}):
        assert cache().directory == tmp_path and cache().limit == 1 << 20 and cache() is cache()
        with options.scope("off", {"run.cache": False}):
            assert cache().directory is None
    with options.scope("test", {"run.cache_dir": "", "run.cache": True}):
        chosen = cache().directory
        assert chosen is None or chosen.name == "openpypto"


WRITER = """
import sys, pathlib
from pypto.runtime.cache import Metadata, ObjectCache
for turn in range(40):
    for key in range(4):
        one = ObjectCache(pathlib.Path(sys.argv[1]), limit=60_000)
        code = one.get(str(key))
        assert code in (None, bytes([key]) * 20_000), "torn read"
        one.put(str(key), bytes([key]) * 20_000, Metadata(kernel="k"))
        assert one.dropped == 0
"""


def test_many_processes_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    assert not list(tmp_path.glob("*.part"))


def test_the_reason_of_an_entry_comes_from_the_older_ones_of_its_kernel(tmp_path):
    one, parts = ObjectCache(tmp_path), {"source": "def f", "options": ""}
    for number, changed in enumerate(({}, {"options": "threads=2"}, {"source": "def g"})):
        now = parts | changed
        about = Metadata(kernel="f", parts=fingerprints(now), created=1000.0 + number)
        one.put(key_of(now), b"code", about)
    entries = sorted(one.entries(), key=lambda entry: entry.about.created)
    assert [one.reason(entry, entries) for entry in entries] == ["first compilation", "changed: options", "changed: source"]
