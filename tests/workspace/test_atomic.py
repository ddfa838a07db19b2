"""Files are written whole or not at all, not touched where nothing changed, and checked without being written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from contextasm.model import ContextasmError
from contextasm.workspace import atomic as writing
from tests.command import LUNA, SAMPLE, SMALL_TEXT, ctxasm, fill, inside, refused, shell, start

OLD = 1_000_000_000
"""A time long past, in seconds."""


def build(folder: Path, *words: str | Path, code: int = 0) -> str:
    """Build the small workspace with these words; what was told on standard error."""
    result = inside("build", *words, cwd=fill(folder / "w", {}))
    assert (result.code, result.out) == (code, ""), result.err
    return result.err


def test_path_of_a_file_is_taken_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    result = inside("build", "-w", fill(tmp_path / "w", {}), "-o", "out.md", cwd=tmp_path / "here")
    assert result.code == 0
    assert (tmp_path / "here/out.md").read_text() == SMALL_TEXT


def test_file_is_replaced_by_its_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P1, P3: from the same folder, so that the exchange is one step, and only once every byte is on the disk."""
    target = tmp_path / "out.md"
    target.write_text("old")
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        steps.append("sync")
        sync(handle)

    def replaced(source: str, there: str) -> None:
        assert os.path.dirname(source) == os.path.dirname(there) == str(tmp_path)
        assert Path(source).read_bytes() == b"new"
        assert target.read_text() == "old"
        steps.append("replace")
        replace(source, there)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    assert writing.write(target, b"new")
    assert (target.read_bytes(), steps) == (b"new", ["sync", "replace"])


