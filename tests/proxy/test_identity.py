"""Identities: what clients change from turn to turn changes none of them, what they say does."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Conversation
from proxy.dialects import ALL
from proxy.identity import conversation_id, run_id, run_ids, session_id, unit_ids
from proxy.lazyjson import read

KEY = bytes(range(32))
CLAUDE = "anthropic_messages"
MARK = {"type": "ephemeral"}
TEXTS = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4)

Json = dict[str, Any]


def view(body: Json, dialect: str = CLAUDE) -> Conversation:
    raw = json.dumps(body).encode("utf-8", "surrogatepass")
    return ALL[dialect].view(read(raw))


def root(body: Json, dialect: str = CLAUDE) -> bytes:
    return conversation_id(KEY, "laptop", view(body, dialect))


def user(*texts: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def asked(*messages: Json, **members: Any) -> Json:
    return {"model": "m", "messages": list(messages), **members}


ANSWER: Json = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}


@given(TEXTS, st.data())
@settings(max_examples=60)
def test_a_conversation_is_the_same_however_it_is_packed(texts: list[str], data: Any) -> None:
    """Merged and split messages, strings and lists, moved cache marks and system messages, other
    tools, betas, model and later turns: one conversation."""
    draw = data.draw
    messages: list[Json] = []
    rest = list(texts)
    while rest:
        size = draw(st.integers(1, len(rest)))
        part, rest = rest[:size], rest[size:]
        plain = len(part) == 1 and draw(st.booleans())
        message = {"role": "user", "content": part[0]} if plain else user(*part)
        if not plain and draw(st.booleans()):
            draw(st.sampled_from(message["content"]))["cache_control"] = MARK
        if draw(st.booleans()):
            messages.append({"role": "system", "content": "a note"})
        messages.append(message)
    later = draw(st.lists(st.sampled_from([ANSWER, user("and then?")]), max_size=3))
    if later:
        messages += [ANSWER, *later]
    members = draw(
        st.sampled_from([{}, {"tools": [{"name": "t"}]}, {"betas": ["b"], "system": "s"}])
    )
    assert root(asked(*messages, **members)) == root(asked(user(*texts)))


@given(TEXTS, TEXTS)
@settings(max_examples=60)
def test_other_words_are_another_conversation(one: list[str], two: list[str]) -> None:
    """No two sequences of texts share an identity."""
    assert (root(asked(user(*one))) == root(asked(user(*two)))) == (one == two)


def test_client_dialect_and_key_are_in_it() -> None:
    """Two clients never share a conversation; a client's name is what the owner configured."""
    body = asked(user("hello"))
    conversations = [view(body), view(body, "openai_chat")]
    ids = {
        conversation_id(key, client, conversation)
        for key in (KEY, bytes(32))
        for client in ("laptop", "phone", "")
        for conversation in conversations
    }
    assert len(ids) == 12


def test_a_renewed_token_changes_nothing() -> None:
    """Identities take a client's name and a session's; no credential reaches them. The signature
    says so: there is nothing else to pass."""
    conversation = view(asked(user("hello")))
    assert session_id(KEY, "laptop", "s-1", conversation) == session_id(
        KEY, "laptop", "s-1", view(asked(user("another")))
    )


@pytest.mark.parametrize(
    ("dialect", "one", "two"),
    [
        (
            "openai_responses",
            {"input": "hello"},
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}]},
        ),
        (
            "openai_responses",
            {"input": [{"type": "message", "role": "user", "content": "hello", "id": "msg_1"}]},
            {
                "input": [
                    {"role": "developer", "content": "d"},
                    {"role": "user", "content": "hello"},
                ]
            },
        ),
        (
            "openai_chat",
            asked({"role": "user", "content": "hello"}),
            asked({"role": "system", "content": "s"}, user("hello"), {"role": "tool"}),
        ),
        (
            "ollama_chat",
            asked({"role": "user", "content": "hello", "images": []}),
            asked({"role": "user", "content": "hello"}, ANSWER, tools=[]),
        ),
    ],
)
def test_every_dialect_has_equal_packagings(dialect: str, one: Json, two: Json) -> None:
    """What the clients of one dialect write differently on later turns is one conversation."""
    assert root(one, dialect) == root(two, dialect)


