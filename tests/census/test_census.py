"""The census: every route of the table, every coding, every way to spoil a request.

What is not allowed leaves the upstream's accept count at 0; what is allowed arrives under the
table's path, decoded, and nowhere else.
"""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from policies.decision import Leg
from policies.notices import NOTICES
from proxy.app import Node, running
from proxy.config import Config, Listen, UpstreamSettings
from proxy.demo.files import nsec
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.endpoints import GROUPS, TABLE, Endpoint, Treatment
from tests.census.fixtures import (
    BAD_CODINGS,
    CLOSED,
    FILLED,
    GOOD_CODINGS,
    OPEN,
    SENT,
    SPOILS,
    Case,
    case_for,
    filled,
    takes_body,
)

OWN = [row for row in TABLE if row.treatment is Treatment.INTERNAL]
RELAYED = [row for row in TABLE if not row.group and row not in OWN]
REFUSED = [row for row in TABLE if row.group]

pytestmark = pytest.mark.asyncio(loop_scope="module")


def name(row: Endpoint) -> str:
    return f"{row.family} {row.method} {row.path}"


class House:
    """A node with one upstream, which counts."""

    def __init__(self, node: Node, upstream: ScriptedUpstream) -> None:
        self.node, self.upstream = node, upstream

    async def ask(self, case: Case) -> tuple[int, dict[str, str], bytes]:
        """Status, headers in lower case, body."""
        port = self.node.parts.listener.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(case.wire(port))
        async with asyncio.timeout(5):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        status, *lines = head.decode().split("\r\n")
        return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in lines), body

    async def sent(self, case: Case) -> Recorded:
        """What the upstream got for a request that is allowed."""
        before = len(self.upstream.requests)
        status, headers, _ = await self.ask(case)
        assert status == 200, headers
        # A local leg asks Ollama about the model first, unless it has just done so.
        assert 1 <= len(self.upstream.requests) - before <= 2
        return self.upstream.requests[-1]

    async def nothing_leaves(self, case: Case) -> str:
        """The code of the refusal; asserts that no connection was ever made."""
        status, headers, body = await self.ask(case)
        assert self.upstream.accepted == 0
        code = headers["x-transom-notice"]
        assert status == NOTICES[code].status
        assert "x-transom-leg" not in headers
        if case.method != "HEAD":
            assert f"[{code}]" in json.dumps(json.loads(body))
        return code


def answered(request: Recorded) -> Reply:
    shown = {"details": {"format": "gguf"}, "capabilities": ["completion"]}
    return Reply.of(shown if request.path == "/api/show" else {"ok": True})


async def house(leg: Leg, opened: frozenset[str] = frozenset()):
    async with ScriptedUpstream(answered) as upstream:
        families = ("anthropic", "openai", "ollama")
        auth = "none" if leg is Leg.LOCAL else "caller"
        config = Config(
            listen=Listen(port=0),
            upstreams=(UpstreamSettings("only", leg, upstream.url, families, auth),),
            endpoints_open=opened,
        )
        async with running(config) as node:
            yield House(node, upstream)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def quiet_house():
    """Everything that it is asked must be refused; its upstream is a cloud."""
    async for made in house(Leg.CLOUD):
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def quiet_open_house():
    """The same with every group opened."""
    async for made in house(Leg.CLOUD, GROUPS):
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def quiet_home():
    """The same with the upstream at home."""
    async for made in house(Leg.LOCAL):
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def busy_cloud():
    """It is asked what is allowed, every group opened, with a cloud behind it."""
    async for made in house(Leg.CLOUD, GROUPS):
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=[Leg.CLOUD, Leg.LOCAL])
async def busy_house(request):
    """It is asked what is allowed, with a cloud or a home behind it."""
    async for made in house(request.param):
        yield made


