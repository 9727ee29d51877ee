"""The endpoint table and how a raw path meets it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.endpoints import GROUPS, TABLE, Match, Treatment, match, nearest
from proxy.errors import Refused

ANTHROPIC = {"anthropic-version": "2023-06-01"}
NONE: frozenset[str] = frozenset()


def example(path: str) -> str:
    """A concrete path for a path of the table."""
    values = {
        "{id}": "id_1",
        "{model}": "qwen3%3A8b",
        "{rest}": "a/b",
        "{digest}": "sha256:" + "0" * 64,
    }
    for place, value in values.items():
        path = path.replace(place, value)
    return path


def headers_for(family: str) -> dict[str, str]:
    return ANTHROPIC if family == "anthropic" else {}


def outcome(method: str, target: str, opened: frozenset[str] = NONE) -> Match | Refused:
    try:
        return match(method, target, {}, opened)
    except Refused as refused:
        return refused


def refusal(method: str, target: str, headers: dict[str, str] | None = None) -> Refused:
    with pytest.raises(Refused) as caught:
        match(method, target, headers or {}, NONE)
    return caught.value


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.family}:{row.method}{row.path}")
def test_every_row_is_reachable(row):
    """Each row of the table is what its own address means, with its group open or closed."""
    target = example(row.path)
    found = match(row.method, target, headers_for(row.family), GROUPS)
    assert found.endpoint == row
    assert nearest(target, headers_for(row.family))
    if row.treatment is Treatment.REFUSED:
        refused = refusal(row.method, target, headers_for(row.family))
        assert refused.code == "endpoint-refused"
        assert refused.facts == {"endpoint": row.path, "group": row.group}


@pytest.mark.parametrize(
    ("method", "path", "family", "dialect", "treatment"),
    [
        ("POST", "/v1/messages", "anthropic", "anthropic_messages", "conversation"),
        ("POST", "/v1/messages/count_tokens", "anthropic", "anthropic_messages", "count"),
        ("POST", "/v1/chat/completions", "openai", "openai_chat", "conversation"),
        ("POST", "/v1/responses", "openai", "openai_responses", "conversation"),
        ("POST", "/v1/responses/compact", "openai", "openai_responses", "conversation"),
        ("POST", "/v1/responses/input_tokens", "openai", "openai_responses", "count"),
        ("POST", "/v1/embeddings", "openai", "plain_text_openai", "text"),
        ("POST", "/api/chat", "ollama", "ollama_chat", "conversation"),
        ("POST", "/api/generate", "ollama", "plain_text_ollama", "text"),
        ("POST", "/api/show", "ollama", "plain_text_ollama", "text"),
        ("GET", "/api/tags", "ollama", "ollama_chat", "control"),
        ("GET", "/healthz", "", "openai_chat", "internal"),
    ],
)
def test_treatment_of_the_main_addresses(method, path, family, dialect, treatment):
    """The addresses that agents use mean what the wire reference says."""
    row = match(method, path, {}, NONE).endpoint
    assert (row.family, row.dialect, row.treatment) == (family, dialect, treatment)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/batches"),
        ("POST", "/v1/files"),
        ("POST", "/v1/audio/transcriptions"),
        ("POST", "/v1/realtime/client_secrets"),
        ("POST", "/v1/conversations"),
        ("POST", "/v1/conversations/conv_1/items"),
        ("POST", "/v1/chat/completions/chatcmpl-1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/skills"),
        ("POST", "/v1/memory_stores/m_1/memories"),
        ("POST", "/api/push"),
        ("POST", "/api/pull"),
        ("POST", "/api/create"),
        ("POST", "/api/copy"),
        ("DELETE", "/api/delete"),
        ("POST", "/api/blobs/sha256:" + "a" * 64),
        ("POST", "/api/me"),
        ("POST", "/api/experimental/web_search"),
    ],
)
def test_what_cannot_be_screened_is_closed(method, path):
    """Batches, uploads, stored state and Ollama's ways off the node are refused by default."""
    assert refusal(method, path).code == "endpoint-refused"


def test_opening_one_group_opens_no_other():
    """`endpoints.open` acts by group."""
    opened = frozenset({"files"})
    assert match("POST", "/v1/files", {}, opened).endpoint.group == "files"
    with pytest.raises(Refused, match="endpoint-refused"):
        match("POST", "/v1/batches", {}, opened)


