"""The folder `.ctxasm` and the caches: they may be damaged, hostile, in use or absent, and a build is the same.

What a copy or a clone brings along in `.ctxasm` is data that proves nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import private_folder, state_folder, write_private
from tests.command import COMMAND, UNPRIVILEGED, clean, fill, inside
from tests.retrieval.memory_index.test_memory_index import pools_above

SENTENCE = "A sentence that goes on for a while. " * 12
PROGRAMS = f"""date: 2025-03-14
tokenizer: o200k_base
embedder:
  command: [{sys.executable}, -c, "import sys; [print('[1.0, 0.5]') for line in sys.stdin]"]
summarizer:
  command: [sh, -c, "cat > /dev/null; echo In short."]
layers:
  - {{id: L5, max_tokens: 30, overflow: [summarize, drop]}}
"""
MEMORIES = "".join(f"- [fact] number {n} of the harbour {{id=m{n}}}\n" for n in range(150))
"""Enough for an index where 100 count as many."""

STATE = {
    "indexed/.ctxasm/.gitignore": ("indexed",),
    "indexed/.ctxasm/lock": ("indexed",),
    "indexed/.ctxasm/records/*.json": ("indexed",),
    "indexed/.ctxasm/inputs/*": ("indexed",),
    "indexed/.ctxasm": ("indexed",),
    "cache/ctxasm/o200k_base.cache": ("asking",),
    "cache/ctxasm/memories/*.sqlite": ("indexed",),
    "cache/ctxasm/memories": ("indexed",),
    "cache/ctxasm/vectors.cache": ("asking",),
    "cache/ctxasm/summaries.cache": ("asking",),
    "cache/ctxasm": ("indexed", "asking"),
}
"""Every file and folder that commands leave, as a pattern, with the workspaces whose builds it serves."""


def builds(folder: Path, names: Sequence[str] = ("indexed", "asking")) -> Sequence[object]:
    """What builds give, of a workspace with an index and of one whose programs are asked."""
    env = {"XDG_CACHE_HOME": str(folder / "cache"), "CTXASM_TRUST": str(folder / "asking")}
    words = ("--date", "2025-03-14", "--topic", "harbour number 7")
    return [inside("build", "-w", folder / name, *words, env=env) for name in names]


@pytest.fixture(scope="module", autouse=True)
def _large_pools() -> Iterator[None]:
    with pools_above(100):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workspaces and a cache, with everything that commands leave in them."""
    folder = tmp_path_factory.mktemp("made").resolve()
    root = fill(folder / "indexed", {"agents/a/memories/all.md": MEMORIES})
    fill(folder / "asking", {"ctxasm.yaml": PROGRAMS, "agents/a/memories/m.md": f"- {SENTENCE}\n- {SENTENCE} too\n"})
    os.utime(root / "agents/a/memories/all.md", (1_700_000_000, 1_700_000_000))
    assert inside("build", "-w", root, "--record-inputs", "-q").code == 0
    assert inside("remember", "-w", root, "-a", "a", "One more thing").code == 0
    assert [getattr(result, "code", None) for result in builds(folder)] == [0, 0]
    return folder


@pytest.fixture(scope="module")
def before(made: Path) -> Sequence[object]:
    """What builds give while nothing is damaged."""
    return builds(made)


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copytree(made, tmp_path / "used", symlinks=True))


@pytest.fixture
def used(copied: Path) -> Path:
    """A copy of them, and of its state again after a build in the copy."""
    builds(copied)
    return copied


def truncate(path: Path) -> None:
    """Leave the first half of a file; of a folder, nothing."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Put something else in place of a file or a folder."""

    def replace(path: Path) -> None:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make(path)

    return replace


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    "halved": truncate,
    "overwritten": replace_by(lambda path: path.write_bytes(b"\xff\0nonsense" * 500)),
    "emptied": replace_by(lambda path: path.write_bytes(b"")),
    "a folder": replace_by(lambda path: path.mkdir()),
    "a link that leads nowhere": replace_by(lambda path: path.symlink_to("nowhere/at/all")),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", STATE)
def test_p7_damaged_state_changes_neither_output_nor_exit_code(
    copied: Path, before: Sequence[object], pattern: str, damage: str
) -> None:
    """P7: state that is halved, overwritten, emptied or replaced by a folder changes neither output nor exit code."""
    builds(copied, STATE[pattern])
    paths = sorted(copied.glob(pattern))
    assert paths, pattern
    for path in paths:
        DAMAGES[damage](path)
    same = [dict(zip(("indexed", "asking"), before, strict=True))[name] for name in STATE[pattern]]
    assert [builds(copied, STATE[pattern]), builds(copied, STATE[pattern])] == [same, same]


@pytest.mark.parametrize("place", [".ctxasm", ".ctxasm/records", ".ctxasm/inputs"])
@pytest.mark.parametrize("target", ["folder", "missing"])
def test_p8_nothing_is_written_through_a_link_in_place_of_the_state(used: Path, place: str, target: str) -> None:
    """P8: state that came with the repository is data, and a link in its place is not written through."""
    outside = used / "outside"
    if target == "folder":
        outside.mkdir()
    replace_by(lambda path: path.symlink_to(outside))(used / "indexed" / place)
    before = sorted(used.glob("outside/**"))
    for words in (("build",), ("build", "--record-inputs"), ("remember", "-a", "a", "Another thing"), ("check",)):
        inside(*words, "-w", used / "indexed")
    assert sorted(used.glob("outside/**")) == before


