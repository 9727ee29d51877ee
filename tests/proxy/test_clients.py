"""The recipes say what they say once: in the file, in the terminal and in the documentation."""

import re
import tomllib
from dataclasses import fields
from datetime import date
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest

from proxy import clients
from proxy.clients import Call, Recipe, Setting, listing, markdown, recipes, words

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "clients.md"
ADDRESS = "http://127.0.0.1:8787"
ALL = recipes()
EACH = pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.id)


def test_the_document_is_made_from_the_file(request: pytest.FixtureRequest) -> None:
    """docs/clients.md is what the recipes say, to the letter; `--accept` writes it anew."""
    if request.config.getoption("--accept"):
        DOCUMENT.write_text(markdown(ADDRESS), "utf-8")
    assert DOCUMENT.read_text("utf-8") == markdown(ADDRESS)


def test_everybody_who_was_promised_a_recipe_has_one() -> None:
    """The agents, editors and SDKs that the project names."""
    assert {recipe.id for recipe in ALL} >= {
        "claude-code", "codex", "opencode", "aider", "pi", "qwen-code", "cline", "continue",
        "open-webui", "langchain", "anthropic", "openai", "ollama",
    }  # fmt: skip
    assert len({recipe.id for recipe in ALL}) == len(ALL)


def test_the_file_holds_nothing_that_is_not_read() -> None:
    """A misspelt key would be left out silently."""
    tables = tomllib.loads(clients.FILE.read_text("utf-8"))["client"]
    known = {kind: {field.name for field in fields(kind)} for kind in (Recipe, Setting, Call)}
    assert {key for table in tables for key in table} <= known[Recipe]
    assert {key for table in tables for row in table["settings"] for key in row} <= known[Setting]
    assert {key for table in tables for row in table["calls"] for key in row} <= known[Call]


def test_a_recipe_that_lacks_something_is_an_error() -> None:
    """What is missing is not made up."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert([{"id": "x", "name": "x"}], tuple[Recipe, ...])


@EACH
def test_an_address_stands_in_every_setting_and_call(recipe: Recipe) -> None:
    """Nothing is left to fill in, and no setting points elsewhere."""
    filled = recipe.at("http://node.lan:9/t/YOUR-TOKEN")
    assert filled.settings
    assert filled.calls
    text = "\n".join(setting.text for setting in filled.settings)
    assert all("http://node.lan:9/t/YOUR-TOKEN" in each.text for each in filled.settings)
    assert all(call.parts[1].startswith("http://node.lan:9/t/YOUR-TOKEN") for call in filled.calls)
    assert clients.PLACE not in words(filled)
    assert re.findall(r"https?://[^\s/\"']+", text) == ["http://node.lan:9"] * text.count("http")


@EACH
def test_what_is_claimed_was_done(recipe: Recipe) -> None:
    """A version stands only where one was run; what comes from documents says so."""
    assert (recipe.tried == "run") is bool(recipe.seen_with)
    assert date(2026, 1, 1) < recipe.checked_on
    if recipe.tried == "run":
        assert recipe.last_tried.startswith(f"Last tried on {recipe.checked_on} with ")
        assert recipe.seen_with in recipe.last_tried
    else:
        assert recipe.last_tried.startswith("Not tried: ")


@pytest.mark.parametrize("sdk", ["anthropic", "openai", "ollama"])
def test_the_sdks_were_tried_in_the_version_that_is_here(sdk: str) -> None:
    """The scenes run these with every change, so the version that they run is the one to name."""
    (recipe,) = (recipe for recipe in ALL if recipe.id == sdk)
    assert recipe.seen_with.endswith(version(sdk))


def test_the_list_has_a_line_for_each() -> None:
    """What to type comes first."""
    assert [line.split()[0] for line in listing(ALL).splitlines()] == [each.id for each in ALL]


def test_a_terminal_shows_settings_remarks_and_when_it_was_tried() -> None:
    """Settings stand apart, indented, as they are to be pasted."""
    recipe = Recipe(
        id="x",
        name="X",
        works="agent",
        dialects=("openai",),
        tried="documents",
        checked_on=date(2026, 11, 29),
        settings=(Setting("x.toml", "\na = '<address>/v1'\n\nb = 1\n"),),
        calls=(),
        notes=("Mind the gap.",),
    )
    assert words(recipe.at("http://h:1")) == (
        "X\n\nx.toml:\n\n    a = 'http://h:1/v1'\n\n    b = 1\n\n- Mind the gap.\n\n"
        "Not tried: from its documentation, as of 2026-11-29."
    )
    assert recipe.facts() == {
        "client": "x",
        "name": "X",
        "dialects": ["openai"],
        "tried": False,
        "seen_with": "",
        "checked_on": "2026-11-29",
    }