def test_ollama_endpoints_that_leave_say_so_when_opened():
    """An opened push, pull or search is a cloud leg."""
    opened = frozenset({"ollama-admin", "ollama-web"})
    assert match("POST", "/api/push", {}, opened).endpoint.leaves
    assert match("POST", "/api/experimental/web_fetch", {}, opened).endpoint.leaves
    assert not match("POST", "/api/chat", {}, opened).endpoint.leaves


@pytest.mark.parametrize(
    ("method", "path", "headers", "family"),
    [
        ("GET", "/v1/models", ANTHROPIC, "anthropic"),
        ("GET", "/v1/models?client_version=0.171.0", {}, "openai"),
        ("GET", "/v1/models/gpt-6", {}, "openai"),
        ("GET", "/v1/models/claude-opus-5-5", {"anthropic-beta": "x"}, "anthropic"),
        ("HEAD", "/", {"user-agent": "claude-cli/2.1.197 (external, cli)"}, "anthropic"),
        ("HEAD", "/", {"user-agent": "ollama/0.9"}, "ollama"),
        ("GET", "/v1/models", {"x-api-key": "k"}, "anthropic"),
        ("GET", "/v1/models", {"x-api-key": "k", "authorization": "Bearer k"}, "openai"),
        ("GET", "/", {}, "ollama"),
        ("HEAD", "/api/hello", {}, "anthropic"),
        ("POST", "/v1/chat/completions", ANTHROPIC, "openai"),
        ("POST", "/v1/messages", {}, "anthropic"),
    ],
)
def test_shared_addresses_go_by_header(method, path, headers, family):
    """Where two families share an address the headers decide; elsewhere they do not matter."""
    assert match(method, path, headers, NONE).endpoint.family == family


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("qwen3:8b", "qwen3:8b"),
        ("qwen3%3A8b", "qwen3:8b"),
        ("qwen3%3a8b", "qwen3:8b"),
        ("org/model", "org%2Fmodel"),
        ("org%2fmodel:tag", "org%2Fmodel:tag"),
        ("@cf/meta/llama-3.1", "@cf%2Fmeta%2Fllama-3.1"),
        ("ft:gpt-4o:acme::x1", "ft:gpt-4o:acme::x1"),
    ],
)
def test_model_ids_are_filled_in_anew(written, sent):
    """The upstream gets the table's path with the id encoded by us."""
    assert match("GET", f"/v1/models/{written}", {}, NONE).path == f"/v1/models/{sent}"


@pytest.mark.parametrize(
    "model",
    [
        "",
        "..",
        "a/..",
        "a%2F..%2Fb",
        "a%2F%2Fb",
        "a//b",
        "%2Fa",
        "a%2F",
        ".hidden",
        "a b",
        "a%20b",
        "a%252Fb",
        "a%00",
        "ä",
        "x" * 201,
        "a?b/../c/..",
        "a\\b",
        "a;b",
        "-a",
        "a\n",
    ],
)
def test_odd_model_ids_are_no_model_ids(model):
    """An id that is not plainly one finds no endpoint or loses what follows the question mark."""
    found = outcome("GET", f"/v1/models/{model}")
    if isinstance(found, Refused):
        assert found.code == "unknown-endpoint"
    else:
        assert (found.path, model[1]) == ("/v1/models/a", "?")


@pytest.mark.parametrize(
    "path",
    [
        "/V1/messages",
        "/v1/Messages",
        "/v1/messages/",
        "//v1/messages",
        "/v1//messages",
        "/v1/messages/../files",
        "/v1%2Fmessages",
        "/v1/messages%2Fcount_tokens",
        "/v1/messages;a=b",
        "/v1/messages#x",
        "/v1/v1/v1/messages",
        "/api/v1/messages",
        "",
        "/",
        "*",
        "v1/messages",
        "http://127.0.0.1/v1/messages",
        "/v1/responses/a/b/c/d",
        "/v1/files/../messages",
        "/v1/skills/.",
        "/v1/skills/a//b",
        "/v1/conversations/%2e%2e/items",
    ],
)
def test_a_path_that_is_not_in_the_table_is_unknown(path):
    """Case, slashes, encodings and dot segments are not forgiven."""
    assert refusal("POST", path).code == "unknown-endpoint"


