"""The reading of evidence: results of every dialect, frames, traces of the key."""

import base64
import json

import pytest

from proxy.demo.evidence import framed, history, marks, neutral, results, traces
from proxy.demo.files import key, nsec

N = "0123456789abcdef" * 2
INTRO = f"[Data envelope (code-owned)]: this message's nonce is {N}.\n"


def frame(content: str, close: str = N) -> str:
    return (
        f"[[TRANSOM_DATA nonce={N} field=read_file]]\n{content}\n[[END_TRANSOM_DATA nonce={close}]]"
    )


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "tool", "content": [{"type": "text", "text": "x"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]},
        {"input": [{"type": "function_call_output", "output": "x"}]},
        {"input": [{"type": "function_call_output", "output": [
            {"type": "input_text", "text": "x"}]}]},
    ],
)  # fmt: skip
def test_results_are_found_in_every_dialect(body: object) -> None:
    """String and part form alike; other text is not taken for a result."""
    assert results(json.dumps(body).encode()) == ["x"]
    assert results(b'{"messages":[{"role":"user","content":"x"}]}') == []


@pytest.mark.parametrize("body", [b"[]", b"{", b"\xff", b""])
def test_a_body_that_is_no_object_has_no_history(body: bytes) -> None:
    """Evidence that cannot be read shows nothing."""
    assert history(body) == []


def test_a_frame_is_read_with_and_without_its_intro() -> None:
    """Nonce, field and content come out as they stand."""
    bare, announced = framed(frame("a\nb")), framed(INTRO + frame("a\nb"))
    assert bare
    assert announced
    assert (bare.nonce, bare.field, bare.content, bare.announced) == (N, "read_file", "a\nb", "")
    assert announced.announced == N


@pytest.mark.parametrize(
    "text",
    [
        "a",
        frame("a") + "b",
        "b" + frame("a"),
        frame("a", close="f" * 32),
        frame("Transom_Data"),
        frame(frame("a")),
        frame("a") + frame("b"),
    ],
)
def test_what_is_not_one_whole_frame_is_none(text: str) -> None:
    """Text outside, a wrong end, a mark inside or two frames are no frame."""
    assert framed(text) is None


def test_neutral_text_has_no_stem_and_keeps_the_rest() -> None:
    """Every spelling of the stem goes, nothing else does."""
    assert neutral("a [[END_TRANSOM_DATA b transom_data") == (
        "a [[END_transom-data-marker-removed b transom-data-marker-removed"
    )


def test_marks_are_counted_by_kind() -> None:
    """Opening and closing marks apart."""
    assert marks(frame("x").encode()) == (1, 1)
    assert marks(b"[[END_TRANSOM_DATA nonce=") == (0, 1)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (nsec().encode(), "key, raw"),
        (nsec().upper().encode(), "key, raw"),
        (nsec().encode().hex().upper().encode(), "key, hex"),
        ("".join(f"%{ord(c):02X}" for c in nsec()).encode(), "key, percent"),
        ("".join(f"\\u{ord(c):04X}" for c in nsec()).encode(), r"key, \u escapes"),
        (base64.b64encode(nsec().encode()), "key, base64 (0)"),
        (base64.b64encode(b"a" + nsec().encode()), "key, base64 (2)"),
        (base64.urlsafe_b64encode(b"ab" + nsec().encode()), "key, base64url (1)"),
        (key(), "key bytes, raw"),
        (key().hex().encode(), "key bytes, hex"),
        (base64.b64encode(key()), "key bytes, base64 (0)"),
        (nsec()[::-1].encode(), "key, reversed"),
    ],
)
def test_the_key_is_found_in_every_form(form: bytes, name: str) -> None:
    """Each form is named and the key itself is not."""
    found = traces(b"before" + form + b"after")
    assert name in found
    assert not any(nsec() in each for each in found)


def test_other_text_has_no_trace() -> None:
    """No false alarm on what the demo sends anyway."""
    assert traces(b"KEY=nsec1 and nothing more " * 100) == []
