"""The key `embedder` of `ctxasm.yaml`, checked. Nothing is run, opened or sent here, and no trust is asked for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

from contextasm.config.input import values
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import YamlMapping, parse_mapping
from contextasm.model import EMBEDDABLE, ContextasmError, EmbedderConfig


def _url(value: object, where: str) -> str:
    """An address of the web, whole and without a password."""
    url = values.parse_text(value, where)
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or re.search(r"[^!-~]", url):
        hint = "give an address such as http://localhost:11434/v1/embeddings"
        raise ContextasmError(where, f"{url} is not an http or https address", hint)
    if parts.username is not None or parts.fragment:
        raise ContextasmError(where, "the address holds more than host, path and query", "name a key with `key_env`")
    return url


def _variable(value: object, where: str) -> str:
    """The name of an environment variable."""
    name = values.parse_text(value, where)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # Not shown: it may be the key itself.
        raise ContextasmError(where, "this is not the name of a variable", "put the key into a variable, and name that")
    return name


def _word(value: object, where: str) -> str:
    word = values.parse_text(value, where)
    if not word.strip() or "\0" in word:
        raise ContextasmError(where, "is empty", "give a value, or leave the key out")
    return word


def _searched(value: object, where: str) -> tuple[str, ...]:
    """The kinds that are compared by meaning, in the order of `EMBEDDABLE`."""
    words = values.parse_texts(value, where)
    known = ", ".join(EMBEDDABLE)
    if unknown := [word for word in words if word not in EMBEDDABLE]:
        raise ContextasmError(where, f"{unknown[0]} can't be compared by meaning", f"choose from {known}")
    if not words:
        raise ContextasmError(where, "is empty", f"choose from {known}, or remove `embedder`")
    return tuple(word for word in EMBEDDABLE if word in words)


KINDS: Mapping[str, Mapping[str, ParseValue]] = {
    "command": {"command": values.parse_command, "model": _word},
    "url": {"url": _url, "model": _word, "key_env": _variable},
    "folder": {"folder": _word},
}
"""The keys of each kind of embedder, by the key that makes it one."""

COMMON: Mapping[str, ParseValue] = {
    "timeout": values.parse_seconds,
    "near": values.parse_fraction,
    "for": _searched,
}
"""The keys of every embedder."""


def parse_embedder(file: YamlMapping) -> EmbedderConfig:
    """The embedder that the file configures. Raises `ContextasmError` for anything that can't be used."""
    where = f"{file.where('embedder')}: embedder"
    hint = f"write exactly one of {', '.join(KINDS)} under it"
    table = parse_mapping(file["embedder"], where, hint)
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        table.refuse_unknown((*{key for keys in KINDS.values() for key in keys}, *COMMON))
        raise ContextasmError(where, f"{' and '.join(kinds) or 'no key'} makes the vectors", hint)
    checked = table.parsed({**KINDS[kinds[0]], **COMMON})
    if kinds[0] == "url" and "model" not in checked:
        raise ContextasmError(where, "no model is named", "add `model:` with the server's name of the model")
    searched = checked.pop("for", EMBEDDABLE[:1])
    return EmbedderConfig(kinds[0], file.lines["embedder"], **checked, searched=searched)


def describe_embedder(chosen: EmbedderConfig, *, trusted: bool) -> str:
    """The embedder in one line, for `ctxasm config`."""
    shown = f"{chosen.kind} {shlex.join(chosen.command) or chosen.url or chosen.folder}"
    return shown if trusted else f"not used: {shown}"


SUMMARIZER_SECONDS = 20.0
"""Seconds that all summaries of one build may take together, unless the file says otherwise."""

SUMMARIZER_KEYS: Mapping[str, ParseValue] = {"command": values.parse_command, "timeout": values.parse_seconds}


def parse_summarizer(file: YamlMapping) -> tuple[tuple[str, ...], float]:
    """Words and seconds of the command that the file configures.

    Raises `ContextasmError` for anything that can't be used.
    """
    where = f"{file.where('summarizer')}: summarizer"
    table = parse_mapping(file["summarizer"], where, "write `command: [PROGRAM, ARGUMENT, ...]` under it")
    checked = table.parsed(SUMMARIZER_KEYS)
    words = checked.pop("command", None) or values.parse_command(None, f"{table.where('command')}: command")
    return words, checked.get("timeout", SUMMARIZER_SECONDS)
