"""Every value of a TOML text is found on the line where it stands."""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config.lines import Path, find_lines


def ways(value: object, way: Path = ()) -> Iterator[Path]:
    """The ways to everything in a parsed document."""
    if way:
        yield way
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ways(inner, (*way, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ways(inner, (*way, index))


def test_tables_dotted_keys_and_arrays_of_tables() -> None:
    """Each form of a key leads to the same kind of way."""
    text = """\
# a comment
version = 1

[listen]
port = 1
a.b."c d" = 2 # dotted

[[up]]
name = "x"
[[up]]
name = "y"
[up.deep]
k = 1
[[up.deeper]]
[[up.deeper]]
z = 2
"""
    assert find_lines(text) == {
        ("version",): 2,
        ("listen",): 4,
        ("listen", "port"): 5,
        ("listen", "a"): 6,
        ("listen", "a", "b"): 6,
        ("listen", "a", "b", "c d"): 6,
        ("up",): 8,
        ("up", 0): 8,
        ("up", 0, "name"): 9,
        ("up", 1): 10,
        ("up", 1, "name"): 11,
        ("up", 1, "deep"): 12,
        ("up", 1, "deep", "k"): 13,
        ("up", 1, "deeper"): 14,
        ("up", 1, "deeper", 0): 14,
        ("up", 1, "deeper", 1): 15,
        ("up", 1, "deeper", 1, "z"): 16,
    }


def test_inline_tables_and_arrays_over_many_lines() -> None:
    """Elements have the lines on which they begin, comments and trailing commas between them."""
    text = 'a = [ # one\n  1,\n\n  { b = [2, 3], c = "]" }, # x ]\n  # y\n]\nd = 1\n'
    assert find_lines(text) == {
        ("a",): 1,
        ("a", 0): 2,
        ("a", 1): 4,
        ("a", 1, "b"): 4,
        ("a", 1, "b", 0): 4,
        ("a", 1, "b", 1): 4,
        ("a", 1, "c"): 4,
        ("d",): 7,
    }


@pytest.mark.parametrize(
    "string",
    [
        '"""\n[x]\nk = 1 # "\n"""',
        '"""a\\"""\nb"""',
        '"""a""\n"""""',
        "'''\n[x]\n'k'\n'''",
        "'''a''\n'''''",
        '"\\"\\\\"',
        "'\\'",
        '""',
        "''",
        '"""\r\n\r\n"""',
        "1979-05-27 07:32:00Z",
        "-inf",
    ],
)
def test_what_stands_in_a_string_is_no_key(string: str) -> None:
    """Strings of all four forms, with look-alikes of headers and ends in them, are skipped."""
    text = f"a = {string}\nb = 1\n"
    assert tomllib.loads(text)["b"] == 1
    assert find_lines(text) == {
        ("a",): 1,
        ("b",): 1 + text.count("\n", 0, text.index("\nb = 1")) + 1,
    }


KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
SCALARS = st.one_of(
    st.integers(-9, 99),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
GAPS = st.sampled_from(["", " ", "\n", "# x = [\n", "\r\n", "\n# '''\n\t"])
SMALL_GAPS = st.sampled_from(["", " ", "\t"])


class Writer:
    """Writes a document in a random layout and keeps the line of everything that it writes."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.text = ""
        self.lines: dict[Path, int] = {}

    def put(self, text: str) -> None:
        self.text += text

    def here(self, way: Path) -> None:
        self.lines[way] = self.text.count("\n") + 1

    def string(self, text: str) -> None:
        escaped = "".join(f"\\U{ord(mark):08x}" for mark in text)
        forms = [f'"{escaped}"', f'"""\n{escaped}"""']
        if "'" not in text and (text.isprintable() or not text):
            forms += [f"'{text}'", f"'''{text}'''"]
        self.put(self.data.draw(st.sampled_from(forms)))

    def key(self, name: str) -> None:
        if name and name.isascii() and name.replace("_", "").replace("-", "").isalnum():
            self.put(self.data.draw(st.sampled_from([name, f'"{name}"', f"'{name}'"])))
        else:
            self.put('"' + "".join(f"\\U{ord(mark):08x}" for mark in name) + '"')

    def member(self, way: Path, value: object) -> None:
        self.here(way)
        self.key(str(way[-1]))
        self.put(self.data.draw(SMALL_GAPS) + "=" + self.data.draw(SMALL_GAPS))
        self.value(way, value)

    def value(self, way: Path, value: object) -> None:
        match value:
            case bool():
                self.put(str(value).lower())
            case int():
                self.put(str(value))
            case str():
                self.string(value)
            case list():
                self.put("[" + self.data.draw(GAPS))
                for index, item in enumerate(value):
                    self.here((*way, index))
                    self.value((*way, index), item)
                    self.put(self.data.draw(GAPS) + ",")
                    self.put(self.data.draw(GAPS))
                self.put("]")
            case dict():
                self.put("{" + self.data.draw(SMALL_GAPS))
                for number, (name, item) in enumerate(value.items()):
                    self.put(", " if number else "")
                    self.member((*way, name), item)
                self.put("}")

    def document(self, document: dict[str, Any]) -> None:
        tables = {}
        for name, value in document.items():
            self.put(self.data.draw(GAPS).lstrip(" \t"))
            if isinstance(value, dict) and self.data.draw(st.booleans()):
                tables[name] = value
            else:
                self.member((name,), value)
                self.put("\n")
        for name, table in tables.items():
            self.put(self.data.draw(GAPS) + "\n")
            self.here((name,))
            self.put("[")
            self.key(name)
            self.put("]" + self.data.draw(st.sampled_from(["\n", " # ]\n", "\r\n"])))
            for inner, value in table.items():
                self.member((name, inner), value)
                self.put("\n")


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.data())
def test_any_document_in_any_layout(document: dict[str, Any], data: st.DataObject) -> None:
    """Everything that the parser sees has a line, and it is the one where it was written."""
    writer = Writer(data)
    writer.document(document)
    assert tomllib.loads(writer.text) == document
    assert find_lines(writer.text) == writer.lines
    assert set(writer.lines) == set(ways(document))
