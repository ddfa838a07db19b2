"""What holds of every command that writes: no file that a build could read is changed by it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tests.command import Result, fill, inside
from tests.workspaces import Content, workspaces

CONFIG = {
    "ctxasm.yaml": """\
date: 2025-03-14
profile: mine.yaml
outputs:
  - {file: OUT.md, agent: luna}
  - {file: ROOT.md, profile: openclaw}
""",
    "rules/pins.yaml": "name: pins\nwhen: []\nthen:\n  always_include: [docs/style.md]\n",
    "docs/style.md": "Be brief.\n",
    "mine.yaml": "extends: base.yaml\n",
    "base.yaml": "extends: default\nlayers:\n  - {id: L8, source: document, heading: Extra, path: 'extra/**/*.md'}\n",
    "extra/deep/more.md": "More.\n",
    "AGENTS.md": "# Ours\n\nBe kind.\n",
}

NEW = (
    "agents/luna/KNOWLEDGE.md",
    "agents/luna/daily/2020-01-01.md",
    "agents/luna/daily/2025-03-14.md",
    "agents/luna/memories/new.md",
    "teams/writers/GOALS.md",
    "rules/new.yaml",
    "extra/deep/new.md",
    "SOUL.md",
    "OUT.md",
    "notes/new.md",
    "agents/luna/notes.md",
)
"""Names of files that are mostly not there; some of them builds would read."""

OPTIONS = ("-o", "--into", "--manifest", "--metrics", "--record -o", "--update-baseline --baseline")

BLOCK = re.compile(rb"\s*<!-- ctxasm:begin [^\n]*\n.*?<!-- ctxasm:end [^\n]*(\n|$)", re.DOTALL)


def snapshot(root: Path) -> Mapping[str, bytes]:
    """The bytes of every file, without managed blocks; those of .ctxasm/ left out."""
    paths = (path for path in root.rglob("*") if path.is_file() and ".ctxasm" not in path.parts)
    return {str(path.relative_to(root)): BLOCK.sub(b"", path.read_bytes()).rstrip() for path in paths}


def spelled(root: Path, path: str, spelling: str) -> str:
    """Another name of a file; a link is made beside the workspace."""
    if spelling == "link":
        link = root.parent / "link.md"
        link.symlink_to(root / path)
        return str(link)
    if spelling == "hard link" and (root / path).is_file():
        os.link(root / path, root.parent / "hard.md")
        return str(root.parent / "hard.md")
    return {"dots": f"./agents/../{path}", "absolute": str(root / path)}.get(spelling, path)


def built(root: Path, *words: str) -> Result:
    return inside("build", "-q", "-a", "luna", "-t", "writers", *words, cwd=root)


@given(workspaces(), st.data())
def test_no_command_changes_a_file_that_a_build_could_read(files: dict[str, Content], data: st.DataObject) -> None:
    """P4: builds give the same text after any command that writes, and each other file has the same bytes."""
    plain = {path: content for path, content in files.items() if isinstance(content, str | bytes)}
    with TemporaryDirectory() as folder:
        root = fill(Path(folder) / "ws", {**CONFIG, **plain}, base={})
        (root / "notes").mkdir()
        option = data.draw(st.sampled_from(OPTIONS))
        path = data.draw(st.sampled_from((*sorted(snapshot(root)), *NEW)))
        name = spelled(root, path, data.draw(st.sampled_from(("plain", "dots", "absolute", "link", "hard link"))))
        contexts = built(root), inside("build", "-q", "-p", "openclaw", cwd=root).out
        before = snapshot(root)
        (root.parent / "spare.md").write_text("")
        if "baseline" in option:
            result = inside("check", *option.split(), name, cwd=root)
        else:
            more = ("-o", "../spare.md") if option in {"--manifest", "--metrics", "--into"} else ()
            result = built(root, *more, *option.split(), name)
        assert result.code in {0, 1, 2}, result.err
        after = snapshot(root)
        changed = {changed for changed in before if after.get(changed) != before[changed]}
        assert changed <= {"OUT.md"}, (result, changed)
        assert (built(root), inside("build", "-q", "-p", "openclaw", cwd=root).out) == contexts, result
