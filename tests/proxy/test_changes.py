"""The difference between two bodies, for reading."""

import json

from proxy.changes import changes


def told(before: object, after: object) -> list[str]:
    return changes(json.dumps(before).encode(), json.dumps(after).encode())


def test_a_frame_is_two_lines_more() -> None:
    """A text of several lines is compared line by line."""
    before = {"model": "m", "messages": [{"role": "user", "content": "one\ntwo"}]}
    after = {"model": "m", "messages": [{"role": "user", "content": "[[a]]\none\ntwo\n[[b]]"}]}
    lines = told(before, after)
    assert [line[1:].strip() for line in lines if line[0] == "+"] == ["| [[a]]", "| [[b]]"]
    assert not [line for line in lines if line[0] == "-"]


def test_what_is_put_in_moves_nothing_else() -> None:
    """A message in front of others is one addition."""
    said = [{"role": "user", "content": str(n)} for n in range(9)]
    added = {"role": "system", "content": "be kind"}
    lines = told({"messages": said}, {"messages": [added, *said]})
    assert [line for line in lines if line[0] == "+"] == [
        "+  -", "+    role: system", "+    content: be kind",
    ]  # fmt: skip


def test_nothing_changed_is_nothing_told() -> None:
    """Byte for byte the same, or the same but for white space."""
    assert told({"a": 1}, {"a": 1}) == []
    assert changes(b'{"a": 1e400}', b'{"a":1e400}') == []


def test_long_lines_are_cut_after_they_were_compared() -> None:
    """A change far into a line is still one."""
    (removed, added) = [
        line for line in told({"a": "x" * 900}, {"a": "x" * 900 + "y"}) if line[0] in "+-"
    ]
    assert removed[1:] == added[1:]
    assert len(added) < 200


def test_too_much_is_not_compared() -> None:
    """Comparing takes time with the square of the lines."""
    (line,) = told({"a": "\n" * 30_000}, {"a": "\n" * 30_000 + "x"})
    assert "too much" in line


def test_empty_and_other_values_have_a_line() -> None:
    """Objects, lists, numbers and literals."""
    lines = told({"a": {}, "b": []}, {"a": {}, "b": [], "c": None, "d": 1.5, "e": [[]]})
    assert [line for line in lines if line[0] == "+"] == ["+c: null", "+d: 1.5", "+e:", "+  - []"]
