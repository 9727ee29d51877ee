"""The log: one pipe for everything that is ever written while serving, an allow-list at its end.

Owns which fields may be logged and in which shape, and what becomes of other people's log lines and
of exceptions. It must not know a request. Event and field names are part of the outward contract.
"""

import logging
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, MutableMapping, Sequence, Set
from functools import cache, lru_cache
from types import TracebackType
from typing import Any, Final, TextIO

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

from proxy.log_fields import FIELDS, NAMES, REPEATED, WITHHELD, Fits, number

Event = MutableMapping[str, Any]
Clean = Callable[[str], bool]
"""Whether the screen finds nothing in a name."""

_FRAMES: Final = 12
_MOST: Final = 1024  # values of one field
_FITTING: Final[Mapping[str, set[str]]] = {name: set() for name in REPEATED}
_NUMBERS: Final = frozenset({int, float})
_NONE: Final = frozenset[Any]()
_OURS: Final = ("proxy", "policies")


class _Out:
    """Where lines go, and how they look. One for the process: there is one standard error."""

    stream: TextIO | None = None
    json: bool = True
    clean: Clean | None = None

    def write(self, line: str) -> None:
        stream = self.stream or sys.stderr
        if not line.isascii():
            coding = getattr(stream, "encoding", None) or "utf-8"
            line = line.encode(coding, "backslashreplace").decode(coding)
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):
            pass  # a log that cannot be written must not end a request

    debug = info = warning = error = critical = write


_OUT: Final = _Out()


def set_up(stream: TextIO, json: bool | None = None, clean: Clean | None = None) -> None:
    """Log to `stream`: JSON lines, or for reading if it is a terminal; `json` decides otherwise.

    `clean` says of a model, tool or client name that the screen finds nothing in it; without it
    only the shape is looked at. From now on stray log lines, warnings and exceptions of every
    library go the same way, without their text.
    """
    _OUT.stream, _OUT.clean = stream, clean
    _OUT.json = not stream.isatty() if json is None else json
    root = logging.getLogger()
    root.handlers = [each for each in root.handlers if not isinstance(each, _Strays)]
    root.addHandler(_Strays(logging.WARNING))
    logging.captureWarnings(True)
    # What is written for people who debug these loggers is not needed to run Transom.
    logging.getLogger("aiohttp.access").disabled = True
    sys.excepthook = _crashed
    sys.unraisablehook = lambda stray: _stray("unraisable", stray.exc_value)
    threading.excepthook = lambda stray: _stray("thread", stray.exc_value)


@cache
def get() -> FilteringBoundLogger:
    """The logger: `get().warning("notice", notice="…", …)`. Safe before `set_up`: JSON lines to
    standard error."""
    logger: FilteringBoundLogger = structlog.wrap_logger(
        _OUT,
        processors=[lambda _, level, event: line(level, event)],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).bind()
    return logger


def write(level: str, event: Event) -> None:
    """What `get()` does with the fields of one line, `event` among them, without the way there:
    for the line that every request has."""
    _OUT.write(line(level, event))


def line(level: str, event: Event) -> str:
    """The one pipe: everything that is ever written comes through here."""
    event["level"], event["ts"] = level, _now()
    if "exc_info" in event:
        _exception(event)
    return neutralise(_render(_names(allow(event))))


def allow(event: Event) -> Event:
    """Only known fields, in their order, each in its shape: a known field in another shape is
    withheld, everything else is dropped."""
    # SECURITY: nothing behind it adds a field. No call site can log what is not let through here.
    passed = {}
    for name, fits, plain, fitting in _known(tuple(event)):
        value = event[name]
        kind = type(value)
        if kind in plain or (kind is str and value in fitting):
            passed[name] = value  # what most fields of most lines are; nobody is asked
            continue
        try:
            passed[name] = value if fits(value) else WITHHELD
        except TypeError:  # a shape is one of strings
            passed[name] = WITHHELD
        if name in _FITTING and kind is str and passed[name] is value:
            _fits(name, value)
    return passed


@lru_cache(256)  # call sites choose them, and are few
def _known(names: tuple[str, ...]) -> Sequence[tuple[str, Fits, Set[type], Set[str]]]:
    """Those of `names` that are fields, in their order, each with its shape, the types of which
    every value has it, and the texts that were found to have it."""
    return [
        (name, fits, _NUMBERS if fits is number else _NONE, _FITTING.get(name, _NONE))
        for name, fits in FIELDS.items()
        if name in names
    ]


def _fits(name: str, value: str) -> None:
    known = _FITTING[name]
    if len(known) >= _MOST:
        known.clear()  # strangers choose some of them
    known.add(value)


def neutralise(line: str) -> str:
    """Control, format, bidi and surrogate characters of a line become U+FFFD, whatever wrote it."""
    if line.isascii() and line.isprintable():
        return line
    unsafe = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join("\ufffd" if unicodedata.category(mark) in unsafe else mark for mark in line)


def shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` as a line may have them: only known ones, each in its shape, names of strangers
    clean. For what is kept elsewhere than in the log."""
    return dict(_names(allow(dict(fields))))


def is_clean(text: str) -> bool:
    """Whether the screen finds nothing in a short text of ours that names things."""
    return _OUT.clean is None or _OUT.clean(text)


def _now() -> str:
    second, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(second)}.{milliseconds:03d}Z"


@lru_cache(1)
def _second(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def _exception(event: Event) -> None:
    """`exc_info` → `error`, the types, and `at`, our own frames."""
    # SECURITY: never the text of an exception: it may hold a value of a body.
    raised = event.pop("exc_info")
    if raised is True:
        raised = sys.exc_info()[1]
    elif isinstance(raised, tuple):
        raised = raised[1]
    if isinstance(raised, BaseException):
        event["error"], event["at"] = _types(raised), _frames(raised.__traceback__)


def _names(event: Event) -> Event:
    """Names that strangers chose: in a safe shape and clean, or `-`."""
    clean = _OUT.clean
    for name in NAMES:
        if name in event:
            value = event[name]
            if value == WITHHELD or not (clean is None or clean(value)):
                event[name] = "-"
    return event


def _render(event: Mapping[str, Any]) -> str:
    if _OUT.json:
        return _TO_JSON.encode(event).decode()
    told = ((name, value) for name, value in event.items() if name not in _HEAD and value != [])
    rest = " ".join(f"{name}={_value(value)}" for name, value in told)
    return f"{event['ts'][11:19]} {event['level']:<7} {event['event']:<16} {rest}".rstrip()


_HEAD: Final = ("ts", "level", "event")
_TO_JSON: Final = msgspec.json.Encoder()


def _value(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _types(raised: BaseException) -> list[str]:
    types: list[str] = []
    cause: BaseException | None = raised
    while cause is not None and len(types) < 4:
        types.append(type(cause).__name__)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return types


def _frames(traceback: TracebackType | None) -> Sequence[str]:
    frames = []
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in _OURS:
            frames.append(f"{module}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return frames[-_FRAMES:]


class _Strays(logging.Handler):
    """Log lines of libraries: level, logger and type of the exception, never the text."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warning"
        raised = record.exc_info[1] if record.exc_info else None
        # SECURITY: the text of the record may quote a request; it goes nowhere.
        getattr(get(), level)("library", logger=record.name, exc_info=raised)


def _crashed(
    kind: type[BaseException], raised: BaseException, traceback: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        _stray("crash", raised)


def _stray(where: str, raised: BaseException | None) -> None:
    get().error("library", logger=where, exc_info=raised)
