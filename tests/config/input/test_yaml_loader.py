"""The reader of YAML: values with their lines, and one error with file and line for anything that is not plain YAML."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input import yaml_loader
from contextasm.config.input.yaml_loader import YamlMapping, YamlSequence, load_mapping, load_yaml
from contextasm.model import ContextasmError
from tests.command import SMALL_TEXT, fill, inside, python, refused
from tests.tables import rows

PARSERS = [yaml.CSafeLoader, yaml.SafeLoader] if yaml.__with_libyaml__ else [yaml.SafeLoader]


@pytest.fixture(params=PARSERS, ids=lambda parser: parser.__name__)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of PyYAML's two parsers: the one in C is not installed everywhere."""
    monkeypatch.setattr(yaml_loader, "Parser", request.param)


def lines(value: object) -> Any:
    """The lines of a value, in its form: `(line, {key: (line, value)})` of a mapping, `[(line, item)]` of a list."""
    if isinstance(value, YamlMapping):
        return value.line, {key: (value.lines[key], lines(inner)) for key, inner in value.items()}
    if isinstance(value, YamlSequence):
        return [*zip(value.lines, map(lines, value), strict=True)]
    return value


def error(text: str | bytes) -> str:
    """What is said of a text that is refused."""
    with pytest.raises(ContextasmError) as caught:
        load_yaml(text, "f.yaml")
    return str(caught.value)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("---\n", None),
        ("plain", "plain"),
        ("a: |\n  two\n  lines\nb: >\n  folded\n  text\nc:\n", {"a": "two\nlines\n", "b": "folded text\n", "c": None}),
        ("[1, -3, +4, 007, '1', \"1\", 1_000, 0x1]", [1, -3, 4, 7, "1", "1", "1_000", "0x1"]),
        ("[2.5, .5, 1., -0.5, 1e5, 1.0e+4, .inf, .]", [2.5, 0.5, 1.0, -0.5, "1e5", "1.0e+4", ".inf", "."]),
        ("[~, null, Null, NULL, nULL, '~', '']", [None, None, None, None, "nULL", "~", ""]),
        ("[true, True, FALSE, tRUE, 'true']", [True, True, False, "tRUE", "true"]),
        ("[on, yes, no, y, 8:30, 2025-03-14, =]", ["on", "yes", "no", "y", "8:30", "2025-03-14", "="]),
        ("'<<': {a: 1}", {"<<": {"a": 1}}),
        ("%YAML 1.1\n---\na: 1\n...\n", {"a": 1}),
        ("{a: [], b: {}}", {"a": [], "b": {}}),
        ("\ufeffa: 1\r\nb: é 日\n".encode(), {"a": 1, "b": "é 日"}),
        ("a: 1\n".encode("utf-16"), {"a": 1}),
        ('a: "\\u65e5\\U0001f600\\x41"', {"a": "日\U0001f600A"}),
    ],
)
def test_values_are_words_numbers_truth_values_and_null(text: str | bytes, value: object) -> None:
    loaded = load_yaml(text, "f.yaml")
    assert loaded == value
    assert repr(loaded) == repr(value)


@pytest.mark.usefixtures("parser")
def test_mappings_keys_and_items_know_their_lines() -> None:
    text = "# first\na: 1\nb:\n  - x\n  -\n    c: 2\n    d: {e: 3,\n      f: [4,\n        5]}\n"
    inner = (7, {"e": (7, 3), "f": (8, [(8, 4), (9, 5)])})
    assert lines(load_yaml(text, "f.yaml")) == (
        2,
        {"a": (2, 1), "b": (3, [(4, "x"), (6, (6, {"c": (6, 2), "d": (7, inner)}))])},
    )


@pytest.mark.usefixtures("parser")
def test_place_of_a_key_is_file_and_line() -> None:
    mapping = load_mapping("\na: 1\nb: 2\n", "f.yaml")
    assert (mapping.where("b"), mapping.where("c"), mapping.where()) == ("f.yaml:3", "f.yaml:2", "f.yaml:2")


@pytest.mark.usefixtures("parser")
def test_empty_text_is_an_empty_mapping_and_another_value_is_none() -> None:
    assert load_mapping("", "f.yaml") == {}
    for text in ("- a\n", "a\n", "7\n"):
        with pytest.raises(ContextasmError, match=r"f\.yaml:1: holds no keys: write lines of the form `key: value`"):
            load_mapping(text, "f.yaml")


MERGE_BOMB = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 10)
)
ALIAS_BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))

REFUSED: dict[str, tuple[str | bytes, int, str]] = {
    **{name: (text, int(line), part) for name, text, line, part in rows("yaml/refused")},
    "merge bomb": (MERGE_BOMB, 1, "an anchor (&) is not supported"),
    "alias bomb": (ALIAS_BOMB, 1, "an anchor (&) is not supported"),
    "too many digits": (f"a: 1\nb: {'9' * 5000}\n", 2, "a number has 5000 digits"),
    "too many digits in a key": (f"{'9' * 1000}: 1\n", 1, "the key is not a word"),
    "number beyond measure": (f"a: 1\nb: {'9' * 400}.5\n", 2, "a number has 402 digits"),
    "huge version": (f"%YAML {'9' * 5000}.1\n---\na\n", 1, "not valid YAML"),
    "escape character": (b"a: 1\nb: \x1b[2J\n", 2, "not valid YAML"),
    "no UTF-8": (b"a: 1\nb: \xff\n", 2, "not valid YAML"),
    "surrogate": ("a: \ud800\n", 1, "not valid YAML"),
    "deep list": ("a:\n  " + "[" * 51, 2, "nested too deeply"),
    "deep mapping": ("{a: " * 51, 1, "nested too deeply"),
    "deep block": ("".join(f"{' ' * n}a:\n" for n in range(52)), 51, "nested too deeply"),
}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("case", REFUSED)
def test_text_that_is_not_plain_yaml_is_one_error_with_file_and_line(case: str) -> None:
    """P17: never another exception, whatever PyYAML raises itself."""
    text, line, part = REFUSED[case]
    said = error(text)
    assert re.match(rf"f\.yaml:{line}: ", said), said
    assert part in said


