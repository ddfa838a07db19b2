"""The hooks of this program in a host's settings file: put in and taken out, while all other bytes stay."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import cast

from contextasm.integrations.hook import HookCall, config_text
from contextasm.model import ContextasmError
from contextasm.text.data.json_edit import with_entries, without_entries
from contextasm.text.json_reader import load_json
from contextasm.workspace.atomic import write
from contextasm.workspace.editing.files import EditableFile, writable_path
from contextasm.workspace.folder import Folder
from contextasm.workspace.outputs import current_bytes

_is_own = re.compile(r"""\s*(?:"[^"]*/|'[^']*/|\S*/)?c(?:txasm|ontextasm)["']?\s+hook(?:\s|$)""").match
"""The beginning of a command of our own, `ctxasm hook`; a path may be before the first word."""


class SettingsFile:
    """The file of a project in which the host of a call looks for hooks."""

    def __init__(self, project: str, call: HookCall) -> None:
        """Raises `ContextasmError` for a file that can't be read, or that a link has outside of the project."""
        self._project, self._name = project, call.rules[0].settings
        self._config = config_text(call)
        self._hint = f"correct it, or paste the output of `ctxasm hook --print-config {call.hosts[0].name}`"
        self.path = writable_path(Folder(project), self._name)
        self.data = current_bytes(self.path)
        """The content; None for no file."""

    def changed(self, *, removes: bool) -> bytes | None:
        """The content with the hooks of the call in place of our other ones, or without any; None is for no file.

        Raises `ContextasmError` for settings that are not JSON, or that have something else in the place of hooks.
        """
        file, text = EditableFile(self.data or b""), self._text()
        if removes and not text.strip():
            return self.data
        added = cast("dict[str, object]", load_json(self._config, self._name))
        fixed = {key: added.pop(key) for key, value in [*added.items()] if not isinstance(value, dict | list)}
        left = without_entries(text, _is_own) if text.strip() else None
        if fixed and left not in (None, text) and load_json(str(left), self._name) == fixed:
            left = None if text.lstrip()[1:2].isspace() else left  # as in the file that we make
        if removes:
            return None if left is None else file.mark + left.encode(file.encoding)
        new = self._config if left is None else with_entries(left, added, self._name)
        is_same = text.strip() and load_json(new, self._name) == load_json(text, self._name)
        return file.mark + (text if is_same else new).encode(file.encoding)

    def write(self, new: bytes | None) -> None:
        """Make `new` the content; for None, remove the file, and folders that are empty then.

        The caller holds the lock. Raises `ContextasmError` if that can't be done, or the content is not `data` now.
        """
        if current_bytes(self.path) != self.data:
            raise ContextasmError(self._name, "has changed meanwhile", "run the command again")
        if new is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        write(self.path, new)
        with suppress(OSError):  # others have files there
            for folder in Path(self._name).parents[:-1] if new is None else ():
                os.rmdir(Path(self._project, folder))

    def _text(self) -> str:
        """The settings as text; a blank one if there is no file."""
        with suppress(UnicodeDecodeError, ContextasmError):
            text = EditableFile(self.data or b"").text
            if not text.strip() or isinstance(load_json(text, self._name), dict):
                return text
        raise ContextasmError(self._name, "is not a JSON object, or has comments", self._hint)
