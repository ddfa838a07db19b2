"""`.ctxasm/`, the folder of the workspace for files that ctxasm makes for itself; git leaves it alone."""

import os
from pathlib import Path

OWN_FOLDER = ".ctxasm"
"""Its name in the workspace."""


def make_own_folder(root: Path) -> Path:
    """Make `.ctxasm/` in the workspace `root`, with a `.gitignore` for all that is in it. Raises `OSError`."""
    folder = root / OWN_FOLDER
    folder.mkdir(mode=0o755, exist_ok=True)
    ignore = folder / ".gitignore"
    if not os.path.lexists(ignore):
        ignore.write_bytes(b"*\n")
    return folder
