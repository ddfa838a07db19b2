"""The second opinion by meaning: of a command or a server (test_local_model.py has models in a folder)."""

import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextasm.retrieval.search.bm25 import fuse
from contextasm.retrieval.search.inverted_index import IndexEntry
from tests.command import Result, ctxasm, ends, fill, inside, refused
from tests.tables import rows

CONCEPTS = (("pizza", "dinner", "supper", "meal"), ("boat", "harbor", "sail"), ("invoice", "tax"))
"""Words of one meaning, an axis each."""

PIZZA = "Pizza on Fridays, without fail"
MEMORIES = f"- {PIZZA}\n- The harbor closes at nine\n- Pay the tax in May\n- Nobody knows the colour\n"

SCRIPT = f"""
import json, sys
texts = [json.loads(line) for line in sys.stdin]
with open("asked.txt", "a") as log:
    log.write(f"{{len(texts)}}\\n")
for text in texts:
    words = text.lower().split()
    print(json.dumps([float(sum(word in axis for word in words)) for axis in {CONCEPTS!r}]), flush=True)
"""
"""A command that knows these concepts, and notes how many texts it was asked for."""

FALLBACK = "Nobody knows the colour"
"""The newest memory: it comes first where nothing matches."""


def meaning_of(text: str) -> list[float]:
    """As the command has it."""
    return [float(sum(word in axis for word in text.lower().split())) for axis in CONCEPTS]


def workspace(folder: Path, embedder: Mapping[str, Any] | None, memories: str = MEMORIES) -> Path:
    """A workspace with memories and an embedder; JSON is YAML."""
    settings = "date: 2025-03-14\n" + (f"embedder: {json.dumps(embedder)}\n" if embedder is not None else "")
    files = {"agents/a/memories/all.md": memories, "ctxasm.yaml": settings, "embed.py": SCRIPT}
    return fill(folder / "w", files)


def command(*words: str, **more: Any) -> dict[str, Any]:
    """An embedder that is a script of Python, or the one above."""
    return {"command": [sys.executable, *(words or ("embed.py",))], **more}


def build(root: Path, topic: str = "dinner", *words: str, **env: str) -> Result:
    """A build of a workspace whose embedder is allowed."""
    given = {"CTXASM_TRUST": str(root), "XDG_CACHE_HOME": str(root.parent / "cache"), **env}
    return inside("build", "-w", root, "--topic", topic, *words, env=given)


def found(result: Result) -> list[str]:
    """The memories that a build shows."""
    assert result.code == 0, result.err
    return [line.removeprefix("- [note] ") for line in result.out.split("\n") if line.startswith("- ")]


def asked(root: Path) -> list[int]:
    """How many texts the command was asked for, call by call."""
    log = root / "asked.txt"
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def test_a_memory_that_shares_no_word_is_found_by_its_meaning(tmp_path: Path) -> None:
    result = build(workspace(tmp_path, command()))
    assert found(result) == [PIZZA]
    assert "warning" not in result.err


SAID = "Hana: pizza again"


def elsewhere(folder: Path, searched: Sequence[str] | str, *old: str, **more: Any) -> Path:
    """A workspace with a memory, a line of a log, a page and an event about pizza, and others about something else."""
    event = '{{"type": "note", "timestamp": "2025-03-13T0{}:00:00Z", "content": "{}"}}\n'
    files = {
        "agents/a/daily/2024-11-01.md": "\n".join(f"- {line}" for line in old),
        "agents/a/daily/2024-11-02.md": f"# Day\n\n## For two\n\n- {SAID}\n- Tom: late\n",
        "knowledge/food.md": "# Oven\n\nTwo minutes for a pizza\n\n# Roof\n\nIt leaks\n",
        "sessions/s.jsonl": event.format(1, "a pizza came") + event.format(2, "the door rang"),
    }
    return fill(workspace(folder, command(**more, **{"for": searched} if searched else {})), files)


def scores(root: Path, topic: str = "supper", *words: str) -> dict[str, dict[str, float]]:
    """The scores of a build, by `PATH:LINE`."""
    env = {"CTXASM_TRUST": str(root), "XDG_CACHE_HOME": str(root.parent / "cache")}
    result = inside("explain", "-w", root, "--topic", topic, "--json", *words, env=env)
    decisions = json.loads(result.out)["decisions"]
    return {f"{each['path']}:{each['line']}": each["score"] for each in decisions if each["score"]}


