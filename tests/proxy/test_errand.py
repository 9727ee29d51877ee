"""One admitted request on its way: which leg, with what, and what is read of it."""

from dataclasses import replace

import pytest

from policies.decision import Leg
from proxy.config import Config, RouteSettings, UpstreamSettings
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from tests.scenes.bodies import BODIES, MODEL, secret
from tests.scenes.staging import echo, settings, staged

OPEN = frozenset({"batches", "files"})


def opened(config: Config) -> Config:
    return replace(config, endpoints_open=OPEN)


async def test_a_request_without_a_body_is_read_for_secrets_too() -> None:
    """Header, id or query of a control request: nothing is opened for a key in it."""
    async with staged() as stage:
        assert (await stage.post("/v1/models", b"", method="GET")).status == 200
        count = stage.upstream.accepted
        for path, headers in (
            ("/v1/models", {"x-note": secret()}),
            (f"/v1/models/{secret()}", {}),
            (f"/v1/models?after_id={secret()}", {}),
        ):
            answer = await stage.post(path, b"", headers, method="GET")
            assert answer.headers["x-transom-notice"] == "egress-blocked", path
        assert stage.upstream.accepted == count


async def test_an_opened_endpoint_goes_unread_and_its_headers_do_not() -> None:
    """The owner gave up the promise for the body; not for the headers beside it."""
    body = {"requests": [{"custom_id": "a", "params": {"x": secret()}}]}
    async with staged(change=opened) as stage:
        answer = await stage.post("/v1/messages/batches", body)
        assert (answer.status, answer.headers["x-transom-leg"]) == (200, "cloud")
        assert secret().encode() in stage.upstream.requests[0].body
        answer = await stage.post("/v1/messages/batches", {}, {"x-note": secret()})
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert len(stage.upstream.requests) == 1
    async with staged() as stage:
        answer = await stage.post("/v1/messages/batches", body)
        assert answer.headers["x-transom-notice"] == "endpoint-refused"
        assert stage.upstream.accepted == 0


async def test_a_remote_model_on_a_local_leg_is_not_local() -> None:
    """Ollama tells that it runs elsewhere: refused, and nothing of the request was sent."""

    def remote(recorded: Recorded) -> Reply:
        assert recorded.path == "/api/show", "the request itself came"
        return Reply.of({"remote_host": "https://elsewhere.example", "capabilities": []})

    async with staged(remote, Leg.LOCAL) as stage:
        answer = await stage.post("/api/chat", BODIES["ollama_chat"](secret()))
        assert answer.headers["x-transom-notice"] == "home-not-local"
        assert secret().encode() not in b"".join(stage.upstream.received)


@pytest.mark.parametrize("model", [MODEL, "other"])
async def test_the_model_of_the_body_chooses_the_upstream(model: str) -> None:
    """A route by model sends it elsewhere; everything else goes to the first that speaks."""
    async with ScriptedUpstream(echo) as second:

        def change(config: Config) -> Config:
            other = UpstreamSettings("two", Leg.CLOUD, second.url, ("anthropic",), "none")
            return replace(
                config,
                upstreams=(*config.upstreams, other),
                routes=(RouteSettings("oth*", "", "", "two"),),
            )

        async with staged(change=change) as stage:
            body = {**BODIES["anthropic_messages"]("fine"), "model": model}
            headers = {"x-api-key": "callers"}
            assert (await stage.post("/v1/messages", body, headers)).status == 200
            assert (second.accepted, stage.upstream.accepted) == (
                (1, 0) if model == "other" else (0, 1)
            )
            arrived = (second if model == "other" else stage.upstream).requests[0]
            assert arrived.header("x-api-key") == ("" if model == "other" else "callers")
            (line,) = stage.events("request")
            assert line["upstream"] == ("two" if model == "other" else "only")


async def test_no_upstream_for_a_dialect_is_told() -> None:
    """404 in the caller's dialect."""
    only = settings("http://127.0.0.1:1").upstreams[0]

    def change(config: Config) -> Config:
        return replace(config, upstreams=(replace(only, dialects=("openai",)),))

    async with staged(change=change) as stage:
        answer = await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"))
        assert (answer.status, answer.headers["x-transom-notice"]) == (404, "no-route")
