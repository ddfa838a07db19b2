"""The shipped tables and the cache on disk: what is kept, and that nothing wrong with it ever shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contextasm.config import build as tables
from contextasm.config.build import load_token_table
from contextasm.model import ContextasmError
from contextasm.selection.tokens import ENCODINGS
from contextasm.workspace.cache import DiskCache
from tests.command import ROOT

NAME = "o200k_base"


def cache_in(folder: Path, version: str = "1", limit: int = 1 << 20) -> DiskCache:
    return DiskCache(str(folder), "values", version, limit)


def remember(folder: Path, limit: int = 1 << 20, **values: str) -> None:
    """One build that makes these values."""
    cache = cache_in(folder, limit=limit)
    for text, value in values.items():
        assert cache.get(text) is None
        cache.put(text, value.encode())
    cache.save()


def recall(folder: Path, *texts: str, version: str = "1", limit: int = 1 << 20) -> list[str | None]:
    """What a later build finds."""
    values = map(cache_in(folder, version, limit).get, texts)
    return [None if value is None else value.decode() for value in values]


def file_of(folder: Path) -> Path:
    """Where the values are."""
    return folder / "values.cache"


def test_values_are_found_by_a_later_build(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "ctxasm"
    remember(folder, one="1", two="\0 \n\r", three="")
    assert recall(folder, "one", "two", "three", "four") == ["1", "\0 \n\r", "", None]
    assert recall(folder, "one", version="2") == [None]


def test_values_are_known_before_they_are_saved(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    cache.put("one", b"1")
    assert cache.get("one") == b"1"
    assert cache.get("two") is None
    assert (cache.lookups, cache.hits) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_cache_without_a_folder_keeps_values_in_the_process() -> None:
    cache = DiskCache(None, "values", "1")
    cache.put("one", b"1")
    cache.save()
    assert cache.get("one") == b"1"
    assert DiskCache(None, "values", "1").get("one") is None


def test_nothing_is_written_when_nothing_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = cache_in(folder)
    assert cache.get("one") is None
    cache.save()
    assert not folder.exists()
    cache.put("one", b"1")
    cache.save()
    before = file_of(folder).read_bytes()
    cache.save()
    assert file_of(folder).read_bytes() == before


def test_later_builds_append_and_a_new_value_replaces_an_old_one(tmp_path: Path) -> None:
    remember(tmp_path, one="1")
    before = file_of(tmp_path).read_bytes()
    cache = cache_in(tmp_path)
    cache.put("two", b"2")
    cache.put("one", b"3")
    cache.save()
    assert file_of(tmp_path).read_bytes().startswith(before)
    assert recall(tmp_path, "one", "two") == ["3", "2"]


def test_file_is_private_and_holds_no_text(tmp_path: Path) -> None:
    remember(tmp_path / "c", the_text="1")
    assert file_of(tmp_path / "c").stat().st_mode & 0o077 == 0
    assert (tmp_path / "c").stat().st_mode & 0o077 == 0
    assert b"the_text" not in file_of(tmp_path / "c").read_bytes()


@pytest.mark.parametrize("torn", range(1, 38))
def test_torn_line_is_dropped_and_mended(tmp_path: Path, torn: int) -> None:
    remember(tmp_path, one="1", two="2")
    data = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(data[:-torn])
    assert recall(tmp_path, "one", "two") == ["1", None]
    remember(tmp_path, two="2", three="3")
    assert recall(tmp_path, "one", "two", "three") == ["1", "2", "3"]


def test_damaged_byte_loses_at_most_its_line_and_the_next(tmp_path: Path) -> None:
    remember(tmp_path, one="first", two="second", three="third")
    data = file_of(tmp_path).read_bytes()
    for place in range(len(data)):
        for byte in {data[place] ^ 4, ord("\n"), ord("A")} - {data[place]}:
            file_of(tmp_path).write_bytes(data[:place] + bytes([byte]) + data[place + 1 :])
            found = recall(tmp_path, "one", "two", "three")
            assert all(value in {None, whole} for value, whole in zip(found, ("first", "second", "third"), strict=True))
            assert found.count(None) <= 2


@pytest.mark.parametrize("data", [b"", b"\0", b"\0" * 64, b"not ours at all, whatever it is", b"\n" * 99])
def test_file_of_anything_else_is_as_no_file(tmp_path: Path, data: bytes) -> None:
    file_of(tmp_path).write_bytes(data)
    assert recall(tmp_path, "one", "") == [None, None]
    remember(tmp_path, one="1")
    assert recall(tmp_path, "one") == ["1"]


def test_file_that_grew_too_large_is_started_afresh(tmp_path: Path) -> None:
    remember(tmp_path, one="1", two="2", three="3")
    assert recall(tmp_path, "one", limit=120) == ["1"]
    remember(tmp_path, 120, four="4")
    assert recall(tmp_path, "four", limit=120) == [None]
    remember(tmp_path, 120, five="5")
    assert recall(tmp_path, "one", "four", "five", limit=120) == [None, None, "5"]


def test_folder_that_is_a_file_is_as_no_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.write_text("in the way")
    remember(folder, one="1")
    assert recall(folder, "one") == [None]
    assert folder.read_text() == "in the way"


def test_file_that_is_a_folder_is_as_no_cache(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir()
    remember(tmp_path, one="1")
    assert recall(tmp_path, "one") == [None]
    assert list(tmp_path.iterdir()) == [file_of(tmp_path)]


def test_folder_that_refuses_writing_is_as_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        remember(tmp_path, one="1")
    assert recall(tmp_path, "one") == [None]


def test_write_cut_short_by_a_full_disk_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:-5]))
        remember(tmp_path, one="1", two="2")
    remember(tmp_path, three="3")
    assert recall(tmp_path, "one", "two", "three") == ["1", None, "3"]


def test_two_builds_that_overlap_both_keep_their_values(tmp_path: Path) -> None:
    first, second = cache_in(tmp_path), cache_in(tmp_path)
    for cache, text in ((first, "one"), (second, "two")):
        assert cache.get(text) is None
        cache.put(text, b"1")
        cache.put("both", b"5")
    first.save()
    second.save()
    assert recall(tmp_path, "one", "two", "both") == ["1", "1", "5"]


def test_builds_in_several_processes_never_spoil_the_file(tmp_path: Path) -> None:
    script = (
        "import sys; from contextasm.workspace.cache import DiskCache\n"
        "for i in range(50):\n"
        "    cache = DiskCache(sys.argv[1], 'values', '1')\n"
        "    for j in range(20): cache.put(f'{sys.argv[2]} {i} {j}', b'%d' % (i * 20 + j))\n"
        "    cache.save()\n"
    )
    builds = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), who], cwd=ROOT) for who in ("one", "two")]
    assert [build.wait(60) for build in builds] == [0, 0]
    texts = [f"{who} {i} {j}" for who in ("one", "two") for i in range(50) for j in range(20)]
    assert recall(tmp_path, *texts) == [*map(str, range(1000))] * 2


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_every_encoding_has_its_table(name: str) -> None:
    """Package data, checked against the digest in the source."""
    assert len(load_token_table(name)) > 400_000


def test_missing_table_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_TOKEN_TABLES", tmp_path)
    with pytest.raises(ContextasmError, match=f"{NAME}.bin: the token table can't be read: .*--tokenizer estimate"):
        load_token_table(NAME)


def test_damaged_table_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(load_token_table(NAME))
    data[1000] ^= 1
    (tmp_path / f"{NAME}.bin").write_bytes(data)
    monkeypatch.setattr(tables, "_TOKEN_TABLES", tmp_path)
    with pytest.raises(ContextasmError, match=f"{NAME}.bin: the token table is damaged: install ctxasm again"):
        load_token_table(NAME)
