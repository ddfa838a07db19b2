"""Secrets of every kind, and texts that are none.

No secret stands in this file: each is put together, so that no scanner is set off by it.
"""

from __future__ import annotations

import json
import random
import string
from base64 import urlsafe_b64encode

LETTERS = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"


def drawn(length: int, signs: str = LETTERS) -> str:
    """Random signs, the same ones in every run."""
    return "".join(random.Random(length).choices(signs, k=length))


def packed(value: object) -> str:
    """A part of a JWT."""
    return urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def jwt(header: object, claims: object) -> str:
    """Three parts, the last one drawn."""
    return f"{packed(header)}.{packed(claims)}.{drawn(43)}"


def pem(words: str, body: str, end: str = "\n") -> str:
    """A private key of some sort."""
    return f"-----{'BEGIN'} {words}{'PRIVATE'} KEY-----{end}{body}"


SHAPES: list[tuple[str, str]] = [
    ("aws-access-key-id", "AK" + "IA" + drawn(16, UPPER)),
    ("aws-access-key-id", "AS" + "IA" + drawn(16, UPPER)),
    *[("github-token", f"gh{kind}" + "_" + drawn(36)) for kind in "pousr"],
    ("github-token", "github" + "_pat_" + drawn(22) + "_" + drawn(59)),
    ("gitlab-token", "gl" + "pat-" + drawn(20)),
    ("slack-token", "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(24)),
    ("slack-webhook", "hooks.slack.com/" + f"services/T{drawn(9, UPPER)}/B{drawn(10, UPPER)}/{drawn(24)}"),
    ("stripe-key", "sk" + "_live_" + drawn(24)),
    ("stripe-key", "rk" + "_live_" + drawn(99)),
    ("anthropic-key", "sk" + "-ant-" + "api03-" + drawn(93) + "AA"),
    ("openai-key", "sk" + "-" + drawn(48)),
    ("openai-key", "sk" + "-proj-" + drawn(48) + "_" + drawn(48)),
    ("google-api-key", "AI" + "za" + drawn(35)),
    ("npm-token", "np" + "m_" + drawn(36)),
    ("pypi-token", "pypi" + "-AgEI" + drawn(150)),
    ("sendgrid-key", "S" + "G." + drawn(22) + "." + drawn(43)),
    ("twilio-key", "S" + "K" + drawn(32, HEX)),
    ("huggingface-token", "h" + "f_" + drawn(34)),
    ("huggingface-token", "api" + "_org_" + drawn(34, string.ascii_letters)),
    ("digitalocean-token", "dop" + "_v1_" + drawn(64, HEX)),
    *[
        ("gitlab-token", f"gl{kind}" + "-" + drawn(20))
        for kind in ("ptt", "dt", "rt", "cbt", "agent", "oas", "ft", "imt", "soat")
    ],
    ("slack-token", "xo" + "xe." + "xoxp-" + drawn(40)),
    ("slack-webhook", "https://hooks.slack.com/" + f"triggers/{drawn(40)}"),
    ("stripe-key", "sk" + "_test_" + drawn(10)),
    ("google-oauth-secret", "GOC" + "SPX-" + drawn(28)),
    ("openai-key", "sk" + "-svcacct-" + drawn(40) + "T3Blbk" + "FJ" + drawn(40)),
    ("mailgun-key", "ke" + "y-" + drawn(32, HEX)),
    ("mailchimp-key", drawn(32, HEX) + "-us" + "12"),
    ("telegram-token", drawn(9, "123456789") + ":A" + "A" + drawn(33)),
    ("discord-token", "M" + drawn(25) + "." + drawn(6) + "." + drawn(30)),
    ("docker-token", "dckr" + "_pat_" + drawn(27)),
    ("shopify-token", "shp" + "at_" + drawn(32, HEX)),
    ("linear-key", "lin" + "_api_" + drawn(40)),
    ("databricks-token", "da" + "pi" + drawn(32, HEX)),
    ("notion-token", "nt" + "n_" + drawn(11, string.digits) + drawn(35)),
    ("grafana-token", "gl" + "sa_" + drawn(32) + "_" + drawn(8, HEX)),
    ("webhook-secret", "wh" + "sec_" + drawn(32)),
    ("groq-key", "gs" + "k_" + drawn(52)),
    ("google-oauth-token", "ya" + "29." + drawn(120)),
    ("atlassian-token", "ATAT" + "T3x" + drawn(180) + "=" + drawn(8, "0123456789ABCDEF")),
    ("discord-webhook", "https://discord.com/" + f"api/webhooks/{drawn(18, '123456789')}/{drawn(68)}"),
    ("discord-webhook", "https://discordapp.com/" + f"api/webhooks/{drawn(18, '123456789')}/{drawn(68)}"),
    ("vault-token", "hv" + "s." + drawn(95)),
    ("age-key", "AGE-SECRET" + "-KEY-1" + drawn(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    ("jwt", jwt({"alg": "HS256", "typ": "JWT"}, {"sub": "42", "name": "Ada"})),
]
"""Kind and value of secrets that are known by themselves."""

IN_CONTEXT: list[tuple[str, str, str, str]] = [
    ("aws-secret-key", "aws_secret_access_key = ", drawn(40, LETTERS + "/+"), "\n"),
    ("azure-storage-key", "AccountName=a;Account" + "Key=", drawn(86) + "==", ";EndpointSuffix=core"),
    ("authorization-header", "curl -H 'Authorization: Bearer ", drawn(32), "' https://a.io"),
    ("authorization-header", '{"authorization": "Basic ', drawn(28), '"}'),
    ("azure-signature", "https://a.blob.io/b?sv=2024-05-04&" + "sig=", drawn(20) + "%2F" + drawn(22) + "%3D", "&se=1"),
    ("url-password", "postgres://app:", "hun" + "ter22", "@db.corp.io:5432/main"),
    ("url-password", "redis://:", drawn(40), "@cache"),
    ("assigned-secret", "api_key: ", drawn(32), " # rotate"),
    ("assigned-secret", "export DB_PASSWORD='", drawn(20), "'"),
    ("assigned-secret", '"clientSecret" => "', drawn(300), '",'),
    ("assigned-secret", "my.Credential.x := ", drawn(24), ""),
    *[
        ("assigned-secret", before, drawn(24), behind)
        for before, behind in (
            ("Password: `", "`"),
            ("**Password:** ", ""),
            ("**Password**: ", " (root)"),
            ("api-key: ", ""),
            ("API key: ", ""),
            ("X-API-Key: ", "'"),
            ("pwd: ", ""),
            ("DB_PASS=", ""),
            ("private_key: ", ""),
            ("Password\uff1a", ""),
            ("deploy --token ", " --now"),
            ("deploy --registry-api-key '", "'"),
            ("deploy --api-key=", ""),
            ('os.getenv("TOKEN", "', '")'),
            ("<password>", "</password>"),
            ("curl -u admin:", " https://a.io"),
            ("curl --user admin:", " https://a.io"),
            ("- name: DB_PASSWORD\n  value: ", "\n"),
            ("machine h.io login bob password ", "\n"),
            ('{"text": "{\\"token\\": \\"', '\\"}"}'),
        )
    ],
    ("assigned-secret", 'token: "', drawn(10) + '\\"' + drawn(11), '"'),
    ("authorization-header", "headers['Authorization'] = 'Bearer ", drawn(32), "'"),
    ("authorization-header", 'setHeader("Authorization", "Bearer ', drawn(32), '")'),
    ("authorization-header", "Authorization: ApiKey ", drawn(32), ""),
    (
        "kubernetes-secret",
        "kind: Secret\nmetadata:\n  name: a\ndata:\n  id: bob\n  pw: ",
        drawn(24),
        "\ntype: Opaque\n",
    ),
    ("kubernetes-secret", "kind: Secret\nstringData:\n\n  pw: '", drawn(12), "'\n---\nkind: Pod\n"),
]
"""Kind, text before, value and text behind of secrets that are known by what stands before them."""

OF_MANY_LINES: list[tuple[str, str, str, str]] = [
    ("private-key", "Key:\n\n", pem("RSA ", f"{drawn(64)}\n{drawn(63)}\n-----END RSA PRIVATE KEY-----"), "\n\nText.\n"),
    ("private-key", "```\n", pem("", f"{drawn(64)}\n{drawn(63)}"), "\n```\nText.\n"),
    ("private-key", "", pem("EC ", f"{drawn(64)}\n{drawn(63)}"), "\n\nText.\n"),
    ("private-key", "> ", pem("", f"> {drawn(64)}\n> {drawn(20)}\n> -----END PRIVATE KEY-----"), " Text.\n"),
    ("private-key", "Public-Lines: 1\nAAAA\nPrivate-Lines: 2\n", f"{drawn(64)}\n{drawn(63)}=", "\nPrivate-MAC: 12\n"),
    ("kubernetes-secret", "kind: Secret\ndata:\n  pw: |\n    ", f"{drawn(64)}\n    {drawn(63)}", "\n  id: bob\n"),
]
"""The same of secrets of several lines."""

NEAR_MISSES: list[tuple[str, str]] = [
    ("aws-access-key-id", "AK" + "IA" + drawn(20, UPPER)),
    ("aws-secret-key", "aws s3 ls, and the key is " + drawn(39, LETTERS)),
    ("github-token", "rotate the ghp_ token, and github_pat_ ones"),
    ("gitlab-token", "glpat-short and english-language-learners-of-today"),
    ("slack-token", "xoxb-token and xoxb-12345"),
    ("slack-webhook", "https://hooks.slack.com/services/ is the address"),
    ("stripe-key", "task_live_" + drawn(24) + " and sk_live_short"),
    ("anthropic-key", "keys begin with sk-ant-api03-"),
    ("openai-key", "sk-learn, risk-averse-and-otherwise-careful-people, sk-folding-cube-of-the-spinner-library"),
    ("google-api-key", "AI" + "za" + drawn(36)),
    ("google-oauth-secret", "GOC" + "SPX-" + drawn(20)),
    ("huggingface-token", "hf_hub_download and hf_" + drawn(20)),
    ("npm-token", "npm_config_registry and np" + "m_" + drawn(37)),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc begins each"),
    ("sendgrid-key", "SG.txt, MSG.of.the.day"),
    ("mailgun-key", "key-value-store, cache_key-" + drawn(32, HEX) + " monkey-" + drawn(32, HEX)),
    ("mailchimp-key", "the-us1 list and " + drawn(31, HEX) + "-us1"),
    ("telegram-token", "12:30@noon and 12345678:AAbc"),
    ("discord-token", "Module.class_.method and MIT.Apache.BSD"),
    ("digitalocean-token", "dop_v1_" + drawn(40, HEX)),
    ("docker-token", "dckr_pat_short"),
    ("shopify-token", "shpat_" + drawn(31, HEX)),
    ("linear-key", "lin_api_" + drawn(39)),
    ("databricks-token", "dapi" + drawn(31, HEX)),
    ("notion-token", "ntn_" + drawn(20)),
    ("grafana-token", "glsa_" + drawn(32)),
    ("twilio-key", "SK" + drawn(31, HEX) + " and TASK" + drawn(32, HEX)),
    ("vault-token", "hvs.short"),
    ("age-key", "AGE-SECRET-KEY-1 begins each"),
    ("azure-storage-key", "AccountKey=<key>"),
    ("azure-signature", "https://a.blob.io/b?sig=<signature>%3D and design=" + drawn(43) + "%3D"),
    ("webhook-secret", "whsec_ begins each, whsec_" + drawn(20)),
    ("groq-key", "gsk_" + drawn(20)),
    ("google-oauth-token", "ya29.short"),
    ("atlassian-token", "ATATT3x begins each"),
    ("discord-webhook", "https://discord.com/api/webhooks/{id}/{token}"),
    ("jwt", f"eyJ{drawn(20)}.eyJ{drawn(20)}.{drawn(20)}"),
    ("private-key", "-----BEGIN PRIVATE KEY----- goes here, `-----END PRIVATE KEY-----` ends it"),
    ("private-key", "Public-Lines: 1\n" + drawn(64) + "\nPrivate-Lines: as many as it says\n"),
    ("private-key", "-----BEGIN PUBLIC KEY-----\n" + drawn(64) + "\n-----END PUBLIC KEY-----"),
    ("authorization-header", "Authorization: Bearer $TOKEN, authorization: token <token>"),
    ("url-password", "https://me:$PASS@db.corp.io, ssh://git@github.com/a/b, https://host:8080/@scope/package"),
    (
        "assigned-secret",
        "max_tokens: 16000, token: {{ TOKEN }}, secret: ${SECRET}, password=short, token = aaaabbbbaaaabbbbaaaa",
    ),
    *[
        ("assigned-secret", text)
        for text in (
            "secretName: my-app-tls-secret-2024",
            "secret: /run/secrets/db_password",
            "passwordFile: /etc/foo/bar-Baz123",
            "token: o200k_base-2024-05-13",
            "PasswordResetTokenGenerator = make_token_generator_v2",
            "password_hash: " + drawn(64, HEX),
            "build_token_rev: " + drawn(40, HEX),
            "The password is: `short`, **Password:** ask-somebody, API key: see-the-wiki",
            "compass: " + drawn(24) + " and bypass=" + drawn(24),
            "deploy --token $TOKEN --token-file /etc/app/token-2024 --key-file " + drawn(24),
            'os.getenv("TOKEN", "") and ["token", "completely-unguessable"]',
            "<password>{{ password }}</password><token>",
            "curl -u admin:$PASSWORD https://a.io, docker run -u 1000:1000",
            "- name: DB_PASSWORD\n  valueFrom: here",
            "login with your password " + drawn(8),
        )
    ],
    ("kubernetes-secret", "kind: SecretStore\ndata:\n  name: production\n"),
    ("kubernetes-secret", "kind: Secret\ndata:\n  name: bob\nspec:\n  replicated: everywhere\n"),
    ("hash", drawn(40, HEX) + " sha256:" + drawn(64, HEX)),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
    ("id", "id: 01ARZ3NDEKTSV4RRFFQ69G5FAV, m-20250310-7f3a"),
]
"""A text for every kind that only looks like one, and ids that look like none."""
