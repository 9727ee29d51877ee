"""What is asked of a part of a text alone says the same as asking it of the whole."""

from re import _parser as parser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.screening import engine, rules, signs
from policies.screening.mending import BETWEEN_PARTS
from policies.screening.screen import shipped
from policies.screening.signs import LONG_WORD

IN_RUN = [rule for rule in rules.load() if rule.in_run]
SAMPLES = [sample for rule in IN_RUN for sample in rule.yes]
TEXT = st.lists(
    st.sampled_from(SAMPLES)
    | st.builds(lambda text, cut: text[cut:], st.sampled_from(SAMPLES), st.integers(1, 40))
    | st.builds(lambda text, cut: text[:cut], st.sampled_from(SAMPLES), st.integers(1, 60))
    | st.builds(lambda count: b"a1" * count, st.integers(1, 40))
    | st.builds(lambda count: b" -" * count, st.integers(1, 300))
    | st.sampled_from([b".", b"-", b"_", b":", b"/", b" ", b"\n", b"s", b"S", b"\xc3\xa9"]),
    max_size=12,
).map(b"".join)


@pytest.fixture(scope="module")
def whole() -> engine.Engine:
    """All that is asked of rows, of the whole text."""
    return engine.build([pattern for rule in IN_RUN for pattern, _ in rule.patterns()])


@settings(max_examples=300)
@given(TEXT)
def test_rows_tell_what_the_whole_tells(whole, data):
    """Property: rules that ask for a long word are met round such words as they are anywhere."""
    hits = {(IN_RUN[number].id, end) for number, end in whole.anchors(data)}
    told = {(rule.id, at) for rule, at in shipped()[1].sentry.ruled(data).hits if rule.in_run}
    assert told == hits


@pytest.mark.parametrize("rule", IN_RUN, ids=lambda rule: rule.id)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_said_to_be_in_a_run_is(rule, data):
    """Property: a long word stands in every instance, and what is round it is not cut off."""
    made = data.draw(st.from_regex(rule.trigger))
    (start, row), *_ = signs.rows(b" " * 99 + made + b" " * 99)
    assert start < 99
    assert made in row


def test_a_long_word_alone_calls_for_no_reading():
    """It only says where to look."""
    seen = shipped()[1].sentry.ruled(b"a " + b"x" * LONG_WORD + b" b")
    assert not seen.hits


def _holds_mark(parsed: parser.SubPattern | list, *, inside: bool) -> bool:
    """Whether an instance of an expression may hold the mark between its first and last byte."""
    mark = ord(BETWEEN_PARTS)
    steps = list(parsed)
    for at, (name, what) in enumerate(steps):
        within = inside or 0 < at < len(steps) - 1
        match str(name):
            case "IN":
                negated = str(what[0][0]) == "NEGATE"
                told = any(
                    (str(kind) == "LITERAL" and value == mark)
                    or (str(kind) == "RANGE" and value[0] <= mark <= value[1])
                    or (str(kind) == "CATEGORY" and str(value).startswith("CATEGORY_NOT"))
                    for kind, value in what
                )
                found = within and told != negated
            case "NOT_LITERAL" | "ANY":
                found = within and what != mark
            case "LITERAL":
                found = within and what == mark
            case "MAX_REPEAT":
                found = _holds_mark(what[2], inside=True)
            case "SUBPATTERN":
                found = _holds_mark(what[3], inside=within)
            case "BRANCH":
                found = any(_holds_mark(each, inside=within) for each in what[1])
            case "AT":
                found = False
            case _:
                raise AssertionError(name)
        if found:
            return True
    return False


def test_no_anchor_that_counts_across_ends_holds_what_stands_between_parts():
    """So texts as one, with nothing between them, show every anchor that goes across their ends."""
    assert _holds_mark(parser.parse(rb"a[^x]b"), inside=False)
    for rule in rules.load():
        for pattern, _ in rule.patterns():
            assert not rule.sure or not _holds_mark(parser.parse(pattern.bounded), inside=False), (
                rule.id
            )