@pytest.mark.parametrize("searched", ["memories", "logs", "pages", "events", ["logs", "memories"], ""])
def test_only_what_for_names_is_found_by_its_meaning(tmp_path: Path, searched: Sequence[str] | str) -> None:
    root = elsewhere(tmp_path, searched)
    of = {
        "memories": "agents/a/memories/all.md:1",
        "logs": "agents/a/daily/2024-11-02.md:5",
        "pages": "knowledge/food.md:3",
        "events": "sessions/s.jsonl:1",
    }
    named = [searched or "memories"] if isinstance(searched, str) else searched
    found = {**scores(root), **scores(root, "supper", "-p", "query")}
    near = {place for place, score in found.items() if score.get("meaning", 0) > 0.5}
    assert near == {of[kind] for kind in named}


def test_a_line_that_meaning_finds_is_a_match_of_its_own_once_and_under_its_heading(tmp_path: Path) -> None:
    root = elsewhere(tmp_path, ["logs"], SAID, "Tom: gone", "Hana: nothing")
    shown = build(root).out
    assert shown.count(SAID) == 1
    assert "### 2024-11-02: For two" in shown
    assert "beside" not in inside("explain", "-w", root, "--topic", "supper", env={"CTXASM_TRUST": str(root)}).out
    of_hana = scores(root, "What supper did Hana have?")
    places = ["agents/a/daily/2024-11-02.md:5", "agents/a/daily/2024-11-01.md:3"]
    assert [of_hana[place]["similarity"] for place in places] == sorted(
        (of_hana[place]["similarity"] for place in places), reverse=True
    )


def test_of_a_long_log_the_best_lines_by_words_and_the_newest_are_asked_about(tmp_path: Path) -> None:
    root = elsewhere(tmp_path, ["logs"], "the roof leaks, over pizza", *(f"number {n}" for n in range(1500)))
    found = scores(root, "supper below the roof")
    assert asked(root) == [1001]
    assert found["agents/a/daily/2024-11-01.md:1"]["words"] == 1.0
    assert found["agents/a/daily/2024-11-02.md:5"]["meaning"] > 0.5


def test_search_finds_a_line_by_its_meaning(tmp_path: Path) -> None:
    root = elsewhere(tmp_path, ["logs"])
    fill(root, {"MEMORY.md": "- Nobody knows\n", "SOUL.md": "Calm.\n", "memory/2025-03-01.md": f"- {SAID}\n"})
    words = ("search", "supper", "-w", root, "-p", "openclaw")
    assert SAID in inside(*words, env={"CTXASM_TRUST": str(root)}).out
    assert SAID not in inside(*words).out


def test_a_problem_names_what_is_ranked_by_words(tmp_path: Path) -> None:
    root = elsewhere(tmp_path, ["logs", "memories"])
    (root / "embed.py").write_text("raise SystemExit(3)")
    assert "memories and logs are ranked only by their words" in build(root).err
    assert "memories and logs are ranked only by their words" in build(root, CTXASM_TRUST="").err


def test_a_command_may_be_written_as_one_line(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"command": f"{sys.executable} 'embed.py' '$(touch made)' ; touch made"})
    assert found(build(root)) == [PIZZA]
    assert not (root / "made").exists()


def test_what_words_find_stays_found(tmp_path: Path) -> None:
    harbor = "The harbor closes at nine"
    memories = f"- {PIZZA}\n- {harbor}\n- {FALLBACK}\n\n## 2025-03-01\n\n- Pay the tax in May\n"
    both = found(build(workspace(tmp_path, command(), memories), "dinner harbor colour"))
    alone = found(build(workspace(tmp_path / "alone", None, memories), "dinner harbor colour"))
    assert {harbor, FALLBACK} <= set(alone) <= set(both)
    assert set(both) == {PIZZA, harbor, FALLBACK}


