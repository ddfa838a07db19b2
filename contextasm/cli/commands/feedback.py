"""`ctxasm feedback`: say which fragments of a recorded build were useful or wrong, and what it lacked."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from contextasm.cli.command_line import Argument, Command
from contextasm.cli.commands.replay import OpenedRecord, open_record
from contextasm.cli.options import Receipt
from contextasm.cli.owner import recover_first, typed_text
from contextasm.config.input.options import Flag, Options, Texts
from contextasm.config.resolve import process_environment
from contextasm.memories.owner import find_owner
from contextasm.model import ContextasmError
from contextasm.records.feedback import feedback_on
from contextasm.rendering.json_codec import INLINE, Positive
from contextasm.text.data.events import Feedback, feedback_line
from contextasm.workspace.editing.files import append_line


class FeedbackDocument(TypedDict):
    """Feedback that was appended, as `ctxasm feedback --json` prints it."""

    schema: Literal["ctxasm.feedback/1"]
    path: str
    """The file of feedback, relative to the workspace."""
    line: Positive
    """The line that was appended."""
    feedback: Annotated[Feedback, INLINE]
    """What was said of the build."""


def add_feedback(
    options: Options,
    *,
    record: Annotated[str, Argument("RECORD", "The file of a record, or the first digits of its id.", "record")],
    useful: Annotated[Texts, Flag("A fragment of the build that helped, by id or FILE:LINE; repeatable.", "ID")] = (),
    wrong: Annotated[Texts, Flag("A fragment that is not true; repeatable.", "ID")] = (),
    missing: Annotated[Texts, Flag("Something that the build lacked; repeatable.", "TEXT")] = (),
    receipt: Receipt,
) -> None:
    """Append your feedback on a recorded build to feedback/YYYY-MM.jsonl in the workspace.

    You can judge only fragments that this build showed. If you judge a fragment twice, the later judgement counts.
    Layers that weigh credibility rank useful fragments above wrong ones. `tidy` proposes changes of settings from the
    feedback.
    """
    receipt.require_stdout()
    opened = open_record(record, options.workspace, process_environment())
    owner = find_owner(options._replace(workspace=_workspace_of(opened)), process_environment(), needed=False)
    texts = [typed_text(text, "--missing", masked=True) for text in missing]
    said = {"useful": useful, "wrong": wrong, "missing": texts}
    feedback = feedback_on(opened.record, opened.path, owner.workspace, owner.day, **said)
    path = f"feedback/{feedback.day[:7]}.jsonl"
    recover_first(owner.workspace)
    line = append_line(owner.workspace, path, feedback_line(feedback))
    counts = ", ".join(f"{len(getattr(feedback, name))} {name}" for name in said)
    words = f"appended to {path}:{line}: {counts} (record {feedback.record})"
    receipt.write(FeedbackDocument, {"path": path, "line": line, "feedback": feedback}, [words])


run = Command(add_feedback, ("workspace", "date", "tz"))


def _workspace_of(opened: OpenedRecord) -> str:
    """The folder of the record's workspace. Raises `ContextasmError` if it has none."""
    if opened.root is None:
        hint = "name the workspace with -w DIR"
        raise ContextasmError(str(opened.path), "no workspace is known for the feedback", hint)
    return str(opened.root)
