"""Records: what a build was made of and what it came to, as a value and as a file's bytes. Nothing is opened here.

A record's name is a digest of all it says, so the same build gives the same record, and a damaged one is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from contextasm.model import (
    OUTCOME,
    Context,
    ContextasmError,
    Decision,
    Document,
    LayerUsage,
    Problem,
    Profile,
    Reason,
    Request,
    RuleEvaluation,
    RuleTrace,
    Section,
)
from contextasm.records.json_codec import from_json, to_json
from contextasm.rendering.formats import FORMATS, decision_data
from contextasm.rendering.frame import MARKERS, render_document
from contextasm.retrieval.registry import SOURCES
from contextasm.selection.overflow import STEPS
from contextasm.selection.tokens import TOKENIZERS
from contextasm.workspace.snapshot import RecordingWorkspace, answer_digest

SCHEMA = "ctxasm.record/1"


class Input(NamedTuple):
    """A file that was opened."""

    path: str
    bytes: int
    sha256: str
    """Of its bytes as they lay on the disk, in hexadecimal."""


class Listing(NamedTuple):
    """What a pattern found."""

    pattern: str
    paths: tuple[str, ...]


class Chosen(NamedTuple):
    """A setting in words, with where it came from."""

    key: str
    value: str
    origin: str


class BuildFacts(NamedTuple):
    """What a build was made with, as far as the request does not say it."""

    versions: tuple[tuple[str, str], ...]
    """Of this program, and of whatever else the bytes may hang on."""
    table: str
    """SHA-256 of the token table as published; empty for the estimate."""
    settings: tuple[Chosen, ...]
    profile: Profile
    """As it was resolved, every field of every layer."""
    fired: RuleEvaluation | None = None
    """What the rules came to; None where there are none."""


class Record(NamedTuple):
    """What is needed to replay a build, and what came of it."""

    making: BuildFacts
    request: Request
    inputs: tuple[Input, ...]
    absent: tuple[str, ...]
    """Paths that were looked for, where there was no file."""
    unreadable: tuple[Problem, ...]
    """Files that were there and could not be read."""
    listings: tuple[Listing, ...]
    etag: str
    tokens: int
    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    allowances: tuple[LayerUsage, ...]
    problems: tuple[Problem, ...]
    rulings: tuple[RuleTrace, ...] = ()

    @property
    def digests(self) -> dict[str, str]:
        """What reading each path came to, as `notes.digest` has it."""
        absent = dict.fromkeys(self.absent, "")
        return absent | {each.path: answer_digest(each) for each in self.unreadable} | self.hashes

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of every file that was opened, by path."""
        return {each.path: each.sha256 for each in self.inputs}

    @property
    def lists(self) -> dict[str, Sequence[str]]:
        """What each pattern found."""
        return {each.pattern: each.paths for each in self.listings}

    @property
    def context(self) -> Context:
        """The result, but for the documents that it was made of."""
        return Context(
            text=render_document(self.sections, self.request.format),
            tokens=self.tokens,
            etag=self.etag,
            profile=self.making.profile.name,
            request=self.request,
            sections=self.sections,
            decisions=self.decisions,
            allowances=self.allowances,
            problems=self.problems,
            documents=(),
            rule_traces=self.rulings,
        )


def make_record(context: Context, making: BuildFacts, noted: RecordingWorkspace) -> Record:
    """The record of a finished build, whose workspace was `noted`."""
    reads = sorted(noted.reads.items())
    documents = [read for _, read in reads if isinstance(read, Document)]
    return Record(
        making=making,
        request=context.request,
        inputs=tuple(Input(each.path, len(each.data), each.digest) for each in documents),
        absent=tuple(path for path, read in reads if read is None),
        unreadable=tuple(read for _, read in reads if isinstance(read, Problem)),
        listings=tuple(Listing(pattern, tuple(paths)) for pattern, paths in sorted(noted.lists.items())),
        etag=context.etag,
        tokens=context.tokens,
        sections=context.sections,
        decisions=context.decisions,
        allowances=context.allowances,
        problems=context.problems,
        rulings=context.rule_traces,
    )


class EncodedRecord(NamedTuple):
    """A record as a file holds it."""

    id: str
    data: bytes


def encode_record(own: Record) -> EncodedRecord:
    """A record with its id: the first 16 digits of the SHA-256 of everything else in it."""
    fields = to_json(own)
    making = fields.pop("making")
    fields["decisions"] = [decision_data(each) for each in own.decisions]
    fields = {**making, **fields}
    name = _id(fields)
    return EncodedRecord(name, _bytes({"schema": SCHEMA, "id": name, **fields}, indent=1) + b"\n")


def _id(fields: dict[str, Any]) -> str:
    return sha256(_bytes(fields, sort_keys=True)).hexdigest()[:16]


def _bytes(value: object, **form: Any) -> bytes:
    """JSON in UTF-8. A byte of a file's name that is no UTF-8 is written as an escape."""
    return json.dumps(value, ensure_ascii=False, **form).encode("utf-8", "backslashreplace")


def parse_record(data: bytes, where: str) -> Record:
    """The record that a file's bytes hold; `where` is named in messages.

    Raises `ContextasmError` for another schema and for anything that is not as it was written.
    """
    hint = "record the build again with `ctxasm build --record`"
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ContextasmError(where, f"is no record: no JSON ({error})", hint) from error
    schema = fields.pop("schema", None) if isinstance(fields, dict) else None
    if schema != SCHEMA:
        what = f"has schema {schema}, and this version reads {SCHEMA}" if schema else "is no record: it has no schema"
        raise ContextasmError(where, what, "read it with the version that wrote it" if schema else hint)
    try:
        if fields.pop("id", None) != _id(fields):
            raise ContextasmError(where, "is damaged: what it says does not match its id", hint)
        return _record(fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ContextasmError(
            where, f"can't be understood: {error}", "read it with the version that wrote it"
        ) from error


def _record(fields: dict[str, Any]) -> Record:
    """A record from the object in its file."""
    making = {key: fields.pop(key) for key in BuildFacts._fields}
    decisions = tuple(map(_decision, fields.pop("decisions")))
    own: Record = from_json(Record, {**fields, "making": making, "decisions": []}, "record")
    for known, names in (
        (FORMATS, [own.request.format]),
        (TOKENIZERS, [own.request.tokenizer]),
        (MARKERS, [own.making.profile.marker]),
        (SOURCES, [name for layer in own.making.profile.layers for name in layer.query.sources]),
        (STEPS, [name for layer in own.making.profile.layers for name in layer.overflow.steps]),
        (OUTCOME, [decision.reason.code for decision in decisions]),
    ):
        if foreign := set(names) - set(known):
            raise ValueError(f"this version does not know {min(foreign)}")
    return own._replace(decisions=decisions)


def _decision(data: dict[str, Any]) -> Decision:
    """The way back from `render.decision_data`."""
    facts = dict(data["reason"])
    reason = Reason(facts.pop("code"), tuple(facts.items()))
    found: Decision = from_json(
        Decision,
        {
            "fragment": data["fragment"],
            "layer": data["layer"],
            "path": data["path"],
            "lines": [data["line"], data["last_line"]],
            "reason": to_json(reason),
            "tokens_before": data["tokens_before"],
            "tokens_after": data["tokens_after"],
            "kept": data["kept"],
            "score": data["score"],
        },
        "decisions",
    )
    return found
