"""Names of tools that every local server takes."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.local.asked.naming import Names


def test_a_safe_name_is_kept_and_stays_the_same() -> None:
    """Asked as often as one likes."""
    names = Names()
    assert names.here("mcp__files__read-all") == "mcp__files__read-all"
    assert names.here("mcp__files__read-all") == "mcp__files__read-all"


def test_names_that_would_be_one_get_a_number() -> None:
    """The first one keeps it; a namespace stands before the name."""
    names = Names()
    found = [names.here("a.b"), names.here("a_b"), names.here("b", "a"), names.here("a__b")]
    assert found == ["a_b", "a_b_2", "a__b", "a__b_2"]


def test_long_names_are_cut_apart() -> None:
    """At the length that OpenAI allows."""
    names = Names()
    first, second = names.here("x" * 80), names.here("x" * 90)
    assert (first, second) == ("x" * 64, "x" * 62 + "_2")


@given(st.lists(st.tuples(st.text(), st.text()), unique=True, max_size=12))
@settings(max_examples=100)
def test_each_tool_has_a_name_of_its_own(tools: list[tuple[str, str]]) -> None:
    """Safe, and unlike all others."""
    names = Names()
    found = [names.here(name, space) for space, name in tools]
    unlike = {tuple(filter(None, tool)) for tool in tools}
    assert len(set(found)) >= len(unlike)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in found)
