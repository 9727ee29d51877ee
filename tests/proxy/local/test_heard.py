"""What a local server says, heard whatever way its bytes are cut, and refused where it fails."""

import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.notices import words
from proxy.errors import Refused
from proxy.local.heard import LINE_LIMIT, Heard, failure
from proxy.local.talk import Called, Ended, Speech, Text, Thinking

HEAD = {"model": "qwen3:8b", "created_at": "2026-11-30T10:00:00.123456789Z"}


def line(message: Any = None, **more: Any) -> bytes:
    said = {} if message is None else {"message": {"role": "assistant", **message}}
    return json.dumps({**HEAD, **said, "done": False, **more}).encode() + b"\n"


def last(reason: str = "stop", **more: Any) -> bytes:
    return line({"content": ""}, done=True, done_reason=reason, **more)


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"index": 0, "name": name, "arguments": arguments}}


RECORDED = b"".join(
    (
        line({"content": "", "thinking": "The user"}),
        line({"content": "", "thinking": " wants"}),
        line({"content": "Grüße 🧅"}),
        line({"content": "\n"}),
        line({"content": "", "tool_calls": [call("a", {"x": [1, 2.5]}, id="call_1")]}),
        line({"content": "", "tool_calls": [call("b", {}), call("c", {"y": None})]}),
        last(total_duration=1, prompt_eval_count=26, eval_count=298),
    )
)
HEARD: tuple[Speech, ...] = (
    Thinking("The user"),
    Thinking(" wants"),
    Text("Grüße 🧅"),
    Text("\n"),
    Called("a", {"x": [1, 2.5]}, "call_1"),
    Called("b", {}),
    Called("c", {"y": None}),
    Ended("stop", 26, 298),
)


def hear(*chunks: bytes) -> tuple[Speech, ...]:
    heard = Heard()
    said = [part for chunk in chunks for part in heard.feed(chunk)]
    return (*said, *heard.over())


def refusal(do: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        do()
    return caught.value


def test_a_recorded_answer_is_heard_in_one_piece_and_byte_by_byte() -> None:
    """Text, thoughts, whole calls, the end with its tokens."""
    assert hear(RECORDED) == HEARD
    assert hear(*(RECORDED[at : at + 1] for at in range(len(RECORDED)))) == HEARD


@settings(max_examples=40)
@given(st.lists(st.integers(0, len(RECORDED)), max_size=8))
def test_it_does_not_matter_where_it_is_cut(cuts: list[int]) -> None:
    """Also in the middle of a character or of an escape."""
    edges = [0, *sorted(cuts), len(RECORDED)]
    assert hear(*(RECORDED[a:b] for a, b in itertools.pairwise(edges))) == HEARD


def test_speech_is_heard_as_soon_as_its_line_is_complete() -> None:
    """Nothing waits for the end."""
    heard = Heard()
    assert heard.feed(line({"content": "a"})[:-1]) == ()
    assert heard.feed(b"\n") == (Text("a"),)


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        (last(), Ended()),
        (last("length", eval_count=5), Ended("length", 0, 5)),
        (last("load"), Ended()),
        (last(prompt_eval_count=-1, eval_count="7"), Ended()),
        (last(prompt_eval_count=True, eval_count=1.5), Ended()),
        (b'{"done":true}', Ended()),  # without a line end, as a whole answer comes
    ],
)
def test_an_end_is_heard(end: bytes, ended: Ended) -> None:
    """With the reason and the tokens, absent ones zero."""
    assert hear(end) == (ended,)


def test_nothing_is_heard_behind_the_end() -> None:
    """Not even what could not be read."""
    assert hear(last() + line({"content": "more"}) + b"oops\n") == (Ended(),)


def test_blank_lines_and_unknown_fields_say_nothing() -> None:
    """A newer server says more than we know."""
    odd = line({"content": "a", "images": ["x"], "tool_calls": None}, logprobs=[{"a": 1}])
    assert hear(b"\n" + odd + b" \r\n" + line() + b'{"message":[]}\n' + last()) == (
        Text("a"),
        Ended(),
    )


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        ('{"path":"a"}', Called("f", {"path": "a"})),  # as text, as other servers give them
        (None, Called("f", {})),
        ('{"path":', Called("f", {}, unread='{"path":')),
        ("", Called("f", {}, unread='""')),
        ("[1]", Called("f", {}, unread="[1]")),
        ([1, "ä"], Called("f", {}, unread='[1,"ä"]')),
        (7, Called("f", {}, unread="7")),
    ],
)
def test_arguments_that_are_no_object_are_told_as_they_came(
    arguments: object, called: Called
) -> None:
    """So that they can be said, but not carried out."""
    assert hear(line({"tool_calls": [call("f", arguments)]}), last()) == (called, Ended())


