"""What `transom check` looks at beyond the text of the configuration.

Owns those looks. It must not know how a configuration is read.
"""

import asyncio

from proxy.config import Config
from proxy.errors import Refused
from proxy.problems import Invalid, Problem


def look(config: Config) -> list[str]:
    """Warnings about what can be seen without listening. Raises `Invalid` if the secrets folder
    was written and cannot be read: a node would keep everything off the cloud."""
    return [*unasked(config), *skipped(config)]


def unasked(config: Config) -> list[str]:
    """That home is to be asked first, and there is none."""
    first = [config.fallback.prefer, *(route.prefer for route in config.routes)]
    if config.home is not None or "local" not in first:
        return []
    return ["a local model is to be asked first, and none is named: [[upstream]], leg, model"]


def skipped(config: Config) -> list[str]:
    """Files of the secrets folder that are not looked for. Raises `Invalid` as `look` does."""
    if not config.secrets_dir:
        return []
    count = asyncio.run(_read_secrets(config.secrets_dir))
    if not count:
        return []
    why = "too short, too large, or no files"
    return [f"{count} files below screen.secrets_dir are not looked for ({why})"]


async def _read_secrets(path: str) -> int:
    from proxy.secrets_dir import SecretsDir

    secrets = SecretsDir(path)
    await secrets.start()
    try:
        secrets.current()
    except Refused:
        words, hint = (
            "cannot be read, the folder or a file in it",
            "give Transom read access to it",
        )
        raise Invalid([Problem("screen.secrets_dir", words, hint)]) from None
    finally:
        await secrets.close()
    return len(secrets.skipped)
