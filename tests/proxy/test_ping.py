"""Reaching an upstream is told from not reaching it, and nothing is sent to find out."""

import socket
import ssl
from collections.abc import Iterator

import pytest

from policies.decision import Leg
from proxy.config import Config, Timeouts, UpstreamSettings
from proxy.ping import ping_all


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def config(url: str, leg: Leg = Leg.CLOUD) -> Config:
    upstream = UpstreamSettings("up", leg, url, ("openai",), "none")
    return Config(upstreams=(upstream,), timeouts=Timeouts(connect=0.5))


def pinged(config: Config) -> tuple[bool, list[str]]:
    lines: list[str] = []
    return ping_all(config, lines.append), lines


def test_nothing_is_sent(server: socket.socket) -> None:
    """A connection is made and closed; the upstream reads not one byte."""
    assert pinged(config(f"http://127.0.0.1:{server.getsockname()[1]}")) == (
        True,
        ["up: reachable"],
    )
    peer, _ = server.accept()
    with peer:
        assert peer.recv(1) == b""


def test_a_name_that_leads_out_of_the_house_is_not_local(
    server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a local leg it is the peer's address that counts."""
    monkeypatch.setattr("proxy.ping.is_local", lambda peer, tailnet: peer != "127.0.0.1")
    good, lines = pinged(config(f"http://127.0.0.1:{server.getsockname()[1]}", Leg.LOCAL))
    assert (good, lines) == (False, ["up: is not at an address of this house"])


def test_plain_text_where_tls_should_be(server: socket.socket) -> None:
    """A server that stays silent on a TLS greeting is no upstream."""
    good, lines = pinged(config(f"https://127.0.0.1:{server.getsockname()[1]}"))
    assert (good, lines) == (False, ["up: did not answer in time"])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ssl.SSLCertVerificationError("x"), "shows a certificate that is not valid"),
        (
            ConnectionRefusedError(111, "Connection refused"),
            "cannot be reached: Connection refused",
        ),
        (socket.gaierror(-2, "Name or service not known"), "cannot be reached: Name or service"),
        (OSError(), "cannot be reached: OSError"),
    ],
)
def test_each_failure_has_its_words(
    monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    """Names, ports and certificates fail in different words."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(socket, "create_connection", fail)
    good, lines = pinged(config("https://up.example"))
    assert not good
    assert lines[0].startswith(f"up: {words}")


def test_tls_is_greeted_under_the_upstreams_name(
    server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate must be valid for the host that is in the configuration."""
    names: list[str] = []

    class Context:
        def wrap_socket(self, raw: socket.socket, server_hostname: str) -> socket.socket:
            names.append(server_hostname)
            return raw

    monkeypatch.setattr(ssl, "create_default_context", Context)
    good, _ = pinged(config(f"https://localhost:{server.getsockname()[1]}"))
    assert good
    assert names == ["localhost"]