async def test_every_route_has_a_fixture_and_every_fixture_a_route():
    """Whoever adds a route writes down what is sent to it; nothing is left over."""
    assert {(row.family, row.method, row.path) for row in TABLE if not row.group} == OPEN.keys()
    assert {row.group for row in TABLE if row.group} == CLOSED.keys()
    assert all(place in FILLED for row in TABLE for place in row.path.split("/") if "{" in place)


@pytest.mark.parametrize("row", RELAYED, ids=name)
async def test_what_is_allowed_arrives_decoded_under_the_tables_path(row, busy_house):
    """Every open route, in every coding that can be undone."""
    case = case_for(row)
    codings = GOOD_CODINGS.values() if case.body else ()
    for spelled in (case, *(change(case) for change in codings)):
        got = await busy_house.sent(spelled)
        assert (got.method, got.target) == (row.method, filled(row.path, SENT))
        assert got.body == case.body
        assert got.header("content-encoding") == ""
        assert int(got.header("content-length") or 0) == len(case.body)


@pytest.mark.parametrize("row", REFUSED, ids=name)
async def test_what_the_owner_opens_arrives_under_the_tables_path(row, busy_cloud):
    """An opened group is relayed as it came, to the address that the table names."""
    case = case_for(row)
    got = await busy_cloud.sent(case)
    assert (got.method, got.target) == (row.method, filled(row.path, SENT))
    assert got.body == case.body


@pytest.mark.parametrize("row", RELAYED, ids=name)
async def test_a_query_and_v1_twice_change_nothing(row, busy_house):
    """Plain queries go along; `/v1/v1` is read as `/v1`."""
    case = case_for(row)
    got = await busy_house.sent(replace(case, target=case.target + "?beta=true"))
    assert got.target == filled(row.path, SENT) + "?beta=true"
    if case.target.startswith("/v1/"):
        got = await busy_house.sent(replace(case, target="/v1" + case.target))
        assert got.target == filled(row.path, SENT)


@pytest.mark.parametrize("row", REFUSED, ids=name)
async def test_closed_routes_stay_closed_in_every_coding(row, quiet_house):
    """No body makes a closed group go anywhere."""
    case = case_for(row)
    for change in (lambda case: case, *GOOD_CODINGS.values(), *BAD_CODINGS.values()):
        assert await quiet_house.nothing_leaves(change(case)) == "endpoint-refused"


@pytest.mark.parametrize("row", [row for row in TABLE if takes_body(row)], ids=name)
async def test_codings_that_cannot_be_undone(row, quiet_open_house):
    """Even where the owner has opened a group, a body that nobody can decode goes nowhere."""
    case = case_for(row)
    if not case.body:
        case = replace(case, body=b'{"some":"body"}')
    for label, change in BAD_CODINGS.items():
        if label == "unlabelled" and row.group:
            continue  # what is opened is not read, so nobody can tell
        code = await quiet_open_house.nothing_leaves(change(case))
        assert code in ("coding-unknown", "body-invalid"), label


@pytest.mark.parametrize("row", [row for row in TABLE if not takes_body(row)], ids=name)
async def test_no_body_passes_where_none_is_read(row, quiet_house):
    """In no coding at all."""
    case = replace(case_for(row), body=b'{"some":"body"}')
    for change in (lambda case: case, *GOOD_CODINGS.values(), *BAD_CODINGS.values()):
        assert await quiet_house.nothing_leaves(change(case)) == "door-refused"


SPOILED_CODES = {"door-refused", "unknown-endpoint", "upgrade-refused"}


@pytest.mark.parametrize("row", TABLE, ids=name)
async def test_spoiled_requests_go_nowhere(row, quiet_open_house):
    """Every route times every way to spoil it, though the owner has opened everything."""
    for label, spoil in SPOILS.items():
        assert await quiet_open_house.nothing_leaves(spoil(case_for(row))) in SPOILED_CODES, label


