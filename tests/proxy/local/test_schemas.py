"""Schemas in the part of JSON Schema that Ollama keeps."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.local.schemas import simplified

KEPT = {"type", "items", "required", "properties", "anyOf", "description", "enum"}


def member(schema: Any, **more: Any) -> Any:
    """The member `a` of an object, simplified."""
    return simplified({"type": "object", "properties": {"a": schema}, **more})["properties"]["a"]


@pytest.mark.parametrize("schema", [None, 7, [], "object", True, {}, {"type": ["object", "null"]}])
def test_at_the_top_stands_an_object(schema: Any) -> None:
    """A list of types there is a 400 of Ollama's; what is no schema takes no arguments."""
    assert simplified(schema) == {"type": "object", "properties": {}}


def test_a_plain_schema_stays_what_it_is() -> None:
    """Order of members included: it is part of a cached prompt."""
    schema = {
        "type": "object",
        "properties": {
            "b": {"type": "string", "description": "B.", "enum": ["x", "y"]},
            "a": {"type": "array", "items": {"type": "integer"}},
            "c": {"type": ["string", "null"]},
            "d": {
                "type": "object",
                "properties": {"e": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                "required": ["e"],
            },
        },
        "required": ["b"],
    }
    assert json.dumps(simplified(schema)) == json.dumps(schema)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"oneOf": [{"type": "string"}, {"const": 7}]},
         {"anyOf": [{"type": "string"}, {"enum": [7]}]}),
        ({"const": "x", "type": "string"}, {"type": "string", "enum": ["x"]}),
        ({"const": None}, {"enum": [None]}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"type": "string", "format": "date", "default": "x", "minLength": 1}, {"type": "string"}),
        (
            {"allOf": [{"type": "object", "properties": {"x": {"type": "string"}}},
                       {"properties": {"y": {}, "x": {"description": "X."}}, "required": ["y"]}]},
            {"type": "object", "required": ["y"],
             "properties": {"y": {}, "x": {"description": "X.", "type": "string"}}},
        ),
        ({"allOf": [{"required": ["x"]}], "required": ["y", "x"]}, {"required": ["y", "x"]}),
        ({"items": [{"type": "string"}, {"type": "null"}]},
         {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
        ({"prefixItems": [{"type": "string"}]}, {"items": {"anyOf": [{"type": "string"}]}}),
        ({"items": True, "additionalProperties": False}, {}),
        ({"properties": {"x": True}}, {"properties": {"x": {}}}),
        (True, {}),
    ],
)  # fmt: skip
def test_lost_words_are_said_in_those_that_stay(schema: Any, expected: Any) -> None:
    """`oneOf`, `const`, `allOf`, tuples; ranges and formats have no other words."""
    assert member(schema) == expected


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_references_are_written_out(place: str) -> None:
    """However they chain; what stands beside one is kept."""
    defs = {
        "A": {"$ref": f"#/{place}/B~1~0"},
        "B/~": {"type": "object", "properties": {"x": {"$ref": f"#/{place}/C"}}},
        "C": {"type": "integer", "description": "C."},
    }
    schema = {"$ref": f"#/{place}/A", "description": "mine"}
    assert member(schema, **{place: defs}) == {
        "type": "object",
        "description": "mine",
        "properties": {"x": {"type": "integer", "description": "C."}},
    }


def test_the_top_may_be_a_reference() -> None:
    """As some generators write it."""
    schema = {
        "$ref": "#/$defs/A",
        "$defs": {"A": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }
    assert simplified(schema) == {"type": "object", "properties": {"x": {"type": "string"}}}


def test_either_of_two_objects_at_the_top_is_one_with_the_members_of_both() -> None:
    """There Ollama keeps no `anyOf`; none of them is required that only one demands."""
    first = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    second = {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}
    assert simplified({"oneOf": [first, second]}) == {
        "type": "object",
        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
    }


@pytest.mark.parametrize("where", ["#", "#/properties/a", "#/$defs/A"])
def test_a_reference_that_leads_to_itself_is_cut(where: str) -> None:
    """A tree without end would be a prompt without end."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"next": {"$ref": where}}}},
        "$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
    }
    assert len(json.dumps(simplified(schema))) < 500


@pytest.mark.parametrize("where", ["#/$defs/none", "https://schemas.example/a", "#a", "other.json"])
def test_a_reference_that_leads_nowhere_says_nothing(where: str) -> None:
    """And nothing is fetched."""
    assert member({"$ref": where, "description": "a thing"}) == {"description": "a thing"}


def test_references_do_not_multiply_without_end() -> None:
    """Each level names the next one eight times."""
    defs = {
        f"L{n}": {
            "type": "object",
            "properties": {f"p{i}": {"$ref": f"#/$defs/L{n + 1}"} for i in range(8)},
        }
        for n in range(20)
    }
    found = simplified({"properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": defs})
    assert len(json.dumps(found)) < 2_000_000


SCHEMA = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.sampled_from(["#", "#/$defs/A", "object"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["$ref", "$defs", "A", "allOf", "anyOf", "oneOf", "items", "properties",
                         "required", "type", "enum", "const", "description", "prefixItems"]),
        inner,
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(SCHEMA)
@settings(max_examples=200)
def test_any_schema_becomes_one_that_ollama_reads(schema: Any) -> None:
    """Its words alone, of the right types."""

    def check(found: Any) -> None:
        assert set(found) <= KEPT
        assert isinstance(found.get("type", ""), (str, list))
        for inner in (*found.get("anyOf", ()), *found.get("properties", {}).values()):
            check(inner)
        if "items" in found:
            check(found["items"])

    found = simplified(schema)
    assert found["type"] == "object"
    check(found)
