"""The shipped tables and the remembered counts: what is kept, and that nothing wrong with it ever shows."""

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
from contextasm.workspace.cache import TokenCountCache
from tests.command import ROOT

NAME = "o200k_base"


def remember(folder: Path, **counts: int) -> None:
    """One build that counts these texts."""
    cache = TokenCountCache(str(folder), NAME)
    for text, count in counts.items():
        cache.put(text, count)
    cache.save()


def recall(folder: Path, *texts: str) -> list[int | None]:
    """What a later build finds."""
    cache = TokenCountCache(str(folder), NAME)
    return [cache.get(text) for text in texts]


def file_of(folder: Path) -> Path:
    """Where the counts lie."""
    return folder / f"{NAME}.counts"


def test_counts_are_found_by_a_later_build(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "ctxasm"
    remember(folder, one=1, two=70_000)
    assert recall(folder, "one", "two", "three") == [1, 70_000, None]


def test_counts_are_known_before_they_are_saved(tmp_path: Path) -> None:
    cache = TokenCountCache(str(tmp_path), NAME)
    cache.put("one", 1)
    assert cache.get("one") == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_when_nothing_is_new(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache = TokenCountCache(str(folder), NAME)
    assert cache.get("one") is None
    cache.save()
    assert not folder.exists()
    cache.put("one", 1)
    cache.save()
    before = file_of(folder).read_bytes()
    cache.save()
    assert file_of(folder).read_bytes() == before


def test_later_builds_append(tmp_path: Path) -> None:
    remember(tmp_path, one=1)
    before = file_of(tmp_path).read_bytes()
    remember(tmp_path, two=2)
    after = file_of(tmp_path).read_bytes()
    assert after.startswith(before)
    assert len(after) == len(before) + 16
    assert recall(tmp_path, "one", "two") == [1, 2]


@pytest.mark.parametrize("torn", range(1, 16))
def test_torn_record_is_dropped_and_mended(tmp_path: Path, torn: int) -> None:
    remember(tmp_path, one=1, two=2)
    data = file_of(tmp_path).read_bytes()
    file_of(tmp_path).write_bytes(data[:-torn])
    assert recall(tmp_path, "one", "two") == [1, None]
    remember(tmp_path, three=3)
    assert recall(tmp_path, "one", "two", "three") == [1, None, 3]
    assert len(file_of(tmp_path).read_bytes()) == 48


@pytest.mark.parametrize(
    "change",
    [
        pytest.param((7, 0xFF), id="another version"),
        pytest.param((8, 0xFF), id="another table"),
        pytest.param((0, 0x20), id="another program"),
    ],
)
def test_foreign_file_is_not_believed_and_is_replaced(tmp_path: Path, change: tuple[int, int]) -> None:
    remember(tmp_path, one=1)
    data = bytearray(file_of(tmp_path).read_bytes())
    data[change[0]] ^= change[1]
    file_of(tmp_path).write_bytes(data)
    assert recall(tmp_path, "one") == [None]
    remember(tmp_path, two=2)
    assert recall(tmp_path, "one", "two") == [None, 2]


def test_counts_of_another_table_are_not_found_under_this_ones_header(tmp_path: Path) -> None:
    other = TokenCountCache(str(tmp_path), "cl100k_base")
    other.put("one", 99)
    other.save()
    foreign = (tmp_path / "cl100k_base.counts").read_bytes()
    remember(tmp_path, two=2)
    with file_of(tmp_path).open("ab") as file:
        file.write(foreign)
    assert recall(tmp_path, "one", "two") == [None, 2]


@pytest.mark.parametrize("data", [b"", b"\0", b"\0" * 64, b"not ours at all, whatever it is"])
def test_file_of_anything_else_is_as_no_file(tmp_path: Path, data: bytes) -> None:
    file_of(tmp_path).write_bytes(data)
    assert recall(tmp_path, "one", "") == [None, None]
    remember(tmp_path, one=1)
    assert recall(tmp_path, "one") == [1]


def test_file_that_grew_too_large_is_started_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextasm.workspace.cache._LIMIT", 64)
    remember(tmp_path, one=1, two=2, three=3)
    assert recall(tmp_path, "one") == [1]
    remember(tmp_path, four=4)
    assert recall(tmp_path, "four") == [None]
    remember(tmp_path, five=5)
    assert recall(tmp_path, "one", "four", "five") == [None, None, 5]


def test_folder_that_is_a_file_is_as_no_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.write_text("in the way")
    remember(folder, one=1)
    assert recall(folder, "one") == [None]
    assert folder.read_text() == "in the way"


def test_file_that_is_a_folder_is_as_no_cache(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir()
    remember(tmp_path, one=1)
    assert recall(tmp_path, "one") == [None]
    assert list(tmp_path.iterdir()) == [file_of(tmp_path)]


def test_folder_that_refuses_writing_is_as_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        remember(tmp_path, one=1)
    assert recall(tmp_path, "one") == [None]


def test_write_cut_short_by_a_full_disk_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:-5]))
        remember(tmp_path, one=1, two=2)
    remember(tmp_path, three=3)
    assert recall(tmp_path, "one", "two", "three") == [1, None, 3]


def test_two_builds_that_overlap_both_keep_their_counts(tmp_path: Path) -> None:
    first, second = TokenCountCache(str(tmp_path), NAME), TokenCountCache(str(tmp_path), NAME)
    for cache, text in ((first, "one"), (second, "two")):
        assert cache.get(text) is None
        cache.put(text, 1)
        cache.put("both", 5)
    first.save()
    second.save()
    assert recall(tmp_path, "one", "two", "both") == [1, 1, 5]


def test_builds_in_several_processes_never_spoil_the_file(tmp_path: Path) -> None:
    script = (
        "import sys; from contextasm.workspace.cache import TokenCountCache\n"
        "for i in range(50):\n"
        "    cache = TokenCountCache(sys.argv[1], sys.argv[2])\n"
        "    for j in range(20): cache.put(f'{sys.argv[3]} {i} {j}', i * 20 + j)\n"
        "    cache.save()\n"
    )
    builds = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), NAME, who], cwd=ROOT) for who in ("one", "two")
    ]
    assert [build.wait(60) for build in builds] == [0, 0]
    texts = [f"{who} {i} {j}" for who in ("one", "two") for i in range(50) for j in range(20)]
    assert recall(tmp_path, *texts) == [*range(1000), *range(1000)]


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
