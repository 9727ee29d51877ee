"""The table of every endpoint of every dialect, with what is done about it.

Owns the data: method, path, family, dialect, treatment, group. It must not know how a path is
matched (`proxy.endpoints`). Sources: the vendors' API references and the resources of their SDKs.

In a path `{model}` stands for a model id (it may hold `/` and `:`, must be last), `{id}` for one
opaque id, `{digest}` for an Ollama blob digest, `{rest}` for one or more plain segments (last).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Treatment(StrEnum):
    """What is done with a request to an endpoint.

    `CONVERSATION`: read, framed, screened, proved. `COUNT`: the same, for counting tokens. `TEXT`:
    a JSON body without a conversation, screened and proved. `CONTROL`: no body may come with it.
    `REFUSED`: not relayed unless the owner opened its group; then nothing is screened.
    `INTERNAL`: answered by this node.
    """

    CONVERSATION = "conversation"
    COUNT = "count"
    TEXT = "text"
    CONTROL = "control"
    REFUSED = "refused"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row. `family` is what an upstream must speak. `dialect` names the module that reads the
    body. `dress` names the one that dresses errors. `group` is the name for `endpoints.open`.
    `leaves`: Ollama itself would carry this off the node, so an opened one is a cloud leg."""

    method: str
    path: str
    family: str
    dialect: str
    treatment: Treatment
    group: str = ""
    leaves: bool = False

    @property
    def dress(self) -> str:
        """The dialect that dresses errors: plain texts borrow the one of their family."""
        return _CHIEF[self.family] if self.dialect.startswith("plain_text") else self.dialect

    @property
    def bounded(self) -> bool:
        """Whether the bounds of a turn hold. Where a history is compacted none goes on: what is
        answered there takes its place, and tool use is no member of such a body."""
        return self.treatment is Treatment.CONVERSATION and self.path != _COMPACTS


_COMPACTS: Final = "/v1/responses/compact"

_CHIEF: Final = {
    "anthropic": "anthropic_messages",
    "openai": "openai_chat",
    "ollama": "ollama_chat",
}


def _rows(
    family: str, dialect: str, treatment: Treatment, *addresses: str, leaves: bool = False
) -> tuple[Endpoint, ...]:
    """One row per address, `"METHOD /path"`."""
    split = (address.split(" ") for address in addresses)
    return tuple(
        Endpoint(method, path, family, dialect, treatment, leaves=leaves) for method, path in split
    )


def _closed(
    family: str,
    group: str,
    *paths: str,
    methods: tuple[str, ...] = ("GET", "POST", "DELETE"),
    leaves: bool = False,
) -> tuple[Endpoint, ...]:
    """Refused rows of one group. A path that ends in `/…` stands for itself and all below it."""
    whole = [each for path in paths for each in _with_all_below(path)]
    return tuple(
        Endpoint(method, path, family, _CHIEF[family], Treatment.REFUSED, group, leaves)
        for path in whole
        for method in methods
    )


def _with_all_below(path: str) -> tuple[str, ...]:
    root, below, _ = path.partition("/…")
    return (root, root + "/{rest}") if below else (path,)


_ANTHROPIC: Final = (
    *_rows("anthropic", "anthropic_messages", Treatment.CONVERSATION, "POST /v1/messages"),
    *_rows("anthropic", "anthropic_messages", Treatment.COUNT, "POST /v1/messages/count_tokens"),
    *_rows(
        "anthropic",
        "anthropic_messages",
        Treatment.CONTROL,
        "GET /v1/models",
        "GET /v1/models/{model}",
        "HEAD /",
        "HEAD /api/hello",
    ),
    *_closed("anthropic", "batches", "/v1/messages/batches/…"),
    *_closed("anthropic", "files", "/v1/files/…"),
    *_closed("anthropic", "skills", "/v1/skills/…"),
    *_closed("anthropic", "user-profiles", "/v1/user_profiles/…"),
    *_closed("anthropic", "agents", "/v1/agents/…"),
    *_closed("anthropic", "sessions", "/v1/sessions/…"),
    *_closed("anthropic", "environments", "/v1/environments/…"),
    *_closed("anthropic", "memory-stores", "/v1/memory_stores/…"),
    *_closed("anthropic", "vaults", "/v1/vaults/…"),
    *_closed("anthropic", "deployments", "/v1/deployments/…", "/v1/deployment_runs/…"),
    *_closed("anthropic", "tunnels", "/v1/tunnels/…"),
    *_closed("anthropic", "dreams", "/v1/dreams/…"),
    *_closed("anthropic", "organization", "/v1/organizations/…", "/v1/compliance/…"),
)

