"""The schema of a tool's arguments in the part of JSON Schema that Ollama keeps.

Owns the rewriting. It must not know a tool. Ollama reads of a schema `type`, `$defs`, `items`,
`required` and `properties`, of a property `anyOf`, `type`, `items`, `description`, `enum`,
`properties` and `required`, and loses the rest without a word (`api/types.go`); a type at the top
that is no string is a 400. So what the lost words say is said in those that stay.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

_DEPTH: Final = 24
_SIZE: Final = 20_000
"""Most schemas in one result: references that are written out multiply."""

Schema = dict[str, object]


def simplified(schema: object) -> Schema:
    """`schema` of an object's members with references written out, `oneOf` as `anyOf`, `allOf`
    merged, `const` as `enum`. References that lead to themselves, nowhere, or out of the schema
    become a schema that says nothing. What is no schema takes no arguments."""
    rewriting = _Rewriting(schema if isinstance(schema, dict) else {})
    found = rewriting.schema(rewriting.root, (), _DEPTH)
    for either in _listed(found.get("anyOf")):
        # At the top nothing can be said of one or the other: any member may be there.
        found = _merged(found, {"properties": either.get("properties", {})})
    top: Schema = {"type": "object", "properties": found.get("properties", {})}
    if found.get("required"):
        top["required"] = found["required"]
    return top


class _Rewriting:
    """One schema on its way; counts what it has become."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self.root = root
        self._left = _SIZE

    def schema(self, given: object, followed: tuple[str, ...], room: int) -> Schema:
        """`given` simplified. `followed`: the references that led here."""
        self._left -= 1
        if not isinstance(given, dict) or room <= 0 or self._left <= 0:
            return {}
        given, followed = self._written_out(given, followed)
        found = self._own(given, followed, room - 1)
        for part in _listed(given.get("allOf")):
            found = _merged(found, self.schema(part, followed, room - 1))
        return found

    def _written_out(
        self, given: Mapping[str, object], followed: tuple[str, ...]
    ) -> tuple[Mapping[str, object], tuple[str, ...]]:
        """`given` with what its reference leads to, under what stands beside the reference."""
        while isinstance(where := given.get("$ref"), str):
            beside = {key: value for key, value in given.items() if key != "$ref"}
            target = self._target(where)
            if where in followed or target is None:
                return beside, followed
            given, followed = {**target, **beside}, (*followed, where)
        return given, followed

    def _target(self, where: str) -> Mapping[str, object] | None:
        if where != "#" and not where.startswith("#/"):
            return None
        at: object = self.root
        for step in where.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            at = at.get(key) if isinstance(at, dict) else None
        return at if isinstance(at, dict) else None

    def _own(self, given: Mapping[str, object], followed: tuple[str, ...], room: int) -> Schema:
        found: Schema = {}
        _scalars(given, found)
        either = [
            self.schema(one, followed, room)
            for key in ("anyOf", "oneOf")
            for one in _listed(given.get(key))
        ]
        if either:
            found["anyOf"] = either
        items = given.get("items", given.get("prefixItems"))
        if isinstance(items, list):
            items = {"anyOf": items}
        if isinstance(items, dict):
            found["items"] = self.schema(items, followed, room)
        if isinstance(properties := given.get("properties"), dict):
            found["properties"] = {
                key: self.schema(one, followed, room) for key, one in properties.items()
            }
        required = [key for key in _listed(given.get("required")) if isinstance(key, str)]
        if required:
            found["required"] = required
        return found


def _scalars(given: Mapping[str, object], found: Schema) -> None:
    """What describes a value by itself: its type, its words, the values that it may have."""
    kind = given.get("type")
    if isinstance(kind, str):
        found["type"] = kind
    elif kinds := [one for one in _listed(kind) if isinstance(one, str)]:
        found["type"] = kinds if len(kinds) > 1 else kinds[0]
    if isinstance(words := given.get("description"), str):
        found["description"] = words
    if values := _listed(given.get("enum")):
        found["enum"] = values
    elif "const" in given:
        found["enum"] = [given["const"]]


def _merged(first: Schema, second: Schema) -> Schema:
    """What both demand, as far as it can be said; `first` has the last word."""
    found = {**second, **first}
    one, other = first.get("properties"), second.get("properties")
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _merged(one[key], other[key]) for key in other if key in one and key in other}
        found["properties"] = {**other, **one, **both}
    required = _listed(first.get("required")) + _listed(second.get("required"))
    if required:
        found["required"] = _unlike(required)
    return found


def _unlike(values: Iterable[object]) -> list[object]:
    found: list[object] = []
    found += (value for value in values if value not in found)
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
