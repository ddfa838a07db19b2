"""Two public sets of chats in the form of `conversations`: REALTALK and BEAM, each from a checkout of its repository.

Of both there are logs and no memories. Nothing of them is part of this package.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from conversations import SEED, Conversation, Question, of_turns

Loaded = tuple[dict[str, Conversation], list[Question]]

ANSWER: Final = 240
"""Characters of an assistant's turn that a log keeps: questions that need such a turn are left out."""


def realtalk(folder: Path) -> Loaded:
    """Ten chats of two people (danny911kr/REALTALK), of which each turn that says something is a line of its day."""
    conversations, questions = {}, []
    for path in sorted((folder / "data").glob("Chat_*.json")):
        chat = json.loads(path.read_text(encoding="utf-8"))
        sessions = (chat[key] for key in chat if re.fullmatch(r"session_\d+", key))
        turns = [
            {
                "id": turn["dia_id"],
                "date": str(datetime.strptime(turn["date_time"], "%d.%m.%Y, %H:%M:%S").date()),  # noqa: DTZ007
                "speaker": turn["speaker"].capitalize(),
                "text": turn["clean_text"],
            }
            for session in sessions
            for turn in session
            if turn["clean_text"].strip()
        ]
        conversations[path.stem] = of_turns(path.stem, turns)
        known = {turn["id"] for turn in turns}
        for asked in chat["qa"]:
            if asked["evidence"] and known.issuperset(asked["evidence"]):
                needs = tuple(frozenset({turn}) for turn in dict.fromkeys(asked["evidence"]))
                questions.append(Question(path.stem, asked["question"], needs))
    return conversations, _drawn(questions, 300)


def beam(folder: Path) -> Loaded:
    """Twenty chats with an assistant (mohammadtavakoli78/BEAM, 100K); an assistant's turn is cut to `ANSWER`."""
    conversations, questions = {}, []
    for place in sorted((folder / "chats" / "100K").glob("[0-9]*"), key=lambda each: int(each.name)):
        batches = json.loads((place / "chat.json").read_text(encoding="utf-8"))
        turns = [*_beam_turns(batches)]
        name = f"beam-{place.name}"
        conversations[name] = of_turns(name, turns)
        own = {turn["id"] for turn in turns if turn["speaker"] == "User"}
        asked = json.loads((place / "probing_questions" / "probing_questions.json").read_text(encoding="utf-8"))
        for kind in sorted(asked.keys() - {"abstention", "summarization"}):
            for each in asked[kind]:
                ids = [*dict.fromkeys(f"{number}" for number in _numbers(each["source_chat_ids"]))]
                if ids and own.issuperset(ids):
                    questions.append(Question(name, each["question"], tuple(frozenset({turn}) for turn in ids)))
    return conversations, _drawn(questions, 200)


def _beam_turns(batches: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    day = ""
    for batch in batches:
        for turn in (turn for turns in batch["turns"] for turn in turns):
            if turn.get("time_anchor"):
                day = str(datetime.strptime(turn["time_anchor"], "%B-%d-%Y").date())  # noqa: DTZ007
            text = re.sub(r"\s*->->.*", "", turn["content"], flags=re.DOTALL)
            if turn["role"] == "assistant":
                text = text[:ANSWER]
            yield {"id": str(turn["id"]), "date": day, "speaker": turn["role"].capitalize(), "text": text}


def _numbers(ids: object) -> Iterator[int]:
    """The numbers in lists and tables of any depth."""
    if isinstance(ids, int):
        yield ids
    for each in ids.values() if isinstance(ids, dict) else ids if isinstance(ids, list) else ():
        yield from _numbers(each)


def _drawn(questions: list[Question], count: int) -> list[Question]:
    """So many of the questions, the same each time."""
    return random.Random(SEED).sample(questions, count)  # noqa: S311 (no secret)


SETS: Final[Mapping[str, Callable[[Path], Loaded]]] = {"realtalk": realtalk, "beam": beam}
