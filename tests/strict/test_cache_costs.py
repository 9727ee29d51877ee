"""What each mode costs in cache hits, and what it saves, measured; docs/behaviour.md shows it."""

import re
from pathlib import Path

import pytest

from tests.strict.cache import Hit, share
from tests.strict.house import housed
from tests.strict.pairs import MAIN, PAIRS
from tests.strict.turns import showing

DOCS = Path(__file__).parents[2] / "docs" / "behaviour.md"

WAYS = {
    "off": ("off", "drop"),
    "dialogue": ("dialogue", "drop"),
    "dialogue, elide": ("dialogue", "elide"),
    "strict": ("strict", "drop"),
}


async def hits(client: str, way: str, folder: Path) -> list[Hit]:
    """A session of ten turns, each with two rounds of calls, through a node of its own."""
    pair = PAIRS[client]
    upstream = pair.upstream()
    folder.mkdir()
    async with housed(upstream, folder, showing(*WAYS[way])) as house:
        house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
        session = pair.client(house.through)
        session.size = 2500
        for turn in range(10):
            await session.turn(f"Question {turn}", 2, 1)
        assert not upstream.refused
    return upstream.hits


def told(found: list[Hit], whole: list[Hit]) -> str:
    """Tokens that were sent, and those of them that were read anew, as parts of all that would be
    sent whole."""
    sent, all_of_it = (sum(hit.total for hit in each) for each in (found, whole))
    new, all_new = (sum(hit.total - hit.read for hit in each) for each in (found, whole))
    return f"{share(found):.0%} cached, {sent / all_of_it:.0%} sent, {new / all_new:.1f} × new"


@pytest.mark.parametrize("client", MAIN)
async def test_the_documents_say_what_a_mode_costs(client: str, tmp_path: Path) -> None:
    """Each cell of the table is what comes out here."""
    whole = await hits(client, "off", tmp_path / "off")
    others = [await hits(client, way, tmp_path / way) for way in [*WAYS][1:]]
    cells = [f"{share(whole):.0%} cached", *(told(each, whole) for each in others)]
    shown = " | ".join(cells)
    print(f"| {client} | {shown} |")
    (line,) = re.findall(rf"^\| {client} \| (.*) \|$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert line == shown
