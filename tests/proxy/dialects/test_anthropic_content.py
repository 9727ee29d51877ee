"""Blocks that are read by themselves because they are many: they say what any block says."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from proxy.dialects.anthropic_content import _block, _blocks
from proxy.dialects.notes import Notes
from proxy.dialects.opened import opened
from proxy.lazyjson import read

RESULTS = st.fixed_dictionaries(
    {"type": st.just("tool_result")},
    optional={
        "tool_use_id": st.sampled_from(["t1", "", 7, None]),
        "content": st.sampled_from(["found", "", " ", None, 7, ["part"], [{"type": "text"}]]),
        "is_error": st.booleans(),
        "cache_control": st.just({"type": "ephemeral"}),
        "odd": st.just("a"),
    },
)
TEXTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "other", ["text"]])},
    optional={"text": st.sampled_from(["said", "", " ", 7]), "citations": st.just([1])},
)
CALLS = st.fixed_dictionaries(
    {"type": st.just("tool_use")},
    optional={
        "id": st.sampled_from(["t1", "", 7, None]),
        "name": st.sampled_from(["read", "", ["read"]]),
        "input": st.sampled_from([{"path": "a"}, {}, "free", "", None, 1.5, [1]]),
        "caller": st.sampled_from([{"type": "direct"}, {"type": "program"}, None]),
        "toolset_name": st.just("files"),
        "odd": st.just("a"),
    },
)


@given(
    st.lists(RESULTS | TEXTS | CALLS | st.sampled_from(["text", None]), max_size=4),
    st.sampled_from(["user", "assistant", "tool", ""]),
)
def test_what_is_read_by_itself_says_what_any_block_says(blocks: list[Any], role: str) -> None:
    """Results of one string, calls, texts, with strange members, without any, in whatever role."""
    (_, node), *_ = read(json.dumps({"content": blocks}).encode()).root.members()
    content = opened(node)
    quick, slow = (Notes(role=role, spoken=role == "assistant") for _ in range(2))
    _blocks(content, blocks, quick)
    for index in range(len(blocks)):
        _block(content.item(index), slow)
    assert _all(quick) == _all(slow)


def _all(notes: Notes) -> list[object]:
    found = [structs.astuple(each) for each in notes.found]
    return [found, *structs.astuple(structs.replace(notes, found=[], _parts=0))]