QUOTED = "hunter2-3f9c"

LEAKS = (
    f"password: *{QUOTED}\n",
    f"password: &{QUOTED}\n",
    f"password: !{QUOTED}\n",
    f"password: !{QUOTED}!x y\n",
    f"%TAG !{QUOTED}! a\n%TAG !{QUOTED}! b\n---\nx\n",
    f"password: {QUOTED}: x\n",
    f"password: '{QUOTED}\n",
    f'password: "{QUOTED}\\q"\n',
    f"password: [{QUOTED}\n",
    f"password: {QUOTED}\n\tx: y\n",
    f"password: {QUOTED}\0\n",
    f"password: @{QUOTED}\n",
    f"password: |{QUOTED}\n",
    f'password: "{QUOTED}\\ud800"\n',
    f"? [{QUOTED}]\n: x\n",
)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", LEAKS)
def test_message_never_quotes_the_line(text: str) -> None:
    """P17: it may hold a secret; file and line are named."""
    said = error(text)
    assert QUOTED not in said
    assert re.match(r"f\.yaml:[0-9]+: ", said), said


WORDS = ("2025-02-30", "2025-03-14T10:00:00+99:00", "0x_", "8:30", "no", "1e400", ".inf", "1.0e+400", "+99:00", "=")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("word", WORDS)
def test_word_that_other_readers_trip_over_is_a_word(word: str) -> None:
    """P17, P19: an impossible date, a bad zone, half of a number; none of them is computed with."""
    assert load_yaml(f"a: {word}\n", "f.yaml") == {"a": word}


@pytest.mark.parametrize("limit", [None, 100])
def test_text_above_the_limit_is_refused_before_it_is_parsed(limit: int | None) -> None:
    """P15, P17: with its size and the limit."""
    size = (limit or yaml_loader.MAX_DATA) + 1
    with pytest.raises(ContextasmError, match=rf"f\.yaml:1: is too large: it has {size:,} bytes, and"):
        load_yaml(" " * size, "f.yaml", *([limit] if limit else []))


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ["[" * 50 + "]" * 50, "{a: " * 50 + "}" * 50, "- " * 50 + "a"])
def test_fifty_levels_are_not_too_deep(text: str) -> None:
    assert load_yaml(text, "f.yaml")


@pytest.mark.usefixtures("parser")
@given(st.text(alphabet="ab:- \n[]{},'\"|>#&*!%<?~1.\\\t\0", max_size=40))
def test_any_text_is_a_value_or_one_error(text: str) -> None:
    try:
        load_yaml(text, "f.yaml")
        where = "f.yaml:1"
    except ContextasmError as wrong:
        where = wrong.where
    assert re.fullmatch(r"f\.yaml:[0-9]+", where)


DEEP = ("[" * 25_000, "{a: " * 25_000, "- " * 25_000, "a: " + "[[" * 100_000, "? " * 25_000)

DEEP_SCRIPT = """
import sys
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import ContextasmError
try:
    load_yaml(open(sys.argv[1]).read(), "f.yaml")
except ContextasmError as error:
    print(error)
"""


@pytest.mark.parametrize("text", DEEP, ids=range(len(DEEP)))
def test_deep_nesting_does_not_kill_the_process(tmp_path: Path, text: str) -> None:
    """P17, P29: the composer of libyaml would recurse until the stack is full."""
    (tmp_path / "f.yaml").write_text(text)
    done = python(DEEP_SCRIPT, tmp_path / "f.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("f.yaml:1: ")


@pytest.mark.parametrize(
    ("path", "words"),
    [("ctxasm.yaml", ()), ("rules/a.yaml", ()), ("p.yaml", ("-p", "./p.yaml"))],
    ids=["settings", "rules", "profile"],
)
@pytest.mark.parametrize("text", ["[" * 25_000, MERGE_BOMB, f"a: {'9' * 5000}", "a: !!bool x"], ids=range(4))
def test_trap_in_a_file_that_a_build_needs_is_refused(
    tmp_path: Path, path: str, words: tuple[str, ...], text: str
) -> None:
    """P17: with the file and its line."""
    root = fill(tmp_path, {path: text})
    refused(inside("build", "-a", "a", *words, cwd=root), f"{path}:1: ")


@pytest.mark.parametrize("text", ["[" * 25_000, MERGE_BOMB, f"- {'9' * 5000}", "- !!bool x"], ids=range(4))
def test_trap_in_a_file_of_data_is_a_problem_and_the_build_goes_on(tmp_path: Path, text: str) -> None:
    """P17: such as a list of entities."""
    profile = "extends: default\nlayers:\n  - {id: E, heading: Things, source: entities, path: things.yaml}\n"
    root = fill(tmp_path, {"p.yaml": profile, "things.yaml": text})
    done = inside("build", "-p", "./p.yaml", cwd=root)
    assert (done.code, done.out) == (0, SMALL_TEXT)
    assert "ctxasm: warning: things.yaml:1: " in done.err


def test_yaml_in_the_package_is_plain() -> None:
    folder = Path(yaml_loader.__file__).parent.parent / "profiles"
    for path in folder.glob("*.yaml"):
        assert load_mapping(path.read_bytes(), path.name)