def test_where_nothing_matches_the_newest_are_shown(tmp_path: Path) -> None:
    result = build(workspace(tmp_path, command()), "giraffe")
    assert found(result)[0] == FALLBACK
    assert len(found(result)) == 4


def test_explain_tells_both_halves(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    env = {"CTXASM_TRUST": str(root), "CTXASM_NO_CACHE": "1"}
    data = json.loads(inside("explain", "-w", root, "--topic", "dinner", "--json", env=env).out)
    (score,) = [each["score"] for each in data["decisions"] if each["score"]]
    assert (score["similarity"], score["words"], score["meaning"]) == (1.0, 0.0, 1.0)


def test_second_build_does_not_ask_again(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    first, second = build(root), build(root)
    assert first == second
    assert asked(root) == [5]
    build(root, "harbor")
    (root / "agents/a/memories/new.md").write_text("- A new boat\n")
    assert "A new boat" in found(build(root, "harbor"))
    assert asked(root) == [5, 1, 1]


def test_another_model_is_asked_anew(tmp_path: Path) -> None:
    assert found(build(workspace(tmp_path, command(model="one")))) == [PIZZA]
    root = workspace(tmp_path, command(model="two"))
    assert found(build(root)) == [PIZZA]
    assert asked(root) == [5, 5]


def test_vectors_of_another_length_are_all_made_anew(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    build(root)
    (root / "embed.py").write_text(SCRIPT.replace("]), flush", "] + [0]), flush"))
    assert found(build(root, "harbor")) == ["The harbor closes at nine"]
    assert found(build(root, "supper")) == [PIZZA]
    assert asked(root) == [5, 1, 5, 1]


@pytest.mark.parametrize(
    "script", ["print('[1]')", "[print('[1]') for n in range(9)]", "[print('[1]') for n in range(5)]; 1 / 0"]
)
def test_vectors_of_a_command_that_failed_are_not_remembered(tmp_path: Path, script: str) -> None:
    root = workspace(tmp_path, command("-c", script))
    assert "the embedder" in build(root).err
    assert not (tmp_path / "cache").exists()


def test_without_cache_nothing_is_remembered(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    for _ in range(2):
        assert found(build(root, CTXASM_NO_CACHE="1")) == [PIZZA]
    assert asked(root) == [5, 5]
    assert not (tmp_path / "cache").exists()


def test_cache_is_private_and_holds_no_text(tmp_path: Path) -> None:
    build(workspace(tmp_path, command()))
    (file,) = (tmp_path / "cache/ctxasm").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert b"Fridays" not in file.read_bytes()


@pytest.mark.parametrize("damage", [b"", b"not a cache, whatever it is " * 200], ids=["empty", "foreign"])
def test_damaged_cache_is_as_none_and_is_mended(tmp_path: Path, damage: bytes) -> None:
    root = workspace(tmp_path, command())
    first = build(root)
    (tmp_path / "cache/ctxasm/vectors.cache").write_bytes(damage)
    assert build(root) == first
    assert build(root) == first
    assert asked(root) == [5, 5]


@pytest.mark.parametrize("named", [None, "", "/", "/etc:/usr"])
def test_embedder_of_a_workspace_that_is_not_named_is_never_run(tmp_path: Path, named: str | None) -> None:
    root = workspace(tmp_path, command())
    env = {} if named is None else {"CTXASM_TRUST": named}
    result = inside("build", "-w", root, "--topic", "dinner", env=env)
    assert asked(root) == []
    assert found(result)[0] == FALLBACK
    assert "ctxasm.yaml:2: the embedder is not used; " in result.err
    assert f"to trust this workspace, set CTXASM_TRUST={root} [" in result.err
    assert inside("build", "-w", root, env=env).err.count("embedder") == 0


def test_workspaces_may_be_named_one_after_the_other_and_through_links(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    (tmp_path / "link").symlink_to(root)
    assert found(build(tmp_path / "link", CTXASM_TRUST=f"/nowhere:{tmp_path}/link")) == [PIZZA]


def test_a_relative_name_allows_nothing(tmp_path: Path) -> None:
    refused(build(workspace(tmp_path, command()), CTXASM_TRUST="."), "CTXASM_TRUST", "absolute")


def test_config_shows_the_embedder_and_whether_it_is_used(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"command": "embed --fast"})
    used = inside("config", "--origin", "-w", root, env={"CTXASM_TRUST": str(root)}).out
    assert re.search(r"^embedder +ctxasm.yaml:2 +command embed --fast$", used, re.MULTILINE)
    assert "not used: command embed --fast" in inside("config", "-w", root).out


FAILING = {
    "exit code": ("import sys; sys.exit('no model here')", "ended with exit code 1 (no model here)"),
    "nothing": ("pass", "did not give one vector for each text"),
    "one too many": ("for n in range(6): print('[1, 2]')", "did not give one vector for each text"),
    "garbage": ("print('loading model...')", "gave a line that is not JSON: loading model"),
    "no vector": ("print('{}')", "gave something that is not a list of numbers"),
    "words": ("print('[\"a\"]')", "gave something that is not a list of numbers"),
    "empty vector": ("print('[]')", "gave something that is not a list of numbers"),
    "not finite": ("print('[NaN, 1]')", "gave a number that is not finite"),
    "too large": ("print('[' + '9' * 400 + ']')", "gave a number that is not finite"),
    "different lengths": ("print('[1]'); print('[1, 2]')", "gave vectors of different lengths"),
    "no end": ("while True: print('[' * 99999, end='')", "gave an endless line"),
    "slow": ("import time; time.sleep(60)", "took longer than 0.5 s"),
    "slow to end": ("import os, time; os.close(1); os.close(2); time.sleep(60)", "took longer than 0.5 s"),
}


@pytest.mark.parametrize("case", FAILING)
def test_without_vectors_the_build_goes_on_and_says_so(tmp_path: Path, case: str) -> None:
    script, message = FAILING[case]
    timeout = 0.5 if case.startswith("slow") else 5
    root = workspace(tmp_path, command("-c", script, timeout=timeout))
    result = build(root, "harbor")
    assert result.out == build(workspace(tmp_path / "plain", None), "harbor").out
    assert f"warning: ctxasm.yaml:2: the embedder {message}" in result.err
    assert "; memories are ranked only by their words [embedder]" in result.err
    assert "/embedder" not in result.err


def test_strict_refuses_where_the_embedder_fails(tmp_path: Path) -> None:
    result = build(workspace(tmp_path, {"command": ["/nowhere/embed"]}), "dinner", "--strict")
    assert (result.code, result.out) == (1, "")
    assert "the embedder can't be run: No such file or directory" in result.err


def test_a_command_is_killed_with_its_children(tmp_path: Path) -> None:
    script = "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, file=open('pid', 'w'), flush=True);"
    slow = workspace(tmp_path, command("-c", script + "time.sleep(60)", timeout=2))
    quick = workspace(tmp_path / "quick", command("-c", script + "[print('[1]', flush=True) for n in range(5)]"))
    for root in (slow, quick):
        assert ("took longer" in build(root).err) == (root == slow)
        assert ends(int((root / "pid").read_text()))


def test_what_came_in_time_is_remembered(tmp_path: Path) -> None:
    stops = SCRIPT.replace("\nfor text in texts:", "\nimport time\nfor n, text in enumerate(texts):").replace(
        "    words =", "    if n == 2: time.sleep(60)\n    words ="
    )
    root = workspace(tmp_path, command(timeout=1))
    (root / "embed.py").write_text(stops)
    assert "took longer than 1 s" in build(root).err
    assert "took longer than 1 s" in build(root).err
    assert found(build(root)) == [PIZZA]
    assert asked(root) == [5, 3, 1]


def test_a_failing_embedder_is_asked_once_a_build(tmp_path: Path) -> None:
    root = workspace(tmp_path, command("-c", "open('asked.txt', 'a').write('0\\n'); raise SystemExit(3)"))
    fill(root, {"teams/t/GOALS.md": "Win.\n", "teams/t/memories/all.md": MEMORIES}, base={})
    assert build(root, "dinner", "-t", "t").err.count("exit code 3") == 1
    assert asked(root) == [0]


def search(root: Path, topic: str) -> Result:
    """A search of the memories of an agent and a team of a workspace whose embedder is allowed."""
    fill(root, {"teams/t/GOALS.md": "Win.\n", "teams/t/memories/all.md": "- A late supper\n- The boat\n"}, base={})
    env = {"CTXASM_TRUST": str(root), "CTXASM_NO_CACHE": "1"}
    return inside("search", "-w", root, "-a", "a", "-t", "t", "--json", topic, env=env)


def test_search_asks_once_for_all_layers_and_scores_as_the_build(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    hits = json.loads(search(root, "dinner harbor").out)["hits"]
    assert asked(root) == [7]
    explained = json.loads(build(root, "dinner harbor", "-a", "a", "-t", "t", "-f", "json").out)["decisions"]
    scores = {(each["path"], each["line"]): each["score"] for each in explained if each["score"]}
    assert {(hit["path"], hit["line"]): {**hit["parts"], "total": hit["score"]} for hit in hits} == scores
    assert {"A late supper", PIZZA} < {hit["text"] for hit in hits}


def test_search_goes_on_without_an_embedder_that_fails(tmp_path: Path) -> None:
    root = workspace(tmp_path, command("-c", "open('asked.txt', 'a').write('0\\n'); raise SystemExit(3)"))
    result = search(root, "harbor")
    assert (result.code, result.err.count("exit code 3"), asked(root)) == (0, 1, [0])
    assert result.out == search(workspace(tmp_path / "plain", None), "harbor").out


class Server(ThreadingHTTPServer):
    """A server of embeddings on loopback that notes what it was asked."""

    daemon_threads = True

    def __init__(self, answer: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.hung_up = threading.Event()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}/v1/embeddings"


class Handler(BaseHTTPRequestHandler):
    """Answers as the server is told to."""

    server: Server

    def do_POST(self) -> None:
        """One request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        answers = {"well": self._well, "slow": self._slow, "moved": self._moved, "bare": self._bare}
        answers.get(self.server.answer, self._plain)(body)

    def do_GET(self) -> None:
        """What a followed redirect would come to."""
        self.server.requests.append((self.path, {}, None))
        self._send(200, {})

    def _well(self, body: Any) -> None:
        vectors = [{"index": n, "embedding": meaning_of(text)} for n, text in enumerate(body["input"])]
        self._send(200, {"object": "list", "data": vectors[::-1], "model": body["model"]})

    def _slow(self, _body: Any) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(100):
            time.sleep(0.05)
            try:
                self.wfile.write(b" ")
            except OSError:
                self.server.hung_up.set()
                return

    def _moved(self, _body: Any) -> None:
        self.send_response(302)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def _bare(self, body: Any) -> None:
        self._send(200, {"data": [{"index": 0, "embedding": [1.0]}] * len(body["input"])})

    def _plain(self, _body: Any) -> None:
        self._send(500 if self.server.answer == "broken" else 200, {"error": "out of order"})

    def _send(self, code: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A running server; the parameter says how it answers."""
    with Server(getattr(request, "param", "well")) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


def test_server_gives_the_vectors(tmp_path: Path, server: Server) -> None:
    root = workspace(tmp_path, {"url": server.url, "model": "concepts"})
    proxies = {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    assert found(build(root, **proxies)) == [PIZZA]
    assert found(build(root)) == [PIZZA]
    ((path, headers, body),) = server.requests
    assert (path, body["model"], len(body["input"])) == ("/v1/embeddings", "concepts", 5)
    assert "Authorization" not in headers


def test_many_texts_are_sent_in_several_requests(tmp_path: Path, server: Server) -> None:
    memories = "".join(f"- Memory number {n} of a boat\n- The same\n" for n in range(250))
    root = workspace(tmp_path, {"url": server.url, "model": "m"}, memories)
    assert len(found(build(root, "harbor"))) == 10
    assert [len(body["input"]) for _, _, body in server.requests] == [100, 100, 52]


def test_the_key_is_taken_from_the_variable_that_is_named(tmp_path: Path, server: Server) -> None:
    root = workspace(tmp_path, {"url": server.url, "model": "m", "key_env": "MY_KEY"})
    missing = build(root)
    assert "needs a key in the variable MY_KEY" in missing.err
    bad = build(root, MY_KEY="secret\u00e9")
    assert "MY_KEY" in bad.err
    assert "secret" not in bad.err
    assert server.requests == []
    assert found(build(root, MY_KEY="secret")) == [PIZZA]
    assert server.requests[0][1]["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ("broken", "answered 500 Internal Server Error"),
        ("moved", "answered 302 Found"),
        ("odd", "gave an answer without vectors"),
        ("bare", "did not give one vector for each text"),
        ("slow", "took longer than 0.5 s"),
    ],
    indirect=["server"],
)
def test_server_that_fails_does_not_matter(tmp_path: Path, server: Server, message: str) -> None:
    root = workspace(tmp_path, {"url": server.url, "model": "m", "timeout": 0.5 if "longer" in message else 10})
    result = build(root, "harbor")
    assert result.out == build(workspace(tmp_path / "plain", None), "harbor").out
    assert f"the embedder {message}; memories" in result.err
    assert len(server.requests) == 1


@pytest.mark.parametrize("server", ["slow"], indirect=True)
def test_answer_that_is_too_late_is_not_read_to_its_end(tmp_path: Path, server: Server) -> None:
    build(workspace(tmp_path, {"url": server.url, "model": "m", "timeout": 0.5}), "harbor")
    assert server.hung_up.wait(10)


def test_server_that_is_not_there_does_not_matter(tmp_path: Path) -> None:
    with Server("well") as gone:
        url = gone.url
    result = build(workspace(tmp_path, {"url": url, "model": "m"}))
    assert "the embedder can't be reached: Connection refused" in result.err
    assert found(result)[0] == FALLBACK


@pytest.mark.parametrize("row", rows("embedder/mistakes"), ids=str)
def test_a_mistake_in_the_settings_is_told_with_its_line(tmp_path: Path, row: Sequence[str]) -> None:
    embedder, *parts = row
    refused(inside("build", "-w", workspace(tmp_path, json.loads(embedder))), "ctxasm.yaml:2", *parts)


def pool(*sections: str) -> list[IndexEntry]:
    """Entries of which only the section matters."""
    return [IndexEntry("", section, kernel=0.5) for section in sections]


def test_fusion_keeps_what_words_find_and_adds_what_is_near() -> None:
    """Half and half: row 0 is found by words, row 1 by both, row 2 by meaning, row 3 is neither."""
    hits = fuse({0: 1.0, 1: 0.7}, {0: 1.0, 1: 0.7}, [-0.5, 0.2, 0.3, -0.4], 0.5, pool(*"abcd"))
    assert list(hits) == [0, 1, 2]
    assert dict(hits[1])["similarity"] == 1.0
    assert hits[0][1:] == (("words", 1.0), ("meaning", 0.0))
    assert hits[2][1:] == (("words", 0.0), ("meaning", 1.0))


def test_fusion_of_a_weak_meaning_finds_nothing_of_its_own() -> None:
    assert fuse({}, {}, [-0.5, -0.1, -0.4], 0.5, pool(*"abc")) == {}
    assert list(fuse({1: 1.0}, {1: 1.0}, [-0.1, -0.5, -0.4], 0.5, pool(*"abc"))) == [1]


def test_neighbours_share_in_a_meaning() -> None:
    near = [0.4, 0.1, -0.3, 0.1]
    hits = fuse({}, {}, near, 0.0, pool("a", "a", "b", "c"))
    assert hits[0][0] > hits[1][0] > hits[3][0]
    assert 2 not in hits


def test_fusion_of_a_single_memory() -> None:
    assert fuse({}, {}, [0.1], 0.5, pool("a"))[0][0] == ("similarity", 1.0)
    assert fuse({0: 1.0}, {0: 1.0}, [-0.1], 0.5, pool("a"))[0][0] == ("similarity", 1.0)
    assert fuse({}, {}, [-0.1], 0.5, pool("a")) == {}


def test_build_as_a_process(tmp_path: Path) -> None:
    root = workspace(tmp_path, command())
    result = ctxasm("build", "--topic", "dinner", "-q", cwd=root, env={"CTXASM_TRUST": str(root)})
    assert found(result) == [PIZZA]
    assert os.listdir(root / "agents/a/memories") == ["all.md"]
