"""Which session a request belongs to."""

import json
import re

import pytest

from policies.conversation import Conversation
from proxy.dialects import ALL
from proxy.lazyjson import read
from proxy.sessions import CLIENTS_OWN, labelled, name_of

KEY = bytes(range(32))


@pytest.mark.parametrize("header", CLIENTS_OWN)
def test_clients_say_it_in_headers_of_their_own(header: str) -> None:
    """Each known header names the session, in any case."""
    assert name_of([("x-other", "no"), (header.upper(), "s-1")]) == "s-1"


def test_the_configured_header_beats_them_and_credentials_name_nothing() -> None:
    """Order: the owner's header, then the clients'; an unknown header says nothing."""
    headers = [("session-id", "theirs"), ("X-Mine", "mine"), ("authorization", "Bearer a")]
    assert name_of(headers, "x-mine") == "mine"
    assert name_of(headers, "x-absent") == "theirs"
    assert name_of(headers[2:]) == ""


def test_the_label_is_twelve_digits_of_a_keyed_digest() -> None:
    """What is logged does not tell the id. It depends on the key and the client's name."""
    headers = [("session-id", "s-1")]
    label = labelled(KEY, "laptop", name_of(headers))
    assert re.fullmatch("[0-9a-f]{12}", label)
    assert label == labelled(KEY, "laptop", name_of([("authorization", "Bearer b"), *headers]))
    others = {
        labelled(bytes(32), "laptop", name_of(headers)),
        labelled(KEY, "phone", name_of(headers)),
    }
    assert len(others | {label}) == 3


def test_without_a_header_the_root_of_the_conversation_names_it() -> None:
    """It is known once the body was read; with a header it counts for nothing."""

    def view(text: str) -> Conversation:
        body = {"messages": [{"role": "user", "content": text}], "prompt_cache_key": "s-1"}
        return ALL["openai_chat"].view(read(json.dumps(body).encode()))

    one, two = view("one"), view("two")
    assert labelled(KEY, "laptop", "") == ""
    assert labelled(KEY, "laptop", "", ALL["openai_chat"].view(read(b"{}"))) == ""
    assert labelled(KEY, "laptop", "", one) == labelled(KEY, "laptop", "", view("one"))
    assert labelled(KEY, "laptop", "", one) != labelled(KEY, "laptop", "", two)
    named = [("x-session-id", "s-1")]
    assert labelled(KEY, "laptop", name_of(named), one) == labelled(
        KEY, "laptop", name_of(named), two
    )
