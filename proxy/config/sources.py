"""Where a configuration comes from: the file, the environment, the folders of the user.

Owns the search order and reading. It must not know what a setting means.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from proxy.config.keys import SINGLE
from proxy.config.lines import Path as Way
from proxy.config.lines import find_lines
from proxy.problems import Invalid, Problem, near

SYSTEM_FILE = Path("/etc/transom/config.toml")
PREFIX: Final = "TRANSOM_"
LARGEST_FILE: Final = 1024 * 1024
LARGEST_TEXT: Final = 8192

_OTHERS: Final = {"TRANSOM_CONFIG", "TRANSOM_CONFIG_FILE", "TRANSOM_STATE_KEY_FILE"}
_KNOWN: Final = {key.path for key in SINGLE}
_AT_LINE: Final = re.compile(r"\(at line ([0-9]+)")
_PLAIN_WORDS: Final = re.compile(r"(?:[A-Za-z ,/-]|'[=\[\]]{1,2}')+")
_FINISHED: Final = {
    "Expected": "something else is expected here",
    "Cannot declare": "a table stands there twice",
    "Cannot overwrite a value": "a key stands there twice",
    "Duplicate inline table key": "a key stands there twice",
    "Cannot mutate immutable namespace": "a table that is closed gets another key",
    "Cannot redefine namespace": "a table stands there twice",
    "Found invalid character": "a character may not stand here",
    "Illegal character": "a character may not stand here",
}
"""What the parser says in words that end where it quotes, or that only its author understands."""


@dataclass(frozen=True, slots=True)
class Document:
    """A TOML file, parsed. `name`: as problems show it; `lines`: where each value stands."""

    name: str = ""
    values: Mapping[str, object] = field(default_factory=dict, repr=False)
    lines: Mapping[Way, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Override:
    """A setting from the environment: the variable's name and the text that it gives."""

    variable: str
    text: str = field(repr=False)


def find_file(given: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The configuration file: `given` (from `-c`), else `$TRANSOM_CONFIG`, else the user's, else
    the system's; None if there is none. A file that was named must exist, else `Invalid`."""
    if given is not None:
        return _named(given, "-c")
    named = environ.get("TRANSOM_CONFIG") or _text_of_file("TRANSOM_CONFIG_FILE", environ)
    if named:
        return _named(Path(named), "TRANSOM_CONFIG")
    for candidate in (user_file(environ), SYSTEM_FILE):
        if _exists(candidate):
            return candidate
    return None


def user_file(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/transom/config.toml`."""
    return _xdg(environ, "XDG_CONFIG_HOME", ".config") / "transom" / "config.toml"


def state_folder(environ: Mapping[str, str]) -> Path:
    """The folder of a node's database, key and control socket: `$XDG_STATE_HOME/transom`, by
    default `~/.local/state/transom`. It need not exist."""
    return _xdg(environ, "XDG_STATE_HOME", ".local/state") / "transom"


def read_document(path: Path) -> Document:
    """The TOML file at `path`. Raises `Invalid` with the line if it cannot be read or parsed."""
    name = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise _broken(name, f"cannot be read: {error.strerror}") from None
    if len(raw) > LARGEST_FILE:
        raise _broken(name, f"is larger than {LARGEST_FILE} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _broken(name, "is not UTF-8 here", line) from None
    try:
        return Document(name, tomllib.loads(text), find_lines(text))
    except RecursionError:
        raise _broken(name, "is nested too deeply") from None
    except ValueError as error:
        raise _broken(name, *_syntax(str(error), text)) from None


def read_overrides(environ: Mapping[str, str]) -> tuple[dict[str, Override], list[Problem]]:
    """Settings from the environment by their dotted path, and what is wrong with them.

    `TRANSOM_LISTEN__PORT=1` is `listen.port = 1`; with `_FILE` at the end the value is the content
    of that file. An empty variable counts as not set. Names with a double underscore that mean no
    setting are problems; others may belong to someone else and are left alone.
    """
    found: dict[str, Override] = {}
    problems: list[Problem] = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in _OTHERS or not environ[name]:
            continue
        path = name.removeprefix(PREFIX).lower().replace("__", ".")
        setting = path if path in _KNOWN else path.removesuffix("_file")
        if setting not in _KNOWN:
            problems += _unknown_variable(name)
            continue
        try:
            text = environ[name] if setting == path else _text_of_file(name, environ)
        except Invalid as error:
            problems += error.problems
            continue
        if setting in found:
            problems.append(Problem(name, f"{found[setting].variable} sets the same"))
        found[setting] = Override(name, text)
    return found, problems


def _text_of_file(variable: str, environ: Mapping[str, str]) -> str:
    name = environ.get(variable, "")
    if not name:
        return ""
    try:
        with Path(name).open("rb") as file:
            raw = file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise Invalid([Problem(variable, f"the file cannot be read: {error.strerror}")]) from None
    if len(raw) > LARGEST_TEXT or not _is_utf8(raw):
        raise Invalid([Problem(variable, f"expected a text of at most {LARGEST_TEXT} bytes")])
    return raw.decode().removesuffix("\n").removesuffix("\r")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unknown_variable(name: str) -> list[Problem]:
    variables = {PREFIX + path.upper().replace(".", "__"): path for path in _KNOWN}
    for variable, path in variables.items():
        if PREFIX + path.upper().replace(".", "_") == name.removesuffix("_FILE"):
            return [Problem(name, f"no such setting; did you mean `{variable}`?")]
    # A cluster puts TRANSOM_PORT, TRANSOM_SERVICE_HOST and more into the environment by itself.
    if "__" not in name:
        return []
    hint = ""
    if name.startswith(tuple(f"{PREFIX}{array}__" for array in ("UPSTREAM", "ROUTE", "CLIENT"))):
        hint = "upstreams, routes and clients can be written only in the file"
    return [Problem(name, f"no such setting{near(name, variables)}", hint)]


def _named(path: Path, source: str) -> Path:
    if not _exists(path):
        # The name is not shown: it may be anything that was typed in this place.
        words = f"the configuration file that {source} names cannot be found"
        raise Invalid([Problem("", words, "`transom init` writes one to start from")])
    return path


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def _xdg(environ: Mapping[str, str], variable: str, default: str) -> Path:
    named = environ.get(variable, "")
    # The XDG specification has relative paths ignored.
    return Path(named) if named.startswith("/") else home(environ) / default


def home(environ: Mapping[str, str]) -> Path:
    """The user's home folder. `Invalid` if there is none."""
    named = environ.get("HOME", "")
    try:
        return Path(named) if named.startswith("/") else Path("~").expanduser()
    except RuntimeError:
        words = "the home folder is not known"
        raise Invalid([Problem("HOME", words, "set HOME, or XDG_STATE_HOME")]) from None


def _syntax(message: str, text: str) -> tuple[str, int]:
    """Our words for a parser's message, and the line; nothing of the text in them."""
    found = _AT_LINE.search(message)
    line = int(found[1]) if found else text.count("\n") + 1 if "end of document" in message else 0
    # SECURITY: the parser quotes what it read, and that may be a secret.
    plain = _PLAIN_WORDS.match(message)
    words = plain[0].strip() if plain else ""
    words = _FINISHED.get(words, words)
    return f"is not valid TOML{f': {words}' if words else ''}", line


def _broken(name: str, words: str, line: int = 0) -> Invalid:
    return Invalid([Problem("", words, file=name, line=line)])
