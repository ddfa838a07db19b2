"""The key `memories` of `ctxasm.yaml`: a shared store. It is checked here, and nothing is connected to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from contextasm.config.input import values
from contextasm.config.input.options import ProcessEnvironment
from contextasm.config.input.values import ParseValue
from contextasm.config.input.yaml_loader import YamlMapping, parse_mapping
from contextasm.config.keys.trust import is_trusted, trust_advice
from contextasm.model import ContextasmError
from contextasm.workspace.store.connection import STORE_KEYS, StoreConfig
from contextasm.workspace.store.writing import StoredMemories

_EXAMPLE = "give an address such as postgresql://db.example/agents"

_FORMS: Mapping[str, str] = {
    "host": r"[A-Za-z0-9][A-Za-z0-9.-]*|[0-9A-Fa-f:]+(?:%[A-Za-z0-9]+)?",
    "port": r"[0-9]{1,5}",
    "dbname": r"[\w-][\w.-]*",
    "user": r"[\w .@+~-]+",
    "sslmode": r"disable|allow|prefer|require|verify-ca|verify-full",
}
"""Pattern of each part: no socket folder, no list of hosts, nothing that libpq takes for a further setting."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_AGE = 7 * 86_400.0


def _parse_address(value: object, where: str) -> Mapping[str, str]:
    """The parts of an address by their `STORE_KEYS`. No message has a word of the address: it may be a password."""
    if not isinstance(value, str) or "\n" in value:
        raise ContextasmError(where, "is not the address of a database", _EXAMPLE)
    try:
        parts, fault = _address_parts(value)
    except ValueError:
        parts, fault = {}, "is not the address of a database"
    if fault and _holds_password(value):
        hint = "remove it, and give it in ~/.pgpass, PGPASSWORD or PGSERVICE"
        raise ContextasmError(where, "the address holds a password", hint)
    if fault:
        raise ContextasmError(where, fault, _EXAMPLE)
    return parts


def _address_parts(url: str) -> tuple[dict[str, str], str]:
    """The parts of an address, and its fault in words that hold nothing of it, or an empty text.

    Raises `ValueError` for a text that is not an address.
    """
    split = urlsplit(url)
    if split.scheme not in {"postgresql", "postgres"} or split.fragment:
        return {}, "is not the address of a PostgreSQL database"
    if split.password is not None:
        return {}, "the address holds a password"
    given = [
        ("host", unquote(split.hostname or "")),
        ("port", "" if split.port is None else str(split.port)),
        ("dbname", unquote(split.path.removeprefix("/"))),
        ("user", unquote(split.username or "")),
    ]
    pairs = [pair for pair in given if pair[1]]
    pairs += parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
    for key, text in pairs:
        if key not in STORE_KEYS:
            return {}, "the address has a part other than " + ", ".join(STORE_KEYS)
        if not re.fullmatch(_FORMS[key], text):
            return {}, f"the {key} of the address can't be used"
    parts = dict(pairs)
    return parts, "a part of the address is given twice" if len(parts) < len(pairs) else ""


_PASSWORD_PART = re.compile(r"(?i)(?:pass(?!file)\w*|pwd)\s*=|\buser=[^&]*:")


def _holds_password(url: str) -> bool:
    """Whether an address that can't be used has a password in it, or so it seems: by a name, or `:` before an `@`."""
    text = url
    while (plain := unquote(text)) != text:
        text = plain
    before_at = re.sub(r"^\w+://", "", text).rpartition("@")[0]
    return ":" in before_at or bool(_PASSWORD_PART.search(text))


def _parse_owners(value: object, where: str) -> tuple[str, ...]:
    owners = values.parse_texts(value, where)
    for owner in owners:
        kind, _, name = owner.partition("/")
        if kind not in {"agents", "teams"} or not values.is_name(name):
            shown = owner if re.fullmatch(r"[\w./ -]+", owner) else "an owner"  # no address, which may hold a password
            raise ContextasmError(where, f"`{shown}` is not an owner of memories", "write teams/NAME or agents/NAME")
    if len(set(owners)) < len(owners) or not owners:
        what = "an owner is named twice" if owners else "names no owner"
        raise ContextasmError(where, what, "name each owner once, such as [teams/q1]")
    return owners


def _parse_age(value: object, where: str) -> float:
    """Seconds of a time such as `5s` or `2m`; a number is in seconds."""
    match = _DURATION.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else -1.0
    if not 0 <= seconds <= _LONGEST_AGE:
        raise ContextasmError(where, "is not a time of at most a week", "write a time such as 5s")
    return seconds


_KEYS: Mapping[str, ParseValue] = {"store": _parse_address, "owners": _parse_owners, "max_age": _parse_age}


def parse_store(file: YamlMapping) -> StoreConfig:
    """The store that the file configures. Raises `ContextasmError` for anything that can't be used."""
    where = f"{file.where('memories')}: memories"
    hint = "write `store:` and `owners:` under it"
    if not isinstance(file["memories"], dict):  # it may be the address, which no message shows
        raise ContextasmError(where, "is not a mapping", hint)
    checked = parse_mapping(file["memories"], where, hint).parsed(_KEYS)
    for key, hint in (("store", _EXAMPLE), ("owners", "name the owners in the store, such as [teams/q1]")):
        if key not in checked:
            raise ContextasmError(where, f"`{key}` is missing", hint)
    return StoreConfig(file.lines["memories"], checked.pop("store"), checked.pop("owners"), **checked)


def store_overlay(root: str, config: StoreConfig, process: ProcessEnvironment, *, offline: bool) -> StoredMemories:
    """The store of the workspace at `root`, its real path, as an overlay of it."""
    distrust = "" if is_trusted(root, process.environment) else trust_advice(root)
    return StoredMemories(root, config, process.now, distrust, offline=offline)
