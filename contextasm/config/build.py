"""A build that is ready to run, and its parts: token counters, evaluated rules, embeddings and the summarizer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from types import MappingProxyType

from contextasm.config.input.options import Options, ProcessEnvironment
from contextasm.config.input.settings import FILE, Setting
from contextasm.config.input.yaml_loader import YamlMapping
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.rules.facts import gather_facts
from contextasm.model import (
    Build,
    Cache,
    Context,
    ContextasmError,
    NamedTuple,
    Problem,
    Profile,
    Request,
    RuleEvaluation,
    SemanticSimilarity,
    Summarizer,
    TokenCounter,
    Workspace,
)
from contextasm.retrieval.retrieve import SOURCE_SHARE
from contextasm.selection.tokens import ENCODINGS, ESTIMATE, LENGTHS, ROOMS, exact_counter
from contextasm.text.names.places import RULE_FILES
from contextasm.workspace.cache import DiskCache, cache_folder
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import required_bytes
from contextasm.workspace.reads import note_other_input
from contextasm.workspace.recording import RecordingWorkspace

_COUNTS_LIMIT = 4 << 20
"""Bytes of stored token counts: a hundred thousand, read in about 50 ms."""

Counters = dict[str, tuple[TokenCounter, Cache | None]]
"""Counters by the name of their tokenizer, each with its cache of counts; None for the estimate."""


class PreparedBuild(NamedTuple):
    """A build that is ready to run, with its settings."""

    build: Build
    workspace: Folder
    """The folder or revision that the build's workspace reads; it gives each file as it is now."""
    settings: Mapping[str, Setting]
    settings_file: YamlMapping
    """The workspace's `ctxasm.yaml`, empty if the file does not exist."""
    counts: Cache | None
    """Cache of an exact tokenizer's counts; None for an estimate."""
    seconds: float | None = None
    """Seconds from the start of a build to its deadline; None for no deadline."""
    options: Options = Options()
    """Options as typed, without the workspace; their paths are relative to it."""
    config_digests: Mapping[str, str] = MappingProxyType({})
    """SHA-256 of each file of the settings, the rules and the profile, by path; empty if there are no such files.

    Paths are relative to the workspace; those outside of it are absolute.
    """

    taken: str = ""
    """Words for a receipt: thinking of `--history` that is left out, and the profile of a folder without settings, or
    the files that are not read in another one."""

    typed_files: tuple[str, ...] = ()
    """Files that the texts of options were read from."""

    approved: Mapping[str, str] | None = None
    """SHA-256 of each file that instructs an agent, by path, as `ctxasm.lock` has it; None for a build without lock."""

    @property
    def in_full(self) -> Build:
        """The build without a memory index: with a decision for each memory, shown or not."""
        return self.build._replace(memory_index=None)

    def with_lock(self, environment: Mapping[str, str], *, locked: bool) -> PreparedBuild:
        """The same of approved files only, if an option (`locked`) or the environment asks for that.

        Raises `ContextasmError` for a missing or broken lock.
        """
        if not locked and environment.get("CTXASM_LOCKED", "0") in {"", "0"}:
            return self
        from contextasm.config.approval import require_approved

        return self._replace(approved=require_approved(self.workspace))

    def run(self, build: Build | None = None) -> Context:
        """The context of a build with these settings, whose deadline begins now; for None, of this one in full.

        Raises `ContextasmError` for a file of the settings, or one that the build reads, that is not as approved.
        """
        from contextasm.pipeline import assemble  # here: many commands prepare a build, and assemble none

        build = build or self.in_full
        if self.approved is not None:
            from contextasm.config.approval import refuse_document_drift, refuse_settings_drift  # here: few have a lock

            refuse_settings_drift(self.approved, self.config_digests)
            build = build._replace(memory_index=None)  # It holds memories, and not the bytes that they come from.
        if self.seconds is not None:
            from contextasm.retrieval.deadline import run_until_deadline  # here: threads, only if a deadline is set

            note_other_input()
            build = build._replace(run_sources=run_until_deadline(self.seconds))
        context = assemble(build)
        if self.approved is not None:
            # Whatever a caller's build records on top, this one holds all that was read.
            assert isinstance(self.build.workspace, RecordingWorkspace)
            refuse_document_drift(self.approved, build.profile.layers, build.request, self.build.workspace)
        if self.counts:
            self.counts.save()
        return context


def load_counter(
    name: str, environment: Mapping[str, str], counters: Counters | None = None
) -> tuple[TokenCounter, Cache | None]:
    """The counter of a tokenizer, and its cache of counts; None for an estimate or a length.

    `counters` are those loaded before; a new one is added.
    """
    if counters and name in counters:
        return counters[name]
    if name == ESTIMATE.name or name in LENGTHS or name in ROOMS:
        return {**LENGTHS, **ROOMS}.get(name, ESTIMATE), None
    counts = DiskCache(cache_folder(environment), name, ENCODINGS[name].sha256, _COUNTS_LIMIT)
    counter = exact_counter(name, lambda: load_token_table(name), counts)
    if counters is not None:
        counters[name] = counter, counts
    return counter, counts


