"""The address that clients are given is the one that the node answers at."""

import os
from pathlib import Path

import pytest

from proxy import address
from proxy.address import Address, Unknown, find
from proxy.config import sources
from proxy.control import NoNode
from proxy.problems import Invalid

TOKEN = f"[[client]]\nname = 'laptop'\ntoken_sha256 = '{'0' * 64}'\n"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No node, no configuration but the one that a test writes."""
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    return tmp_path


def environ(house: Path) -> dict[str, str]:
    return {"HOME": str(house), "PATH": os.environ["PATH"]}


def configured(house: Path, text: str) -> Address:
    file = house / "c.toml"
    file.write_text(text)
    return find(file, environ(house))


def answering(monkeypatch: pytest.MonkeyPatch, **facts: object) -> None:
    monkeypatch.setattr(address, "ask", lambda folder, verb: {"ok": True, **facts})


def test_the_running_node_knows_best(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its real port, its names, whether it asks for a token."""
    answering(
        monkeypatch,
        url="http://127.0.0.1:41231",
        names=["transom.lan"],
        token=True,
        version="0.1.0",
    )
    found = find(None, environ(house))
    assert found == Address("http://127.0.0.1:41231", ("transom.lan",), True, "0.1.0")
    assert found.url == "http://127.0.0.1:41231/t/YOUR-TOKEN"


def test_a_file_that_is_named_is_asked_about(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names a configuration means that one, not the node that happens to run."""
    answering(monkeypatch, url="http://127.0.0.1:41231")
    assert configured(house, "[listen]\nport = 9\n") == Address("http://127.0.0.1:9")


def test_without_a_node_the_configuration_tells(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default without a file."""

    def nobody(folder: Path, verb: str) -> None:
        raise NoNode("no")

    monkeypatch.setattr(address, "ask", nobody)
    assert find(None, environ(house)) == Address("http://127.0.0.1:8787")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("0.0.0.0", "http://127.0.0.1:9"),
        ("::", "http://[::1]:9"),
        ("::1", "http://[::1]:9"),
        ("localhost", "http://localhost:9"),
    ],
)
def test_a_listener_on_every_address_is_called_by_one(house: Path, host: str, origin: str) -> None:
    """`http://0.0.0.0` is no address to paste: the door would not know that name."""
    assert configured(house, f"[listen]\nhost = '{host}'\nport = 9\n{TOKEN}").origin == origin


def test_a_running_node_on_every_address_too(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for what the node says of itself."""
    answering(monkeypatch, url="http://0.0.0.0:9")
    assert find(None, environ(house)).url == "http://127.0.0.1:9"
    answering(monkeypatch, url="http://[::]:9")
    assert find(None, environ(house)).url == "http://[::1]:9"


def test_a_port_that_is_not_chosen_yet_is_not_made_up(house: Path) -> None:
    """With port 0 only a running node knows."""
    with pytest.raises(Unknown, match=r"listen\.port = 0"):
        configured(house, "[listen]\nport = 0\n")


def test_a_broken_configuration_is_reported_whole(house: Path) -> None:
    """As everywhere else."""
    with pytest.raises(Invalid):
        configured(house, "[listen]\nport = 'x'\n")