@pytest.mark.parametrize(
    ("dialect", "one", "two"),
    [
        (CLAUDE, asked(user("a", "b")), asked(user("ab"))),
        (CLAUDE, asked(user("a")), asked({"role": "user", "content": [["a"], "b"]})),
        (
            CLAUDE,
            asked({"role": "user", "content": [{"type": "image", "source": {"data": "a"}}]}),
            asked({"role": "user", "content": [{"type": "image", "source": {"data": "b"}}]}),
        ),
        ("openai_responses", {"input": "a"}, {"input": "b"}),
        (
            "openai_responses",
            {"input": [{"type": "function_call_output", "call_id": "a", "output": "x"}]},
            {"input": [{"type": "function_call_output", "call_id": "a", "output": "y"}]},
        ),
        (
            "ollama_chat",
            asked({"role": "user", "content": "a", "images": ["x"]}),
            asked({"role": "user", "content": "a", "images": ["y"]}),
        ),
        (
            "openai_chat",
            asked({"role": "system", "content": "a"}),
            asked({"role": "system", "content": "b"}),
        ),
    ],
)
def test_what_is_said_tells_conversations_apart(dialect: str, one: Json, two: Json) -> None:
    """Texts, pictures, results, prompts; also where no user speaks, but only there."""
    assert root(one, dialect) != root(two, dialect)


def test_cache_marks_within_a_part_say_nothing() -> None:
    """Not even in the parts of a document."""

    def body(**more: Any) -> Json:
        block = {"type": "text", "text": "t", **more}
        source = {"type": "content", "content": [block]}
        return asked({"role": "user", "content": [{"type": "document", "source": source, **more}]})

    assert root(body()) == root(body(cache_control=MARK))
    assert root(body()) != root(body(citations={"enabled": True}))


def result(call: str, text: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": text}


def test_a_run_is_what_is_said_and_answered_in_it() -> None:
    """Equal runs are told apart by how many stand before; packing and system messages count for
    nothing, and neither do later runs."""
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "t"}]}
    answered = {"role": "user", "content": [result("c", "r"), {"type": "text", "text": "go"}]}
    split = [
        {"role": "user", "content": [result("c", "r")]},
        {"role": "user", "content": "go"},
        {"role": "system", "content": "note"},
    ]
    first, second = user("go"), user("go")
    one = view(asked(first, ANSWER, second, call, answered))
    two = view(asked(first, ANSWER, second, call, *split, ANSWER, user("more")))
    ids = [run_id(KEY, "laptop", one, run) for run in one.runs]
    assert len(set(ids)) == 3
    assert [run_id(KEY, "laptop", two, run) for run in two.runs][:3] == ids
    other = view(asked(user("stop"), ANSWER, second))
    assert run_id(KEY, "laptop", other, other.runs[1]) != ids[1]


def test_a_run_has_one_name_whoever_asks_first() -> None:
    """All runs at once, one of them, in any order; names of one client are none of another's, and
    what was worked out for one of them is of use to the other."""
    talk = asked(user("go"), ANSWER, user("go"), ANSWER, user("go"))
    one, two = view(talk), view(talk)
    backwards = [run_ids(KEY, "laptop", one, [run])[run.start] for run in one.runs[::-1]]
    assert [*run_ids(KEY, "laptop", two, two.runs).values()] == backwards[::-1]
    assert len(set(backwards)) == 3
    others = run_ids(KEY, "phone", two, two.runs)
    assert not {*others.values()} & {*backwards}
    assert others == run_ids(KEY, "phone", view(talk), two.runs)