@pytest.mark.parametrize("step", ["write", "fchmod", "fsync", "replace"])
def test_failure_on_the_way_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """P1, P3: as when the disk fills up."""
    target = tmp_path / "out.md"
    target.write_text("old")

    def fail(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(ContextasmError, match=r"out\.md: can't be written: No space left on device: free some"):
            writing.write(target, b"new")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.md"]


def test_interrupted_writing_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P1, P3: ctrl-C between two writes."""

    def interrupt(*_arguments: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            writing.write(tmp_path / "out.md", b"new")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_old_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """P3: whatever the umask."""
    target = tmp_path / "out.md"
    target.write_text("old")
    target.chmod(mode)
    build(tmp_path, "-o", target)
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert target.read_text() == SMALL_TEXT


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077, 0o002])
def test_new_file_honours_the_umask(tmp_path: Path, mask: int) -> None:
    """P3: a temporary file's own mode would shut others out."""
    result = shell(f'umask {mask:03o}; "$@"', "build", "-o", tmp_path / "out.md", cwd=fill(tmp_path / "w", {}))
    assert result.code == 0
    assert stat.S_IMODE((tmp_path / "out.md").stat().st_mode) == 0o666 & ~mask


def test_equal_file_is_not_written_again(tmp_path: Path) -> None:
    """P3: neither its time nor its inode changes, so that nothing downstream is made anew."""
    target = tmp_path / "out.md"
    build(tmp_path, "-o", target)
    os.utime(target, (OLD, OLD))
    before = target.stat()
    assert "out.md: unchanged" in build(tmp_path, "-o", target)
    after = target.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_device_is_written_directly() -> None:
    assert inside("build", "-q", *LUNA, "-o", "/dev/null") == (0, "", "")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_standard_output_may_be_named_as_a_file(tmp_path: Path) -> None:
    folder = fill(tmp_path, {})
    assert inside("build", "-q", "-o", "-", cwd=folder).out == SMALL_TEXT
    assert ctxasm("build", "-q", "-o", "/dev/stdout", cwd=folder).out == SMALL_TEXT


def test_pipe_is_written_directly(tmp_path: Path) -> None:
    fill(tmp_path / "w", {"agents/a/KNOWLEDGE.md": "A line to fill the pipe.\n" * 3})
    os.mkfifo(tmp_path / "pipe")
    process = start("build", "-q", "-o", tmp_path / "pipe", cwd=tmp_path / "w", stdin=subprocess.DEVNULL)
    with open(tmp_path / "pipe", "rb") as reader:
        text = reader.read().decode()
    assert process.wait(30) == 0
    assert text.startswith(SMALL_TEXT.rstrip("\n"))
    assert text.endswith("fill the pipe.\n")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_folder_can_not_be_written(tmp_path: Path) -> None:
    refused(inside("build", "-q", "-o", tmp_path, cwd=fill(tmp_path / "w", {})), str(tmp_path), "is a folder")


def test_fresh_file_passes_the_check(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    build(tmp_path, "-o", target)
    os.utime(target, (OLD, OLD))
    build(tmp_path, "-o", target, "--check")
    assert target.stat().st_mtime == OLD


def test_stale_file_fails_the_check_with_the_difference(tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    target.write_text(SMALL_TEXT.replace("Do it.", "Do nothing."))
    os.utime(target, (OLD, OLD))
    err = build(tmp_path, "-q", "-o", target, "--check", code=1).split("\n")
    assert err[0].startswith(f"--- {target}")
    assert err[1].startswith(f"+++ {target}")
    assert err[2].startswith("@@ ")
    assert "-Do nothing." in err
    assert "+Do it." in err
    assert err[-2].startswith(f"ctxasm: error: {target}: is stale: ")
    assert (target.stat().st_mtime, "Do nothing." in target.read_text()) == (OLD, True)


def test_missing_file_fails_the_check(tmp_path: Path) -> None:
    assert "+Do it." in build(tmp_path, "-o", tmp_path / "out.md", "--check", code=1)
    assert not (tmp_path / "out.md").exists()


def test_check_of_a_folder_is_refused(tmp_path: Path) -> None:
    refused(inside("build", "-q", "-o", tmp_path, "--check", cwd=fill(tmp_path / "w", {})), str(tmp_path))


def test_check_does_not_write_the_manifest(tmp_path: Path) -> None:
    build(tmp_path, "-o", tmp_path / "out.md", "--check", "--manifest", tmp_path / "m.json", code=1)
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize("form", ["{}", '"{}"', 'W/"{}"'])
def test_same_etag_writes_nothing(tmp_path: Path, form: str) -> None:
    etag = sha256(SMALL_TEXT.encode()).hexdigest()
    result = inside("build", "-q", "--if-none-match", form.format(etag), cwd=fill(tmp_path, {}))
    assert result == (3, "", "")
    target = tmp_path / "out.md"
    target.write_text("older\n")
    assert inside("build", "-q", "--if-none-match", etag, "-o", target, cwd=tmp_path).code == 3
    assert target.read_text() == "older\n"


@pytest.mark.parametrize("etag", ["", "0" * 64, "*"])
def test_other_etag_writes_the_document(tmp_path: Path, etag: str) -> None:
    assert inside("build", "-q", "--if-none-match", etag, cwd=fill(tmp_path, {})) == (0, SMALL_TEXT, "")


def test_manifest_names_what_the_context_was_made_of(tmp_path: Path) -> None:
    result = inside("build", *LUNA, "--manifest", tmp_path / "m.json")
    manifest = json.loads((tmp_path / "m.json").read_text())
    assert manifest["schema"] == "ctxasm.manifest/1"
    assert manifest["etag"] == sha256(result.out.encode()).hexdigest()
    inputs = {each["path"]: each for each in manifest["inputs"]}
    for path, each in inputs.items():
        data = (SAMPLE / path).read_bytes()
        assert (each["sha256"], each["bytes"]) == (sha256(data).hexdigest(), len(data))
    assert {"agents/luna/IDENTITY.md", "agents/luna/daily/2025-03-14.md", "teams/q1/GOALS.md"} <= set(inputs)
    assert not [path for path in inputs if "kenji" in path or "platform" in path]
    assert list(inputs) == sorted(inputs)
    assert [each["heading"] for each in manifest["sections"]][:2] == ["Identity", "Instructions"]


def test_manifest_is_the_same_for_the_same_inputs(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        inside(
            "build", "-q", "-w", fill(tmp_path / name, {}), "--manifest", tmp_path / f"{name}.json", "-o", "/dev/null"
        )
        texts.append((tmp_path / f"{name}.json").read_bytes())
    assert texts[0] == texts[1]


def test_hash_in_the_manifest_is_of_the_bytes_on_the_disk(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf---\na: b\n---\r\nI am.\r\n"
    inside("build", "--manifest", tmp_path / "m.json", cwd=fill(tmp_path / "w", {"agents/a/IDENTITY.md": data}))
    first = json.loads((tmp_path / "m.json").read_text())["inputs"][0]
    assert first == {"path": "agents/a/IDENTITY.md", "bytes": len(data), "sha256": sha256(data).hexdigest()}
