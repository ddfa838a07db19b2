"""Masks of secrets: nothing of a secret stays, everything else does, and lines keep their numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.text.cleaning.secrets import scanner as secret_scanner
from contextasm.text.cleaning.secrets.scanner import LONG_FAMILIES, SHORT_FAMILIES, find_secrets, mask_secrets
from contextasm.text.cleaning.secrets.shapes import ARGUMENT_SHAPES
from tests.text.cleaning.secret_samples import IN_CONTEXT, NEAR_MISSES, SHAPES, drawn, pem

SAMPLES = [*((kind, "", value, "") for kind, value in SHAPES), *IN_CONTEXT]


def test_the_characters_of_a_secret_are_replaced_and_no_others() -> None:
    for kind, before, value, behind in SAMPLES:
        text = f"First.\n{before}{value}{behind}\nLast."
        result = mask_secrets(text)
        assert result.text == f"First.\n{before}[masked:{kind}]{chr(10) * value.count(chr(10))}{behind}\nLast."
        (secret,) = result.secrets
        assert (secret.kind, secret.placeholder) == (kind, False)
        assert text.split("\n")[secret.line - 1][secret.column - 1 :].startswith(value.split("\n", maxsplit=1)[0])


def test_a_text_without_a_secret_is_the_same_object() -> None:
    """P28: nothing is copied, and look-alikes stay as they are."""
    for text in ("", "Plain words.\n", *(text for _, text in NEAR_MISSES)):
        result = mask_secrets(text)
        assert result.text is text
        assert result == (text, (), (), ())


def test_lines_that_a_mask_emptied_are_given() -> None:
    key = pem("", f"{drawn(64)}\n{drawn(20)}\n-----END PRIVATE KEY-----")
    result = mask_secrets(f"A\n{key}\nB\n{key} and so on\nghp" + "_" + drawn(36))
    assert result.text == (
        "A\n[masked:private-key]\n\n\n\nB\n[masked:private-key]\n\n\n and so on\n[masked:github-token]"
    )
    assert result.gaps == ((3, 5), (8, 9))


def test_a_private_key_in_one_line_of_json_is_masked() -> None:
    key = pem("", f"{drawn(64)}\\n{drawn(63)}\\n-----END PRIVATE KEY-----", "\\n")
    assert mask_secrets(f'{{"private_key": "{key}\\n", "id": 1}}').text == (
        '{"private_key": "[masked:private-key]\\n", "id": 1}'
    )
    without_end = pem("", f"{drawn(64)}\\n{drawn(63)}", "\\n")
    assert mask_secrets(f'{{"private_key": "{without_end}", "id": 1}}').text == (
        '{"private_key": "[masked:private-key]", "id": 1}'
    )


def test_overlapping_secrets_leave_no_part() -> None:
    text = "https://me:" + "glpat" + "-" + drawn(20) + ":more-of-it@db.corp.io"
    assert mask_secrets(text).text == "https://me:[masked:gitlab-token]@db.corp.io"


def test_a_secret_glued_to_a_masked_one_is_masked() -> None:
    glued = "AI" + "za" + drawn(35) + pem("", f"{drawn(64)}\n-----END PRIVATE KEY-----")
    result = mask_secrets(f"A {glued} B")
    assert result.text == "A [masked:google-api-key][masked:private-key]\n\n B"
    assert [secret.column for secret in result.secrets] == [3, 42]


def test_a_private_key_right_behind_the_end_of_another_is_masked() -> None:
    key = pem("", f"{drawn(64)}\n-----END PRIVATE KEY-----")
    first = pem("", f"{drawn(63)}\n-----END ")
    assert mask_secrets(f"{first}{key}").text == "[masked:private-key]\n\n [masked:private-key]\n\n"


def test_a_placeholder_is_masked_and_marked() -> None:
    result = mask_secrets("id: AK" + "IAIOSFODNN7EXAMPLE.")
    assert result.text == "id: [masked:aws-access-key-id]."
    assert [secret.placeholder for secret in result.secrets] == [True]


@pytest.mark.parametrize(
    "comment",
    ["<!-- ctxasm: allow-secret -->", "# ctxasm: allow-secret", "#ctxasm: allow-secret ", "# ctxasm: allow-secret  "],
)
def test_a_line_that_ends_in_the_comment_keeps_its_secrets(comment: str) -> None:
    key = "ghp" + "_" + drawn(36)
    result = mask_secrets(f"{key} {comment}\n{key}\n")
    assert result.text == f"{key} {comment}\n[masked:github-token]\n"
    assert [secret.line for secret in result.secrets] == [2]


# --- Laws ------------------------------------------------------------------------------------------------------------

_PIECES = (
    *("the word ", "\n", "\n\n", "`", '"', "token=", "secret: ", "aws key ", "://a:", "@host ", "-", "_", ".", ":"),
    *("=", "\\n", "\n> ", "```\n", "\u5bc6\u94a5", "\u0130", "[masked:x]", " eyJ", "ghp_", "sk-", "key-", "AA"),
    *("xxxxxxxxx", "-----END", "-----BEGIN PRIVATE KEY-----", "kind: Secret\n", "data:\n", "\n  a: "),
)

_BEGINNINGS = [
    *("gho_", "github_pat_", "sk_live_", "rk_test_", "hf_", "api_org_", "npm_", "dop_v1_", "dckr_pat_", "shpat_"),
    *("shpca_", "shppa_", "shpss_", "lin_api_", "ntn_12345678901", "whsec_", "gsk_", "glsa_", "glpat-", "glptt-"),
    *("gldt-", "glrt-", "glcbt-", "glagent-", "gloas-", "glft-", "glimt-", "glsoat-", "xoxb-", "xoxe.", "xoxe.xoxp-"),
    *("xapp-", "sk-ant-", "sk-proj-", "GOCSPX-", "pypi-AgE", "-us12", "AGE-SECRET-KEY-1", "SG.", "ya29.", "hvs."),
    *("AKIA", "ACCA", "ATATT3x", "AIza", "SK", "dapi", "https://hooks.slack.com/services/T"),
    *("https://discord.com/api/webhooks/", "AWS_secret=", "Aws KEY ", "password: ", "pwd=>", "api key = "),
    *("authorization: bearer ", "AccountKey=", "123456789:AA", "<token>", "</token>", '"secret", \''),
    *("LTAI", "AKID", "secret_", "HRKU-", "xkeysib-", "access_token$production$", "sshpass -p ", "IDENTIFIED BY '"),
    *(
        "create user a password '",
        "password: >\n  ",
        "_auth=",
        "encryption_key=",
        "secret\n  value: ",
        " -u me:",
        "--user=me:",
        "--api-token ",
        "login me password ",
        "?sig=",
        "%3D",
    ),
]
"""Beginnings of secrets of every family, and ends of some."""

_planted = st.sampled_from(SAMPLES)


@given(
    st.lists(
        st.one_of(st.sampled_from(_PIECES), _planted.map(lambda sample: "".join(sample[1:])), st.text()), max_size=9
    )
)
def test_a_masked_text_is_masked_already(pieces: list[str]) -> None:
    text = "".join(pieces)
    masked = mask_secrets(text)
    assert mask_secrets(masked.text).text is masked.text
    assert masked.text.count("\n") == text.count("\n")
    assert list(find_secrets(text)) == list(masked.secrets)
    assert list(find_secrets(masked.text)) == []


_bodies = st.text(st.sampled_from("aB3x-_.+/=%\\\"'f0"), min_size=10, max_size=45)
"""What may stand behind a prefix: of some shapes a secret, of others none."""


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*_PIECES, *_BEGINNINGS]),
            _bodies,
            _planted.map(lambda sample: "".join(sample[1:])),
            st.sampled_from(["\n", " ", "\uff1a", "\u00e9", "-", ","]),
        ),
        max_size=12,
    )
)
def test_no_secret_is_overlooked_for_the_sake_of_speed(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = list(find_secrets(text))
    families = [
        (holds if of is ARGUMENT_SHAPES else lambda *_texts: True, of)
        for holds, of in (*LONG_FAMILIES, *SHORT_FAMILIES)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_scanner, "SHORT_FAMILIES", families)
        patch.setattr(secret_scanner, "_may_hold_long_word", lambda _text: False)
        patch.setattr(secret_scanner, "_may_hold_block", lambda _text: True)
        assert found == list(find_secrets(text))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("whsec_ab+" + drawn(24) + " is it", "[masked:webhook-secret] is it"),
        ("xoxe." + drawn(20) + " is it", "[masked:slack-token] is it"),
        ("Authorization, Bearer " + drawn(32) + " is it", "Authorization, Bearer [masked:authorization-header] is it"),
    ],
)
def test_a_secret_is_masked_whatever_else_its_text_holds(text: str, masked: str) -> None:
    """P27: one with a sign of base64 at its beginning, one without a hyphen, a header without quotes."""
    assert mask_secrets(text).text == masked


@given(_planted, st.lists(st.sampled_from(_PIECES)), st.lists(st.sampled_from(_PIECES)))
def test_no_part_of_a_planted_secret_stays(
    sample: tuple[str, str, str, str], pieces_before: list[str], pieces_behind: list[str]
) -> None:
    """P27: in any company, no eight characters of it."""
    _, before, value, behind = sample
    text = "".join(pieces_before) + f"\n\n{before}{value}{behind}\n\n" + "".join(pieces_behind)
    masked = mask_secrets(text).text
    words = [
        word for word in value.replace("\\n", "\n").split() if "-----" not in word and word not in {"PRIVATE", "RSA"}
    ]
    parts = [word[at : at + 8] for word in words for at in range(max(len(word) - 7, 1)) if len(word) >= 8]
    assert [part for part in parts if part in masked] == []


@given(
    _planted,
    st.text(
        st.characters(codec="utf-8", categories=["L", "Zs", "P"], exclude_characters="-:=@#.'\"`_/+~"), max_size=40
    ),
)
def test_the_text_around_a_secret_stays_byte_for_byte(sample: tuple[str, str, str, str], words: str) -> None:
    kind, before, value, behind = sample
    masked = mask_secrets(f"{words}\n\n{before}{value}{behind}\n\n{words}").text
    assert masked == f"{words}\n\n{before}[masked:{kind}]{chr(10) * value.count(chr(10))}{behind}\n\n{words}"
