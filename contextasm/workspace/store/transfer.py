"""Out of a store: an export of its pages as files.

What is exported, read as files and imported again gives the same bytes: texts are moved as they are written, and what
is masked is masked where it is shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from contextasm.model import ContextasmError
from contextasm.workspace.atomic import write
from contextasm.workspace.reading import MISSING, ReadFailure, file_bytes
from contextasm.workspace.store.mirror import mirror_folder
from contextasm.workspace.store.overlay import StoreOverlay


def export_pages(overlay: StoreOverlay, homes: Sequence[str], target: Path) -> int:
    """Write the pages of homes, as the mirror has them, to the same paths below a folder; gives the number of files.

    Nothing is written over, and nothing is written at all then: raises `ContextasmError` where a home's folder there
    has other files of memories, or one with other bytes, and where there is no mirror yet.
    """
    root, state = overlay.root, overlay.state()
    if not any(home in state.homes for home in homes):
        raise ContextasmError("ctxasm store export", "there is no mirror of the store", "run it without --offline")
    files = {
        target / home / "memories" / name: mirror_folder(root, home) / name
        for home in homes
        if home in state.homes
        for name in state.homes[home].pages
    }
    _refuse_others([target / home / "memories" for home in homes], files)
    for path, page in files.items():
        _refuse_edited(path, _page_bytes(page))
    for path, page in files.items():
        data = _page_bytes(page)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ContextasmError(
                str(path.parent), f"can't be made: {error.strerror}", "name another folder"
            ) from error
        write(path, data, new_mode=0o600)
    return len(files)


def _page_bytes(page: Path) -> bytes:
    data = file_bytes(str(page))
    if not isinstance(data, bytes):
        raise ContextasmError(str(page), data.message, "run `ctxasm store pull`")
    return data


def _refuse_edited(path: Path, data: bytes) -> None:
    there = file_bytes(str(path))
    if there != data and not (isinstance(there, ReadFailure) and there.code == MISSING):
        hint = "name an empty folder with --to, or take the file away"
        raise ContextasmError(str(path), "is in the way: it differs from the page of the store", hint)


def _refuse_others(folders: Sequence[Path], files: Sequence[Path] | dict[Path, Path]) -> None:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ContextasmError(str(folder), f"can't be listed: {error.strerror}", "name another folder") from error
        if other := next((name for name in names if name.endswith(".md") and folder / name not in files), None):
            hint = "name an empty folder with --to, or take the file away"
            raise ContextasmError(str(folder / other), "is in the way: it would be read beside the export", hint)
