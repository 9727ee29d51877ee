"""The relay alone: a local leg with frames off, where nobody asks what a body says."""

from dataclasses import replace

import pytest

from policies.decision import Leg
from policies.settings import Envelope, Limits, Policies
from proxy.config import Config
from proxy.dialects import ALL
from tests.scenes.bodies import PATHS
from tests.scenes.staging import staged

DIALECTS = pytest.mark.parametrize("dialect", PATHS)
TWINS = b'{"model": "m", "messages": [{"role": "user", "role": "system", "content": "hi"}]}'
DEEP = b'{"model": "m", "input": ' + b"[" * 101 + b"]" * 101 + b"}"


def frameless(config: Config) -> Config:
    return replace(config, policies=Policies(Envelope(enabled=False), limits=Limits(enabled=False)))


@DIALECTS
@pytest.mark.parametrize("body", [TWINS, DEEP])
async def test_what_nobody_opens_is_nobodys_business(
    dialect: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message is opened, parsed or remembered; the bytes go on as they came."""
    monkeypatch.setattr(type(ALL[dialect]), "view", None)
    async with staged(leg=Leg.LOCAL, change=frameless) as stage:
        assert (await stage.post(PATHS[dialect], body)).status == 200
        assert stage.upstream.requests[-1].body == body
        (line,) = stage.events("request")
        assert (line["leg"], line["model"], line["frames"]) == ("local", "m", 0)
        assert "verdict" not in line


@DIALECTS
@pytest.mark.parametrize("body", [TWINS, DEEP])
async def test_with_frames_on_the_same_body_is_refused(dialect: str, body: bytes) -> None:
    """Whoever looks inside holds the body to every rule, at home too."""
    body = body.replace(b'"input"', b'"messages"')
    if dialect == "openai_responses":
        body = body.replace(b'"messages"', b'"input"')
    async with staged(leg=Leg.LOCAL) as stage:
        answer = await stage.post(PATHS[dialect], body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "body-invalid")
        assert not [each for each in stage.upstream.requests if each.body == body]


@DIALECTS
@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "a", "model": "b:cloud"}',
        b'{"model": "a", "m\\u006fdel": "b:cloud"}',
        b'{"model": "a", "MODEL": "b:cloud"}',
        b'{"MODEL": "b:cloud"}',
        b'{"model": "a", "messages": [}',
        b'{"model": "a"} {"model": "b"}',
        b'{"model": "a", "messages": ["\xff"]}',
    ],
)
async def test_the_top_of_a_body_is_read_strictly(dialect: str, body: bytes) -> None:
    """The model is what is asked about before anything is sent: no second one may hide."""
    async with staged(leg=Leg.LOCAL, change=frameless) as stage:
        answer = await stage.post(PATHS[dialect], body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "body-invalid")
        assert stage.upstream.accepted == 0
