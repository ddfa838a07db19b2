"""Counters: the estimate, the tables as published, and exact counts of ordinary and of monstrous texts."""

import inspect
import sys
import zlib
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from random import Random

import pytest
import tiktoken
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from contextasm.config.build import load_token_table
from contextasm.model import ContextasmError, TokenCounter
from contextasm.selection import tokens
from contextasm.selection.tokens import ENCODINGS, ESTIMATE, LENGTHS, TOKENIZERS, exact_counter, unpack
from tests.command import LUNA, inside
from tests.workspaces import unsaved

NAMES = list(ENCODINGS)


@cache
def counter(name: str) -> TokenCounter:
    """The exact counter of an encoding, built once for all tests."""
    return exact_counter(name, lambda: load_token_table(name), unsaved())


@cache
def plain(name: str) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        name, pat_str=ENCODINGS[name].pattern, mergeable_ranks=unpack(load_token_table(name)), special_tokens={}
    )


def tiktoken_count(name: str, text: str) -> int:
    return len(plain(name).encode(text, disallowed_special=()))


@pytest.mark.parametrize("name", NAMES)
def test_table_unpacks_to_the_published_bytes(name: str) -> None:
    lines = (b"%s %d\n" % (b64encode(token), rank) for token, rank in unpack(load_token_table(name)).items())
    assert sha256(b"".join(lines)).hexdigest() == ENCODINGS[name].sha256


@pytest.mark.parametrize("name", NAMES)
def test_constants_are_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes: list[str] = []

    def load(_address: str, expected_hash: str) -> dict[bytes, int]:
        hashes.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    published = openai_public.ENCODING_CONSTRUCTORS[name]()
    assert published["pat_str"] == ENCODINGS[name].pattern
    assert hashes == [ENCODINGS[name].sha256]


@pytest.mark.parametrize(
    ("name", "expected"), [("cl100k_base", [15339, 1917]), ("o200k_base", [24912, 2375])], ids=NAMES
)
def test_hello_world_gets_the_tokens_that_openai_documents(name: str, expected: list[int]) -> None:
    assert plain(name).encode("hello world") == expected
    assert counter(name).count("hello world") == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("token", ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>"])
def test_text_that_looks_like_a_special_token_is_ordinary_text(name: str, token: str) -> None:
    assert counter(name).count(f"The {token} marker") > 5


@pytest.mark.parametrize("name", NAMES)
def test_empty_text_is_no_token(name: str) -> None:
    assert exact_counter(name, _refuse, unsaved()).count("") == 0


@pytest.mark.parametrize("name", NAMES)
def test_table_is_not_asked_for_when_every_count_is_known(name: str) -> None:
    counts = unsaved()
    texts = ["# Heading\n", "日本語です", "😀"]
    first = [exact_counter(name, lambda: load_token_table(name), counts).count(text) for text in texts]
    second = exact_counter(name, _refuse, counts)
    assert [second.count(text) for text in texts] == first


def _refuse() -> bytes:
    raise AssertionError("the table was asked for")


def test_table_is_asked_for_once() -> None:
    asked: list[str] = []

    def load() -> bytes:
        asked.append("cl100k_base")
        return load_token_table("cl100k_base")

    count = exact_counter("cl100k_base", load, unsaved()).count
    assert [count("one"), count("two"), count("three four")] == [1, 1, 2]
    assert len(asked) == 1


@pytest.mark.parametrize("name", NAMES)
def test_any_white_space_is_counted_as_tiktoken_counts_it(name: str) -> None:
    random = Random(7)
    atoms = [" ", " ", "\n", "\r\n", "\t", "\u3000", "\x1c", "x", "A", "!", "/", "1", "日", "'s", "\u0301"]
    lengths = [1, 1, 2, 3, 255, 256, 257, 511, 512, 513]
    for _ in range(2_000):
        text = "".join(random.choice(atoms) * random.choice(lengths) for _ in range(random.randint(1, 6)))
        assert counter(name).count(text) == tiktoken_count(name, text), repr(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(" " * 100_000, id="spaces"),
        pytest.param(" " * 100_000 + "x", id="spaces before a letter"),
        pytest.param("!" + " " * 100_000 + "\nx", id="spaces in a line"),
        pytest.param("\t" * 100_000 + "x", id="tabs"),
        *(pytest.param(letter * 100_000, id=f"only {letter!r}") for letter in "aA-\n日7"),
    ],
)
def test_a_hundred_thousand_characters_in_one_run_are_counted_as_tiktoken_counts_them(name: str, text: str) -> None:
    assert counter(name).count(text) == tiktoken_count(name, text)


@pytest.mark.parametrize("name", NAMES)
def test_a_million_white_space_characters_are_counted(name: str) -> None:
    few, many = (counter(name).count(" " * length + "x") for length in (100_000, 1_000_000))
    assert 9.9 * few < many < 70_000


@pytest.mark.parametrize("name", NAMES)
def test_blocks_of_a_text_add_up_to_its_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_BLOCK", 3)
    random = Random(11)
    atoms = [
        *("word", "Ab", "it's", " ", "  ", "\n", "\n\n", " \n", "!"),
        *("//", "12345", "日本", "é", "e\u0301", "_", "😀"),
    ]
    fresh = exact_counter(name, lambda: load_token_table(name), unsaved())
    for _ in range(1_000):
        text = "".join(random.choices(atoms, k=30))
        assert "".join(tokens._blocks(text)) == text
        assert fresh.count(text) == tiktoken_count(name, text), repr(text)


def test_long_text_is_taken_in_blocks() -> None:
    blocks = list(tokens._blocks("a line of words\n" * 200_000))
    assert len(blocks) == 4
    assert max(map(len, blocks)) < tokens._BLOCK + 16


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-9], lambda packed: b"\0" + packed], ids=["short", "foreign"]
)
def test_damaged_table_does_not_unpack(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(zlib.error):
        unpack(damage(load_token_table("cl100k_base")))


def test_missing_tiktoken_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setattr(tokens, "_encoder", inspect.unwrap(tokens._encoder))
    with pytest.raises(ContextasmError, match=r"tokenizer o200k_base: tiktoken can't be imported .*estimate") as caught:
        exact_counter("o200k_base", lambda: load_token_table("o200k_base"), unsaved()).count("new")
    assert caught.value.code == 2


def test_every_counter_is_described() -> None:
    assert list(TOKENIZERS) == [ESTIMATE.name, *LENGTHS, *ENCODINGS]


@pytest.mark.parametrize(("name", "sizes"), [("chars", (1, 1, 1, 2)), ("bytes", (1, 2, 3, 4))])
def test_lengths_are_counted_exactly_and_add_up(name: str, sizes: tuple[int, ...]) -> None:
    letters = ("a", "é", "日", "😀")
    counter = LENGTHS[name]
    assert tuple(map(counter.count, letters)) == sizes
    assert counter.count("".join(letters)) == sum(sizes)


@pytest.mark.parametrize("name", LENGTHS)
def test_build_keeps_to_a_budget_of_lengths(name: str) -> None:
    done = inside("build", *LUNA, "-b", "4000", "--tokenizer", name)
    size = len(done.out.encode()) if name == "bytes" else len(done.out.encode("utf-16-le")) // 2
    assert 3_500 < size <= 4_000
    assert f"{size:,} of 4,000 tokens ({name})" in done.err
