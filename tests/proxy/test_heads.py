"""A head holds the lines that it was given, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.heads import head

PAIRS = st.lists(st.tuples(st.text(), st.text()), max_size=4)


def test_lines_stand_as_they_were_given() -> None:
    """In order, repeated ones too, with what is no ASCII as UTF-8."""
    written = head("HTTP/1.1 200 OK", [("a", "1"), ("A", "ž\t2"), ("a", "")])
    assert written == "HTTP/1.1 200 OK\r\na: 1\r\nA: ž\t2\r\na: \r\n\r\n".encode()
    assert head("GET / HTTP/1.1", []) == b"GET / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("mark", ["\r\n", "\n", "\r", "\0", "\ud800"])
def test_what_cannot_stand_in_a_line_is_written_nowhere(mark: str) -> None:
    """In the first line, a name or a value."""
    for first, name, value in ((f"G{mark}", "a", "b"), ("G", f"a{mark}", "b"), ("G", "a", mark)):
        with pytest.raises(ValueError, match=r"header|surrogates"):
            head(first, [(name, value)])


@given(st.text(), PAIRS)
def test_a_head_has_as_many_lines_as_were_given(first: str, pairs: list[tuple[str, str]]) -> None:
    """Whatever it is given: that, or nothing."""
    try:
        written = head(first, pairs)
    except ValueError:
        return
    lines = [first, *(f"{name}: {value}" for name, value in pairs)]
    assert written.decode().split("\r\n") == [*lines, "", ""]
    assert written.count(b"\n") == written.count(b"\r") == len(lines) + 1
