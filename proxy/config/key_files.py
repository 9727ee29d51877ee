"""Secrets that the configuration only points at: a file or an environment variable.

Owns reading them and who else may. It must not know what they are for, and never says what it read.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proxy.config.shapes import Secret
from proxy.config.sources import home

LARGEST: Final = 8192


def read_secret(secret: Secret, folder: Path, environ: Mapping[str, str]) -> str:
    """The secret that stands at `secret`; a relative path counts from `folder`. `ValueError` with
    words that hold nothing of it."""
    if secret.env:
        value = environ.get(secret.env, "")
        if not value:
            raise ValueError(f"the environment variable {secret.env} is not set")
    else:
        value = _read_key_file(_locate(secret.file, folder, environ), environ)
    # SECURITY: it becomes a header value; a line end in it would start another header.
    if not re.fullmatch(r"[!-~]+", value):
        raise ValueError("the secret is not one line of printable ASCII without blanks")
    return value


def _read_key_file(path: Path, environ: Mapping[str, str]) -> str:
    try:
        # Opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("the file is not a regular file")
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            # SECURITY: whoever can read this file can use the key.
            if status.st_mode & _forbidden_bits(path, environ):
                raise ValueError(
                    f"the file can be read by others (mode {status.st_mode & 0o777:04o}); "
                    f"make it 0600"
                )
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(f"the file cannot be read: {error.strerror}") from None
    if len(raw) > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST} bytes")
    return raw.decode("latin-1").removesuffix("\n").removesuffix("\r")


def _forbidden_bits(path: Path, environ: Mapping[str, str]) -> int:
    # systemd opens its credentials to the service by an ACL, which shows as a group bit; the
    # folder above them is closed to everyone else.
    credentials = environ.get("CREDENTIALS_DIRECTORY", "")
    closed = credentials.startswith("/") and path.is_relative_to(credentials)
    return 0o007 if closed and ".." not in path.parts else 0o077


def _locate(name: str, folder: Path, environ: Mapping[str, str]) -> Path:
    if name.startswith("~/"):
        return home(environ) / name[2:]
    credentials = environ.get("CREDENTIALS_DIRECTORY", "")
    if credentials and name.startswith("$CREDENTIALS_DIRECTORY/"):
        return Path(credentials) / name.removeprefix("$CREDENTIALS_DIRECTORY/")
    return folder / name
