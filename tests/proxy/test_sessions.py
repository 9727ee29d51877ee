"""Which session a request belongs to."""

import pytest

from proxy.sessions import CLIENTS_OWN, labelled, name_of


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
    """What is logged does not tell the id; without an id there is no label."""
    seen: list[str] = []

    def digest(name: str) -> bytes:
        seen.append(name)
        return bytes(range(32))

    assert labelled([("session-id", "s-1")], "", digest) == "000102030405"
    assert labelled([], "", digest) == ""
    assert seen == ["s-1"]
