"""What dialects with a list of messages have in common: one body, read and passed on."""

from collections.abc import Callable

import pytest

from policies.decide import UNASKED
from policies.decision import Claimed
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.beginnings import LEAST
from proxy.dialects.listed import Listed
from proxy.dialects.ollama_chat import OllamaChat
from proxy.dialects.openai_chat import OpenAIChat
from proxy.dialects.openai_responses import OpenAIResponses
from proxy.lazyjson import dump, read

Made = Callable[[], Listed]
DIALECTS: dict[str, tuple[Made, str]] = {
    "anthropic": (AnthropicMessages, "messages"),
    "chat": (OpenAIChat, "messages"),
    "responses": (OpenAIResponses, "input"),
    "ollama": (OllamaChat, "messages"),
}


def body(key: str, end: str) -> bytes:
    words = [{"role": "user", "content": f"{n} " + "x" * (LEAST // 4)} for n in range(8)]
    return dump({"model": "m", key: [*words, {"role": "user", "content": end}]})


@pytest.mark.parametrize(("made", "key"), DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("viewed", [True, False])
def test_what_was_read_or_passed_is_known_next_time(made: Made, key: str, viewed: bool) -> None:
    """By its beginning, and by the list of its own dialect alone."""
    one = made()
    for listed in ({"messages", "input"} - {key}).pop(), key:
        document = read(body(listed, "a"))
        assert one.known(body(listed, "b")) is None
        if viewed:
            one.view(document)
        else:
            one.passed(document)
        assert (one.known(body(listed, "b")) is not None) is (listed == key)


@pytest.mark.parametrize(("made", "key"), DIALECTS.values(), ids=DIALECTS)
def test_a_decision_that_changes_nothing_gives_the_very_bytes(made: Made, key: str) -> None:
    """The identical object, so that nothing is written anew that nobody has touched."""
    one, document = made(), read(body(key, "a"))
    seen = one.view(document)
    assert one.render(document, seen, UNASKED, Claimed({})) is document.body
    assert (one.glance(document), len(seen.messages)) == ("m", 9)
