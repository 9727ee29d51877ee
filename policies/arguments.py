"""Whether the arguments of a call fit what its tool declares: JSON Schema, as far as tools use it.

Owns the check. It only counts: no call is kept back by it. So what it does not know it lets pass: a
keyword that is not here, a reference that leads elsewhere, a schema that is none. Source: JSON
Schema 2020-12, validation vocabulary; `pattern` and `format` are left out, as a stranger's regular
expression would run here.
"""

from collections.abc import Mapping
from typing import Final

DEPTH: Final = 32
STEPS: Final = 10_000
"""Values that are looked at; what is larger fits."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
}


class _Enough(Exception):
    """The check has taken its steps."""


def fits(schema: object, value: object) -> bool:
    """Whether `value`, parsed JSON, fits `schema`, parsed JSON too."""
    try:
        return _Check(schema).fits(schema, value, 0)
    except _Enough:
        return True


class _Check:
    def __init__(self, root: object) -> None:
        self._root = root
        self._steps = 0

    def fits(self, schema: object, value: object, depth: int) -> bool:
        self._steps += 1
        if self._steps > STEPS or depth > DEPTH:
            raise _Enough
        if not isinstance(schema, dict):
            return schema is not False
        if isinstance(schema.get("$ref"), str):
            return self.fits(self._referred(schema["$ref"]), value, depth + 1)
        return (
            _typed(schema.get("type"), value)
            and ("const" not in schema or _same(schema["const"], value))
            and _listed(schema.get("enum"), value)
            and self._combined(schema, value, depth)
            and (not isinstance(value, dict) or self._members(schema, value, depth))
            and (not isinstance(value, list) or self._items(schema, value, depth))
            and _bounded(schema, value)
        )

    def _members(self, schema: Mapping[str, object], value: dict[str, object], depth: int) -> bool:
        required = schema.get("required")
        if isinstance(required, list) and not all(name in value for name in required):
            return False
        declared = schema.get("properties")
        named = declared if isinstance(declared, dict) else {}
        other = schema.get("additionalProperties")
        for name, inner in value.items():
            if name in named:
                if not self.fits(named[name], inner, depth + 1):
                    return False
            elif "patternProperties" not in schema and not self.fits(other, inner, depth + 1):
                return False
        return True

    def _items(self, schema: Mapping[str, object], value: list[object], depth: int) -> bool:
        skipped = len(_listing(schema, "prefixItems"))
        items = schema.get("items")
        return all(self.fits(items, inner, depth + 1) for inner in value[skipped:])

    def _combined(self, schema: Mapping[str, object], value: object, depth: int) -> bool:
        some = [*_listing(schema, "anyOf"), *_listing(schema, "oneOf")]
        if some and not any(self.fits(each, value, depth + 1) for each in some):
            return False
        return all(self.fits(each, value, depth + 1) for each in _listing(schema, "allOf"))

    def _referred(self, way: str) -> object:
        """What `#/$defs/name` leads to; whatever it does not find, everything fits."""
        found = self._root
        if not way.startswith("#"):
            return True
        for step in filter(None, way[1:].split("/")):
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                return True
            found = found[name]
        return found


def _typed(kinds: object, value: object) -> bool:
    if isinstance(kinds, list):
        return any(_typed(kind, value) for kind in kinds)
    if kinds == "integer":
        whole = isinstance(value, float) and value.is_integer()
        return whole or (isinstance(value, int) and not isinstance(value, bool))
    if kinds == "number":
        return _number(value)
    wanted = _TYPES.get(kinds) if isinstance(kinds, str) else None
    return wanted is None or isinstance(value, wanted)


def _listing(schema: Mapping[str, object], word: str) -> list[object]:
    found = schema.get(word)
    return found if isinstance(found, list) else []


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(enum: object, value: object) -> bool:
    return not isinstance(enum, list) or any(_same(each, value) for each in enum)


def _same(one: object, other: object) -> bool:
    """Equal as JSON: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _bounded(schema: Mapping[str, object], value: object) -> bool:
    match value:
        case bool() | None:
            return True
        case int() | float():
            least, most = _limit(schema, "minimum"), _limit(schema, "maximum")
            size: float = value
        case str():
            least, most = _limit(schema, "minLength"), _limit(schema, "maxLength")
            size = len(value)
        case list():
            least, most = _limit(schema, "minItems"), _limit(schema, "maxItems")
            size = len(value)
        case _:
            return True
    return (least is None or size >= least) and (most is None or size <= most)


def _limit(schema: Mapping[str, object], word: str) -> float | None:
    found = schema.get(word)
    return float(found) if isinstance(found, int | float) and _number(found) else None
