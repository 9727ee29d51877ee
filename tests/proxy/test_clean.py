"""Marks of clean pieces."""

from proxy.clean import CleanMarks


def test_marks_are_remembered_and_the_oldest_forgotten() -> None:
    """The set is bounded; a mark that is added again counts as new."""
    marks = CleanMarks(entries=3)
    marks.add([b"a", b"b", b"c"])
    marks.add([b"a", b"d"])
    assert [mark in marks.marks for mark in (b"a", b"b", b"c", b"d")] == [True, False, True, True]
    assert len(marks) == 3
