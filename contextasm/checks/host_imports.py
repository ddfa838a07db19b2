"""Imports of host files: the files that a host loads because `@imports` of its own files name them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from contextasm.checks.host_files import HostReading, decode_as_host
from contextasm.retrieval.instruction_files import read_with_imports
from contextasm.workspace.folder import Folder


def imported_texts(reading: HostReading) -> Mapping[str, str]:
    """The texts of imported files by their paths under `reading.root`; empty where the host follows no imports.

    An import that leads out of the root, or to no file, has no text.
    """
    paths = [file.path for file in reading.files if file.rule.imports]
    if not any("@" in file.text for file in reading.files if file.rule.imports):
        return {}
    files = read_with_imports(Folder(Path(reading.root)), paths).files
    return {file.document.path: decode_as_host(file.document.data, reading.host) for file in files if file.imported_by}