def test_units_are_told_apart_by_call_part_tool_and_text() -> None:
    """Two results, two parts of one result, and the same again after repacking."""
    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": name, "name": "t"} for name in "ab"],
    }
    parts = [{"type": "text", "text": "x"}, {"type": "text", "text": "x"}]
    results = [result("a", "x"), {**result("b", "x"), "content": parts}]
    one = view(asked(user("u"), call, {"role": "user", "content": results}))
    two = view(asked(user("u"), call, *({"role": "user", "content": [one]} for one in results)))
    ids = unit_ids(KEY, "laptop", one, range(3))
    assert len(set(ids.values())) == 3
    assert unit_ids(KEY, "laptop", two, [2, 0]) == {2: ids[2], 0: ids[0]}
    assert not set(unit_ids(KEY, "phone", one, range(3)).values()) & set(ids.values())


CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "t"}]}
NOTE = {"role": "system", "content": "a note"}
MARKED = {"cache_control": MARK}


def talked(ask: list[Json], answer: list[Json], **members: Any) -> Json:
    return asked(*ask, CALLED, *answer, ANSWER, user("next"), **members)


PLAIN = talked(
    [{"role": "user", "content": "a"}, user("b", "c"), NOTE],
    [{"role": "user", "content": [result("c", "r"), {"type": "text", "text": "go"}]}],
    tools=[{"name": "t"}],
    betas=["b"],
)


@pytest.mark.parametrize(
    ("change", "body"),
    {
        "cache marks moved": talked(
            [
                {"role": "user", "content": "a"},
                {"role": "user", "content": [{"type": "text", "text": "b", **MARKED},
                                             {"type": "text", "text": "c"}]},
                NOTE,
            ],
            [
                {"role": "user", "content": [{**result("c", "r"), **MARKED},
                                             {"type": "text", "text": "go", **MARKED}]},
            ],
        ),
        "a string became a list of one": talked(
            [user("a"), user("b", "c"), NOTE],
            [
                {"role": "user", "content": [
                    {**result("c", "r"), "content": [{"type": "text", "text": "r", **MARKED}]},
                    {"type": "text", "text": "go"},
                ]},
            ],
        ),
        "messages of the user merged": talked(
            [user("a", "b", "c"), NOTE],
            [{"role": "user", "content": [result("c", "r")]}, user("go")],
        ),
        "a system message moved": talked(
            [NOTE, {"role": "user", "content": "a"}, user("b", "c")],
            [
                {"role": "user", "content": [result("c", "r"), {"type": "text", "text": "go"}]},
                NOTE,
            ],
        ),
        "other tools, system and model, betas dropped": {
            **PLAIN, "tools": [{"name": "u"}], "system": "s", "model": "n", "betas": [],
        },
    }.items(),
)  # fmt: skip
def test_what_clients_change_between_turns_changes_no_identity(change: str, body: Json) -> None:
    """Conversation, session without a header, every run and every unit, each for itself. No token
    is among what they are made of, so a renewed one changes nothing either."""
    before, after = view(PLAIN), view(body)
    assert body != PLAIN, change
    assert conversation_id(KEY, "laptop", after) == conversation_id(KEY, "laptop", before)
    assert session_id(KEY, "laptop", "", after) == session_id(KEY, "laptop", "", before)
    runs = [[run_id(KEY, "laptop", v, run) for run in v.runs] for v in (before, after)]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 3
    units = [unit_ids(KEY, "laptop", v, range(len(v.units))) for v in (before, after)]
    assert units[0] == units[1]
    assert len(units[0]) == 1


def test_a_session_is_what_headers_name_else_the_root_of_the_conversation() -> None:
    """A resume under another name is another session of the same conversation."""
    conversation = view(asked(user("hello"), metadata={"user_id": "session_1"}))
    named = session_id(KEY, "laptop", "s-1", conversation)
    assert named != session_id(KEY, "laptop", "s-2", conversation)
    assert named != session_id(KEY, "phone", "s-1", conversation)
    rooted = session_id(KEY, "laptop", "", conversation)
    assert rooted == conversation_id(KEY, "laptop", conversation) != named
    assert rooted == session_id(KEY, "laptop", "", view(asked(user("hello"), ANSWER)))


def test_lone_surrogates_have_an_identity() -> None:
    """They pass on local legs, so nothing here may fail on them."""
    half = view(asked({"role": "user", "content": "\ud800"}))
    assert len(conversation_id(KEY, "laptop", half)) == 32
