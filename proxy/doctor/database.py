"""Whether the state of a node can be opened, with the key that lies beside it.

Owns that look. It must not know a table; a database that is not there is not made.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proxy.config import Config
from proxy.doctor import Check
from proxy.state import StateRefused, open_store

_NAME: Final = "database"


async def examine(config: Config, environ: Mapping[str, str], *, runs: bool) -> Check:
    """`runs`: whether a node does, which has opened it already. Another version's is not opened
    then, as it would be brought up to date."""
    if not config.state_url.startswith("sqlite://"):
        return Check(_NAME, "skipped", f"state.url is {config.state_url}; nothing outlives a node")
    path = Path(config.state_url.removeprefix("sqlite://"))
    if not await asyncio.to_thread(path.exists):
        return Check(_NAME, "skipped", f"{path} is made at the first start")
    if runs:
        return Check(_NAME, "skipped", "a node runs, and has opened its own")
    key_file = environ.get("TRANSOM_STATE_KEY_FILE")
    try:
        store = open_store(config.state_url, key_file=Path(key_file) if key_file else None)
    except StateRefused as trouble:
        return Check(_NAME, "wrong", str(trouble))
    await store.close()
    return Check(_NAME, "fine", f"{path} opens with its key")
