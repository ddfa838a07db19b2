"""The workspaces that `capture.py` runs its commands in: those of the repository, and made ones."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path

Files = Mapping[str, bytes]
"""What each file of a workspace holds."""

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
DAY = date(2025, 3, 14)

RANDOM = 20
"""Number of random workspaces."""

POOL = 1_500
"""Memories of a large workspace: from some 1,000 on, a search uses an index."""

WORDS = (  # noqa: SIM905 - a list of words reads best as text
    "ferry harbor lamp bell tide ledger refund import parser budget release demo audio table letter winter "
    "glossary engine texture rope market signal window coffee server password garden river mail invoice"
).split()

PARAGRAPHS = (
    "One short line.",
    "A line that goes on\nand a second one under it\nand a third.",
    "word " * 60 + "end.",
    "日本語の文章はここで切れることがある。" * 8,
    "한국어 문장도 있습니다, 그리고 더 길어집니다.",
    "👩‍👩‍👧‍👦" * 12 + " and 🇩🇪🇫🇷",
    "e\u0301" * 40,
    '<|endoftext|> & <b>tags</b> ]]> "quoted"',
    "<!-- a comment that nobody needs to see -->",
    "<!-- a comment\nof several lines\n-->",
    "- one\n  - nested in one\n- two\n\n  a paragraph of two\n- three",
    "1. first\n2. second, which is a longer item that may be cut at a word\n10) tenth",
    "| name | value |\n|---|---|\n" + "\n".join(f"| row {n} | {n * n} is its square |" for n in range(9)),
    "```python\n" + "\n".join(f"print({n})  # a line of code" for n in range(9)) + "\n```",
    "```\nnever closed\n\n## no heading",
    "A link to [the plan](../plan.md), to [[Notes]] and to @docs/plan.md.",
    "Our key is AKIA" + "IOSFODNN7ABCDEFG and password: hunter2hunter2",
    "token = ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "Salaries are told to nobody. {private=true}",
    "Hidden\u200bletters and\u202e turned ones.",
    "## A heading\n\n### And one below it",
    "Call 2025-03-20 the day of the demo, and 2025-02-30 none.",
)
FRONTS = (
    "",
    "",
    "",
    "---\ntitle: a page\ntags: [a, b]\n---\n",
    "---\nprivate: true\n---\n",
    "---\nimportance: high\ntype: fact\n---\n",
    "---\nno front matter\n---\n",
    "---\nbroken: [\n---\n",
)
TYPES = ("decision", "preference", "fact", "task", "insight", "learning", "open_question", "日本")
FIELDS = (
    "importance=0.9",
    "importance=high",
    "importance=7",
    "created=2025-03-10",
    "created=2025-01-02",
    "created=2025-13-01",
    "tags=audio,demo",
    "key=demo-date",
    "status=draft",
    "status=deprecated",
    "status=completed",
    "expires=2025-03-01",
    "private=true",
    "pin=true",
    "confidence=0.3",
    "accessed=2025-03-11",
    "supersedes=m1",
    "id=m1",
    "colour=red",
)
RULES = """\
- name: first
  priority: 10
  when: {task_contains: [demo, ferry]}
  then:
    always_include: [m2]
    boost: [{tag: audio, weight: 2}]
- name: second
  when:
    - {field: agent, op: eq, value: ada}
    - {field: var.mode, op: eq, value: night}
  then:
    exclude: [{tag: demo}, "teams/*/daily/*-evening.md"]
    cap: {L3: 200}
"""
SETTINGS = (
    "",
    "date: 2025-03-14\nbudget: 3k\ntokenizer: o200k_base\n",
    "layers:\n  - {id: L3, max_tokens: 150, fallback_days: 30}\n  - {id: L5, private: true}\n",
    "profile: profiles/own.yaml\nprivacy: drop\n",
    (
        "upkeep:\n  logs: {archive: 10, compress: true}\n  retention:\n"
        "    facts: {types: [fact, note], evict: {max_kb: 1, lru: 0, quality: 1}}\n"
        "    docs: {files: [knowledge/**/*.md], compress: {after_days: 1, uses_below: 1}, evict: {max_kb: 1, lru: 0,"
        " quality: 1, to: frozen}}\n"
    ),
    "outputs:\n  - {file: AGENTS.md, agent: ada, budget: 2k}\n  - {file: out.json, agent: ada, format: json}\n",
    (
        "audience: shared\nformat: xml\nenv: [MODE]\nrules:\n"
        "  - {name: own, when: {task_contains: [lamp]}, then: {cap: {L5: 50}}}\n"
    ),
    "memories: {store: postgresql://nobody@127.0.0.1:1/none, owners: [teams/north]}\n",
    "budget: [\n",
    "unknown: 1\nbudget: 2k\n",
)
OWN_PROFILE = """\
summary: one of its own
extends: default
layers:
  - {{id: L3, max_tokens: {logs}}}
  - {{id: L4, top: {top}, weights: {{similarity: 0.5, recency: 0.3, importance: 0.2}}}}
  - {{id: L5, share: {share}}}
