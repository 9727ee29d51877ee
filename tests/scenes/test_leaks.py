"""What must not be seen is planted everywhere and looked for everywhere."""

import asyncio
import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from proxy.demo.files import key
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.nodes import environment, served, upstream
from tests.scenes.staging import echo


def forms(value: bytes) -> Iterator[bytes]:
    """A value as it might hide in a file: raw, hex, percent, base64 at each alignment."""
    yield value
    yield value.hex().encode()
    yield value.hex().upper().encode()
    yield "".join(f"%{byte:02X}" for byte in value).encode()
    yield quote(value).encode()
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + value).rstrip(b"=")
        yield coded[4:-4]


NEEDLES = {form for value in (secret().encode(), key()) for form in forms(value)}


def found_in(text: bytes) -> list[bytes]:
    return [needle for needle in NEEDLES if needle in text]


def planted(dialect: str) -> Iterator[tuple[str, dict[str, Any], dict[str, str], str]]:
    """(where, body, headers, path suffix), one for each place in which it may stand."""
    word, make = secret(), BODIES[dialect]
    yield "result", make(word), {}, ""
    yield "model", {**make("fine"), "model": word}, {}, ""
    yield "key", {**make("fine"), "metadata": {word: "1"}}, {}, ""
    yield "tool", {**make("fine"), "tools": [{"name": word, "function": {"name": word}}]}, {}, ""
    yield "header", make("fine"), {"x-note": word}, ""
    yield "session", make("fine"), {"x-claude-code-session-id": word}, ""
    yield "query", make("fine"), {}, f"?beta={word}"
    yield "path", make("fine"), {}, f"/{word}"
    yield "token", make("fine"), {"x-transom-token": word}, ""
    yield "credential", make("fine"), {"authorization": f"Bearer {word}"}, ""
    yield "call", odd(dialect, word), {}, ""
    yield "broken", {**make("fine"), "a": 1, "A" + word: float("nan")}, {}, ""


def odd(dialect: str, word: str) -> dict[str, Any]:
    """A part of a kind that nobody knows, whose name is the secret."""
    body = BODIES[dialect]("fine")
    messages = body["input" if "input" in body else "messages"]
    return {
        **body,
        ("input" if "input" in body else "messages"): [
            {**messages[0], word: {"type": word, word: word}},
            *messages[1:],
        ],
    }


@pytest.mark.parametrize("leg", ["cloud", "local"])
async def test_nothing_planted_is_found_in_anything_written(tmp_path: Path, leg: str) -> None:
    """Log, state with its journal, answers, the owner's verbs: none holds the value, raw or coded,
    a nonce or a credential."""
    async with ScriptedUpstream(echo) as vendor:
        outcome = await asyncio.to_thread(provoke, tmp_path, vendor.url, leg)
        arrived = b"".join(vendor.received)
    answers, files = outcome
    for where, answer in answers.items():
        assert not found_in(answer), where
    for name, content in files.items():
        assert not found_in(content), name
    assert {"stdout", "stderr"} < set(files)
    assert any(name.endswith(".db") for name in files)
    told = b"".join(content for name, content in files.items() if name.startswith("blocked"))
    nonces = set(re.findall(rb"nonce=([0-9a-f]{32})", arrived))
    assert nonces, "nothing was framed"
    for name, content in files.items():
        # The frames' own table holds nonces, as bytes; nothing that is shown does.
        assert not [nonce for nonce in nonces if nonce in content], name
    assert b"blocked" in told if leg == "cloud" else b"refused" in told
    if leg == "cloud":
        # The caller's credential goes on in its own header, and nowhere else.
        assert not found_in(re.sub(rb"(?im)^authorization:.*$", b"", arrived))
    else:
        assert found_in(arrived), "the scene is blind: home was to receive it"


