"""Trust: whether what a workspace's settings name may be run. Cloning a repository must not run a program of it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from contextasm.model import ContextasmError

TRUST_VARIABLE = "CTXASM_EMBEDDER"


def is_allowed(root: str, environment: Mapping[str, str]) -> bool:
    """Whether the person has named this workspace, by its real path, as one whose programs may be run.

    Raises `ContextasmError` for a name that means another folder wherever it is used.
    """
    named = [each for each in environment.get(TRUST_VARIABLE, "").split(os.pathsep) if each]
    for folder in named:
        if not os.path.isabs(folder):
            raise ContextasmError(
                TRUST_VARIABLE, f"{folder} is no absolute path", f"name workspaces in full, such as {root}"
            )
    return root in map(os.path.realpath, named)