"""
TOP = {
    "AGENTS.md": b"# For agents\n\nBe short. See @docs/more.md.\n\n## Style\n\nNo jargon.\n",
    "CLAUDE.md": b"@AGENTS.md\n\nRead the tests first.\n",
    "GEMINI.md": b"Answer in English.\n",
    ".hermes.md": b"Speak of the harbor.\n",
    "SOUL.md": b"You are a lamp.\n",
    "USER.md": b"The person likes tea.\n",
    "MEMORY.md": b"- The demo is on Thursday.\n- The key hangs by the door.\n",
    "docs/more.md": b"More than that.\n",
    "docs/CLAUDE.md": b"Only for docs.\n",
    ".cursorrules": b"Tabs, never spaces.\n",
    ".cursor/rules/a.mdc": b"---\nglobs: '*.py'\nalwaysApply: true\n---\nType everything.\n",
    ".github/copilot-instructions.md": b"Use pytest.\n",
    "journals/2025_03_13.md": b"- TODO the lamp\n  id:: 1\n- talked of the [[ferry]]\n",
    "pages/Ferry.md": b"- leaves at nine\n- tags:: harbor\n",
    "2025-03-12.md": b"# Wednesday\n\nThe ferry was late #travel ![[Ferry]]\n",
    "notes/Ferry.md": b"---\ntags: [travel]\n---\nThe ferry leaves at nine. %%not shown%%\n",
    "memory/2025-03-13.md": b"The lamp was lit at six.\n",
    "TOOLS.md": b"A hammer.\n",
}


def workspace(name: str) -> Files:
    """The files of a workspace by its name in `capture_commands.txt`."""
    kind, _, rest = name.partition(" ")
    make: Mapping[str, Callable[[], Files]] = {
        "empty": dict,
        "sample": lambda: folder(ROOT / "sample_workspace"),
        "every": _every,
        "host": lambda: {
            **TOP,
            **{f"{n}.md": b"# Wing\n\n" + b"A line of the wing.\n" * 1500 for n in ("AGENTS", "MEMORY")},
        },
        "golden": lambda: folder(CASES / rest / "workspace"),
        "exchange": lambda: {**folder(CASES / "exchange"), **_agent("ada", "An importer.")},
        "random": lambda: random_workspace(int(rest)),
        "pool": lambda: _pool(is_spread=rest == "spread"),
    }
    return make[kind]()


def folder(path: Path) -> Files:
    """Every file below a folder."""
    found = (each for each in sorted(path.rglob("*")) if each.is_file())
    kept = (each for each in found if not {".ctxasm", ".tidy"} & set(each.relative_to(path).parts))
    return {str(each.relative_to(path)): each.read_bytes() for each in kept}


def _every() -> Files:
    """Something for every profile: the sample, what the golden profiles read, and files of other programs."""
    files: dict[str, bytes] = {}
    for each in sorted((CASES / "profiles").iterdir()):
        files |= folder(each / "workspace")
    return {**files, **folder(ROOT / "sample_workspace"), **TOP}


def _agent(name: str, identity: str) -> dict[str, bytes]:
    return {f"agents/{name}/IDENTITY.md": identity.encode(), f"agents/{name}/INSTRUCTIONS.md": b"Be kind.\n"}


def random_workspace(seed: int) -> Files:
    """A workspace drawn by a seed; the settings take turns, those that stop a command but once."""
    draw = random.Random(seed)  # noqa: S311 - a draw that repeats is what is wanted
    files = _agent("ada", "You are Ada.\n") | _agent("bo", _text(draw))
    for owner in ("agents/ada", "agents/bo", "teams/north"):
        files |= _logs(draw, owner) | _memories(draw, owner)
    optional = ("agents/ada/KNOWLEDGE.md", "teams/north/GOALS.md", "teams/north/CONTEXT.md", "teams/north/RULES.md")
    for name in (*optional, "knowledge/a.md", "knowledge/deep/b.md", "docs/plan.md", "AGENTS.md", "src/CLAUDE.md"):
        if draw.random() < 0.7:
            files[name] = _bytes(draw, _text(draw))
    settings = [*SETTINGS, *SETTINGS[:-3]]
    files["ctxasm.yaml"] = settings[seed % len(settings)].encode()
    files["rules/10.yaml"] = RULES.encode() if seed != 11 else b"when: [broken\n"
    own = OWN_PROFILE.format(logs=draw.randrange(900), top=draw.randrange(1, 9), share=draw.randrange(5, 60))
    files["profiles/own.yaml"] = own.encode()
    files["tasks.yaml"] = b"current: t2\ntasks:\n- {id: t1, goal: The demo}\n- {id: t2, goal: A ferry, parent: t1}\n"
    return files


def _text(draw: random.Random) -> str:
    joint = draw.choice(("\n\n", "\n\n", "\n"))
    parts = [draw.choice((*PARAGRAPHS, _sentence(draw))) for _ in range(draw.randrange(1, 9))]
    return draw.choice(FRONTS) + joint.join(parts) + draw.choice(("\n", "", " \n\n"))


def _sentence(draw: random.Random) -> str:
    return f"The {' '.join(draw.choices(WORDS, k=draw.randrange(3, 12)))}."


def _bytes(draw: random.Random, text: str) -> bytes:
    """The text in one of several encodings, some of them broken."""
    kind = draw.randrange(20)
    if kind == 0:
        return b"caf\xe9 " + text.encode()
    if kind == 1:
        return text.encode("utf-16")
    return (text.replace("\n", "\r\n") if kind in {2, 3} else text).encode()


def _logs(draw: random.Random, owner: str) -> dict[str, bytes]:
    ages = draw.sample((-1, 0, 1, 2, 5, 7, 8, 12, 40, 90), k=draw.randrange(2, 7))
    names = [f"{DAY - timedelta(days=age)}{draw.choice(('', '', '-evening'))}" for age in ages]
    logs = {f"{owner}/daily/{name}.md": _bytes(draw, _text(draw)) for name in (*names, "notes")}
    old = f"- {_sentence(draw)}\n".encode()
    archive = {f"{owner}/daily/archive/2024/2024-12-0{draw.randrange(1, 9)}.md.gz": gzip.compress(old, mtime=0)}
    return logs | (archive if draw.random() < 0.5 else {})


def _memories(draw: random.Random, owner: str) -> dict[str, bytes]:
    lines = [_memory(draw) for _ in range(draw.randrange(3, 30))]
    lines += [f"- [fact] The answer to the question of {owner} is 42 {{id=m2 tags=demo}}"]
    lines += [*draw.sample(lines, k=2), "## 2025-03-11", "Loose text that is no memory."]
    listed = draw.choice(FRONTS) + "\n".join(lines) + "\n"
    single = f"---\ntype: fact\ncreated: 2025-03-01\ntags: [demo]\n---\n{_sentence(draw)}\n"
    return {f"{owner}/memories/2025-03.md": _bytes(draw, listed), f"{owner}/memories/one.md": single.encode()}


def _memory(draw: random.Random) -> str:
    fields = draw.sample(FIELDS, k=draw.randrange(4))
    text = _sentence(draw) if draw.random() < 0.8 else draw.choice(PARAGRAPHS).replace("\n", "\n  ")
    return f"- [{draw.choice(TYPES)}] {text}" + (f" {{{' '.join(fields)}}}" if fields else "")


def _pool(*, is_spread: bool) -> Files:
    """Many memories, in one file or spread over many."""
    draw = random.Random(7)  # noqa: S311 - a draw that repeats is what is wanted
    lines = [f"{_memory(draw)}\n" for _ in range(POOL)]
    size = 50 if is_spread else POOL
    parts = ["".join(lines[at : at + size]) for at in range(0, POOL, size)]
    files = {f"agents/ada/memories/m{number:02}.md": part.encode() for number, part in enumerate(parts)}
    return {**_agent("ada", "You are Ada.\n"), **files, "rules/10.yaml": RULES.encode()}
