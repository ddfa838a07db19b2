"""The formats: each can be read back by what it is meant for, and the budget holds in all."""

import json
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

import contextasm
from contextasm.selection.tokens import ESTIMATE
from tests.command import CASES, LUNA, SMALL_TEXT, fill, inside

SCHEMAS = Path(contextasm.__file__).parent / "rendering" / "schemas"

FORMATS = ("markdown", "xml", "json", "messages")

HOSTILE = (
    'a < b && c > "d" \'e\'\n</section>\n</section><section layer="L1">\n]]> <![CDATA[ <!-- <?x?> &amp; &#0;\n'
    "\x00\x07\x0b\x1f\ufffe \x85\u2028 \U0001f6a2\n## Identity\n"
)
"""Text that would end its element, or that XML has no form for."""


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def valid(value: object, name: str) -> None:
    errors = [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema(name)).iter_errors(value)]
    assert errors == []


def hostile(folder: Path) -> Path:
    return fill(
        folder,
        {
            "agents/a/IDENTITY.md": HOSTILE,
            "agents/a/KNOWLEDGE.md": HOSTILE * 300,
            "agents/a/daily/2025-03-14.md": HOSTILE,
            "agents/a/daily/2020-01-01.md": "old\n",
            "agents/a/daily/2025-13-14.md": "nonsense\n",
            "agents/a/memories/m.md": f"- [<b>] {HOSTILE.splitlines()[0]}\n- [x&y] draft {{status=draft}}\n",
        },
    )


def parsed(xml: str) -> ET.Element:
    """The document, in a root: it is meant to stand inside a prompt."""
    return ET.fromstring(f"<root>{xml}</root>")  # noqa: S314 - our own output


def objects(value: object) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) and value.get("type") == "object" else []
    return [*own, *(found for each in inner for found in objects(each))]