@pytest.mark.parametrize("odd", [None, 7, "f", [], {}, {"function": None}, {"function": "f"}])
def test_a_call_that_is_none_names_no_tool(odd: object) -> None:
    """It is heard all the same: the model wanted something."""
    [heard, _] = hear(line({"tool_calls": [odd]}), last())
    assert isinstance(heard, Called)
    assert heard.name == ""
    assert json.loads(heard.unread) == odd


def test_halves_of_characters_are_not_told() -> None:
    """No SDK could read them, and no reader may be handed what a second one reads differently."""
    cut = b'{"message":{"content":"a\\ud83d"},"done":false}\n{"message":{"content":"b\xf0"}}\n'
    assert hear(cut, last()) == (Text("a\ufffd"), Text("b\ufffd"), Ended())


@pytest.mark.parametrize(
    "garbage",
    [
        b"oops\n", b"[]\n", b'"a"\n', b"{}}\n", b'{"message":\n', b"null\n", b"<html>\n",
        b'{"prompt_eval_count":1e999}\n', b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n",
        b"data: {}\n",
    ],
)  # fmt: skip
def test_what_cannot_be_read_ends_the_answer(garbage: bytes) -> None:
    """In our words; none of its own are told."""
    refused = refusal(lambda: hear(line({"content": "a"}), garbage, last()))
    assert refused.code == "home-unavailable"
    assert words(refused.code, refused.facts).startswith(
        "[home-unavailable] The local model at home does not answer: it said something that cannot"
    )


@pytest.mark.parametrize("cut", [b"", line({"content": "a"}), RECORDED[:-1][:-9], b"\n"])
def test_an_answer_that_breaks_off_is_none(cut: bytes) -> None:
    """Without its last line nobody knows what is missing."""
    assert refusal(lambda: hear(cut)).code == "home-unavailable"


def test_the_longest_line_is_bounded() -> None:
    """Eight megabytes, whether they come at once or in pieces, with an end or without."""
    whole = line({"content": "x" * (LINE_LIMIT - 200)}) + last()
    assert len(hear(whole)) == 2
    for chunks in ([b"x" * LINE_LIMIT, b"x"], [b"x" * LINE_LIMIT + b"\n"]):
        heard = Heard()
        refused = refusal(lambda heard=heard, chunks=chunks: [*map(heard.feed, chunks)])  # type: ignore[misc]
        assert "more in one line" in refused.facts["reason"]


@pytest.mark.parametrize("field", ["remote_host", "remote_model"])
def test_an_answer_from_elsewhere_is_none_from_home(field: str) -> None:
    """A name may become an alias of a cloud model between two requests."""
    heard = Heard()
    where = line({"content": "a"}, **{field: "https://ollama.example"})
    refused = refusal(lambda: heard.feed(where))
    assert refused.code == "home-not-local"
    assert hear(line({"content": "a"}, **{field: ""}), last()) == (Text("a"), Ended())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "model runner has unexpectedly stopped, check ollama server logs for details",
            "it says model runner has unexpectedly stopped, check ollama server logs for details",
        ),
        ("CUDA error: out of memory\n  current device: 0", "it says CUDA error: out of memory"),
        ("error parsing tool call: raw='{\"k\":1}', err=x", "it says error parsing tool call: raw"),
        ("open /home/me/models/blobs: no such file", "it says open"),
        ("\x1b[31mred", "it failed"),
        ("", "it failed"),
        ({"message": "x"}, "it failed"),
        (None, "it failed"),
    ],
)
def test_an_error_is_told_up_to_where_it_may_quote(said: object, told: str) -> None:
    """Servers put what the model wrote, and paths of the machine, into their errors."""
    refused = failure(said)
    assert (refused.code, refused.facts["reason"]) == ("home-unavailable", told)


def test_an_error_line_ends_the_answer() -> None:
    """After the first byte a server has no other way to say it."""
    refused = refusal(lambda: hear(line({"content": "a"}), b'{"error":"out of memory"}\n', last()))
    assert words(refused.code, refused.facts).startswith(
        "[home-unavailable] The local model at home does not answer: it says out of memory. Nothing"
    )


@settings(max_examples=80)
@given(
    st.binary(max_size=200) | st.lists(st.sampled_from([*RECORDED.split(b"\n")])).map(b"\n".join)
)
def test_any_bytes_are_speech_or_a_refusal(raw: bytes) -> None:
    """No other exception."""
    with suppress(Refused):
        assert hear(raw)[-1:] == (Ended("stop", 26, 298),)


def test_a_server_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is kept until the end, so there has to be one."""
    monkeypatch.setattr("proxy.local.heard.LIMIT", 1000)
    heard, one = Heard(), line({"content": "a"})
    for _ in range(1000 // (len(one) + 64)):
        assert heard.feed(one) == (Text("a"),)
    no = refusal(lambda: heard.feed(one))
    assert no.code == "home-unavailable"
