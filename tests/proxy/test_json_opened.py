"""What is known of an opened container, and which of its children are made."""

import pytest

from proxy.json_opened import Kind, Opened
from proxy.lazyjson import Malformed, Node, read


def opened(*keys: str) -> Opened[Node]:
    return Opened({key: (key, 0, 0, 0) for key in keys}, ())


def test_keys_that_fold_to_themselves_have_no_twins():
    """What nearly all objects have: no key has to be folded when another one is asked for."""
    usual = opened("model", "messages", "ß".casefold())
    assert usual.own_folds
    assert usual.twin_fold is None


@pytest.mark.parametrize("keys", [("model", "Model"), ("ß", "x", "ss"), ("A", "b", "a")])
def test_the_later_of_two_keys_that_fold_alike_is_the_twin(keys: tuple[str, ...]):
    """Which key an error names."""
    assert opened(*keys).twin_fold == keys[-1]


def test_keys_of_other_letters_without_a_twin_are_no_twins():
    """An object may have keys that do not fold to themselves."""
    made = opened("Model", "inputSchema")
    assert not made.own_folds
    assert made.twin_fold is None


def test_only_what_is_asked_for_becomes_a_node():
    """A body that passes is opened at its top, and one member of it is read."""
    root = read(b'{"model":"m","messages":[1,2],"stream":true}', judge=False).root
    assert root.names() == ("model", "messages", "stream")
    assert not root.opened().named
    model = root.get("model")
    assert list(root.opened().named) == ["model"]
    assert root.child("model") is model


def test_all_members_keep_their_order_and_their_nodes():
    """What was asked for first stands where it stood, and is the same node."""
    root = read(b'{"model":"m","messages":[1,2],"stream":true}', judge=False).root
    stream = root.get("stream")
    assert [key for key, _ in root.members()] == ["model", "messages", "stream"]
    assert root.children()[2] is stream is root.get("stream")
    assert [node.kind for node in root.children()] == [Kind.STRING, Kind.ARRAY, Kind.LITERAL]


def test_members_that_were_asked_for_one_by_one_keep_their_order():
    """However they were asked for: where an edit goes is told by their number."""
    root = read(b'{"a":1,"b":2,"c":3}', judge=False).root
    asked = [root.get(key) for key in ("c", "a", "b")]
    assert [key for key, _ in root.members()] == ["a", "b", "c"]
    assert list(root.children()) == [asked[1], asked[2], asked[0]]


def test_names_are_as_strict_as_members():
    """Two keys that some upstreams take for one are no names to go by."""
    root = read(b'{"model":"m","Model":"n"}').root
    with pytest.raises(Malformed, match="differs only in case") as caught:
        root.names()
    assert caught.value.address == ("Model",)
    assert caught.value.offset == 13
