"""First files of a workspace, an agent or a team, made only if none exists.

No existing file is opened or changed, and no link is followed out of the workspace. The texts are in `starters/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from contextasm.model import ContextasmError
from contextasm.text.names.templates import fill_template
from contextasm.workspace.atomic import create

STARTERS = Path(__file__).parent / "starters"

StarterFile = tuple[str, str | None]
"""A path in the workspace and the text of the file; None for a folder."""


def workspace_files(profile: str = "", budget: int = 16000) -> list[StarterFile]:
    """The settings, and the `.gitignore` for derived files.

    The settings name a `profile`, if one is given; `budget` is the number of tokens that its comment names.
    """
    texts = dict(_starter_texts("workspace"))
    named = {"profile": f"profile: {profile}" if profile else "# profile: default", "budget": str(budget)}
    # A file of the real name would work on this package's own folder.
    return [("ctxasm.yaml", fill_template(texts["ctxasm.yaml"], named)), (".gitignore", texts["gitignore"])]


def owner_files(kind: str, name: str) -> list[StarterFile]:
    """The files of an `agent` or a `team`, and folders for its logs and memories."""
    folder = f"{kind}s/{name}"
    files: list[StarterFile] = [
        (f"{folder}/{file}", fill_template(text, {"name": name})) for file, text in _starter_texts(kind)
    ]
    return [*files, (f"{folder}/daily", None), (f"{folder}/memories", None)]


def _starter_texts(kind: str) -> Iterator[tuple[str, str]]:
    for path in sorted((STARTERS / kind).iterdir()):
        yield path.name, path.read_text(encoding="utf-8")


def create_file(root: Path, path: str, text: str | None) -> bool:
    """Make a file, or a folder if `text` is None, and the folders above it; False if it exists already.

    Raises `ContextasmError` for a link that leads out of `root`, and if the file or a folder can't be made.
    """
    full = root / path
    try:
        _refuse_outside(root, full)
        if text is None:
            return _make_folder(full)
        full.parent.mkdir(parents=True, exist_ok=True)
        return _make_file(full, text)
    except OSError as error:
        hint = "move the file away, or choose a writable folder"
        raise ContextasmError(str(error.filename or full), f"can't be made: {error.strerror}", hint) from error


def _refuse_outside(root: Path, full: Path) -> None:
    real = os.path.realpath(full)
    if not real.startswith(os.path.realpath(root).rstrip("/") + "/"):
        raise ContextasmError(str(full), f"leads through a link out of the workspace, to {real}", "remove the link")


def _make_folder(full: Path) -> bool:
    if full.is_dir():
        return False
    full.mkdir(parents=True)
    return True


def _make_file(full: Path, text: str) -> bool:
    try:
        create(full, text.encode())
    except FileExistsError:
        if full.is_dir():
            raise IsADirectoryError(0, "Is a directory", str(full)) from None
        return False
    return True
