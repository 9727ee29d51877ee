"""Addresses are read strictly, folded as clients write them, and our own listener is recognised."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config.addresses import is_loopback, is_own_listener, read_base, read_host, read_origin


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com"),
        ("https://api.openai.com/v1", "https://api.openai.com"),
        ("https://api.openai.com/v1/", "https://api.openai.com"),
        ("HTTPS://API.OpenAI.com:443/", "https://api.openai.com"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("http://[::1]:11434/", "http://[::1]:11434"),
        ("http://host.example:80", "http://host.example"),
        ("https://gw.example/team-a/v1", "https://gw.example/team-a"),
        ("https://gw.example/v1/proxy", "https://gw.example/v1/proxy"),
        ("http://ollama:11434", "http://ollama:11434"),
        ("http://my_box.lan.", "http://my_box.lan."),
    ],
)
def test_a_base_url_is_folded(written: str, url: str) -> None:
    """Slash, own port, case and a trailing /v1 make no difference; a path prefix stays."""
    assert read_base(written).url == url


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "http:// or https://"),
        ("api.openai.com", "http:// or https://"),
        ("ftp://host", "http:// or https://"),
        ("unix:///run/x.sock", "http:// or https://"),
        ("http://", "host name"),
        ("http://:80", "host name"),
        ("http://host:0", "port"),
        ("http://host:70000", "such as"),
        ("http://host:x", "such as"),
        ("http://[::1", "such as"),
        ("http://user:pass@host", "user name or password"),
        ("http://host@evil.example", "user name or password"),
        ("http://host?x=1", "query"),
        ("http://host/#x", "query or a fragment"),
        ("http://host/?", "query"),
        ("http://host/a/../b", "path prefix"),
        ("http://host/./b", "path prefix"),
        ("http://host//b", "path prefix"),
        ("http://host/%2e%2e", "path prefix"),
        ("http://host/a;b", "path prefix"),
        ("http://ho st", "printable ASCII"),
        ("http://host\\@evil", "printable ASCII"),
        ("http://host\n", "printable ASCII"),
        ("http://höst", "printable ASCII"),
        ("http://-host", "host name"),
        ("http://2130706433", "host name"),
        ("http://0x7f.1", "host name"),
        ("http://127.1", "host name"),
        ("http://010.0.0.1", "host name"),
        ("http://[fe80::1%25eth0]", "host name"),
    ],
)
def test_what_is_no_plain_address_is_refused(written: str, words: str) -> None:
    """Passwords, queries, numbers that only resolvers read as addresses: refused, not repeated."""
    with pytest.raises(ValueError, match=words) as caught:
        read_base(written)
    assert "pass@" not in str(caught.value)
    assert "evil" not in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    """Nothing fails in another way, and what is read reads the same again."""
    for written in (text, f"http://{text}", f"https://host/{text}"):
        try:
            base = read_base(written)
        except ValueError:
            continue
        assert read_base(base.url) == base or base.path.endswith("/v1")


def test_only_the_vendors_own_addresses_are_theirs() -> None:
    """Plain HTTP, other ports, prefixes and look-alikes are not the vendors' own addresses."""
    assert read_base("https://api.anthropic.com/v1").is_vendor
    assert not read_base("http://api.anthropic.com").is_vendor
    assert not read_base("https://api.anthropic.com:8443").is_vendor
    assert not read_base("https://api.anthropic.com/x").is_vendor
    assert not read_base("https://api.anthropic.com.evil.example").is_vendor


def test_host_names() -> None:
    """Names and literals are hosts; zones, blanks and empty labels are not."""
    assert read_host("localhost")
    assert read_host("::1")
    assert read_host("a-b.example")
    assert not any(map(read_host, ["", "a..b", "fe80::1%eth0", "a b", "*", "x" * 64]))


@pytest.mark.parametrize(
    ("origin", "good"),
    [
        ("http://localhost:3000", True),
        ("https://app.example", True),
        ("https://app.example:443", True),
        ("http://[::1]:80", True),
        ("chrome-extension://abcdefghijklmnop", True),
        ("http://localhost:3000/", False),
        ("http://localhost/v1", False),
        ("https://APP.example", False),
        ("*", False),
        ("null", False),
        ("localhost:3000", False),
        ("http://a b", False),
        ("app://a/b", False),
    ],
)
def test_origins(origin: str, good: bool) -> None:
    """An origin is written as browsers send it; there is no wildcard."""
    assert read_origin(origin) is good


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("box.lan", False),
    ],
)
def test_loopback(host: str, ours: bool) -> None:
    """Only loopback cannot be reached from outside."""
    assert is_loopback(host) is ours


@pytest.mark.parametrize(
    ("target", "listen", "same"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("localhost", "::1", True),
        ("127.0.0.1", "localhost", True),
        ("localhost.", "127.0.0.1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("0.0.0.0", "localhost", True),
        ("127.0.0.1", "::1", False),
        ("127.0.0.2", "127.0.0.1", False),
        ("192.168.7.7", "192.168.7.7", True),
        ("box.lan", "box.lan", True),
        ("127.0.0.1", "0.0.0.0", True),
        ("127.8.8.8", "0.0.0.0", True),
        ("0.0.0.0", "0.0.0.0", True),
        ("::1", "::", True),
        ("localhost", "0.0.0.0", True),
        ("203.0.113.9", "0.0.0.0", False),
        ("2001:db8::9", "::", False),
        ("api.example", "0.0.0.0", False),
    ],
)
def test_our_own_listener_is_recognised(target: str, listen: str, same: bool) -> None:
    """Names and addresses of one machine that lead to one listener count as one."""
    assert is_own_listener(target, 8787, listen, 8787) is same
    assert not is_own_listener(target, 8786, listen, 8787)


def test_a_port_that_is_not_known_yet_is_nobodys() -> None:
    """Port 0 takes a free port, which no upstream can have in its address."""
    assert not is_own_listener("127.0.0.1", 0, "127.0.0.1", 0)


def test_this_machines_own_name_is_this_machine() -> None:
    """A listener on all addresses is reached by the host's own name too."""
    assert is_own_listener(socket.gethostname().lower(), 1, "0.0.0.0", 1)


def test_an_address_that_can_be_bound_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener on all addresses is reached by every address that an interface has."""

    class Willing:
        def __init__(self, *_: object) -> None: ...
        def __enter__(self) -> "Willing":
            return self

        def __exit__(self, *_: object) -> None: ...
        def bind(self, address: tuple[str, int]) -> None:
            assert address == ("203.0.113.9", 0)

    monkeypatch.setattr(socket, "socket", Willing)
    assert is_own_listener("203.0.113.9", 1, "0.0.0.0", 1)
