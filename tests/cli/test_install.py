"""The lines of README.md that install the command, with a wheel of this source in place of the address."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_pages import SHOP
from tests.command import ROOT, Result, fill

README = (ROOT / "README.md").read_text(encoding="utf-8")
ADDRESS = "git+https://github.com/OWNER/ctxasm"
LINES = re.findall(rf"^(?:\$ )?((?:uvx|uv|pipx) .*{re.escape(ADDRESS)}.*)$", README, re.MULTILINE)


def test_readme_says_how_to_run_and_how_to_install() -> None:
    assert [line.split()[0] for line in LINES] == ["uvx", "uv", "pipx"]


@pytest.mark.pip
def test_lines_that_install_give_a_command_that_works(tmp_path: Path) -> None:
    folder = fill(tmp_path / "shop", SHOP, base={})
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CTXASM_", "PYTHON"))}
    env = {**kept, "HOME": str(tmp_path), "PATH": f"{tmp_path / 'tools/bin'}:{tmp_path / '.local/bin'}:{os.defpath}"}

    def run(line: str) -> Result:
        words = ["sh", "-ec", line]
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)
        return Result(done.returncode, done.stdout, done.stderr)

    made = run(f"{sys.executable} -m venv ../tools && ../tools/bin/pip install -q uv pipx")
    built = run(f"../tools/bin/pip wheel -q --no-deps -w .. {ROOT}")
    if made.code or built.code:
        pytest.skip(f"pip can't make the environment: {(made.err or built.err).strip().splitlines()[-1]}")
    (wheel,) = tmp_path.glob("contextasm-*.whl")
    for line in LINES:
        done = run(line.replace(ADDRESS, str(wheel)))
        assert done.code == 0, done.err
        shown = done if line.startswith("uvx") else run("ctxasm check --host claude-code")
        assert "AGENTS.md: note: Claude Code does not load this file" in shown.out
        if not line.startswith("uvx"):
            assert run(f"{line.split()[0]} {'tool ' * ('tool' in line)}uninstall contextasm").code == 0
