"""How much of what matters a short context holds: `python benchmarks/choosing.py [--set NAME] FOLDER [--sample N]`.

Each question is the topic of a build of 1k, 2k, 4k and 8k tokens. Recall is the share of the turns it needs whose line,
or the line of a bullet drawn from it, stands whole in the context. Precision is the share of needed lines among the
first k lines chosen, best first, where k is the number of lines that BM25 with Snowball terms takes to the same recall;
questions of which a context holds nothing have no k and are left out of it. The number of lines that a context shows
and its tokens for each turn that it holds are the price: what is not needed has to be read, too. After the mean of a
row are the bounds between which 95 % of the means of as many questions are, drawn with repetition.

The questions to the sample workspace (tests/cases/questions) are asked as well; without a folder, no others. Ships no
data: a folder is of the form that benchmarks/retrieval.py takes, or with `--set` the checkout of a public set
(`public_sets.py`), of which a fixed number of questions is drawn.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

from baselines import BASELINES, SNOWBALL, Baseline, tokens
from conversations import SEED, Conversation, Question, load, sample, write_example
from public_sets import SETS
from run import ROOT, SAMPLE, command_of
from warm import WarmCommand

BUDGETS: Final = (1000, 2000, 4000, 8000)
PROFILES: Final = ("default", "recall")
FRESH: Final = 3
"""Number of questions that are asked again in a fresh process, for each profile and budget."""
DRAWS: Final = 1000
"""Number of times that questions are drawn for the bounds of a mean."""


class Setup(NamedTuple):
    """Everything that questions are asked of."""

    ask: WarmCommand
    fresh: Sequence[str]
    """The command line that starts ctxasm as a process of its own."""
    folder: Path
    """Holds a workspace for each conversation, by its name."""
    conversations: Mapping[str, Conversation]
    questions: Sequence[Question]


class Figures(NamedTuple):
    """The figures of one question and budget."""

    recall: float
    lines: float
    """Number of lines of logs and memories that the context shows."""
    tokens: int
    held: float
    """Number of the turns it needs that the context holds."""
    precision: tuple[float, float] | None
    """Of the context's and of BM25's first k lines; None without a k."""


def main() -> None:
    """Measure the baselines, the profiles and the sample workspace."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="labelled conversations")
    parser.add_argument("--set", choices=SETS, help="the folder is a checkout of this public set")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="ask N of the questions (default: all)")
    parser.add_argument("--profile", action="append", help="a profile, or its file; repeatable (default, recall)")
    parser.add_argument("--settings", type=Path, help="the ctxasm.yaml of each workspace, such as one with an embedder")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter that has ctxasm")
    parser.add_argument("--smoke", action="store_true", help="a tiny example instead of a folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = write_example(Path(name)) if chosen.smoke else chosen.folder
        loaded = (SETS[chosen.set](folder) if chosen.set else load(folder)) if folder else ({}, ())
        conversations, questions = loaded
        for each in conversations.values():
            each.write(Path(name) / each.name)
            if chosen.settings:
                shutil.copy(chosen.settings, Path(name) / each.name / "ctxasm.yaml")
        ask = WarmCommand(chosen.python, trusted=[Path(name) / each for each in conversations])
        if folder:
            fresh = command_of(chosen.python.absolute())
            setup = Setup(ask, fresh, Path(name), conversations, sample(questions, chosen.sample))
            show_conversations(setup, chosen.profile or PROFILES)
        show_sample_workspace(ask)
        ask.close()


def show_conversations(setup: Setup, profiles: Sequence[str]) -> None:
    """Print recall of all, and precision of the profiles beside that of BM25."""
    title = f"recall, {len(setup.questions)} questions"
    print(f"{title:36}" + "".join(f"{budget:8}" for budget in BUDGETS) + "    mean")
    for label, baseline in BASELINES.items():
        show(label, [baseline_recalls(setup, baseline, budget) for budget in BUDGETS])
    known = {row.split()[0] for row in setup.ask("profiles").out.splitlines() if row.strip()}
    precisions, lines, prices = {}, {}, {}
    for profile in profiles:
        if profile not in known and not Path(profile).is_file():
            print(f"ctxasm, {profile}: left out, there is no such profile")
            continue
        figures = [profile_figures(setup, profile, budget) for budget in BUDGETS]
        show(f"ctxasm, {profile}", [[each.recall for each in column] for column in figures])
        lines[f"ctxasm, {profile}"] = [[each.lines for each in column] for column in figures]
        prices[f"ctxasm, {profile}"] = [
            [sum(each.tokens for each in column) / max(1.0, sum(each.held for each in column))] for column in figures
        ]
        pairs = [[each.precision for each in column if each.precision] for column in figures]
        precisions[f"ctxasm, {profile}"] = [[own for own, _ in column] for column in pairs]
        precisions[f"BM25 where {profile} is as good"] = [[other for _, other in column] for column in pairs]
    print("\nprecision over the first k lines")
    for label, columns in precisions.items():
        show(label, columns)
    for title, table in (("lines shown", lines), ("tokens for each turn held", prices)):
        print(f"\n{title}")
        for label, columns in table.items():
            show(label, columns, 1)


def show(label: str, columns: Sequence[Sequence[float]], scale: float = 100) -> None:
    """Print one line of a table: the mean of each column, in per cent if not told otherwise, and the mean of these.

    Columns of one figure for each question get the bounds of that mean, too.
    """
    means = [scale * fmean(column or [0.0]) for column in columns]
    row = f"{label:36}" + "".join(f"{mean:8.1f}" for mean in (*means, fmean(means)))
    if len({len(column) for column in columns}) == 1 and len(columns[0]) > 1:
        low, high = bounds([scale * fmean(each) for each in zip(*columns, strict=True)])
        row += f"  [{low:.1f}, {high:.1f}]"
    print(row, flush=True)


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """The bounds between which 95 % of the means of as many values are, drawn with repetition (bootstrap)."""
    chance = random.Random(SEED)  # noqa: S311 (no secret: the same bounds each time)
    means = sorted(fmean(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40 - 1]


def baseline_recalls(setup: Setup, baseline: Baseline, budget: int) -> list[float]:
    """Recall of a baseline for each question."""
    recalls = []
    for question in setup.questions:
        conversation = setup.conversations[question.conversation]
        text = held_to(budget, baseline(conversation, question, budget))
        recalls.append(question.recall(conversation.shown(text)))
    return recalls


def profile_figures(setup: Setup, profile: str, budget: int) -> list[Figures]:
    """Figures of a profile for each question; the first few are asked again in a fresh process."""
    figures = []
    for number, question in enumerate(setup.questions):
        conversation = setup.conversations[question.conversation]
        words = build_words(setup, profile, question, budget)
        context = json.loads(answered(setup.ask, *words, "-f", "json"))
        text = held_to(budget, context["content"])
        if number < FRESH:
            check_fresh(setup, words, text)
        ids = best_first(context["decisions"], conversation, conversation.shown(text))
        recall = question.recall(ids)
        pair = precision(conversation, question, ids, recall) if recall else None
        figures.append(Figures(recall, len(ids), tokens(text), recall * len(question.needs), pair))
    return figures


def build_words(setup: Setup, profile: str, question: Question, budget: int) -> list[str]:
    """The words of a build that has a question for its topic."""
    conversation = setup.conversations[question.conversation]
    words = f"build -q -a ada -p {profile} -b {budget} --date {conversation.today} --topic".split()
    return [*words, question.text, "-w", str(setup.folder / conversation.name)]


def answered(ask: WarmCommand, *words: str) -> str:
    """Standard output of a call that has to succeed."""
    code, out, err = ask(*words)
    if code or err:
        raise SystemExit(f"ctxasm {' '.join(words)}: exit {code}: {err.strip()}")
    return out


def held_to(budget: int, text: str) -> str:
    """A text, which has to be within the budget."""
    if tokens(text) > budget:
        raise SystemExit(f"{tokens(text)} tokens where {budget} were allowed:\n{text[:400]}")
    return text


def check_fresh(setup: Setup, words: Sequence[str], text: str) -> None:
    """Refuse a text that a process of its own does not write byte for byte."""
    done = subprocess.run([*setup.fresh, *words], env=setup.ask.environment, cwd="/", capture_output=True, check=True)
    if done.stdout != text.encode():
        raise SystemExit(f"ctxasm {' '.join(words)}: a fresh process writes another text")


def best_first(decisions: Sequence[Mapping[str, Any]], conversation: Conversation, shown: Sequence[str]) -> list[str]:
    """The lines that are shown: those with a similarity by it, then the rest as they stand."""
    ids = {(line.path, line.number): line.id for line in conversation.lines}
    near = {
        ids.get((decision["path"], decision["line"])): decision["score"]["similarity"]
        for decision in decisions
        if "similarity" in decision["score"]
    }
    return sorted(shown, key=lambda line: -near.get(line, -1.0))


def precision(conversation: Conversation, question: Question, ids: Sequence[str], recall: float) -> tuple[float, float]:
    """Precision of the first k of these lines, and of BM25's first k, where BM25 has this recall."""
    ranked = [line.id for line in SNOWBALL.ranked(conversation, question)]
    least = next((k for k in range(1, len(ranked)) if question.recall(ranked[:k]) >= recall), len(ranked))
    return question.precision(ids[:least]), question.precision(ranked[:least])


def show_sample_workspace(ask: WarmCommand) -> None:
    """Print the share of facts that are held of those asked for in the sample workspace."""
    sys.path.insert(0, str(ROOT))
    from tests.questions import BUDGET, sample_questions

    questions = sample_questions()
    held = [question.held(answered(ask, *question.words, "-w", str(SAMPLE))) for question in questions]
    facts = sum(len(question.needs) for question in questions)
    print(f"\nsample workspace, {BUDGET} tokens: {sum(held)} of {facts} facts, {100 * sum(held) / facts:.0f} %")
    for question, count in zip(questions, held, strict=True):
        if count < len(question.needs):
            print(f"  missing: {question.text}")


if __name__ == "__main__":
    main()
