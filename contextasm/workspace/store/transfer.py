"""Out of a store: an export of its pages as files.

What is exported, read as files and imported again gives the same bytes: texts are moved as they are written, and what
is masked is masked where it is shown.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from contextasm.model import ContextasmError, FileStamp
from contextasm.workspace.atomic import write
from contextasm.workspace.reading import MISSING, ReadFailure, file_bytes
from contextasm.workspace.store.mirror import locked_mirror, mirror_folder
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.page_files import page_stamp
from contextasm.workspace.store.state import MirrorState

_EMPTY_FOLDER = "name an empty folder with --to, or take the file away"


def export_pages(overlay: StoreOverlay, homes: Sequence[str], target: Path) -> int:
    """Write the pages of homes, as the mirror has them, to the same paths below a folder; gives the number of files.

    No file is overwritten. All pages are checked first; if one changes during the export, the pages before it stay
    written. Raises `ContextasmError` where a home's folder there has other files of memories, or one with other bytes,
    or is a link, for a page that was changed in the mirror, and where the mirror lacks one of the homes.
    """
    with locked_mirror(overlay.root, needed=False):  # all pages are of one pull
        state = overlay.state()
        _refuse_missing(state, homes)
        pages = {
            target / home / "memories" / name: (mirror_folder(overlay.root, home) / name, stamp)
            for home in homes
            for name, stamp in state.homes[home].pages.items()
        }
        for home in homes:
            _refuse_links(target, home)
            _refuse_others(target / home / "memories", pages)
        for path, page in pages.items():
            _refuse_edited(path, _page_bytes(*page))
        for path, page in pages.items():
            data = _page_bytes(*page)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                what = f"can't be made: {error.strerror}"
                raise ContextasmError(str(path.parent), what, "name another folder") from error
            write(path, data, new_mode=0o600)
    return len(pages)


def _refuse_missing(state: MirrorState, homes: Sequence[str]) -> None:
    """Raise `ContextasmError` where a home has no mirror, or the role may not read it."""
    where = "ctxasm store export"
    if missing := next((home for home in homes if home not in state.homes), None):
        raise ContextasmError(where, f"there is no mirror of the store for {missing}", "run it without --offline")
    if refused := next((home for home in homes if state.homes[home].is_refused), None):
        hint = "have its owner add a row to ctxasm.member (docs/store.md), or name another home"
        raise ContextasmError(where, f"the store gives this role nothing of {refused}", hint)


def _page_bytes(page: Path, stamp: FileStamp) -> bytes:
    """The bytes of a page of the mirror. Raises `ContextasmError` where it is not as it was pulled."""
    data = file_bytes(str(page))
    if not isinstance(data, bytes):
        raise ContextasmError(str(page), data.message, "run `ctxasm store pull`")
    try:
        is_as_pulled = page_stamp(page) == stamp
    except OSError as error:
        raise ContextasmError(str(page), f"can't be read: {error.strerror}", "run `ctxasm store pull`") from error
    if not is_as_pulled:
        raise ContextasmError(str(page), "was changed since it was pulled", "run `ctxasm store pull`")
    return data


def _refuse_links(target: Path, home: str) -> None:
    """Raise `ContextasmError` where a folder of a home below the target is a link; the target itself may be one."""
    folder = target
    for name in (*home.split("/"), "memories"):
        folder /= name
        _refuse_link(folder)


def _refuse_link(path: Path) -> None:
    try:
        is_link = stat.S_ISLNK(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ContextasmError(str(path), f"can't be looked at: {error.strerror}", "name another folder") from error
    if is_link:
        raise ContextasmError(str(path), "leads elsewhere through a link", "name another folder, or take the link away")


def _refuse_edited(path: Path, data: bytes) -> None:
    _refuse_link(path)
    there = file_bytes(str(path))
    if there != data and not (isinstance(there, ReadFailure) and there.code == MISSING):
        raise ContextasmError(str(path), "is in the way: it differs from the page of the store", _EMPTY_FOLDER)


def _refuse_others(folder: Path, pages: Mapping[Path, object]) -> None:
    """Raise `ContextasmError` where a folder has files of memories that are no pages of the export."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ContextasmError(str(folder), f"can't be listed: {error.strerror}", "name another folder") from error
    if other := next((name for name in names if name.endswith(".md") and folder / name not in pages), None):
        raise ContextasmError(str(folder / other), "is in the way: it would be read beside the export", _EMPTY_FOLDER)
