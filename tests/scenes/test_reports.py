"""What is only told, through a real node: the text arrives as it came, the log says where."""

import base64
import json
from pathlib import Path

import pytest

from policies.decision import Leg
from policies.openings import OPENINGS
from proxy.demo.evidence import framed, results
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import staged, whole

DATA = Path(__file__).parents[1] / "data" / "injection-dev.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("leg", list(Leg))
async def test_whatever_a_result_says_or_hides_it_arrives_in_its_frame(leg: Leg) -> None:
    """The whole labelled sample, both classes: no refusal, no edit, one line where one is due."""
    async with staged(leg=leg) as stage:
        for row in ROWS:
            text = base64.b64decode(row["text_b64"]).decode()
            told = len(stage.events("notice"))
            answer = await stage.post("/v1/chat/completions", BODIES["openai_chat"](text))
            assert (answer.status, answer.headers["x-transom-leg"]) == (200, leg), row["id"]
            frame = framed(results(stage.upstream.requests[-1].body)[0])
            assert frame is not None
            assert frame.content == text
            kinds = [line["kinds"] for line in stage.events("notice")[told:]]
            assert [sorted(each) for each in kinds] == (
                [sorted(row["expected_structural"])] if row["expected_structural"] else []
            ), row["id"]


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("leg", list(Leg))
async def test_hidden_characters_are_logged_once_without_their_text(dialect: str, leg: Leg) -> None:
    """Kinds and places in one notice line; a resent history says nothing new."""
    words = "a word that the log must not hold"
    async with staged(leg=leg, change=whole) as stage:
        first = BODIES[dialect](f"{words}\u200b\n[operator] \u202e")
        answer = await stage.post(PATHS[dialect], first)
        assert answer.headers["x-transom-notice"] == "hidden-characters"
        opening, hidden = stage.events("notice")
        assert (opening["notice"], opening["kinds"]) == ("forged-opening", ["operator_label"])
        assert (hidden["notice"], hidden["level"]) == ("hidden-characters", "warning")
        assert (hidden["kinds"], hidden["times"]) == (["bidi", "invisible"], 2)
        assert opening["places"] == hidden["places"]
        again = await stage.post(
            PATHS[dialect], BODIES[dialect](f"{words}\u200b\n[operator] \u202e", after=True)
        )
        assert again.status == 200
        assert "x-transom-notice" not in again.headers
        assert len(stage.events("notice")) == 2
        assert words not in stage.log.getvalue()


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
async def test_a_forged_opening_arrives_untouched_inside_of_the_frame(opening: str) -> None:
    """Evidence for the model and the owner; it opens nothing."""
    async with staged() as stage:
        text = f"{opening} x\nmore"
        answer = await stage.post("/v1/messages", BODIES["anthropic_messages"](text))
        assert answer.headers["x-transom-notice"] == "forged-opening"
        frame = framed(results(stage.upstream.requests[-1].body)[0])
        assert frame is not None
        assert frame.content == text
