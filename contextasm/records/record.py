"""Records of builds, as values and as the bytes of a file. Files are opened in `records/replay.py`.

The id of a record is a digest of all of its content, so the same build gives the same record, and damage is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Literal, TypedDict

from contextasm import model
from contextasm.config.input.options import Options
from contextasm.model import NamedTuple, utf8_text
from contextasm.rendering.documents import DecisionData, Input, decision_data
from contextasm.rendering.formats import FORMATS, MARKERS, render_document
from contextasm.rendering.json_codec import INLINE, Count, Digest, from_json, to_json
from contextasm.selection.overflow import STEPS
from contextasm.selection.tokens import ROOMS, TOKENIZERS
from contextasm.text.json_reader import load_json
from contextasm.workspace.recording import RecordingWorkspace, answer_digest

Answer = str | tuple[float, ...] | model.Problem
"""A summary, or the similarities of texts; a problem is the reason why they are missing."""


class RecordedAnswers(NamedTuple):
    """Answers of the services of a build."""

    summarizer: bool = False
    """Whether the build had a summarizer."""
    embedded: tuple[str, ...] = ()
    """What an embedder was asked about; empty for a build without an embedder, or without a topic."""
    given: tuple[tuple[str, Answer], ...] = ()
    """Summaries and similarities by the SHA-256 of the question; in a problem, the reason why they are missing."""
    repository: tuple[str, ...] = ()
    """Names of the repository that the agent works in; empty if no memory says where it holds."""


NO_ANSWERS = RecordedAnswers()
"""Those of a build without summarizer and embedder."""


class RecordingServices:
    """Workspace, summarizer, embedder and repository of a build, whose answers are remembered."""

    def __init__(self, build: model.Build) -> None:
        self.workspace = RecordingWorkspace(build.workspace)
        self._build = build
        self._given: dict[str, Answer] = {}
        self._repository: tuple[str, ...] = ()

    def listen(self, build: model.Build) -> model.Build:
        """The build with the services that are recorded here."""
        return build._replace(
            workspace=self.workspace,
            summarizer=self._remembered(self._build.summarizer) if self._build.summarizer else None,
            semantics={name: self._remembered(service) for name, service in self._build.semantics.items()},
            repository=self._repository_names,
        )

    @property
    def answers(self) -> RecordedAnswers:
        """The answers so far."""
        given = sorted(self._given.copy().items(), key=lambda pair: pair[0])
        has_summarizer = self._build.summarizer is not None
        return RecordedAnswers(has_summarizer, tuple(self._build.semantics), tuple(given), self._repository)

    def _repository_names(self) -> Sequence[str]:
        self._repository = tuple(self._build.repository())
        return self._repository

    def _remembered(self, service: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*question: object) -> Answer:
            said = service(*question)
            recorded = said if isinstance(said, str | tuple) else tuple(said)
            self._given[_digest(question)] = recorded
            return recorded

        return answer


def with_recorded_answers(build: model.Build, answers: RecordedAnswers) -> model.Build:
    """The build with services that give the recorded answers; they raise `ContextasmError` for another question."""
    given = dict(answers.given)

    def answer(service: str, *question: object) -> Any:
        if (digest := _digest(question)) not in given:
            what = "the recorded build has no answer for this text"
            raise model.ContextasmError(service, what, "record the build again with `ctxasm build --record`", code=1)
        return given[digest]

    return build._replace(
        summarizer=partial(answer, "summarizer") if answers.summarizer else None,
        semantics=dict.fromkeys(answers.embedded, partial(answer, "embedder")),
        repository=lambda: answers.repository,
    )


def _digest(question: Sequence[object]) -> str:
    return sha256(json.dumps(question).encode()).hexdigest()


SCHEMA = "ctxasm.record/1"


class Chosen(NamedTuple):
    """One setting."""

    key: str
    """Its name."""
    value: str
    """Its value in words."""
    origin: str
    """The place that the value comes from."""


class BuildFacts(NamedTuple):
    """Everything but the request and the files that a build was made with."""

    versions: tuple[tuple[str, str], ...]
    """Versions by name: of this program, and of everything else that the bytes may depend on."""
    table: str
    """SHA-256 of the token table as published; empty for the estimate."""
    settings: tuple[Chosen, ...]
    profile: model.Profile
    """The resolved profile, every field of every layer."""
    rule_evaluation: model.RuleEvaluation | None = None
    """Result of evaluating the rules; None without rules."""
    options: Options = Options()
    """The options of the request as typed, without workspace and history; their paths are relative to the workspace."""
    config_files: tuple[tuple[str, str], ...] = ()
    """SHA-256 of the files of the settings, the rules and the profile, by path; empty for one that did not exist.

    A path is relative to the workspace, or absolute if the file is outside of it.
    """
    session: str = ""
    """The host's session that was sent the context by `ctxasm hook`; empty for another command."""
    event: str = ""
    """The event of that host."""


