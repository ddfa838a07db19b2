"""Whether the person trusts a workspace: its settings may then run programs and send texts away.

A workspace may come from anybody, and nothing in it can trust itself: the environment of the person names its real
path, or it is not trusted. Code that starts a program, opens a model or opens a socket for a workspace asks here.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from contextasm.model import ContextasmError
from contextasm.workspace.reads import real_path

TRUST_VARIABLE = "CTXASM_TRUST"


def is_trusted(root: str, environment: Mapping[str, str]) -> bool:
    """Whether the variable names the workspace whose real path is `root`.

    Raises `ContextasmError` for a name that is not an absolute path.
    """
    folders = [folder for folder in environment.get(TRUST_VARIABLE, "").split(os.pathsep) if folder]
    for folder in folders:
        if not os.path.isabs(folder):
            hint = f"write full paths of workspaces, such as {root}"
            raise ContextasmError(TRUST_VARIABLE, f"{folder} is not an absolute path", hint)
    return root in map(real_path, folders)


def trust_advice(root: str) -> str:
    """The words of a message that say how the person trusts the workspace."""
    if os.pathsep in root:
        return f"move {root}, because a path with `{os.pathsep}` can't be trusted"
    return f"to trust this workspace, set {TRUST_VARIABLE}={shlex.quote(root)}"