def provoke(home: Path, url: str, leg: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    answers = {}
    with served(home, upstream(url, leg)) as node:
        for dialect, path in PATHS.items():
            fine = node.post(path, BODIES[dialect]("fine"))
            assert fine[0] == 200
            for where, body, headers, suffix in planted(dialect):
                answers[f"{dialect} {where}"] = whole(node.post(path + suffix, body, headers))
        files = {**node.written(), **asked(home)}
    return answers, {**files, **node.written()}


def calls(recorded: Recorded) -> Reply:
    """An answer, in every dialect at once, whose model calls a tool that is named like the secret,
    with the secret in its arguments and a mark in its words."""
    word = secret()
    function = {"name": word, "arguments": json.dumps({word: word})}
    call = {"type": "function", "id": "c", "function": function}
    block = {"type": "tool_use", "id": "c", "name": word, "input": {word: word}}
    text = {"type": "text", "text": "TRANSOM_DATA nonce"}
    return Reply.of(
        {
            "type": "message",
            "content": [text, block],
            "choices": [{"message": {"tool_calls": [call]}}],
            "object": "response",
            "output": [{**function, "type": "function_call"}],
            "message": {"tool_calls": [call]},
        }
    )


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_call_that_is_named_like_a_secret_is_told_without_its_name(
    tmp_path: Path, dialect: str
) -> None:
    """It is counted and told; neither log nor state nor verbs hold what the model wrote."""

    def play(url: str) -> dict[str, bytes]:
        with served(tmp_path, upstream(url)) as node:
            for number in range(6):
                body = BODIES[dialect](f"fine {number}")
                status, _, answer = node.post(PATHS[dialect], body, SESSION)
                assert status == 200
                assert found_in(answer), "the scene is blind: the client gets what the model said"
            files = {**node.written(), **asked(tmp_path)}
        return {**files, **node.written()}

    async with ScriptedUpstream(calls) as vendor:
        files = await asyncio.to_thread(play, vendor.url)
    for name, content in files.items():
        assert not found_in(content), name
    assert b"refusals-untrusted" in files["notices"]
    assert b"marker-leak" in files["notices"]
    assert b"6 call-refused" in files["status"]


SESSION = {"x-claude-code-session-id": "one"}
VERBS = (["blocked"], ["notices"], ["notices", "--all"], ["sessions"], ["status"])


def asked(home: Path) -> dict[str, bytes]:
    """What the owner's verbs print, for people and as JSON."""
    printed = {}
    for verb in VERBS:
        for more in ([], ["--json"]):
            done = subprocess.run(
                [sys.executable, "-m", "proxy", *verb, *more],
                capture_output=True,
                check=True,
                env=environment(home),
                cwd=Path(__file__).parents[2],
            )
            printed[" ".join([*verb, *more])] = done.stdout + done.stderr
    return printed


def whole(answer: tuple[int, Any, bytes]) -> bytes:
    status, headers, body = answer
    return f"{status} {dict(headers)}".encode() + body


CANARY = "Kanarienvogel im Stollen " * 3
"""Words that no screen knows: they may leave, and stand nowhere else."""


async def test_what_may_leave_is_in_no_file_either(tmp_path: Path) -> None:
    """Prompts, results, keys, headers and the query of requests that a cloud answers: the upstream
    has them, and neither a log nor the state has a word of them in any form."""
    async with ScriptedUpstream(echo) as vendor:
        files = await asyncio.to_thread(relayed, tmp_path, vendor.url)
        arrived = b"".join(vendor.received)
    needles = set(forms(CANARY.encode())) | set(forms(CANARY[:24].encode()))
    assert CANARY.encode() in arrived
    assert any(name.endswith(".db") for name in files)
    for name, content in files.items():
        assert not [needle for needle in needles if needle in content], name


def relayed(home: Path, url: str) -> dict[str, bytes]:
    with served(home, upstream(url, "cloud")) as node:
        for dialect, path in PATHS.items():
            body = BODIES[dialect](CANARY)
            for more, headers, query in (
                ({}, {}, ""),
                ({"metadata": {CANARY: CANARY}}, {}, ""),
                ({}, {"x-note": CANARY.strip()}, ""),
                ({}, {"x-claude-code-session-id": CANARY.strip()}, ""),
                ({}, {}, f"?beta={quote(CANARY)}"),
            ):
                assert node.post(path + query, {**body, **more}, headers)[0] == 200
        return {**node.written()}


@pytest.mark.parametrize("dialect", PATHS)
def test_explain_tells_places_and_never_the_value(tmp_path: Path, dialect: str) -> None:
    """`explain --json` of a blocked body: kinds and places, no body, no name that is the secret."""
    for where, body, headers, suffix in planted(dialect):
        if headers:
            continue
        path = PATHS[dialect] + suffix
        done = subprocess.run(
            [sys.executable, "-m", "proxy", "explain", "--json", "--path", path, "-"],
            input=json.dumps(body).encode(),
            capture_output=True,
            check=False,
            env=environment(tmp_path),
            cwd=Path(__file__).parents[2],
        )
        assert not found_in(done.stdout + done.stderr), where
        told = json.loads(done.stdout)
        assert "body" not in told, where


def test_the_search_finds_what_is_there() -> None:
    """Each coded form of the value is recognised, else the scenes above prove nothing."""
    for value in (secret().encode(), key()):
        for text in (value, value.hex().encode(), base64.b64encode(b"ab" + value + b"cd")):
            assert found_in(b"x" + text + b"y")
    assert not found_in(b"nothing of the kind")
