"""Arguments of a call and the schema that its tool declares."""

from typing import Any

import pytest

from policies.arguments import DEPTH, fits

READ: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 9},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        "how": {"enum": ["a", 1]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "maybe": {"type": ["string", "null"]},
        "either": {"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/deep~1er"}]},
        "one": {"oneOf": [{"const": 1}, {"const": True}]},
        "both": {"allOf": [{"type": "number"}, {"minimum": 2}]},
        "first": {"prefixItems": [{"type": "null"}], "items": {"type": "number"}},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"deep/er": {"type": "object", "required": ["x"]}},
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"limit": 3},
        {"limit": 3.0},
        {"how": 1},
        {"tags": ["x"]},
        {"maybe": None},
        {"either": True},
        {"either": {"x": 1}},
        {"one": True},
        {"both": 2.5},
        {"first": ["anything", 1, 2]},
    ],
    ids=str,
)
def test_what_is_declared_fits(more: dict[str, Any]) -> None:
    """Every keyword that tools use lets through what it describes."""
    assert fits(READ, {"path": "a", **more})


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"path": 1},
        {"path": ""},
        {"path": "a" * 10},
        {"path": "a", "limit": True},
        {"path": "a", "limit": 2.5},
        {"path": "a", "limit": 0},
        {"path": "a", "limit": 10},
        {"path": "a", "how": True},
        {"path": "a", "tags": []},
        {"path": "a", "tags": ["a", "b", "c"]},
        {"path": "a", "tags": [1]},
        {"path": "a", "maybe": 1},
        {"path": "a", "either": {}},
        {"path": "a", "one": 2},
        {"path": "a", "both": 1},
        {"path": "a", "first": [1, "x"]},
        {"path": "a", "other": 1},
    ],
    ids=str,
)
def test_what_is_not_declared_does_not(value: object) -> None:
    """Every keyword keeps out what it does not describe; true is no number."""
    assert not fits(READ, value)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        None,
        7,
        {},
        {"type": "a new type"},
        {"type": 7},
        {"required": 7, "properties": 7},
        {"$ref": "https://elsewhere.example/schema"},
        {"$ref": "#/$defs/none"},
        {"enum": 7, "anyOf": [], "allOf": 7},
        {"patternProperties": {"^x": {}}, "additionalProperties": False},
        {"minimum": "x", "maxLength": True},
    ],
    ids=str,
)
def test_what_is_not_understood_is_let_pass(schema: object) -> None:
    """It only counts, so it errs on the side of what works."""
    for value in ({"x": 1}, [], "x", 1, None, True):
        assert fits(schema, value) or schema == {"required": 7, "properties": 7}


def test_a_schema_that_allows_nothing_allows_nothing() -> None:
    """`false` is a schema too."""
    assert not fits(False, {})


def test_a_schema_that_refers_to_itself_ends() -> None:
    """Neither depth nor size of a stranger's schema holds anybody up."""
    assert fits({"$ref": "#"}, {})
    deep: object = {"type": "string"}
    value: object = 1
    for _ in range(DEPTH + 1):
        deep, value = {"items": deep}, [value]
    assert fits(deep, value)
    assert fits({"items": {"type": "string"}}, [*["x"] * 20_000, 1])
