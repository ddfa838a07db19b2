"""What MkDocs calls while it builds the site (`hooks` in mkdocs.yml): the reference, links into the repository, llms.txt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"


def on_config(config: Any) -> None:
    """Put pages in the place of each path of `nav` that ends in `/*`."""
    config.nav = [_expanded(entry) for entry in config.nav]


def _expanded(entry: Any) -> Any:
    """An entry of the navigation with the pages of a folder in the place of `FOLDER/*`."""
    if isinstance(entry, dict):
        return {title: _expanded(value) for title, value in entry.items()}
    if isinstance(entry, list):
        return [_expanded(each) for each in entry]
    if isinstance(entry, str) and entry.endswith("/*"):
        return [f"{entry[:-1]}{path.name}" for path in sorted((DOCS / entry[:-2]).glob("*.md"))]
    return entry