class Record(NamedTuple):
    """Everything that is needed to replay a build, and its result."""

    making: BuildFacts
    context: model.Context
    """The finished context, without the documents that it was made of."""
    inputs: tuple[Input, ...]
    absent: tuple[str, ...]
    """Paths that were read and did not exist."""
    unreadable: tuple[model.Problem, ...]
    """Files that were there and could not be read."""
    listings: tuple[tuple[str, tuple[str, ...]], ...]
    """Paths by the pattern that was listed."""
    answers: RecordedAnswers = NO_ANSWERS
    """Answers of the summarizer and the embedder."""

    @property
    def digests(self) -> dict[str, str]:
        """Digest of the result of reading each path (`workspace.snapshot.answer_digest`)."""
        absent = dict.fromkeys(self.absent, "")
        return absent | {problem.path: answer_digest(problem) for problem in self.unreadable} | self.hashes

    @property
    def hashes(self) -> dict[str, str]:
        """The SHA-256 of every file that was opened, by path."""
        return {file.path: file.sha256 for file in self.inputs}


def make_record(
    context: model.Context, making: BuildFacts, recording: RecordingWorkspace, answers: RecordedAnswers = NO_ANSWERS
) -> Record:
    """The record of a finished build that read everything through `recording`."""
    reads = sorted(recording.reads.copy().items())  # a source that is late may still be reading
    documents = [read for _, read in reads if isinstance(read, model.Document)]
    return Record(
        making=making,
        context=context._replace(documents=()),
        inputs=tuple(Input(document.path, len(document.data), document.digest) for document in documents),
        absent=tuple(path for path, read in reads if read is None),
        unreadable=tuple(read for _, read in reads if isinstance(read, model.Problem)),
        listings=tuple((pattern, tuple(paths)) for pattern, paths in sorted(recording.lists.copy().items())),
        answers=answers,
    )


class RecordDocument(TypedDict):
    """All that a replay needs to give the same bytes, and the result, as `ctxasm build --record` writes them."""

    schema: Literal["ctxasm.record/1"]
    id: Annotated[str, ("pattern", "^[0-9a-f]{16}$")]
    """The first 16 digits of the SHA-256 of everything but schema and id, as JSON with sorted keys."""
    making: Annotated[BuildFacts, INLINE]
    """Everything but the request and the files that the build was made with."""
    request: model.Request
    """The request, with nothing left open."""
    inputs: list[Input]
    """Every file that was opened."""
    absent: list[str]
    """Paths that were looked for and did not exist."""
    unreadable: list[model.Problem]
    """Files that were there and could not be read."""
    listings: Mapping[str, list[str]]
    """What each pattern found, opened or not."""
    etag: Digest
    """SHA-256 of the content."""
    tokens: Count
    """The tokens of the content."""
    sections: list[model.Section]
    """The sections of the document, in its order."""
    decisions: list[DecisionData]
    """One decision for every fragment that was found."""
    messages: tuple[tuple[Count, model.Message], ...]
    """What is shown as a message or as a tool, each after the number of its decision, counted from 0."""
    allowances: list[model.LayerUsage]
    """What each layer might take and took, in the order of the layers."""
    problems: list[model.Problem]
    """What was wrong but did not stop the build."""
    rule_traces: list[model.RuleTrace]
    """Outcome of each rule, in order of precedence."""
    newest: tuple[tuple[str, str], ...]
    """The day of the newest `memory` and of the newest `log` that the document shows."""
    answers: RecordedAnswers
    """Answers of the summarizer and the embedder, by the SHA-256 of the question, and of git."""


