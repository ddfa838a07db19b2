"""The key `memories` of `ctxasm.yaml`: a shared store. It is checked here, and nothing is connected to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from contextasm.config import values
from contextasm.config.options import ProcessEnvironment
from contextasm.config.trust import is_trusted, trust_advice
from contextasm.config.values import ParseValue
from contextasm.config.yaml_loader import YamlMapping, parse_mapping
from contextasm.model import ContextasmError
from contextasm.workspace.store.overlay import StoreOverlay
from contextasm.workspace.store.settings import STORE_KEYS, StoreConfig

_EXAMPLE = "give one such as postgresql://db.example/agents"

_FORMS: Mapping[str, str] = {
    "host": r"[A-Za-z0-9][A-Za-z0-9.-]*|[0-9A-Fa-f:]+(?:%[A-Za-z0-9]+)?",
    "port": r"[0-9]{1,5}",
    "dbname": r"[\w-][\w.-]*",
    "user": r"[^\x00-\x1f\x7f]+",
    "sslmode": r"disable|allow|prefer|require|verify-ca|verify-full",
}
"""Pattern of each part: no socket folder, no list of hosts, nothing that libpq takes for a further setting."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_AGE = 7 * 86_400.0


def _parse_address(value: object, where: str) -> Mapping[str, str]:
    """The parts of an address by their `STORE_KEYS`."""
    url = values.parse_text(value, where)
    if re.search(r"//[^/?#]*:[^/?#]*@|[?&]password=", url):  # before it is taken apart: a masked one is no URL any more
        hint = "take it out: ~/.pgpass, PGPASSWORD or PGSERVICE of your environment give it"
        raise ContextasmError(where, "the address holds a password", hint)
    try:
        split = urlsplit(url)
        parts = _parts(split, where)
    except ValueError as error:
        raise ContextasmError(where, "is no address of a database", _EXAMPLE) from error
    if split.scheme not in {"postgresql", "postgres"} or split.fragment:
        raise ContextasmError(where, "is no address of a PostgreSQL database", _EXAMPLE)
    for key, text in parts.items():
        if not re.fullmatch(_FORMS[key], text):
            raise ContextasmError(where, f"the {key} of the address can't be used", _EXAMPLE)
    return parts


def _parts(split: SplitResult, where: str) -> dict[str, str]:
    query = parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
    for key, _ in query:
        values.require_known(key, STORE_KEYS, where, "part of an address")
    given = {
        "host": unquote(split.hostname or ""),
        "port": "" if split.port is None else str(split.port),
        "dbname": unquote(split.path.removeprefix("/")),
        "user": unquote(split.username or ""),
    }
    return {key: text for key, text in given.items() if text} | dict(query)


def _parse_homes(value: object, where: str) -> tuple[str, ...]:
    homes = values.parse_texts(value, where)
    for home in homes:
        kind, _, name = home.partition("/")
        if kind not in {"agents", "teams"} or not values.is_name(name):
            raise ContextasmError(where, f"{home} is no owner of memories", "write teams/NAME or agents/NAME")
    if len(set(homes)) < len(homes) or not homes:
        what = "a home is named twice" if homes else "names no home"
        raise ContextasmError(where, what, "name each owner once, such as [teams/q1]")
    return homes


def _parse_age(value: object, where: str) -> float:
    """Seconds of a time such as `5s` or `2m`; a number is in seconds."""
    match = _DURATION.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    seconds = float(match[1]) * _SECONDS[match[2] or "s"] if match else -1.0
    if not 0 <= seconds <= _LONGEST_AGE:
        raise ContextasmError(where, f"{values.describe_value(value)} is no time up to a week", "write one such as 5s")
    return seconds


_KEYS: Mapping[str, ParseValue] = {"store": _parse_address, "homes": _parse_homes, "max_age": _parse_age}

STORE_SETTINGS = tuple(_KEYS)
"""The keys below `memories`."""


def parse_store(file: YamlMapping) -> StoreConfig:
    """The store that the file configures. Raises `ContextasmError` for anything that can't be used."""
    where = f"{file.where('memories')}: memories"
    table = parse_mapping(file["memories"], where, "write `store:` and `homes:` under it")
    checked = table.parsed(_KEYS)
    for key, hint in (("store", _EXAMPLE), ("homes", "name the owners in the store, such as [teams/q1]")):
        if key not in checked:
            raise ContextasmError(where, f"`{key}` is missing", hint)
    return StoreConfig(file.lines["memories"], checked.pop("store"), **checked)


def store_overlay(root: str, config: StoreConfig, process: ProcessEnvironment, *, offline: bool) -> StoreOverlay:
    """The store of the workspace at `root`, its real path, as an overlay of it."""
    distrust = "" if is_trusted(root, process.environment) else trust_advice(root)
    return StoreOverlay(root, config, process.now, distrust, offline=offline)
