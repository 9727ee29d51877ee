"""Tools that lead off this node are told from those that a client carries out."""

import json

import pytest

from proxy.errors import Refused
from proxy.lazyjson import read
from proxy.local.tools import AtHome, check_tools
from proxy.memory import Memory

ANTHROPIC, RESPONSES = "anthropic_messages", "openai_responses"


def code(dialect: str, **body: object) -> str:
    """The code with which `body` is refused, empty where it is not."""
    try:
        check_tools(read(json.dumps(body).encode()), dialect)
    except Refused as no:
        return no.code
    return ""


@pytest.mark.parametrize("kind", ["web_search", "web_search_20250305", "WEB_SEARCH", "web_fetch_1"])
def test_searches_lead_away_where_a_server_carries_them_out(kind: str) -> None:
    """Any version of the tool; towards Responses no local server does it."""
    assert code(ANTHROPIC, tools=[{"name": "a"}, {"type": kind}]) == "home-not-local"
    assert code(RESPONSES, tools=[{"type": kind}]) == ""


def test_servers_of_tools_lead_away_in_every_dialect() -> None:
    """Whoever answers calls them."""
    assert code(RESPONSES, tools=[{"type": "MCP", "server_url": "x"}]) == "home-not-local"
    assert code(ANTHROPIC, mcp_servers=[{"url": "x"}]) == "home-not-local"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tools": None, "mcp_servers": None},
        {"tools": [], "mcp_servers": []},
        {"tools": {"type": "mcp"}},
        {"tools": ["mcp", 1, None, {"type": 7}, {"type": "custom", "name": "web_search"}]},
    ],
)
def test_other_tools_and_odd_shapes_are_nobodys_business(body: dict[str, object]) -> None:
    """What no server would carry out may go home."""
    assert code(ANTHROPIC, **body) == ""


@pytest.mark.parametrize("body", [{"Tools": []}, {"tools": [{"TYPE": "web_search"}]}])
def test_no_tool_hides_behind_the_case_of_a_key(body: dict[str, object]) -> None:
    """Ollama matches keys without regard to case."""
    assert code(ANTHROPIC, **body) == "body-invalid"


def test_only_the_very_same_tools_are_known_to_stay() -> None:
    """What was seen to stay at home is not looked into again; a list as long, which begins alike
    and leads away, is, and so is one of another dialect."""
    known: AtHome = Memory(10_000)
    name = "x" * 100
    stays, leads = f'{name}","type":"web_look_up1', f'{name}","type":"web_search_a'
    bodies = [read(b'{"tools":[{"name":"%b"}]}' % each.encode()) for each in (stays, leads)]
    assert len(bodies[0].body) == len(bodies[1].body)
    check_tools(bodies[0], ANTHROPIC, known)
    assert len(known) == 1
    check_tools(read(bodies[0].body), ANTHROPIC, known)
    with pytest.raises(Refused, match="home-not-local"):
        check_tools(bodies[1], ANTHROPIC, known)
    check_tools(bodies[1], RESPONSES, known)
    assert len(known) == 2
    with pytest.raises(Refused, match="home-not-local"):
        check_tools(bodies[1], ANTHROPIC, known)
