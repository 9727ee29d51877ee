"""Where the operator's request is repeated."""

from msgspec import structs

from policies.conversation import Strand
from policies.decision import Placed, Remembered
from policies.envelope.also import marked
from policies.envelope.remind import beside, reminders
from policies.settings import Also
from tests.policies.envelope.talks import talk


def test_the_request_stands_behind_the_newest_results() -> None:
    """The words of the current turn, labelled, behind the last result of the run."""
    seen = talk("uaruarr", said={0: "First.", 3: "Second."}, reminds=True)
    assert reminders(structs.replace(seen, turn=0), Remembered({}), "request") == (
        Placed(6, "[operator] First.", 2, ("messages", 0, "content"), known=False),
    )


def test_it_is_off_by_default_and_where_there_is_no_place() -> None:
    """No setting, no dialect with a place, no results: none."""
    seen = talk("uar", reminds=True)
    assert reminders(seen, Remembered({}), "off") == ()
    assert reminders(talk("uar"), Remembered({}), "request") == ()
    assert reminders(talk("uau", reminds=True), Remembered({}), "request") == ()
    assert reminders(structs.replace(seen, units=()), Remembered({}), "request") == ()


def test_what_stood_once_stands_for_ever() -> None:
    """Earlier results keep the reminder of their day, whatever the request is by now; results that
    never had one get none afterwards."""
    seen = talk("uararau", said={0: "First.", 6: "Second."}, reminds=True)
    remembered = Remembered({}, placed={1: "[operator] First."})
    assert reminders(seen, remembered, "request") == (
        Placed(4, "[operator] First.", 1, ("messages", 0, "content"), known=True),
    )


def test_a_text_that_nobody_says_any_more_is_dropped() -> None:
    """Only words of this very body may be repeated: they alone were screened."""
    seen = talk("uara", said={0: "Other."}, reminds=True)
    assert reminders(seen, Remembered({}, placed={0: "[operator] First."}), "request") == ()


def test_a_long_request_is_cut_and_still_vouched_for() -> None:
    """At most 600 characters with the label."""
    seen = talk("uar", said={0: "word " * 300}, reminds=True)
    (placed,) = reminders(seen, Remembered({}), "request")
    assert (len(placed.text), placed.text[-1]) == (600, "…")
    later = talk("uarau", said={0: "word " * 300}, reminds=True)
    assert reminders(later, Remembered({}, placed={0: placed.text}), "request")[0].known


def test_marked_spans_are_not_repeated() -> None:
    """What others wrote stands in its frame alone; the words before it are repeated."""
    words = {0: "Read <file>evil</file> please."}
    seen = marked(talk("uar", said=words, reminds=True), "c", (Also("*", "<file>", "</file>"),))
    (placed,) = reminders(seen, Remembered({}), "request")
    assert placed.text == "[operator] Read <file>"


def test_the_newest_words_that_say_something_are_the_request() -> None:
    """Of several parts the last; blank ones say nothing; where nobody says anything, none."""
    said = (Strand(("a",), "First."), Strand(("b",), "Second."), Strand(("c",), " \n"))
    seen = structs.replace(talk("uar", reminds=True), words=lambda at: said if at == 0 else ())
    (placed,) = reminders(seen, Remembered({}), "request")
    assert (placed.text, placed.quotes) == ("[operator] Second.", ("b",))
    mute = structs.replace(seen, words=lambda at: ())
    assert reminders(mute, Remembered({}), "request") == ()


def test_places_are_named_by_the_last_unit_of_a_run() -> None:
    """In order, those of all runs with results."""
    seen = talk("uarrau", reminds=True)
    assert {unit: run.start for unit, run in beside(seen, "request").items()} == {1: 2}
    assert [*beside(talk("uararar", reminds=True), "request")] == [0, 1, 2]
