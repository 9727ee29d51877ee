"""`fallback.explain = "text"` of a server that speaks the client's dialect, read by the SDKs."""

import pytest

from proxy.demo.files import nsec
from tests.scenes.hearth import at_home
from tests.scenes.home_clients import CLIENTS
from tests.scenes.home_model import ARGUMENTS, SAID, TITLE, speaking

ASKED = [
    (name, way) for name, kind in CLIENTS.items() if name != "ollama" for way in kind.ways
]  # Nobody but Ollama speaks its dialect.


@pytest.mark.parametrize("bytewise", [False, True])
@pytest.mark.parametrize(("name", "way"), ASKED)
async def test_the_text_says_so_whoever_speaks_the_dialect(
    name: str, way: str, bytewise: bool
) -> None:
    """The reason stands before the answer, once; a call goes on as it came, and JSON stays JSON."""
    secret = nsec()
    home = at_home(
        script=speaking(bytewise=bytewise), speaks=("anthropic", "openai"), explain="text"
    )
    async with home as stage:
        port = stage.node.parts.listener.port
        got = await CLIENTS[name](port, way).ask("text", secret)
        words, _, said = got.text.partition("\n\n")
        assert words.startswith("[egress-blocked] ")
        assert words.endswith(" Answered here, by home:1b.")
        assert said == SAID
        assert (await CLIENTS[name](port, way).ask("form", secret)).text == TITLE
        client = CLIENTS[name](port, way)
        got = await client.ask("call", secret)
        assert [call[1:] for call in got.calls] == [("read_file", ARGUMENTS)]
        got = await client.answer(got, "found")
        assert (got.text.count("Answered here, by"), got.text.endswith(SAID)) == (1, True)
        assert stage.upstream.accepted == 0