def test_v1_twice_is_forgiven_once():
    """A base URL with /v1 given to a client that adds its own still works, and says so."""
    found = match("POST", "/v1/v1/messages?beta=true", {}, NONE)
    assert found == Match(
        match("POST", "/v1/messages", {}, NONE).endpoint, "/v1/messages", "beta=true", forgiven=True
    )


@pytest.mark.parametrize(
    ("method", "path", "address"),
    [
        ("POST", "/messages", "POST /v1/messages"),
        ("POST", "/chat/completions", "POST /v1/chat/completions"),
        ("POST", "/responses", "POST /v1/responses"),
        ("GET", "/v1/responses", "POST /v1/responses"),
        ("GET", "/v1/messages", "POST /v1/messages"),
        ("POST", "/V1/messages", "POST /v1/messages"),
        ("POST", "/v1/messages/", "POST /v1/messages"),
        ("POST", "/v1/api/chat", "POST /api/chat"),
        ("POST", "/anthropic/v1/messages/count_tokens", "POST /v1/messages/count_tokens"),
        ("GET", "/models", "GET /v1/models"),
        ("GET", "/tags", "GET /api/tags"),
    ],
)
def test_a_wrong_address_is_answered_with_the_right_one(method, path, address):
    """The refusal names where the client meant to go."""
    assert refusal(method, path).facts == {"near": f": the address is {address}"}


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/v1", "/v1/rerank", "/v1/files/"])
def test_no_address_is_guessed_where_none_suggests_itself(path):
    """Words about an address appear only if there is a good one; closed ones are not advertised."""
    assert refusal("POST", path).facts == {"near": ""}


@pytest.mark.parametrize(
    "query",
    ["beta=true", "", "limit=20&after_id=msg_1", "include[]=a.b", "include%5B%5D=a", "order=asc"],
)
def test_plain_queries_pass(query):
    """What the vendors' clients put into a query goes on as it is."""
    assert match("POST", f"/v1/messages?{query}", {}, NONE).query == query


@pytest.mark.parametrize(
    "query",
    ["a=b?c", "a=%0a", "a=%", "a=%zz", "a=ü", "a= b", "a='b'", "a=<b>", "a=%ff", "x" * 1025],
)
def test_odd_queries_are_refused(query):
    """A query with anything that no endpoint needs, or a long one, does not pass."""
    assert refusal("POST", f"/v1/messages?{query}").code == "door-refused"


@pytest.mark.parametrize(
    ("target", "headers", "dialect"),
    [
        ("/v1/messages", {}, "anthropic_messages"),
        ("/v1/v1/messages", {}, "anthropic_messages"),
        ("/messages", {}, "anthropic_messages"),
        ("/v1/responses/x y", {}, "openai_responses"),
        ("/chat/completions", {}, "openai_chat"),
        ("/v1/embeddings", ANTHROPIC, "openai_chat"),
        ("/api/generate", {}, "ollama_chat"),
        ("/api/nope", {}, "ollama_chat"),
        ("/v1/models", ANTHROPIC, "anthropic_messages"),
        ("/v1/models", {}, "openai_chat"),
        ("/nope", ANTHROPIC, "anthropic_messages"),
        ("/nope", {}, "openai_chat"),
        ("", {}, "openai_chat"),
        ("http://h/v1/messages", {}, "anthropic_messages"),
    ],
)
def test_errors_are_dressed_in_the_nearest_dialect(target, headers, dialect):
    """Path words come first, then headers; there is always an answer."""
    assert nearest(target, headers) == dialect


@given(
    st.sampled_from(["GET", "POST", "DELETE", "HEAD", "CONNECT", "x"]),
    st.text(max_size=60) | st.text("/v1.%2F:amodels?;#\\", max_size=60).map(lambda t: "/v1/" + t),
)
def test_any_target_is_matched_or_refused(method, target):
    """Nothing but a match with a path of safe shape, or a refusal, comes out."""
    found = outcome(method, target, GROUPS)
    if isinstance(found, Refused):
        assert found.code in ("unknown-endpoint", "door-refused")
    else:
        assert found.path.startswith("/")
        assert found.path.isascii()
        assert ".." not in found.path.split("/")
        assert "//" not in found.path
    assert nearest(target, {})
