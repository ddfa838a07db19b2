"""Vectors by a server that answers as OpenAI's `/v1/embeddings` does: Ollama, llama.cpp, vLLM and others.

Requests go only to the configured address, and no redirect is followed. No other module of the package opens a
socket.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from contextasm.retrieval.embeddings.request import (
    OTHER_NUMBER,
    EmbeddingFailed,
    EmbeddingRequest,
    EmbeddingUnfinished,
    Vector,
)

_BATCH = 100
"""Texts in one request."""

_MAX_ANSWER = 64 << 20
"""Bytes."""


def embed_by_url(job: EmbeddingRequest) -> Iterator[Vector]:
    """The vectors of one request after the other. Raises `EmbeddingFailed` if the server gives none."""
    for start in range(0, len(job.texts), _BATCH):
        texts = job.texts[start : start + _BATCH]
        yield from _vectors(_answer(job, texts), len(texts))


def _answer(job: EmbeddingRequest, texts: Sequence[str]) -> Any:
    """The parsed answer to one request, by the deadline.

    The request has a thread of its own: the time-outs of sockets begin anew with every byte, and a name that has to be
    looked up has none.
    """
    seconds = job.seconds_left()
    answer: Future[Any] = Future()

    def post() -> None:
        try:
            answer.set_result(_post(job, texts, seconds))
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            answer.set_exception(error)

    threading.Thread(target=post, daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError as error:
        raise EmbeddingUnfinished(f"took longer than {job.embedder.timeout:g} s") from error


def _post(job: EmbeddingRequest, texts: Sequence[str], seconds: float) -> Any:
    message = _request(job, texts)
    try:
        with _opener(job.embedder.url).open(message, timeout=seconds) as answer:
            data = bytearray()
            while len(data) <= _MAX_ANSWER and (part := answer.read1(1 << 16)):
                data += part
                job.seconds_left()  # else the thread and the connection of a slow answer would outlive the deadline
    except HTTPError as error:
        error.close()
        raise EmbeddingUnfinished(f"answered {error.code} {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, TimeoutError):
            raise EmbeddingUnfinished(f"took longer than {job.embedder.timeout:g} s") from error
        raise EmbeddingUnfinished(f"can't be reached: {getattr(reason, 'strerror', None) or reason}") from error
    if len(data) > _MAX_ANSWER:
        raise EmbeddingFailed("gave an endless answer")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EmbeddingFailed("gave an answer that is not JSON") from error


def _request(job: EmbeddingRequest, texts: Sequence[str]) -> request.Request:
    """One request with its key, which goes nowhere else, not even into a message."""
    body = json.dumps({"model": job.embedder.model, "input": list(texts)}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "ctxasm"}
    if name := job.embedder.key_env:
        key = job.environment.get(name, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise EmbeddingFailed(f"needs a key in the variable {name}, which has none")
        headers["Authorization"] = f"Bearer {key}"
    return request.Request(job.embedder.url, body, headers, method="POST")  # noqa: S310 - checked by the configuration


def _opener(url: str) -> request.OpenerDirector:
    """An opener for only http and https, through the proxy of the environment unless the server is this machine."""
    opener = request.OpenerDirector()
    opener.add_handler(request.ProxyHandler({} if _is_loopback(urlsplit(url).hostname or "") else None))
    protocols = (request.HTTPHandler, request.HTTPSHandler)
    for handler in (*protocols, request.HTTPDefaultErrorHandler, request.HTTPErrorProcessor):
        opener.add_handler(handler())
    return opener


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or address; nothing is looked up."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _vectors(answer: Any, count: int) -> list[Vector]:
    """The vectors of an answer, in the order of the texts. Raises `EmbeddingFailed` if one is missing."""
    try:
        by_index = {int(row["index"]): row["embedding"] for row in answer["data"]}
    except (TypeError, KeyError, ValueError) as error:
        raise EmbeddingFailed("gave an answer without vectors") from error
    if sorted(by_index) != list(range(count)) or len(answer["data"]) != count:
        raise EmbeddingFailed(OTHER_NUMBER)
    return [by_index[index] for index in range(count)]