@pytest.mark.parametrize("name", [".gitignore", "lock"])
def test_p8_no_file_is_written_through_a_link(used: Path, name: str) -> None:
    """P8: neither where the link leads to a file, nor where it would make one."""
    for target, content in ((used / "victim", "mine"), (used / "none", None)):
        if content:
            target.write_text(content)
        (path,) = (used / "indexed/.ctxasm").glob(name)
        replace_by(lambda path, target=target: path.symlink_to(target))(path)  # type: ignore[misc]
        (used / "indexed/agents/a/memories/all.md").write_text(MEMORIES + "- [fact] changed\n")
        for words in (("build",), ("remember", "-a", "a", "Another thing")):
            inside(*words, "-w", used / "indexed")
        assert (target.read_text() if target.exists() else None) == content


def test_p8_pipes_in_place_of_the_state_are_not_waited_for(used: Path, before: Sequence[object]) -> None:
    """P8: nobody writes to them, ever."""
    for path in [*used.glob("indexed/.ctxasm/**/*")]:
        if path.is_file():
            replace_by(os.mkfifo)(path)
    assert builds(used)[0] == before[0]
    (record,) = used.glob("indexed/.ctxasm/records/*.json")
    assert inside("replay", record.stem, "-w", used / "indexed").code == 2


def test_p5_parallel_builds_share_state_and_caches_without_errors(used: Path) -> None:
    """P5: four builds at the same time, from nothing, then from what they left."""
    fill(used, {f"indexed/agents/a/memories/{n}.md": MEMORIES.replace("m", f"m{n}") for n in range(7)}, base={})
    before = builds(used)
    env = {"XDG_CACHE_HOME": str(used / "cache"), "CTXASM_TRUST": str(used / "asking")}
    shutil.rmtree(used / "cache")
    shutil.rmtree(used / "indexed/.ctxasm")
    words = ("--date", "2025-03-14", "--topic", "harbour number 7")
    for _ in range(2):
        running = [
            subprocess.Popen(
                [*COMMAND, "build", "-w", str(used / name), *words],
                env=clean(env),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for name in ("indexed", "asking") * 2
        ]
        results = [(*process.communicate(timeout=60), process.returncode) for process in running]
        assert [(code, out, err) for out, err, code in results] == [*before] * 2


def test_p10_build_needs_no_write_access_no_home_and_no_cache(used: Path) -> None:
    """P10: files and folders can be read alone, and no variable names a place."""
    before = inside("build", "-w", used / "indexed", env={"CTXASM_NO_CACHE": "1"})
    words = [*COMMAND, "build", "-w", str(used / "indexed")]
    env = {name: value for name, value in clean().items() if name in {"PATH", "PYTHONPATH"}}
    subprocess.run(["chmod", "-R", "a-w", used], check=True)
    try:
        done = subprocess.run([*UNPRIVILEGED, *words], env=env, capture_output=True, text=True, check=False)
    finally:
        subprocess.run(["chmod", "-R", "u+w", used], check=True)
    assert (done.returncode, done.stdout) == (before.code, before.out), done.stderr


def test_state_folder_is_made_once_and_left_alone_by_git(tmp_path: Path) -> None:
    assert state_folder(tmp_path, "records") == tmp_path.resolve() / ".ctxasm/records"
    (tmp_path / ".ctxasm/.gitignore").write_text("mine\n")
    assert state_folder(tmp_path, "records").is_dir()
    assert (tmp_path / ".ctxasm/.gitignore").read_text() == "mine\n"
    (tmp_path / ".ctxasm/inputs").write_text("in the way")
    with pytest.raises(ContextasmError, match="File exists"):
        state_folder(tmp_path, "inputs")


@pytest.mark.parametrize("kind", ["link", "pipe", "open to all", "missing"])
def test_a_private_file_is_its_owners_alone_whatever_was_in_its_place(tmp_path: Path, kind: str) -> None:
    victim, path = tmp_path / "victim", private_folder(tmp_path, "store", "teams") / "state.json"
    victim.write_bytes(b"mine")
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "open to all":
        path.write_bytes(b"ours")
        path.chmod(0o666)
    assert write_private(path, b"ours") == (kind != "open to all")
    assert (victim.read_bytes(), path.read_bytes()) == (b"mine", b"ours")
    assert stat.S_IFMT(path.lstat().st_mode) == stat.S_IFREG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_folders_that_others_could_read_are_closed_to_them(tmp_path: Path) -> None:
    names = ("store", "teams", "q1")
    folder = private_folder(tmp_path, *names)
    for path in (folder, folder.parent, folder.parent.parent):
        path.chmod(0o755)
    private_folder(tmp_path, *names)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent, folder.parent.parent)]
    assert modes == [0o700] * 3
