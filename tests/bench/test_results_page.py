"""The page of results: each command writes its own chapter and leaves the others alone."""

from pathlib import Path

import pytest

from bench import figures, results


def test_a_chapter_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    """In the order of the table, whoever comes first; a second run replaces the first."""
    path = tmp_path / "RESULTS.md"
    results.publish("Endurance", "old\n\n### Part\n\nmore", path)
    results.publish("Requests and streams", "fast", path)
    results.publish("Endurance", "new", path)
    text = path.read_text()
    assert text.startswith("# Bench\n")
    assert text.index("## Requests and streams\n\nfast\n") < text.index("## Endurance\n\nnew\n")
    assert "old" not in text
    assert "more" not in text


def test_the_published_page_is_what_would_be_written() -> None:
    """No hand has changed it: read and written again it is the same, and each chapter is known."""
    text = results.RESULTS.read_text("utf-8")
    assert results.written(results.read(text)) == text


@pytest.mark.parametrize(
    ("figure", "bar", "says"),
    [
        (1.3, {"at_most": 1.3}, "≤ 1.3 met"),
        (1.31, {"at_most": 1.3}, "≤ 1.3 missed"),
        (0.8, {"at_least": 0.8}, "≥ 0.8 met"),
        (0.79, {"at_least": 0.8}, "≥ 0.8 missed"),
    ],
)
def test_bars_are_judged(figure: float, bar: dict[str, float], says: str) -> None:
    """At the bar itself it is met."""
    assert figures.judged(figure, **bar) == says
