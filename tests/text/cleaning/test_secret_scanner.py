"""What the secret scanner takes for a secret, what it lets pass, and that it never tells one."""

import pytest

from contextasm.model import Secret
from contextasm.text.cleaning.secrets.scanner import find_secrets, mask_secrets
from tests.text.cleaning.secret_samples import HEX, SHAPES, UPPER, drawn, jwt, pem


def only(text: str) -> Secret:
    """The one find."""
    (find,) = find_secrets(text)
    return find


@pytest.mark.parametrize(
    "form", ["{}", "key: {}", "`{}`", '"{}",', "export KEY={}\n", "[a]({})", '{{"text": "line\\n{}"}}', "({})."]
)
def test_each_shape_is_found_wherever_it_stands(form: str) -> None:
    for kind, secret in SHAPES:
        text = form.format(secret)
        find = only(text)
        assert find.kind == kind
        assert text[find.column - 1 :].startswith(secret)


@pytest.mark.parametrize(
    "form", ["_{}_", "__{}__", "**{}**", "x%20{}", "x%2F{}", "x\\u0020{}", "x\\u00e9{}", "{}-", "{}_"]
)
def test_the_character_beside_a_secret_does_not_free_it(form: str) -> None:
    for kind, secret in SHAPES:
        text = form.format(secret)
        assert [find.kind for find in find_secrets(text)] == [kind]
        assert secret not in mask_secrets(text).text


_OF_A_WHOLE_WORD = {
    "azure-client-secret",
    "mailgun-key",
    "mailchimp-key",
    "discord-token",
    "twilio-key",
    "databricks-token",
    "airtable-token",
}
"""Kinds whose prefix is also a common word, or that have none."""


@pytest.mark.parametrize("form", ["key_{}", "(_{}", "1{}"])
def test_a_prefix_that_says_enough_may_follow_an_underscore_or_a_digit(form: str) -> None:
    words = {*_OF_A_WHOLE_WORD, "telegram-token"} if form == "1{}" else _OF_A_WHOLE_WORD
    for kind, secret in SHAPES:
        assert kind in words or only(form.format(secret)).kind == kind


def test_no_more_than_four_characters_and_the_length_are_told() -> None:
    for kind, secret in SHAPES:
        masked = only(f"`{secret}`").masked
        shown = masked.split("...")[0]
        assert f"... ({len(secret)} characters, #" in masked
        assert len(shown) <= 4, kind
        assert secret.startswith(shown)


def test_an_azure_key_is_found_by_the_name_before_it() -> None:
    find = only("DefaultEndpointsProtocol=https;Account" + f"Key={drawn(86)}==;EndpointSuffix=core")
    assert (find.kind, find.masked[:-7]) == ("azure-storage-key", "... (88 characters,")


@pytest.mark.parametrize("words", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("end", ["\n", "\n\n", "\\n", "\n> ", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\n"])
def test_a_private_key_is_found_quoted_or_escaped(words: str, end: str) -> None:
    assert only(pem(words, drawn(64), end)).kind == "private-key"


@pytest.mark.parametrize(
    "url",
    [
        "postgres://app:{}@db.corp.io:5432/main",
        "https://me:{}@git.corp.io/a.git",
        "redis://:{}@cache",
        "mongodb+srv://app:{}@[fd00::1]/x",
        "amqp://app:{}@${{MQ_HOST}}/x",
    ],
)
def test_a_password_in_a_url_is_found_and_nothing_of_it_told(url: str) -> None:
    text = url.format("hun" + "ter22")
    find = only(text)
    assert (find.kind, find.masked[:-7]) == ("url-password", "... (8 characters,")
    assert text[find.column - 1 :].startswith("hunter22@")


@pytest.mark.parametrize(
    "text",
    [
        "docker://alpine:3.19@sha256:" + drawn(64, HEX),
        *[f"https://me:{word}@db.corp.io" for word in ("password", "PASS", "{pw}", "%PW%", "[pw]", "***", "xxx")],
        *[
            f"https://me:{word}@db.corp.io"
            for word in ("aaaaaa", "YOUR_PASSWORD", "mypass", "...", "NEW_TOKEN", "check-secret")
        ],
        *[
            f"https://me:hun{'ter22'}@{host}/x"
            for host in ("example.com", "db.example.org", "localhost:5432", "a.test")
        ],
        *[f"https://me:hun{'ter22'}@{host}/x" for host in ("127.0.0.1", "host:1", "HOSTNAME")],
    ],
)
def test_a_url_with_a_password_that_opens_nothing_is_a_placeholder(text: str) -> None:
    find = only(text)
    assert (find.kind, find.placeholder) == ("url-password", True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("AK" + "IAIOSFODNN7EXAMPLE", "aws-access-key-id", id="the one in every AWS manual"),
        pytest.param("AK" + "IA" + "X" * 16, "aws-access-key-id", id="crossed out"),
        pytest.param("ghp" + "_" + "x" * 36, "github-token", id="x"),
        pytest.param("ghp" + "_" + "0" * 36, "github-token", id="noughts"),
        pytest.param("ghp" + "_" + "abc1" * 9, "github-token", id="few signs"),
        pytest.param(
            jwt({"alg": "HS256"}, {"sub": "1234567890", "name": "John Doe"}), "jwt", id="JWT of every tutorial"
        ),
        pytest.param(pem("", "...\n-----END PRIVATE KEY-----"), "private-key", id="key left out"),
        pytest.param(pem("", "A" * 64), "private-key", id="repeated"),
    ],
)
def test_a_placeholder_of_a_common_shape_is_told_as_one(text: str, kind: str) -> None:
    find = only(f"{text}\n")
    assert (find.kind, find.placeholder) == (kind, True)


def test_a_header_without_an_algorithm_begins_no_token() -> None:
    assert list(find_secrets(jwt({"kid": "1"}, {"sub": "42"}))) == []


@pytest.mark.parametrize("tail", ["ctxasm: allow-secret", "# ctxasm: allow-secret, please", "# ctxasm: allow-secrets"])
def test_nothing_but_the_comment_itself_allows_a_secret(tail: str) -> None:
    assert only("ghp" + "_" + drawn(36) + " " + tail).kind == "github-token"


def test_a_token_in_a_url_is_one_find() -> None:
    assert only("https://me:" + "ghp" + "_" + drawn(36) + "@github.com/a/b").kind == "github-token"


def test_finds_come_in_the_order_of_the_text_with_their_places() -> None:
    aws, npm = "AK" + "IA" + drawn(16, UPPER), "np" + "m_" + drawn(36)
    finds = find_secrets(f"\u4f60 {npm} {aws}\n\n  {aws}")
    assert [(find.line, find.column, find.kind[:3]) for find in finds] == [(1, 3, "npm"), (1, 44, "aws"), (3, 3, "aws")]