@pytest.mark.parametrize("row", RELAYED, ids=name)
async def test_spoiled_requests_do_not_go_home_either(row, quiet_home):
    """The door is the same whatever stands behind it."""
    for label, spoil in SPOILS.items():
        assert await quiet_home.nothing_leaves(spoil(case_for(row))) in SPOILED_CODES, label


@pytest.mark.parametrize("row", RELAYED, ids=name)
async def test_spoiled_requests_go_nowhere_in_any_coding(row, quiet_house):
    """The product: a spoiled address is not mended by a coding, nor a coding by an address."""
    case = case_for(row)
    for coding in (*GOOD_CODINGS.values(), *BAD_CODINGS.values()) if case.body else ():
        for label, spoil in SPOILS.items():
            assert await quiet_house.nothing_leaves(spoil(coding(case))) in SPOILED_CODES, label


async def test_own_routes_are_answered_here(quiet_house):
    """Health needs no upstream."""
    for row in OWN:
        status, headers, body = await quiet_house.ask(case_for(row))
        assert (status, body) == (200, b"" if row.method == "HEAD" else b"ok\n")
        assert "server" not in headers
    assert quiet_house.upstream.accepted == 0


async def test_a_websocket_is_told_at_once_to_go_without(quiet_house):
    """426, and the connection ends."""
    case = Case("GET", "/v1/responses", b"", {"Upgrade": "websocket", "Sec-WebSocket-Key": "x"})
    status, headers, _ = await quiet_house.ask(case)
    assert (status, headers["connection"]) == (426, "close")
    assert quiet_house.upstream.accepted == 0


async def test_the_references_list_of_paths_is_in_the_table():
    """The paths that the wire reference names for each dialect, spelled out."""
    listed = (Path(__file__).parent / "listed.txt").read_text("utf-8").split("\n")
    known = {(row.family, row.method, row.path) for row in TABLE}
    missing = [line for line in listed if line and tuple(line.split(" ")) not in known]
    assert not missing


READ = [row for row in RELAYED if takes_body(row)]


@pytest.mark.parametrize("row", READ, ids=name)
async def test_a_secret_leaves_in_no_coding(row, quiet_house):
    """A key that fits no coding's alphabet, as a value and as a member's name."""
    case = case_for(row)
    plain = json.loads(case.body)
    for secret in ({"note": nsec()}, {nsec(): "note"}):
        hidden = replace(case, body=json.dumps({**plain, "metadata": secret}).encode())
        for label, change in GOOD_CODINGS.items():
            code = await quiet_house.nothing_leaves(change(hidden))
            assert code == "egress-blocked", label
        for label, change in BAD_CODINGS.items():
            code = await quiet_house.nothing_leaves(change(hidden))
            assert code in ("coding-unknown", "body-invalid"), label


def beside(row: Endpoint) -> list[Case]:
    """A key in each place that is not the body."""
    case = case_for(row)
    spelled = [
        replace(case, headers={**case.headers, "x-note": nsec()}),
        replace(case, headers={**case.headers, f"x-{nsec()}": "note"}),
        replace(case, target=f"{case.target}?note={nsec()}"),
    ]
    if row.path.endswith(("{id}", "{model}")):
        spelled.append(replace(case, target=case.target.rpartition("/")[0] + "/" + nsec()))
    return spelled


@pytest.mark.parametrize("row", READ, ids=name)
async def test_a_secret_leaves_in_no_header_and_no_address(row, quiet_house):
    """What stands beside a body is read as the body is."""
    for case in beside(row):
        assert await quiet_house.nothing_leaves(case) == "egress-blocked"


@pytest.mark.parametrize("row", [row for row in RELAYED if not takes_body(row)], ids=name)
async def test_a_secret_leaves_in_no_header_and_no_address_without_a_body(row, quiet_house):
    """Headers, ids and the query are read also where no body comes with them."""
    for case in beside(row):
        assert await quiet_house.nothing_leaves(case) == "egress-blocked"
