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
    if not config.secrets_dir:
        return []
    skipped = asyncio.run(_read_secrets(config.secrets_dir))
    if not skipped:
        return []
    why = "too short, too large, or no files"
    return [f"{skipped} files below screen.secrets_dir are not looked for ({why})"]


async def _read_secrets(path: str) -> int:
    from proxy.secrets_dir import SecretsDir

    secrets = SecretsDir(path)
    await secrets.start()
    try:
        secrets.current()
    except Refused:
        words, hint = "cannot be read, or a file in it", "give Transom read access to it"
        raise Invalid([Problem("screen.secrets_dir", words, hint)]) from None
    finally:
        await secrets.close()
    return len(secrets.skipped)