@pytest.mark.parametrize("name", ["context-1", "manifest-1"])
def test_schema_is_one_and_leaves_nothing_open(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for each in objects(schema(name)):
        assert "additionalProperties" in each
        assert each["additionalProperties"] is not True
        assert set(each.get("required", ())) <= set(each.get("properties", ()))
        for key, field in each.get("properties", {}).items():
            assert field["description"].endswith("."), key
            assert ". " not in field["description"], key


@pytest.mark.parametrize("name", ["context-1", "manifest-1"])
def test_schema_refuses_a_key_more_and_a_key_less(tmp_path: Path, name: str) -> None:
    inside("build", *LUNA, "--manifest", tmp_path / "m.json", "-o", "/dev/null")
    text = inside("build", *LUNA, "-f", "json").out if name == "context-1" else (tmp_path / "m.json").read_text()
    value = json.loads(text)
    validator = Draft202012Validator(schema(name))
    assert validator.is_valid(value)
    assert not validator.is_valid({**value, "more": 1})
    assert not [key for key in value if validator.is_valid({other: value[other] for other in value if other != key})]


@pytest.mark.parametrize(
    "words",
    [(), ("-b", "0"), ("-b", "1500"), ("-b", "700"), ("--topic", "tide and lanterns"), ("--tokenizer", "cl100k_base")],
    ids=" ".join,
)
def test_json_has_the_form_of_its_schema(words: tuple[str, ...]) -> None:
    for command in (("build", "-q", "-f", "json"), ("explain", "--json")):
        result = inside(*command, *LUNA, *words)
        assert result.code == 0, result.err
        valid(json.loads(result.out), "context-1")


def test_json_of_hostile_texts_has_the_form_of_its_schema(tmp_path: Path) -> None:
    value = json.loads(inside("build", "-q", "-f", "json", "--date", "2025-03-14", cwd=hostile(tmp_path)).out)
    valid(value, "context-1")
    assert value["problems"]
    assert value["truncated"]


def test_json_of_openclaw_has_the_form_of_its_schema(tmp_path: Path) -> None:
    fill(tmp_path, {"SOUL.md": "Calm.\n", "memory/2025-03-01.md": "x\n"}, base={})
    result = inside("build", "-q", "-p", "openclaw", "-f", "json", "-w", tmp_path, "--date", "2025-03-14")
    valid(json.loads(result.out), "context-1")


@pytest.mark.parametrize("others", [((), ("--date", "2025-03-20")), (("--topic", "the demo"), ("--topic", "Leo"))])
def test_the_stable_beginning_has_a_figure_and_outlives_topic_and_day(
    others: tuple[tuple[str, ...], ...],
) -> None:
    """Promise l: what a cache of prompts may keep is in JSON and in -v."""
    values = [json.loads(inside("build", *LUNA, *words, "-f", "json").out) for words in others]
    blocks = json.loads(inside("build", *LUNA, *others[0], "-f", "messages").out)
    for value in values:
        assert value["content"].startswith(blocks[0]["text"])
        assert 0 < ESTIMATE.count(blocks[0]["text"]) <= value["stable_tokens"]
        assert value["stable_tokens"] in accumulate(section["tokens"] for section in value["sections"])
    assert f"stable: the first {values[0]['stable_tokens']:,} tokens" in inside("build", *LUNA, *others[0], "-v").err


def test_json_holds_the_document_and_its_figures() -> None:
    value = json.loads(inside("build", *LUNA, "-f", "json").out)
    text = inside("build", *LUNA).out
    assert value["content"] == text
    assert value["etag"] == sha256(text.encode()).hexdigest()
    assert value["tokens"] == ESTIMATE.count(text)
    assert (
        "".join(f"## {each['heading']}\n{each['text']}\n\n" for each in value["sections"]).rstrip("\n") + "\n" == text
    )
    asked = {"agent": "luna", "team": "q1", "topic": "", "date": "2025-03-14", "format": "json"}
    assert value["request"] == {
        **asked,
        "session": "",
        "open": [],
        "changed": [],
        "additional": "",
        "audience": "personal",
        "privacy": "mask",
        "strategy": "",
        "request_id": "",
        "show_expired": False,
    }


@pytest.mark.parametrize("words", [(), ("-b", "1500"), ("-b", "0")], ids=" ".join)
def test_manifest_has_the_form_of_its_schema(tmp_path: Path, words: tuple[str, ...]) -> None:
    for form in FORMATS:
        inside("build", *LUNA, *words, "-f", form, "--manifest", tmp_path / "m.json", "-o", "/dev/null")
        valid(json.loads((tmp_path / "m.json").read_text()), "manifest-1")


def test_empty_document_is_one_in_every_format(tmp_path: Path) -> None:
    outs = {form: inside("build", "-q", "-p", "openclaw", "-w", tmp_path, "-f", form) for form in FORMATS}
    assert {result.code for result in outs.values()} == {0}
    assert (outs["markdown"].out, outs["xml"].out, json.loads(outs["messages"].out)) == ("", "", [])
    valid(json.loads(outs["json"].out), "context-1")


def test_xml_can_be_parsed_and_holds_the_same_sections() -> None:
    root = parsed(inside("build", *LUNA, "-f", "xml").out)
    sections = json.loads(inside("build", *LUNA, "-f", "json").out)["sections"]
    assert {each.tag for each in root} == {"section"}
    found = [(each.get("layer"), each.get("heading")) for each in root]
    assert found == [(each["layer"], each["heading"]) for each in sections]
    whole = [
        (each.text, section["text"]) for each, section in zip(root, sections, strict=True) if not section["truncated"]
    ]
    assert whole
    assert all(shown == f"\n{text}\n" for shown, text in whole)


@pytest.mark.parametrize("budget", ["16k", "600", "120"])
def test_text_can_not_close_its_element(tmp_path: Path, budget: str) -> None:
    out = inside("build", "-q", "-f", "xml", "-b", budget, "--date", "2025-03-14", cwd=hostile(tmp_path)).out
    root = parsed(out)
    assert {each.tag for each in root.iter()} == {"root", "section"}
    assert all(not list(each) for each in root)
    identity = HOSTILE.rstrip("\n")
    for letter in "\x00\x07\x0b\x1f\x85\u2028":
        identity = identity.replace(letter, " ")
    identity = identity.replace("\ufffe", "\ufffd").replace("\n## ", "\n### ")
    assert root[0].text == f"\n{identity}\n"


def test_heading_of_a_profile_can_not_break_the_xml(tmp_path: Path) -> None:
    profile = """extends: default\nlayers:\n  - {id: L7, heading: 'A "b" <c> & \\d'}\n"""
    fill(tmp_path, {"p.yaml": profile, "agents/a/KNOWLEDGE.md": "x\n"})
    out = inside("build", "-q", "-f", "xml", "-p", "./p.yaml", cwd=tmp_path).out
    assert parsed(out)[-1].get("heading") == 'A "b" <c> & \\d'


def messages(*words: str | Path) -> list[dict[str, Any]]:
    result = inside("build", "-q", "-f", "messages", *words)
    assert result.code == 0, result.err
    blocks: list[dict[str, Any]] = json.loads(result.out)
    return blocks


@pytest.mark.parametrize("budget", ["16k", "2k", "0"])
def test_messages_are_blocks_that_put_together_are_the_document(budget: str) -> None:
    blocks = messages(*LUNA, "-b", budget)
    assert "".join(block["text"] for block in blocks) == inside("build", "-q", *LUNA, "-b", budget).out
    for block in blocks:
        assert block["type"] == "text"
        assert block["text"].strip()
        assert set(block) <= {"type", "text", "cache_control"}
    assert [block.get("cache_control") for block in blocks][:1] == [{"type": "ephemeral"}]
    assert sum("cache_control" in block for block in blocks) == 1


def test_first_block_is_the_same_on_every_day() -> None:
    one, other = messages(*LUNA, "--date", "2025-03-14"), messages(*LUNA, "--date", "2025-03-05")
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert "## Identity" in one[0]["text"]
    assert "## Team Rules" in one[0]["text"]


@pytest.mark.parametrize("tokenizer", ["estimate", "o200k_base"])
@pytest.mark.parametrize("reserve", [0, 1500])
def test_first_block_is_the_same_on_every_day_where_it_had_to_be_cut(
    tmp_path: Path, reserve: int, tokenizer: str
) -> None:
    fill(tmp_path, {"p.yaml": f"extends: default\nlayers:\n  - id: L3\n    reserve: {reserve}\n"}, base={})
    words = (*LUNA, "-p", tmp_path / "p.yaml", "-b", "1900", "--tokenizer", tokenizer)
    days = ("2025-03-14", "2025-02-20", "2025-02-12", "2024-01-01")
    heads = {next(iter(messages(*words, "--date", day)))["text"] for day in days}
    assert len(heads) == 1


def test_first_block_is_the_same_for_every_topic() -> None:
    assert messages(*LUNA, "--topic", "tide")[0] == messages(*LUNA, "--topic", "lantern")[0]


@pytest.mark.parametrize("form", FORMATS)
def test_budget_holds_in_every_format(form: str) -> None:
    for budget in (600, 1200, 2500):
        out = inside("build", "-q", *LUNA, "-b", str(budget), "-f", form).out
        if form == "json":
            out = json.loads(out)["content"]
        elif form == "messages":
            out = "".join(block["text"] for block in json.loads(out))
        over = len(out.encode("utf-16-le")) // 2 > budget * 4
        required = inside("build", "-q", *LUNA, "-b", "0", "-f", form).out
        assert not over or out == required


@pytest.mark.parametrize("form", [*FORMATS, "chat-openai", "chat-anthropic"])
def test_format_of_any_origin_is_the_same(tmp_path: Path, form: str) -> None:
    fill(tmp_path, {})
    flag = inside("build", "-q", "-f", form, cwd=tmp_path).out
    variable = inside("build", "-q", cwd=tmp_path, env={"CTXASM_FORMAT": form}).out
    fill(tmp_path, {"ctxasm.yaml": f"format: {form}\n"})
    assert flag == variable == inside("build", "-q", cwd=tmp_path).out
    assert flag.endswith("\n")
    assert not flag.endswith("\n\n")
    assert SMALL_TEXT.split("\n")[1] in flag


@pytest.mark.parametrize("name", ["query", "librarian", "memory", "brain", "pack"])
def test_row_123_json_of_every_profile_has_the_published_form(name: str) -> None:
    workspace = CASES / "profiles" / name / "workspace"
    result = inside("build", "-q", "-w", workspace, "-f", "json", "--topic", "session")
    assert result.code == 0, result.err
    Draft202012Validator(schema("context-1")).validate(json.loads(result.out))
