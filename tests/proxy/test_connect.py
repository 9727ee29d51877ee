"""`transom connect` prints what to paste on one stream and what to know on the other."""

import json
from pathlib import Path

import pytest

from proxy import address, cli
from proxy.clients import recipes
from proxy.config import sources
from proxy.leaving import Leaving

SECRET = "sk-" + "q7Zk29xWv41"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own without a node."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    return tmp_path


def running(monkeypatch: pytest.MonkeyPatch, **facts: object) -> None:
    monkeypatch.setattr(address, "ask", lambda folder, verb: {"ok": True, **facts})


def test_alone_it_lists_the_clients(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line each; as JSON one object each."""
    assert cli.run(["connect"]) == 0
    assert capsys.readouterr().out.count("\n") == len(recipes())
    assert cli.run(["connect", "--json"]) == 0
    said = capsys.readouterr()
    listed = [json.loads(line) for line in said.out.splitlines()]
    assert [each["client"] for each in listed] == [recipe.id for recipe in recipes()]
    assert said.err == ""


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.id)
def test_each_recipe_is_printed_with_the_address(
    house: Path, capsys: pytest.CaptureFixture[str], recipe: object
) -> None:
    """The default address without a node and a configuration, and which one it is."""
    name = str(getattr(recipe, "id", ""))
    assert cli.run(["connect", name.upper()]) == 0
    said = capsys.readouterr()
    assert "http://127.0.0.1:8787" in said.out
    assert "ried" in said.out.splitlines()[-1]
    assert said.err == "address: http://127.0.0.1:8787, by the configuration; no node runs\n"
    assert cli.run(["connect", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["client"] == name
    assert told["address"] == "http://127.0.0.1:8787"
    assert set(told["settings"][0]) == {"where", "text"}


def test_a_running_node_is_asked(
    house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port, its names, the place of the token, and that it is another version than this."""
    running(
        monkeypatch, url="http://127.0.0.1:9", names=["transom.lan"], token=True, version="0.0.1"
    )
    assert cli.run(["connect", "openai"]) == 0
    said = capsys.readouterr()
    assert "export OPENAI_BASE_URL=http://127.0.0.1:9/t/YOUR-TOKEN/v1" in said.out
    assert said.err.splitlines()[:3] == [
        "address: http://127.0.0.1:9, of the running node",
        "it also answers to: transom.lan",
        "it asks for a client token: write yours in place of YOUR-TOKEN",
    ]
    assert said.err.splitlines()[3].startswith("warning: the node is version 0.0.1, this is ")


def test_an_unknown_client_is_not_repeated(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A near name is offered; what was typed, which may be a secret, is not shown."""
    assert cli.run(["connect", "claud-code"]) == 2
    assert capsys.readouterr().err == (
        "error: there is no recipe for this client; did you mean `claude-code`?\n\n"
        "hint: transom connect\n"
    )
    assert cli.run(["connect", SECRET]) == 2
    assert SECRET not in capsys.readouterr().err


def test_a_port_that_only_a_node_knows(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 3: a running node would be needed."""
    file = house / "c.toml"
    file.write_text("[listen]\nport = 0\n")
    assert cli.run(["connect", "codex", "-c", str(file)]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("hint: transom serve\n")


@pytest.mark.parametrize(
    ("text", "client", "says"),
    [
        (
            'profile = "private"',
            "claude-code",
            "(profile private): a cloud model sees your current",
        ),
        ('profile = "balanced"', "claude-code", "it reads files again after each new instruction"),
        ('profile = "balanced"', "open-webui", "pictures, documents and search results"),
        ('profile = "relay"', "openai", "the whole history"),
        ('[minimality]\nmode = "strict"', "codex", '(minimality.mode = "strict"): '),
        (
            '[[route]]\nupstream = "claude"\nmodel = "x-*"\nprofile = "private"',
            "codex",
            "For models x-* it is strict.",
        ),
    ],
)
def test_it_says_what_the_profile_means_for_a_client(
    house: Path, capsys: pytest.CaptureFixture[str], text: str, client: str, says: str
) -> None:
    """In words, with how to choose another; as JSON the mode as well."""
    (house / "c.toml").write_text(text)
    assert cli.run(["connect", "-c", str(house / "c.toml"), client]) == 0
    said = capsys.readouterr().out
    assert says in said
    assert 'profile = "' in said.partition("To choose another: ")[2]
    assert cli.run(["connect", "-c", str(house / "c.toml"), "--json", client]) == 0
    told = json.loads(capsys.readouterr().out)["minimality"]
    assert told["means"] in said
    assert told["mode"] not in told["profiles"]


def test_a_running_node_says_how_much_leaves(
    house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the configuration that it was started with, not by the one that is found here, which may
    be no good; one that does not say has nothing told of it."""
    facts = Leaving("strict", "private").facts()
    running(monkeypatch, url="http://127.0.0.1:1", version="1", leaving=facts)
    (house / "c.toml").write_text('profile = "relay"')
    monkeypatch.setenv("TRANSOM_CONFIG", str(house / "c.toml"))
    assert cli.run(["connect", "codex"]) == 0
    assert "How much leaves (profile private)" in capsys.readouterr().out
    assert cli.run(["connect", "-c", str(house / "c.toml"), "codex"]) == 0
    assert "How much leaves (profile relay)" in capsys.readouterr().out
    (house / "c.toml").write_text("profile = 7")
    running(monkeypatch, url="http://127.0.0.1:1", version="1")
    assert cli.run(["connect", "codex"]) == 0
    assert "How much leaves" not in capsys.readouterr().out
    assert cli.run(["connect", "-c", str(house / "c.toml"), "codex"]) == 2