_OPENAI: Final = (
    *_rows("openai", "openai_chat", Treatment.CONVERSATION, "POST /v1/chat/completions"),
    *_rows(
        "openai",
        "openai_responses",
        Treatment.CONVERSATION,
        "POST /v1/responses",
        f"POST {_COMPACTS}",
    ),
    *_rows("openai", "openai_responses", Treatment.COUNT, "POST /v1/responses/input_tokens"),
    *_rows(
        "openai",
        "plain_text_openai",
        Treatment.TEXT,
        "POST /v1/completions",
        "POST /v1/embeddings",
        "POST /v1/moderations",
    ),
    # Reading what the upstream holds, or stopping its work, carries nothing out but an id.
    *_rows(
        "openai",
        "openai_chat",
        Treatment.CONTROL,
        "GET /v1/models",
        "GET /v1/models/{model}",
        "GET /v1/chat/completions",
        "GET /v1/chat/completions/{id}",
        "GET /v1/chat/completions/{id}/messages",
    ),
    *_rows(
        "openai",
        "openai_responses",
        Treatment.CONTROL,
        "GET /v1/responses/{id}",
        "GET /v1/responses/{id}/input_items",
        "POST /v1/responses/{id}/cancel",
        "GET /v1/conversations/{id}",
        "GET /v1/conversations/{id}/items",
        "GET /v1/conversations/{id}/items/{id}",
    ),
    *_closed("openai", "stored", "/v1/chat/completions/{id}", methods=("POST", "DELETE")),
    *_closed("openai", "stored", "/v1/responses/{id}", methods=("DELETE",)),
    *_closed("openai", "stored", "/v1/conversations/…", methods=("POST", "DELETE")),
    *_closed("openai", "batches", "/v1/batches/…"),
    *_closed("openai", "files", "/v1/files/…", "/v1/uploads/…"),
    *_closed("openai", "audio", "/v1/audio/…"),
    *_closed("openai", "images", "/v1/images/{rest}", methods=("POST",)),
    *_closed("openai", "videos", "/v1/videos/…"),
    *_closed("openai", "realtime", "/v1/realtime/…", "/v1/live/…"),
    *_closed("openai", "assistants", "/v1/assistants/…", "/v1/threads/…", "/v1/chatkit/…"),
    *_closed("openai", "agents", "/v1/agents/…"),
    *_closed("openai", "skills", "/v1/skills/…"),
    *_closed("openai", "vaults", "/v1/vaults/…"),
    *_closed("openai", "vector-stores", "/v1/vector_stores/…"),
    *_closed("openai", "containers", "/v1/containers/…"),
    *_closed("openai", "evals", "/v1/evals/…"),
    *_closed("openai", "fine-tuning", "/v1/fine_tuning/…"),
    *_closed("openai", "fine-tuning", "/v1/models/{model}", methods=("DELETE",)),
    *_closed("openai", "organization", "/v1/organization/…", "/v1/projects/…"),
)

_BLOBS: Final = "/api/blobs/{digest}"

_OLLAMA: Final = (
    *_rows("ollama", "ollama_chat", Treatment.CONVERSATION, "POST /api/chat"),
    *_rows(
        "ollama",
        "plain_text_ollama",
        Treatment.TEXT,
        "POST /api/generate",
        "POST /api/embed",
        "POST /api/embeddings",
        "POST /api/show",
    ),
    *_rows(
        "ollama",
        "ollama_chat",
        Treatment.CONTROL,
        "GET /",
        "HEAD /",
        "GET /api/tags",
        "HEAD /api/tags",
        "GET /api/ps",
        "GET /api/version",
        "HEAD /api/version",
    ),
    *_closed(
        "ollama",
        "ollama-admin",
        "/api/create",
        "/api/copy",
        "/api/pull",
        "/api/push",
        methods=("POST",),
        leaves=True,
    ),
    *_closed("ollama", "ollama-admin", "/api/delete", methods=("DELETE",), leaves=True),
    *_closed("ollama", "ollama-admin", _BLOBS, methods=("HEAD", "POST"), leaves=True),
    *_closed("ollama", "ollama-account", "/api/me", "/api/signout", methods=("POST",), leaves=True),
    *_closed("ollama", "ollama-web", "/api/experimental/{rest}", methods=("POST",), leaves=True),
)

_OWN: Final = _rows("", "openai_chat", Treatment.INTERNAL, "GET /healthz", "HEAD /healthz")

TABLE: Final[tuple[Endpoint, ...]] = (*_ANTHROPIC, *_OPENAI, *_OLLAMA, *_OWN)

GROUPS: Final[frozenset[str]] = frozenset(row.group for row in TABLE if row.group)
"""Every name that `endpoints.open` may hold."""
