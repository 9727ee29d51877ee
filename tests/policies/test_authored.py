"""The registry of texts that Transom may place."""

from policies.authored import (
    AUTHORED,
    FORMS,
    LEFT_OUT,
    POLICY_TEXTS,
    REMINDER_CHARS,
    reminder,
)


def test_every_text_that_may_be_placed_is_registered_once() -> None:
    """The registry cannot be changed, holds every version of the policy text, and no text twice."""
    assert {f"policy/{version}": text for version, text in POLICY_TEXTS.items()}.items() <= (
        AUTHORED.items()
    )
    assert LEFT_OUT in AUTHORED.values()
    texts = [*AUTHORED.values(), *FORMS.values()]
    assert len(set(texts)) == len(texts)
    assert not hasattr(AUTHORED, "__setitem__")
    assert not hasattr(FORMS, "__setitem__")


def test_whole_texts_have_no_place_to_fill_in() -> None:
    """What the proof compares as a whole is static; forms are another list."""
    assert not any({"{", "}"} & set(text) for text in AUTHORED.values())


def test_a_reminder_is_labelled_and_bounded() -> None:
    """The operator's own words behind the label; at most 600 characters with it."""
    assert reminder("Fix the pier.") == "[operator] Fix the pier."
    exact = "x" * (REMINDER_CHARS - len("[operator] "))
    assert reminder(exact) == f"[operator] {exact}"
    cut = reminder(exact + "y")
    assert (len(cut), cut[-2:]) == (600, "x…")
    assert reminder(" \n") == ""
