"""The cache models count as the vendors say they do (wire.md 4): each bound can be seen."""

from typing import Any

import pytest

from tests.strict.cache import Automatic, Explicit, Hit, Slot, prefix, share
from tests.strict.claude_code import MARK

Body = dict[str, Any]


def block(number: int, size: int = 5000, *, mark: bool = False) -> Body:
    words = f"{number:05} " + "x" * size
    return {"type": "text", "text": words, **({"cache_control": MARK} if mark else {})}


def body(*blocks: Body, tools: tuple[Body, ...] = (), system: tuple[Body, ...] = ()) -> Body:
    messages = [{"role": "user", "content": list(blocks)}]
    return {"tools": list(tools), "system": list(system), "messages": messages}


def test_prefix_up_to_a_breakpoint_is_read_by_the_next_request() -> None:
    """The first request writes, the second reads up to the mark, although the mark has moved."""
    cache = Explicit()
    assert cache.account(body(block(1), block(2, mark=True))).read == 0
    hit = cache.account(body(block(1), block(2), block(3, mark=True)))
    assert 0.6 < hit.read / hit.total < 0.7


def test_without_a_breakpoint_nothing_is_written() -> None:
    """A prefix that no mark ended is not there."""
    cache = Explicit()
    cache.account(body(block(1), block(2)))
    assert cache.account(body(block(1), block(2, mark=True))).read == 0


def test_changed_block_is_not_read_and_nothing_behind_it() -> None:
    """Only what stands before the change is left."""
    cache = Explicit()
    cache.account(body(block(1, mark=True), block(2), block(3, mark=True)))
    hit = cache.account(body(block(1), block(9), block(3, mark=True)))
    assert 0.3 < hit.read / hit.total < 0.4


@pytest.mark.parametrize(("added", "read"), [(20, True), (21, False)])
def test_breakpoint_looks_back_over_twenty_blocks(added: int, read: bool) -> None:
    """An entry 20 blocks before the mark is found, one 21 blocks before is not."""
    cache = Explicit()
    first = [block(0, 5000, mark=True)]
    cache.account(body(*first))
    more = [block(number, 10) for number in range(1, added)]
    hit = cache.account(body(block(0, 5000), *more, block(99, 10, mark=True)))
    assert (hit.read > 0) is read


def test_short_prefix_is_never_cached() -> None:
    """Below the minimum size nothing is written."""
    cache = Explicit()
    small = body(block(1, 1000, mark=True))
    assert [cache.account(small).read for _ in range(2)] == [0, 0]
    cache = Explicit(least=10)
    assert [cache.account(small).read > 0 for _ in range(2)] == [False, True]


def test_prefix_is_tools_then_system_then_messages() -> None:
    """The order of 4.1; a mark inside a tool result is a mark on the result."""
    inner = {"type": "tool_result", "tool_use_id": "a", "content": [block(3, 1, mark=True)]}
    marked = {"name": "t", "cache_control": MARK}
    given = body(inner, tools=({"name": "s"}, marked), system=(block(2, 1),))
    found = list(prefix(given))
    assert [part[0] for part, _ in found] == ["tool", "tool", "system", "user"]
    assert [mark for _, mark in found] == [False, True, False, True]


def test_changed_tool_loses_everything() -> None:
    """Tools stand first."""
    cache = Explicit()
    cache.account(body(block(1, mark=True), tools=({"name": "a"},)))
    assert cache.account(body(block(1, mark=True), tools=({"name": "b"},))).read == 0


def messages(*texts: str, **more: Any) -> Body:
    return {"messages": [{"role": "user", "content": text} for text in texts], **more}


def test_automatic_prefix_grows_in_steps_from_the_minimum() -> None:
    """1024 tokens at least, then multiples of 128; what was sent is there for the next request."""
    cache = Automatic()
    assert cache.account(messages("x" * 8000)) == Hit(2008, 0)
    hit = cache.account(messages("x" * 8000, "y" * 8000))
    assert 1792 <= hit.read <= 2008
    assert hit.read % 128 == 0
    assert cache.account(messages("z" * 8000)).read == 0
    short = Automatic()
    assert [short.account(messages("x" * 4000)).read for _ in range(2)] == [0, 0]


def test_change_in_the_middle_ends_an_automatic_prefix() -> None:
    """Nothing behind a change is read, even where it is equal again."""
    cache = Automatic()
    cache.account(messages("a" * 8000, "b" * 8000, "c" * 80000))
    hit = cache.account(messages("a" * 8000, "d" * 8000, "c" * 80000))
    assert 0.05 < hit.read / hit.total < 0.1


def test_ids_and_cache_keys_are_no_prompt() -> None:
    """What is no content may change from turn to turn."""
    item = {"type": "message", "role": "user", "content": "x" * 9000}
    cache = Automatic()
    cache.account({"input": [{**item, "id": "msg_1"}], "prompt_cache_key": "a"})
    assert cache.account({"input": [{**item, "id": "msg_2"}], "prompt_cache_key": "b"}).read > 2000


def test_slot_holds_one_conversation() -> None:
    """The common prefix with the request before; another conversation takes the slot."""
    slot = Slot()
    slot.account(messages("a" * 8000))
    assert slot.account(messages("a" * 8000, "b")).read > 2000
    slot.account(messages("c" * 8000))
    assert slot.account(messages("a" * 8000)).read < 20


def test_system_messages_are_gathered_at_the_front_of_a_slot() -> None:
    """A late system message that is new destroys reuse, as it does there."""
    slot = Slot()
    slot.account(messages("a" * 8000))
    late = messages("a" * 8000)
    late["messages"].append({"role": "system", "content": "new"})
    assert slot.account(late).read < 20


def test_share_is_over_all_tokens_of_a_session() -> None:
    """Large requests count for more than small ones."""
    assert share([Hit(10, 0), Hit(90, 90)]) == 0.9
