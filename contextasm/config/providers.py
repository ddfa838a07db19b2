"""The key `parse_embedder` of `ctxasm.yaml`: what makes vectors of texts, checked; and whether it may be used.

A workspace may come from anybody, and this key can have a program run or texts sent away. So what it says holds only
where the person who builds has named the workspace in `CTXASM_EMBEDDER`. Nothing is run, opened or sent here.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from contextasm.config import values
from contextasm.config.settings import FILE
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping
from contextasm.model import ContextasmError, EmbedderConfig, Problem

LONGEST_TIMEOUT = 600
"""Seconds; a longer wait is a slip of the finger."""


def _command(value: object, where: str) -> tuple[str, ...]:
    """Program and arguments: a list, or one text that is taken apart as a shell would."""
    if isinstance(value, str):
        try:
            words = tuple(shlex.split(value))
        except ValueError as error:
            raise ContextasmError(where, f"{value} ends inside quotes", "close them, or write a list") from error
    else:
        words = values.parse_texts(value, where)
    if not words or not words[0] or any("\0" in word for word in words):
        raise ContextasmError(where, "names no program", "write [PROGRAM, ARGUMENT, ...]")
    return words


def _url(value: object, where: str) -> str:
    """An address of the web, whole and without a password."""
    url = values.parse_text(value, where)
    hint = "give one such as http://localhost:11434/v1/embeddings"
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or re.search(r"[^!-~]", url):
        raise ContextasmError(where, f"{url} is no http or https address", hint)
    if parts.username is not None or parts.fragment:
        raise ContextasmError(where, "the address holds more than host, path and query", "use key_env for a key")
    return url


def _variable(value: object, where: str) -> str:
    """The name of an environment variable."""
    name = values.parse_text(value, where)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # Not shown: it may be the key itself.
        raise ContextasmError(where, "this is no name of a variable", "put the key into one, and name that here")
    return name


def _word(value: object, where: str) -> str:
    word = values.parse_text(value, where)
    if not word.strip() or "\0" in word:
        raise ContextasmError(where, "is empty", "name one, or leave the key out")
    return word


def _seconds(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST_TIMEOUT:
        raise ContextasmError(
            where, f"{value} is no time in seconds", f"give a number above 0, up to {LONGEST_TIMEOUT}"
        )
    return float(value)


KINDS: Mapping[str, Mapping[str, ParseValue]] = {
    "command": {"command": _command, "model": _word},
    "url": {"url": _url, "model": _word, "key_env": _variable},
    "folder": {"folder": _word},
}
"""What each kind of embedder may be told, by the key that makes it one."""

COMMON: Mapping[str, ParseValue] = {"timeout": _seconds, "near": values.parse_fraction}


def parse_embedder(file: YamlMapping) -> EmbedderConfig:
    """What the file configures. Raises `ContextasmError` for anything that can't be used."""
    table = file["embedder"]
    where = f"{file.where('embedder')}: embedder"
    hint = f"write one of {', '.join(KINDS)} under it"
    if not isinstance(table, YamlMapping):
        raise ContextasmError(where, "says nothing that makes vectors", hint)
    kinds = [kind for kind in KINDS if kind in table]
    if len(kinds) != 1:
        table.refuse_unknown((*{key for keys in KINDS.values() for key in keys}, *COMMON))
        raise ContextasmError(where, f"{' and '.join(kinds) or 'nothing'} makes the vectors", hint)
    readers = {**KINDS[kinds[0]], **COMMON}
    table.refuse_unknown(readers)
    checked: dict[str, Any] = {key: readers[key](table[key], f"{table.where(key)}: {key}") for key in table}
    if kinds[0] == "url" and "model" not in checked:
        raise ContextasmError(where, "no model is named", "add `model:`, as the server calls it")
    return EmbedderConfig(kinds[0], file.lines["embedder"], **checked)


def trust_refusal(chosen: EmbedderConfig, root: str, environment: Mapping[str, str]) -> Problem | None:
    """Why the embedder is not used: the person has not named this workspace, by its real path; None where it is.

    Raises `ContextasmError` for a name that means another folder wherever it is used.
    """
    if is_allowed(root, environment):
        return None
    message = (
        f"the embedder is not used: {TRUST_VARIABLE} does not name {root}; memories are ranked by their words alone"
    )
    return Problem("embedder", FILE, chosen.line, message)


def describe_embedder(chosen: EmbedderConfig, refused: Problem | None) -> str:
    """What `ctxasm config` shows of it."""
    shown = f"{chosen.kind} {shlex.join(chosen.command) or chosen.url or chosen.folder}"
    return f"not used: {shown}" if refused else shown


TRUST_VARIABLE = "CTXASM_EMBEDDER"


def is_allowed(root: str, environment: Mapping[str, str]) -> bool:
    """Whether the person has named this workspace, by its real path, as one whose programs may be run.

    Raises `ContextasmError` for a name that means another folder wherever it is used.
    """
    named = [each for each in environment.get(TRUST_VARIABLE, "").split(os.pathsep) if each]
    for folder in named:
        if not os.path.isabs(folder):
            raise ContextasmError(
                TRUST_VARIABLE, f"{folder} is no absolute path", f"name workspaces in full, such as {root}"
            )
    return root in map(os.path.realpath, named)
