"""The curve of a growing session: what is told of it follows from what was measured."""

from bench import figures, growth


def grown(guard: float) -> growth.Growth:
    """Turns of 0.1 to 1 MB: a hash takes 1 ms per MB, the baseline 2, the guard `guard` more."""
    sizes = [number / 10 for number in range(1, 11)]
    spent = {
        "hash": [[size, 9.0] for size in sizes],
        "baseline": [[9.0, 1 + 2 * size] for size in sizes],
        "guard": [[3 + (2 + guard) * size] for size in sizes],
    }
    return growth.Growth(sizes, spent)


def test_slopes_are_told_in_hashes() -> None:
    """Over the baseline, the least of the rounds counts, and at the bar it is met."""
    assert "| slope, ms per MB | 1.00 | 2.00 | 5.00 |" in growth.section(grown(3.0))
    assert "| 3.0, ≤ 3.0 met |" in growth.section(grown(2.999))
    assert "| 3.5, ≤ 3.0 missed |" in growth.section(grown(3.5))


def test_slopes_may_be_taken_at_uneven_places() -> None:
    """Per step, and per unit of where they were taken."""
    assert figures.slope([1.0, 3.0, 5.0]) == 2.0
    assert figures.slope([1.0, 3.0, 9.0], [0.0, 1.0, 4.0]) == 2.0
