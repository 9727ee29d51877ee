"""One frame: its lines, its nonce, its field."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.envelope import CLOSE, INTRO, OPEN, STEM, field_name, is_nonce, wrap_untrusted
from policies.envelope.neutralise import neutralise, stems

N = "0123456789abcdef" * 2


def test_a_frame_is_marker_text_marker() -> None:
    """The exact lines of the contract, without a line break at the end."""
    assert wrap_untrusted("read_file", "a\nb", draw=lambda: N) == (
        f"[[TRANSOM_DATA nonce={N} field=read_file]]\na\nb\n[[END_TRANSOM_DATA nonce={N}]]"
    )


def test_the_intro_stands_before_the_first_marker() -> None:
    """With `intro` the line that names the nonce comes first and spells no marker."""
    framed = wrap_untrusted("read", "a", draw=lambda: N, intro=True)
    intro, rest = framed.split("\n", 1)
    assert intro == f"[Data envelope (code-owned)]: this message's nonce is {N}."
    assert rest == wrap_untrusted("read", "a", draw=lambda: N)
    assert not stems(intro)


@pytest.mark.parametrize("text", ["", "text"])
def test_wrap_untrusted_token_is_per_call(text: str) -> None:
    """Each call draws exactly once, also for an empty text, and uses what it drew."""
    drawn: list[str] = []

    def nonces() -> Iterator[str]:
        for number in range(3):
            drawn.append(f"{number:032x}")
            yield drawn[-1]

    source = nonces()
    for number in range(3):
        framed = wrap_untrusted("read", text, draw=lambda: next(source))
        assert len(drawn) == number + 1
        assert framed.count(drawn[-1]) == 2


@pytest.mark.parametrize(
    "nonce", ["", N[:-1], N + "0", N.upper(), N[:-1] + "g", N + "\n", "\uff10" * 32, " " + N[1:]]
)
def test_a_malformed_nonce_is_refused(nonce: str) -> None:
    """Only 32 lower-case hex digits are a nonce; the error does not repeat what was drawn."""
    assert not is_nonce(nonce)
    with pytest.raises(ValueError, match=r"32 lower-case hex digits$"):
        wrap_untrusted("read", "a", draw=lambda: nonce)


@pytest.mark.parametrize(("label", "text"), [("read", f"a{N}b"), (f"t{N}", "a")])
def test_a_nonce_that_the_text_or_the_label_knows_is_refused(label: str, text: str) -> None:
    """A nonce that is known is no nonce; the error does not repeat it."""
    with pytest.raises(ValueError, match="stands in the text") as caught:
        wrap_untrusted(label, text, draw=lambda: N)
    assert N not in str(caught.value)


@pytest.mark.parametrize("name", ["a", "mcp__mail.read:v1-2", "x" * 48])
def test_a_safe_tool_name_is_the_field(name: str) -> None:
    """Names of the safe shape stand in the marker as they are."""
    assert field_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a\n",
        "a b",
        "x" * 49,
        "a]]",
        "é",
        "\uff41",
        "a/b",
        'a"',
        "a\\b",
        STEM,
        "my_transom_data",
    ],
)
def test_any_other_tool_name_becomes_tool_result(name: str) -> None:
    """What is not safe as a whole never reaches the marker line, whoever calls."""
    assert field_name(name) == "tool_result"
    assert OPEN.format(nonce=N, field="tool_result") in wrap_untrusted(name, "", draw=lambda: N)


@given(st.text(max_size=60), st.text(max_size=200), st.booleans())
def test_whatever_comes_in_there_are_two_markers_and_the_text_between(
    label: str, text: str, intro: bool
) -> None:
    """For any label and text the stem stands exactly in the first and the last line."""
    framed = wrap_untrusted(label, text, draw=lambda: N, intro=intro)
    head = f"{INTRO.format(nonce=N)}\n" if intro else ""
    assert framed.startswith(f"{head}[[{STEM} nonce={N} field=")
    assert framed.endswith("\n" + CLOSE.format(nonce=N))
    assert len(stems(framed)) == 2


def test_markers_survive_the_encoders_that_copy_them() -> None:
    """Markers are printable ASCII without the characters that JSON or HTML would escape."""
    for mark in (OPEN, CLOSE, INTRO):
        assert mark.isascii()
        assert mark.isprintable()
        assert not set(mark) & set('<>&"\\')


def test_only_the_kept_characters_are_given_and_that_is_said_outside() -> None:
    """Cut first, so a mark that the cut takes apart is none; the note stands behind the frame."""
    framed = wrap_untrusted("mail", f"ab{STEM}", draw=lambda: N, kept=4)
    assert framed == (
        f"[[TRANSOM_DATA nonce={N} field=mail]]\nabTR\n[[END_TRANSOM_DATA nonce={N}]]\n"
        "[truncated by Transom: 4 of 14 characters]"
    )


def test_the_cut_may_stand_anywhere_in_a_mark() -> None:
    """No cut leaves a mark behind, none makes one."""
    text = f"x{STEM}{STEM}y"
    for kept in range(len(text)):
        framed = wrap_untrusted("mail", text, draw=lambda: N, kept=kept)
        assert framed.count(STEM) == 2, kept


def test_json_content_is_one_string_of_the_neutralised_text() -> None:
    """Quotes, backslashes and line ends cannot end it; nothing else is changed."""
    text = f'He said: "{STEM}"\n\\ done, caf\u00e9.'
    framed = wrap_untrusted("mail", text, draw=lambda: N, encode="json")
    _, content, _ = framed.split("\n")
    assert json.loads(content) == neutralise(text)
    assert "caf\u00e9" in content


@settings(max_examples=200)
@given(st.text(alphabet=st.sampled_from([*'TRANSOM_DATA"\\nu0 \n\t\x01', "\uff3f", "\u200b"])))
def test_encoding_never_spells_a_mark(text: str) -> None:
    """What JSON adds between two letters would be seen through, had they stood together before."""
    assert not stems(json.dumps(neutralise(text), ensure_ascii=False))


def test_both_at_once() -> None:
    """Cut, then neutralised, then encoded."""
    framed = wrap_untrusted("mail", 'a"b' * 9, draw=lambda: N, kept=3, encode="json")
    assert framed.split("\n")[1] == '"a\\"b"'
    assert framed.endswith("[truncated by Transom: 3 of 27 characters]")
