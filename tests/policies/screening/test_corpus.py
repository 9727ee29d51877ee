"""The labelled sample: every row of the kinds that are built, and no benign row."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.conversation import Strand
from policies.screening import Screen

DATA = Path(__file__).parents[2] / "data"
LATER: set[str] = set()
"""Kinds of the screening in depth: further word lists, assignments judged by their context."""


def rows() -> list[dict]:
    return [json.loads(line) for line in (DATA / "secrets-dev.jsonl").read_text().splitlines()]


def strands(value: object, address: tuple = ()) -> Iterator[Strand]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield Strand((*address, key), key, is_key=True)
            yield from strands(inner, (*address, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strands(inner, (*address, index))
    elif isinstance(value, str):
        yield Strand(address, value)


def body(row: dict) -> object:
    """A row as the body of a request: its text is a tool result unless it is a body itself."""
    text = base64.b64decode(row["text_b64"]).decode()
    if row["form"] == "body":
        return json.loads(text)
    result = {"type": "tool_result", "tool_use_id": "toolu_01A", "content": text}
    return {
        "model": "claude-sonnet-4-5",
        "messages": [{"role": "user", "content": "read it"}, {"role": "user", "content": [result]}],
    }


@pytest.fixture(scope="module")
def screen() -> Screen:
    deny = json.loads((DATA / "secrets-dev-deny.json").read_text())
    return Screen.build({name: base64.b64decode(content) for name, content in deny.items()})


@pytest.fixture(scope="module")
def flagged(screen: Screen) -> dict[str, list[str]]:
    return {row["id"]: [f.kind for f in screen.findings(strands(body(row)))] for row in rows()}


@pytest.mark.parametrize("tier", ["must", "hard"])
def test_rows_of_the_built_kinds_are_found(flagged, tier):
    """Plain and encoded secrets of the sample are found, in whatever dress they come."""
    wanted = [row for row in rows() if row["tier"] == tier and not LATER & set(row["kinds"])]
    missed = {row["id"]: row["kinds"] for row in wanted if not flagged[row["id"]]}
    assert len(wanted) > 10
    assert not missed


def test_benign_rows_are_left_alone(flagged):
    """Digests, ids, public keys, placeholders and prose are not secrets."""
    wrong = {row["id"]: flagged[row["id"]] for row in rows() if row["tier"] == "benign"}
    assert len(wrong) > 70
    assert not {row: kinds for row, kinds in wrong.items() if kinds}


def test_the_kind_is_the_right_one(flagged):
    """A finding says what it is: for nearly all rows one of the kinds that the row names."""
    found = [row for row in rows() if row["tier"] != "benign" and flagged[row["id"]]]
    right = [row for row in found if set(row["kinds"]) & set(flagged[row["id"]])]
    assert len(right) >= 0.95 * len(found)
