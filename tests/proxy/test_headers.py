"""Which request headers go on, and which are credentials."""

import pytest

from proxy.headers import is_credential, split, token_in


def names(headers):
    return [name for name, _ in headers]


@pytest.mark.parametrize(
    "name",
    [
        "Connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Proxy-Connection",
        "Proxy-Authorization",
        "Host",
        "Content-Length",
        "Content-Encoding",
        "Expect",
        "Cookie",
        "Accept-Encoding",
        "X-Transom-Token",
        "x-transom-anything",
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "Via",
        "X-Real-IP",
        "CF-Connecting-IP",
        "cf-ray",
        "True-Client-IP",
        "CDN-Loop",
        "X-Envoy-External-Address",
        "X-Original-URL",
        "HTTP2-Settings",
    ],
)
def test_what_belongs_to_this_hop_stays(name):
    """Hop-by-hop, forwarding and our own headers go nowhere, neither as headers nor credentials."""
    assert split([(name, "x")]) == ((), ())


def test_everything_else_goes_on_in_order_and_repeated():
    """Unknown, vendors' and repeated headers pass as they came, names as written."""
    came = [
        ("Anthropic-Beta", "a,b"),
        ("x-unknown", "1"),
        ("anthropic-beta", "c"),
        ("X-Unknown", "2"),
        ("anthropic-version", "2023-06-01"),
        ("X-Stainless-Lang", "js"),
        ("x-codex-turn-metadata", '{"a":1}'),
        ("chatgpt-account-id", "acc"),
        ("OpenAI-Organization", "org"),
        ("User-Agent", "claude-cli/2.1.332 (external, cli)"),
        ("session_id", "s"),
        ("cf-aig-skip-cache", "true"),
    ]
    assert split(came) == (tuple(came), ())


def test_headers_that_connection_names_stay():
    """`Connection: x` makes x a header of this hop alone, in any case and in any list."""
    came = [
        ("X-One", "1"),
        ("connection", "close, x-ONE"),
        ("x-two", "2"),
        ("Connection", "X-Two"),
        ("x-three", "3"),
    ]
    assert names(split(came)[0]) == ["x-three"]


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "x-api-key",
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "anthropic-auth-token",
        "Anthropic-Authorization",
        "ocp-apim-subscription-key",
        "x-access-token",
        "apikey",
        "api_key",
        "X-Auth-Key",
        "private-token",
        "Helicone-Auth",
        "x-portkey-authorization",
        "cf-aig-authorization",
    ],
)
def test_credentials_are_set_apart(name):
    """Whatever says who pays is returned apart from the headers."""
    assert is_credential(name)
    assert split([("a", "b"), (name, "v")]) == ((("a", "b"),), ((name, "v"),))


@pytest.mark.parametrize(
    "name", ["openai-organization", "openai-project", "anthropic-beta", "x-app", "x-goog-authuser"]
)
def test_what_is_no_credential(name):
    """Organisation and project are no credentials."""
    assert not is_credential(name)


@pytest.mark.parametrize(
    ("name", "value", "token"),
    [
        ("Authorization", "Bearer abc", "abc"),
        ("authorization", "bearer  abc ", "abc"),
        ("authorization", "Basic abc", "Basic abc"),
        ("authorization", "abc", "abc"),
        ("x-api-key", "Bearer abc", "Bearer abc"),
        ("x-api-key", " abc", "abc"),
    ],
)
def test_the_token_in_a_credential(name, value, token):
    """A bearer scheme is taken off Authorization only."""
    assert token_in(name, value) == token
