"""Rounds and their counts, read from bodies of all dialects."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.conversation import Conversation, ToolCall
from policies.loops import polls, reads, repeats, rounds_of, same_result, signature
from policies.past import Past
from proxy.dialects import ALL
from proxy.lazyjson import read
from tests.scenes.turns import TURNS, Rounds, one

DIALECTS = pytest.mark.parametrize("dialect", TURNS)


def seen(dialect: str, rounds: Rounds, **more: Any) -> Conversation:
    return view(dialect, TURNS[dialect](rounds, **more))


def view(dialect: str, body: dict[str, Any]) -> Conversation:
    return ALL[dialect].view(read(json.dumps(body).encode()))


def letters(text: str) -> Rounds:
    """One round for each letter, alike where the letters are."""
    return [one("read_file", letter, f"what {letter} holds") for letter in text]


def counted(text: str) -> tuple[int, int, int]:
    rounds = rounds_of(seen("openai_chat", letters(text)))
    newest = len(rounds)
    return same_result(rounds, newest), repeats(rounds, newest), polls(rounds, newest)


@pytest.mark.parametrize(
    ("text", "same", "cycles", "polled"),
    [
        ("", 0, 0, 0),
        ("a", 1, 0, 1),
        ("aa", 2, 0, 2),
        ("aaaaaaaa", 8, 0, 8),
        ("aab", 1, 0, 1),
        ("baa", 2, 0, 2),
        ("abab", 1, 2, 2),
        ("xababab", 1, 3, 3),
        ("abcabcabc", 1, 3, 3),
        ("abcdabcdabcd", 1, 3, 3),
        ("abcdeabcdeabcde", 1, 0, 1),
        ("ababa", 1, 2, 2),
        ("aabaab", 1, 2, 2),
    ],
)
def test_what_comes_again_is_counted(text: str, same: int, cycles: int, polled: int) -> None:
    """Equal rounds at the end, circles of two to four, and nothing of what stands before."""
    assert counted(text) == (same, cycles, polled)


@given(st.text("abc", max_size=12))
def test_counts_never_pass_the_number_of_rounds(text: str) -> None:
    """Whatever comes in whatever order, and the parts before are counted as they were then."""
    rounds = rounds_of(seen("openai_chat", letters(text)))
    for count in range(len(text) + 1):
        told = same_result(rounds, count), repeats(rounds, count), polls(rounds, count)
        assert max(told) <= count
        assert told == counted(text[:count])


@DIALECTS
def test_a_round_is_what_was_called_at_once(dialect: str) -> None:
    """Calls and results of each, in every dialect, in no order, and their bytes."""
    calls = [("read_file", {"path": "a"}, "ä"), ("look", {}, "bb")]
    rounds = rounds_of(seen(dialect, [calls, calls[::-1], one("look", 1, "")]))
    assert len(rounds) == 3
    assert sorted(rounds.tools(0)) == ["look", "read_file"]
    assert rounds[0].calls == rounds[1].calls != rounds[2].calls
    assert rounds[0].results == rounds[1].results != rounds[2].results
    assert [rounds.size(count) for count in range(4)] == [0, 4, 8, 8]


@DIALECTS
def test_a_turn_begins_with_the_operators_words(dialect: str) -> None:
    """What was called before them counts no more."""
    body = TURNS[dialect](letters("aaa"))
    key = "input" if dialect == "openai_responses" else "messages"
    body[key] += [{"role": "assistant", "content": "So."}, {"role": "user", "content": "Again."}]
    assert len(rounds_of(view(dialect, body))) == 0
    body[key] += TURNS[dialect](letters("aa"))[key][1:]
    rounds = rounds_of(view(dialect, body))
    assert same_result(rounds, len(rounds)) == 2


def test_two_calls_are_the_same_however_they_are_written() -> None:
    """White space and the order of keys say nothing; values, names and order of lists do."""
    call = ToolCall("1", "t", '{"a": [1, 2], "b": {"c": null, "d": "x"}}')
    assert signature(call) == signature(ToolCall("2", "t", '{"b":{"d":"x","c":null},\n "a":[1,2]}'))
    for name, arguments in (
        ("t", '{"a": [2, 1], "b": {"c": null, "d": "x"}}'),
        ("t", '{"a": [1, 2]}'),
        ("u", call.arguments),
        ("t", ""),
    ):
        assert signature(ToolCall("1", name, arguments)) != signature(call)
    assert signature(ToolCall("", "t", " ls -l\n")) == signature(ToolCall("", "t", "ls -l"))
    deep = "[" * 100_000
    assert signature(ToolCall("", "t", deep)) != signature(ToolCall("", "t", deep[1:]))


@pytest.mark.parametrize(
    ("dialect", "content"),
    [
        ("anthropic_messages", {"type": "image", "source": {"type": "base64", "data": "{}"}}),
        ("openai_chat", {"type": "image_url", "image_url": {"url": "{}"}}),
        ("openai_responses", {"type": "input_image", "image_url": "{}"}),
    ],
)
def test_pictures_count_where_results_are_compared(dialect: str, content: Any) -> None:
    """Another picture is another result; a mark for the cache makes none."""

    def picture(data: str) -> Any:
        return [json.loads(json.dumps(content).replace("{}", data))]

    def same(*pictures: Any) -> int:
        shots = [[("screenshot", {}, shot)] for shot in pictures]
        rounds = rounds_of(seen(dialect, shots))
        assert rounds.size(1) > len("AAAA")
        return same_result(rounds, len(rounds))

    marked = [{**picture("AAAA")[0], "cache_control": {"type": "ephemeral"}}]
    assert same(picture("AAAA"), picture("AAAA")) == 2
    assert same(picture("AAAA"), marked) == 2
    assert same(picture("AAAA"), picture("AAAB")) == 1


def test_other_results_of_ollama_and_of_computers_count_too() -> None:
    """Images beside the text of a result, and screenshots."""
    body = TURNS["ollama_chat"](letters("aa"))
    body["messages"][2]["images"] = ["AAAA"]
    assert same_result(rounds_of(view("ollama_chat", body)), 2) == 1
    body["messages"][4]["images"] = ["AAAA"]
    assert same_result(rounds_of(view("ollama_chat", body)), 2) == 2
    items: list[dict[str, Any]] = [{"role": "user", "content": "x"}]
    for at, shot in enumerate(("a", "a", "b")):
        call = {"type": "computer_call", "call_id": f"c{at}", "action": {"type": "screenshot"}}
        output = {"type": "computer_screenshot", "image_url": shot}
        items += [call, {"type": "computer_call_output", "call_id": f"c{at}", "output": output}]
    rounds = rounds_of(view("openai_responses", {"model": "m", "input": items}))
    assert [same_result(rounds, count) for count in (1, 2, 3)] == [1, 2, 1]


def test_results_without_calls_are_rounds_and_like_nothing() -> None:
    """A history whose calls were cut away still counts, but nothing is known to repeat."""
    body = TURNS["openai_chat"](letters("aaa"))
    for message in body["messages"]:
        message.pop("tool_calls", None)
        message["content"] = message["content"] or "So."
    rounds = rounds_of(view("openai_chat", body))
    assert len(rounds) == 3
    assert (same_result(rounds, 3), polls(rounds, 3), repeats(rounds, 3)) == (0, 0, 0)
    assert reads(rounds, 3, lambda tool: False) == 0


def test_rounds_that_only_read_are_counted_from_the_last_that_wrote() -> None:
    """One call that writes makes its round one that writes; what does not count is passed over."""
    kinds = {"read_file": False, "look": None, "write_file": True}

    def told(*tools: tuple[str, ...]) -> int:
        rounds = rounds_of(seen("openai_chat", [[(t, {}, "") for t in at] for at in tools]))
        return reads(rounds, len(tools), lambda tool: kinds[tool])

    assert told(("read_file",), ("read_file", "read_file")) == 2
    assert told(("read_file",), ("write_file", "read_file"), ("read_file",)) == 1
    assert told(("read_file",), ("look",), ("look", "read_file")) == 2
    assert told(("write_file",)) == 0


def test_only_what_is_asked_about_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the newest rounds differ, those before them are not looked at."""
    rounds = rounds_of(seen("openai_chat", letters("abcdefghijklmnopqrstuvwxyz")))
    assert (same_result(rounds, 26), repeats(rounds, 26), polls(rounds, 26)) == (1, 0, 1)
    assert sorted(rounds._read) == [21, 22, 23, 24, 25]


def test_of_a_past_every_count_of_rounds_has_its_size() -> None:
    """What was worked out for all of a known beginning is not taken for a part of it, and a round
    that was read before says the same again."""
    whole = seen("openai_chat", letters("abcdefgh"))
    fresh = rounds_of(whole)
    past = Past(whole.runs[5].stop, 5)
    for _ in range(2):
        known = rounds_of(replace(whole, past=past))
        assert [known.size(n) for n in range(9)] == [fresh.size(n) for n in range(9)]
        assert [known[n] for n in range(8)] == [fresh[n] for n in range(8)]
