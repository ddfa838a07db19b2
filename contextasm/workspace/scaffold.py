"""Starting: the first files of a workspace, an agent or a team, made only where none exists.

Nothing that is there is opened, changed or followed out of the workspace. The texts are those of `starters/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from contextasm.model import ContextasmError
from contextasm.text.templates import fill_template

STARTERS = Path(__file__).parent / "starters"

StarterFile = tuple[str, str | None]
"""A path in the workspace and the text of the file; None for a folder."""


def workspace_files() -> list[StarterFile]:
    """The settings, and what keeps derived files out of git."""
    texts = dict(_texts("workspace"))
    # A file of the real name would work on this package's own folder.
    return [("ctxasm.yaml", texts["ctxasm.yaml"]), (".gitignore", texts["gitignore"])]


def agent_files(name: str) -> list[StarterFile]:
    """What makes an agent, with room for its logs and memories."""
    return _home("agent", f"agents/{name}", name)


def team_files(name: str) -> list[StarterFile]:
    """What makes a team, with room for its logs and memories."""
    return _home("team", f"teams/{name}", name)


def _home(kind: str, folder: str, name: str) -> list[StarterFile]:
    """The starter texts of a kind in a folder, with the name put in."""
    files: list[StarterFile] = [
        (f"{folder}/{file}", fill_template(text, {"name": name})) for file, text in _texts(kind)
    ]
    return [*files, (f"{folder}/daily", None), (f"{folder}/memories", None)]


def _texts(kind: str) -> Iterator[tuple[str, str]]:
    """File names and texts of a kind of starter."""
    for path in sorted((STARTERS / kind).iterdir()):
        yield path.name, path.read_text(encoding="utf-8")


def create_file(root: Path, path: str, text: str | None) -> bool:
    """Make a file, or a folder where `text` is None, and the folders above it; False where it is there already.

    Raises `ContextasmError` for a link that leads out of `root` and for what can't be made.
    """
    full = root / path
    try:
        _refuse_outside(root, full)
        if text is None:
            return _made_folder(full)
        full.parent.mkdir(parents=True, exist_ok=True)
        return _made_file(full, text)
    except OSError as error:
        hint = "move away what is in its place, or choose a folder that can be written to"
        raise ContextasmError(str(error.filename or full), f"can't be made: {error.strerror}", hint) from error


def _refuse_outside(root: Path, full: Path) -> None:
    """Raise where links on the way to `full`, or `full` itself, lead out of the workspace."""
    real = os.path.realpath(full)
    if not real.startswith(os.path.realpath(root).rstrip("/") + "/"):
        raise ContextasmError(str(full), f"leads out of the workspace, to {real}", "take the link away")


def _made_folder(full: Path) -> bool:
    """Whether the folder had to be made."""
    if full.is_dir():
        return False
    full.mkdir(parents=True)
    return True


def _made_file(full: Path, text: str) -> bool:
    """Whether the file had to be made. What is there is never opened, even if it came a moment ago."""
    try:
        handle = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        if full.is_dir():
            raise IsADirectoryError(0, "Is a directory", str(full)) from None
        return False
    try:
        with open(handle, "wb") as file:
            file.write(text.encode())
    except BaseException:
        # Half a file would be kept by the next run as if somebody had written it.
        full.unlink()
        raise
    return True
