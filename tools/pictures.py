"""Make the pictures of `docs/pictures`: a terminal and the layers as SVG, light and dark, and a page as PNG.

    python tools/pictures.py [--check]

What they show is real output. The PNG needs Chromium; its source is the page's HTML, whose SHA-256 is kept next to it.
`--check` writes nothing, needs no browser, and exits 1 if a picture is stale.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from contextasm.config.profiles.loader import load_profile
from contextasm.model import Layer, Profile

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
COMMAND = (sys.executable, "-m", "contextasm")

THEMES: Mapping[str, Mapping[str, str]] = {
    "light": {
        "paper": "#ffffff", "panel": "#f4f5f7", "line": "#d5d8dd", "ink": "#1c1e21", "quiet": "#5a6068",
        "red": "#a8261c", "yellow": "#8a5300", "cyan": "#1f55b5", "green": "#1a6b38",
    },
    "dark": {
        "paper": "#15171a", "panel": "#1e2125", "line": "#383d44", "ink": "#e7e9ec", "quiet": "#a2a9b3",
        "red": "#ff9488", "yellow": "#f0b45c", "cyan": "#8db6ff", "green": "#74cf93",
    },
}  # fmt: skip
"""Colours of the pages, by theme and name."""

MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"

HOST_COMMAND = ("check", "--host", "claude-code", "--host-home")
COLUMNS = 96

TOPICS = ("Build", "Database", "Releases", "Deployment", "Billing")
"""Headings of a file of memories that its host cuts."""

PAGE_COMMAND = ("explain", "-w", "sample_workspace", "--agent", "luna", "--team", "q1", "--budgets", "2k,8k")


def main(words: list[str]) -> int:
    """The exit code."""
    if words not in ([], ["--check"]):
        print("usage: python tools/pictures.py [--check]", file=sys.stderr)
        return 2
    with TemporaryDirectory(dir="/tmp") as made:  # short, whatever TMPDIR says: its name is in a line
        page = Path(made, "explain.html")
        _run([*PAGE_COMMAND, "--html", str(page)], {"HOME": made})
        texts = {**_svgs(Path(made)), "explain.sha256": f"{sha256(page.read_bytes()).hexdigest()}  explain.html\n"}
        stale = [name for name, text in texts.items() if _old(name) != text]
        if words:
            for name in stale:
                print(f"docs/pictures/{name}: stale: run `just pictures`", file=sys.stderr)
            return int(bool(stale))
        if "explain.sha256" in stale or not (FOLDER / "explain.png").exists():
            _photograph(page, FOLDER / "explain.png")
    for name in stale:
        (FOLDER / name).write_text(texts[name], encoding="utf-8")
    return 0


def _old(name: str) -> str:
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _svgs(folder: Path) -> Mapping[str, str]:
    shown = _host_output(folder)
    profile = load_profile("default", "pictures", ROOT)
    pictures: dict[str, str] = {}
    for theme, colours in THEMES.items():
        pictures[f"terminal-{theme}.svg"] = _terminal(shown, colours)
        pictures[f"layers-{theme}.svg"] = _layers(profile, colours)
    return pictures


# --- The terminal ----------------------------------------------------------------------------------------------------


def _host_output(folder: Path) -> str:
    """What a terminal shows of a small project whose instructions do not all reach the model."""
    shop = folder / "shop"
    memory = folder / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(shop)) / "memory" / "MEMORY.md"
    notes = [line for topic in TOPICS for line in (f"## {topic}", *_notes(topic), "")]
    texts = {
        shop / "CLAUDE.md": "# Shop\n\nBefore you change a test, read @docs/testing.md, then run `make test`.\n",
        shop / "docs/testing.md": "# Testing\n\nNever mock the database.\n",
        shop / "AGENTS.md": "# Rules\n\nNever push to main.\n",
        shop / ".git/HEAD": "",
        memory: "\n".join(("# Memory", "", *notes, "")),
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    out = _on_terminal([*HOST_COMMAND, "-w", str(shop), "--date", "2026-11-28"], {"HOME": str(folder)})
    return out.replace(memory.parent.parent.name, "-home-ada-shop")


def _notes(topic: str) -> Iterator[str]:
    return (f"- {topic}: lesson {number}, written down by the agent itself." for number in range(1, 51))


def _run(words: Sequence[str], environment: Mapping[str, str]) -> None:
    subprocess.run([*COMMAND, *words], cwd=ROOT, env=_environment(environment), capture_output=True, check=True)


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "CTXASM_NO_REPLAY": "1", "CTXASM_NO_CACHE": "1", **environment}


def _on_terminal(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """The standard output of the command on a terminal with colours."""
    outer, inner = pty.openpty()
    terminal = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), **environment}
    process = subprocess.Popen(
        [*COMMAND, *words], env=_environment(terminal), stdin=inner, stdout=inner, stderr=subprocess.DEVNULL
    )
    os.close(inner)
    shown = b""
    with suppress(OSError):  # the other end is closed
        while part := os.read(outer, 1 << 16):
            shown += part
    os.close(outer)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


_CODE = re.compile(r"\x1b\[([\d;]*)m")
_STYLES = {"1": "bold", "2": "dim", "31": "red", "33": "yellow", "36": "cyan"}
_Run = tuple[str, tuple[str, ...]]
"""A text and the names of its styles."""

_CELL, _LINE, _EDGE = 8.4, 20, 20


def _terminal(output: str, colours: Mapping[str, str]) -> str:
    """The picture of a terminal in which a command was typed and answered."""
    command = f"ctxasm {' '.join(HOST_COMMAND)}"
    lines: list[list[_Run]] = [[("$ ", ("green",)), (command, ("bold",))], [], *_lines(output)]
    width, height = round(COLUMNS * _CELL) + 2 * _EDGE, len(lines) * _LINE + 2 * _EDGE + 24
    rows = "\n".join(_row(line, _EDGE + 24 + number * _LINE + 15) for number, line in enumerate(lines) if line)
    dots = "".join(f'<circle cx="{_EDGE + 4 + 18 * place}" cy="20" r="5.5" class="dot"/>' for place in range(3))
    style = (
        f"text {{ font: 14px {MONOSPACE}; fill: {colours['ink']}; white-space: pre; }} .bold {{ font-weight: 700; }}"
        f" .dim {{ fill: {colours['quiet']}; }} .dot {{ fill: {colours['line']}; }}"
        + "".join(f" .{name} {{ fill: {colours[name]}; }}" for name in ("red", "yellow", "cyan", "green"))
    )
    return _svg(width, height, f"{command}: what Claude Code never shows its model", style, f"{dots}\n{rows}", colours)


def _lines(output: str) -> list[list[_Run]]:
    lines: list[list[_Run]] = []
    styles: tuple[str, ...] = ()
    for line in output.rstrip("\n").split("\n"):
        runs: list[_Run] = []
        for place, part in enumerate(_CODE.split(line)):
            if place % 2:
                codes = part.split(";")
                styles = () if codes[-1] in {"", "0"} else tuple(_STYLES[code] for code in codes)
            elif part:
                runs.append((part, styles))
        lines.append(runs if "".join(text for text, _ in runs).strip() else [])
    return lines


def _row(runs: Sequence[_Run], bottom: int) -> str:
    column = 0
    words: list[str] = []
    for text, styles in runs:
        start = column + len(text) - len(text.lstrip())
        if shown := text.strip():
            place = f'x="{_EDGE + start * _CELL:.1f}" y="{bottom}" textLength="{len(shown) * _CELL:.1f}"'
            named = f' class="{" ".join(styles)}"' if styles else ""
            words.append(f"<text {place}{named}>{escape(shown)}</text>")
        column += len(text)
    return "".join(words)


def _svg(width: int, height: int, title: str, style: str, body: str, colours: Mapping[str, str]) -> str:
    frame = f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"'
    colour = f'fill="{colours["paper"]}" stroke="{colours["line"]}"'
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">\n'
        f"<style>{style}</style>\n{frame} {colour}/>\n{body}\n</svg>\n"
    )


# --- The layers ------------------------------------------------------------------------------------------------------

BANDS = ("#4269d0", "#e0a30e", "#e8604c", "#4fb3a0", "#3c9a50", "#e878a8", "#9660e0", "#79a5ea")
"""The colours of layers on a page."""

_BAND, _WIDTH = 46, 900


def _layers(profile: Profile, colours: Mapping[str, str]) -> str:
    """The picture of a profile: its layers in their order, with their files and limits."""
    top, height = 58, 58 + len(profile.layers) * _BAND + 20
    names = {layer.id: ", ".join(layer.heading) for layer in profile.layers}
    title = f"The profile {profile.name}: {profile.budget:,} tokens at most, in this order"
    rows = [f'<text x="{_EDGE}" y="34" class="title">{escape(title)}</text>']
    for number, layer in enumerate(profile.layers):
        rows += _band(layer, names.get(layer.limits.within, ""), top + number * _BAND, BANDS[number % len(BANDS)])
    style = (
        f"text {{ font: 14px {SANS}; fill: {colours['ink']}; }} .title {{ font-size: 16px; font-weight: 600; }}"
        f" .path {{ font: 12px {MONOSPACE}; fill: {colours['quiet']}; }} .name {{ font-weight: 600; }}"
        f" .band {{ fill: {colours['panel']}; }} .limit {{ text-anchor: end; }}"
        f" .small {{ font-size: 12px; fill: {colours['quiet']}; }}"
    )
    return _svg(_WIDTH, height, title, style, "\n".join(rows), colours)


def _band(layer: Layer, within: str, top: int, colour: str) -> Iterator[str]:
    inner = _WIDTH - 2 * _EDGE
    left = _EDGE + (24 if within else 0)
    yield f'<rect class="band" x="{left}" y="{top}" width="{inner + _EDGE - left}" height="{_BAND - 6}" rx="3"/>'
    yield f'<rect fill="{colour}" x="{left}" y="{top}" width="6" height="{_BAND - 6}" rx="3"/>'
    yield f'<text class="name" x="{left + 18}" y="{top + 17}">{escape(", ".join(layer.heading))}</text>'
    yield f'<text class="path" x="{left + 18}" y="{top + 33}">{escape(_paths(layer))}</text>'
    limit, more = _limits(layer, within)
    yield f'<text class="limit" x="{_EDGE + inner - 12}" y="{top + 17}">{escape(limit)}</text>'
    yield f'<text class="limit small" x="{_EDGE + inner - 12}" y="{top + 33}">{escape(more)}</text>'


def _paths(layer: Layer) -> str:
    """The files of a layer; of those in one folder, the folder once."""
    folders: dict[str, list[str]] = {}
    for path in layer.query.paths:
        folder, _, name = path.rpartition("/")
        if "archive" not in folder:
            folders.setdefault(folder, []).append(name)
    return ", ".join(f"{folder}/{', '.join(names)}" for folder, names in folders.items())


def _limits(layer: Layer, within: str) -> tuple[str, str]:
    """What a layer may take, and how its fragments are chosen; `within` is the heading of the layer that it is in."""
    limits, steps = layer.limits, layer.overflow.steps
    if limits.required:
        return "always whole", "exceeds the budget if it must"
    tokens = f"at most {limits.max_tokens:,} tokens" if limits.max_tokens else "what is left"
    tokens = f"shares the room of {within}" if within else tokens
    top, fewer = layer.ranking.top, layer.ranking.fallback_top
    chosen = f"the best {fewer}, or {top} with a topic" if fewer else f"the best {top}" if top else ""
    chosen = f"the last {layer.query.max_age_days} days" if layer.query.max_age_days else chosen
    chosen = "with a topic: lines that match" if within else chosen
    held = f"{limits.reserve:,} tokens are reserved for it" if limits.reserve else ""
    cut = "cut at the end if too long" if steps == ("truncate",) and not chosen else ""
    return tokens, "; ".join(filter(None, (chosen, held, cut)))


# --- The page --------------------------------------------------------------------------------------------------------


def _photograph(page: Path, picture: Path) -> None:
    """Have a browser draw the top of a page, at twice the size."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        raise SystemExit("explain.png: no chromium is installed: install Debian's package `chromium`")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=2")
    size = ("--window-size=1100,1180", f"--screenshot={picture}")
    words = [browser, *flags, *size, f"--user-data-dir={page.parent}/browser", str(page)]
    subprocess.run(words, capture_output=True, check=True, timeout=120)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