def evaluate_rules(
    recording: Workspace, reader: ProfileReader, options: Options, request: Request, profile: Profile
) -> RuleEvaluation | None:
    """The result of evaluating the workspace's rules against a request; None if it has no rules.

    Rule files are read through `recording`. `profile` has the layers that rules name. Raises `ContextasmError` for bad
    values of `--var`, for rule files that can't be read or parsed, and for a layer that no profile has.
    """
    variables = parse_variables(options.variables)
    if "rules" not in reader.settings_file and not recording.list(RULE_FILES):
        return None
    # Here, as below: most workspaces have no rules.
    from contextasm.config.rules.rule_files import load_rules, resolve_rule_layers
    from contextasm.rules.evaluate import evaluate

    rules = load_rules(recording, reader.settings_file)
    if any(effect.target.kind == "layer" for rule in rules for effect in rule.effects):
        rules = tuple(resolve_rule_layers(rules, profile, reader.workspace))
    environment, root = reader.process.environment, reader.workspace.root
    return evaluate(rules, gather_facts(rules, request, variables, environment, root))


def parse_variables(assignments: tuple[str, ...]) -> dict[str, str]:
    """The variables of `--var` by name. Raises `ContextasmError` for a text that is not `NAME=VALUE`."""
    variables: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.isidentifier():
            what = f"`{assignment}` is not a variable with a value"
            raise ContextasmError("--var", what, "write NAME=VALUE, such as phase=beta")
        variables[name] = value
    return variables


def unused_variables(options: Options, rules: RuleEvaluation | None) -> tuple[Problem, ...]:
    """The problem of each variable of `--var` that no rule tests."""
    verdicts = rules.verdicts if rules else ()
    fields = {condition.field for rule, _ in verdicts for condition in rule.when}
    names = [name for name in parse_variables(options.variables) if f"var.{name}" not in fields]
    return tuple(Problem("no-effect", f"--var {name}", 0, "no rule tests this variable") for name in names)


def semantic_similarity(
    reader: ProfileReader, settings: dict[str, Setting], topic: str, near: float | None = None
) -> Mapping[str, SemanticSimilarity]:
    """Similarity by the embedder of `ctxasm.yaml`, by what is searched; empty without an embedder or a topic.

    An embedder that is not trusted gives a problem in place of similarities. A description of the embedder is added
    to `settings`. `near` is the least cosine of a match, in place of the configured one.
    """
    if reader.settings_file.get("embedder") is None:
        return {}
    from contextasm.config.keys.embedder import describe_embedder, parse_embedder
    from contextasm.config.keys.trust import is_trusted, trust_advice

    note_other_input()
    embedder, where = parse_embedder(reader.settings_file), reader.settings_file.where("embedder")
    embedder = embedder if near is None else embedder._replace(near=near)
    root, environment = reader.workspace.root, reader.process.environment
    trusted = is_trusted(root, environment)
    settings["embedder"] = Setting(describe_embedder(embedder, trusted=trusted), where)
    if not trusted:
        advice = trust_advice(root)
        refusal = Problem("embedder", FILE, embedder.line, f"the embedder is not used; {embedder.without}; {advice}")
        return dict.fromkeys(embedder.searched, lambda _topic, _texts: refusal)
    if not topic.strip():
        return {}
    from contextasm.retrieval.embeddings.embedder import EmbeddingSimilarity
    from contextasm.workspace.processes import run_program

    cache_of = partial(DiskCache, cache_folder(environment), "vectors")
    similarity = EmbeddingSimilarity(embedder, root, environment, cache_of, run_program)
    return dict.fromkeys(embedder.searched, similarity)


def make_summarizer(
    settings_file: YamlMapping, workspace: Folder, process: ProcessEnvironment, seconds: float | None
) -> Summarizer | None:
    """The summarizer of `ctxasm.yaml`; None if it names none.

    If a build has a deadline after `seconds`, the summarizer has only the part of them that no source may use.
    """
    if settings_file.get("summarizer") is None:
        return None
    from contextasm.config.keys.embedder import parse_summarizer
    from contextasm.config.keys.trust import is_trusted, trust_advice

    note_other_input()
    words, timeout = parse_summarizer(settings_file)
    if seconds is not None:
        timeout = min(timeout, seconds * (1 - SOURCE_SHARE))
    line, root, environment = settings_file.lines["summarizer"], workspace.root, process.environment
    if not is_trusted(root, environment):
        message = f"{words[0]} is not run, so nothing is summarized; {trust_advice(root)}"
        refusal = Problem("summarizer", FILE, line, message)
        return lambda _text: refusal
    from contextasm.selection.summarizer import CommandSummarizer
    from contextasm.workspace.processes import run_program

    cache_of = partial(DiskCache, cache_folder(environment), "summaries")
    return CommandSummarizer(words, timeout, line, root, environment, cache_of, run_program)


_TOKEN_TABLES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "selection", "token_tables")


def load_token_table(name: str) -> bytes:
    """The packed token table of an encoding, as shipped with this package.

    Raises `ContextasmError` for a table that is missing or damaged.
    """
    path = f"{_TOKEN_TABLES}/{name}.bin"
    hint = "install ctxasm again, or use --tokenizer estimate"
    packed = required_bytes(path, hint, f"{path}: the token table can't be read")
    if sha256(packed).hexdigest() != ENCODINGS[name].packed:
        raise ContextasmError(path, "the token table is damaged", hint)
    return packed