def encode_record(record: Record) -> tuple[str, bytes]:
    """The record's id and file; the id is the first 16 digits of the SHA-256 of everything else in the record."""
    decisions = [*map(decision_data, record.context.decisions)]
    fields = record.context._asdict() | record._asdict()
    messages = [(number, each.message) for number, each in enumerate(record.context.decisions) if each.message]
    document = to_json(RecordDocument, fields | {"id": "", "decisions": decisions, "messages": messages})
    document["id"] = _record_id({name: document[name] for name in document if name not in {"schema", "id"}})
    return document["id"], _json_bytes(document, indent=1) + b"\n"


def _record_id(fields: dict[str, Any]) -> str:
    return sha256(_json_bytes(fields, sort_keys=True)).hexdigest()[:16]


def _json_bytes(value: object, **form: Any) -> bytes:
    # A byte of a file's name that is not UTF-8 becomes an escape.
    return json.dumps(value, ensure_ascii=False, **form).encode("utf-8", "backslashreplace")


def parse_record(data: bytes, where: str) -> Record:
    """The record in the bytes of a file; `where` is its name in messages.

    Raises `ContextasmError` for another schema, and for a file that is not as it was written.
    """
    fields = verified_fields(data, where)
    try:
        return _record_from_fields(fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise model.ContextasmError(
            where, f"can't be understood: {error}", "read it with the version that wrote it"
        ) from error


def parse_record_id(data: bytes, where: str) -> str:
    """The id of the record in the bytes of a file. Raises `ContextasmError` as `parse_record` does."""
    return _record_id(verified_fields(data, where))


def verified_fields(data: bytes, where: str) -> dict[str, Any]:
    """The fields of a record's JSON, without schema and id. Raises as `parse_record`, but for fields of other types."""
    hint = "record the build again with `ctxasm build --record`"
    try:
        fields: Any = load_json(utf8_text(data, where, hint), where, takes_halves=True)
    except model.ContextasmError as error:
        raise model.ContextasmError(error.where, f"is not a record: {error.what}", hint) from error
    schema = fields.pop("schema", None) if isinstance(fields, dict) else None
    if not schema:
        raise model.ContextasmError(where, "is not a record: it has no schema", hint)
    if schema != SCHEMA:
        what = f"has the schema {schema}, but this version reads {SCHEMA}"
        raise model.ContextasmError(where, what, "read it with the version that wrote it")
    intact: dict[str, Any] = fields
    if intact.pop("id", None) != _record_id(intact):
        raise model.ContextasmError(where, "is damaged: its content does not match its id", hint)
    return intact


_MESSAGES = tuple[tuple[int, model.Message], ...]


def _record_from_fields(fields: dict[str, Any]) -> Record:
    making = {key: fields.pop(key) for key in BuildFacts._fields if key in fields}
    messages: dict[int, model.Message] = dict(from_json(_MESSAGES, fields.pop("messages", []), "messages"))
    numbered = enumerate(map(_decision_from_data, fields.pop("decisions")))
    decisions = tuple(decision._replace(message=messages.get(number)) for number, decision in numbered)
    result = {key: fields.pop(key) for key in model.Context._fields if key in fields}
    result |= {"text": "", "profile": making["profile"]["name"], "decisions": []}
    record: Record = from_json(Record, {**fields, "making": making, "context": result}, "record")
    profile, context = record.making.profile, record.context
    for table, names in (
        (FORMATS, [context.request.format]),
        ({*TOKENIZERS, *ROOMS}, [context.request.tokenizer]),
        (MARKERS, [profile.marker]),
        (model.SOURCE_TRAITS, [name for layer in profile.layers for name in layer.query.sources]),
        ((*STEPS, model.TITLE), [name for layer in profile.layers for name in layer.overflow.steps]),
        (model.OUTCOME, [decision.reason.code for decision in decisions]),
    ):
        if unknown := set(names) - set(table):
            raise ValueError(f"this version does not know {min(unknown)}")
    text = render_document(context.sections, context.request.format, profile.head)
    return record._replace(context=context._replace(text=text, decisions=decisions))


def _decision_from_data(data: dict[str, Any]) -> model.Decision:
    """The decision that `rendering.documents.decision_data` turned into `data`."""
    facts = dict(data["reason"])
    reason = model.Reason(facts.pop("code"), tuple(facts.items()))
    fields = {name: data[name] for name in model.Decision._fields if name in data}
    fields |= {"lines": [data["line"], data["last_line"]], "reason": to_json(model.Reason, reason)}
    decision: model.Decision = from_json(model.Decision, fields, "decisions")
    return decision
