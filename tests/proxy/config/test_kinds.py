"""Values are read as they are written, with their units, and what is wrong is said without them."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config import kinds
from proxy.config.kinds import Kind, Rate

CANARY = "canary-" + "q7Zk29xW"
SIZE = kinds.size(1, 1024**3)
PAIR: Kind[tuple[int, int]] = kinds.pair(kinds.whole(1, 9), float)
EVERY: list[Kind[Any]] = [
    kinds.flag(),
    kinds.whole(1, 9),
    kinds.duration(),
    SIZE,
    kinds.rate(),
    kinds.choice("drop", "elide", "home"),
    kinds.pattern("a name", r"[a-z]{1,4}"),
    kinds.many(kinds.choice("a", "b"), least=1),
    PAIR,
]


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        (kinds.duration(), "250ms", 0.25),
        (kinds.duration(), "10s", 10.0),
        (kinds.duration(), "1.5 m", 90.0),
        (kinds.duration(), "2h", 7200.0),
        (kinds.duration(), "45d", 45 * 86400.0),
        (kinds.duration(), "366d", 366 * 86400.0),
        (SIZE, "7 B", 7),
        (SIZE, "512 kB", 512_000),
        (SIZE, "512KB", 512_000),
        (SIZE, "2 KiB", 2048),
        (SIZE, "4 MB", 4_000_000),
        (SIZE, "64 MiB", 64 * 1024 * 1024),
        (SIZE, "1 GB", 10**9),
        (SIZE, "1GiB", 1024**3),
        (kinds.rate(), "300/10m", Rate(300, 600.0)),
        (kinds.rate(), "1 / 2s", Rate(1, 2.0)),
        (kinds.flag(), True, True),
        (kinds.whole(0, 9), 0, 0),
        (kinds.choice("a", "b"), "b", "b"),
        (kinds.many(kinds.choice("a", "b")), ["b", "a"], ("b", "a")),
        (kinds.many(kinds.choice("a", "b")), [], ()),
        (kinds.pattern("a name", r"[a-z]{1,4}"), "ab", "ab"),
        (PAIR, [5, 8], (5, 8)),
        (PAIR, [5, 5], (5, 5)),
    ],
)
def test_a_value_is_read_with_its_unit(kind: Kind[Any], written: object, read: object) -> None:
    """Every unit that is offered means what it says."""
    assert kind.read(written) == read


@pytest.mark.parametrize(
    ("kind", "written", "words"),
    [
        (kinds.duration(), "10", 'expected a time such as "250ms"'),
        (kinds.duration(), 10, "got 10"),
        (kinds.duration(), "0s", "expected a time"),
        (kinds.duration(), "367d", 'at most "366d"'),
        (kinds.duration(), "10 seconds", "got another string"),
        (kinds.duration(), "", "got an empty string"),
        (SIZE, "64", "expected a size"),
        (SIZE, "64 mib", "expected a size"),
        (SIZE, "0 B", "from 1 to 1073741824 bytes"),
        (SIZE, 10**9, "got another number"),
        (kinds.rate(), "300", 'expected a rate such as "300/10m"'),
        (kinds.rate(), "0/10m", "expected a rate"),
        (kinds.rate(), "3/10", "expected a rate"),
        (kinds.flag(), "true", "expected true or false, without quotes"),
        (kinds.flag(), 1, "got 1"),
        (kinds.whole(1, 65535), "eighty", "expected a whole number from 1 to 65535, got another"),
        (kinds.whole(1, 9), 10, "got 10"),
        (kinds.whole(0, 9), True, "got true"),
        (kinds.whole(0, 9), 1.5, "got another number"),
        (kinds.choice("refuse", "observe"), "obsrve", "did you mean `observe`?"),
        (kinds.choice("refuse", "observe"), 3, "expected refuse or observe, got 3"),
        (kinds.many(kinds.choice("a", "b")), "a", "got another string"),
        (kinds.many(kinds.choice("a", "b")), ["a", "a"], "stands there twice"),
        (kinds.many(kinds.choice("a", "b"), least=1), [], "got an array of 0"),
        (PAIR, [8, 5], "the soft limit first"),
        (PAIR, [5], "got an array of 1"),
        (PAIR, {"soft": 5}, "got a table"),
        (PAIR, [5, "x"], "expected a whole number"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(
    kind: Kind[Any], written: object, words: str
) -> None:
    """Each complaint names what is expected, in words."""
    with pytest.raises(ValueError, match=r"^expected ") as caught:
        kind.read(written)
    assert words in str(caught.value)


def test_a_date_is_a_date() -> None:
    """TOML's dates are values of no setting, and named as what they are."""
    import datetime

    with pytest.raises(ValueError, match="a date or time"):
        kinds.flag().read(datetime.date(2026, 1, 1))


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.expects)
@pytest.mark.parametrize("written", [CANARY, [CANARY], [CANARY, CANARY], {CANARY: CANARY}])
def test_no_complaint_repeats_the_value(kind: Kind[Any], written: object) -> None:
    """A secret in the wrong place is not printed with the complaint about it."""
    with pytest.raises(ValueError, match=r"^expected ") as caught:
        kind.read(written)
    assert CANARY not in str(caught.value)
    assert CANARY not in str(caught.value.__context__)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.flag(), " TRUE ", True),
        (kinds.flag(), "false", False),
        (kinds.flag(), "yes", "yes"),
        (kinds.whole(0, 9), " 8787\n", 8787),
        (kinds.whole(0, 9), "eighty", "eighty"),
        (kinds.duration(), "10s", "10s"),
        (kinds.many(kinds.choice("a")), "a, b,", ["a", "b"]),
        (kinds.many(kinds.choice("a")), ' ["a", "b"] ', ["a", "b"]),
        (kinds.many(kinds.choice("a")), "", []),
        (PAIR, "[5, 8]", [5, 8]),
        (PAIR, "[5, ", "[5, "),
        (PAIR, "[5]\nk2 = 1", "[5]\nk2 = 1"),
        (PAIR, "[" * 5000, "[" * 5000),
    ],
)
def test_a_variable_stands_for_a_toml_value(kind: Kind[Any], text: str, value: object) -> None:
    """Numbers, flags and arrays can be given as plain text; what is none stays text."""
    assert kind.parse(text) == value


@given(st.integers(1, 999_999_999), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_durations_are_exact_and_bounded(count: int, unit: str) -> None:
    """A time is its count times its unit, or refused when it is more than a year."""
    seconds = count * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    if seconds <= 366 * 86400:
        assert math.isclose(kinds.duration().read(f"{count}{unit}"), seconds)
    else:
        with pytest.raises(ValueError, match="expected a time"):
            kinds.duration().read(f"{count}{unit}")


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.lists(st.text())))
def test_any_value_is_read_or_refused_with_words(value: object) -> None:
    """No value makes a reader fail in another way."""
    for kind in EVERY:
        said = "expected "
        try:
            kind.read(value)
        except ValueError as error:
            said = str(error)
        assert said.startswith("expected ")
