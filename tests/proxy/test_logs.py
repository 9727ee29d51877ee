"""Nothing but known fields in known shapes is ever logged, whoever logs it."""

import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy import logs
from proxy.log_fields import FIELDS, NAMES, WITHHELD
from proxy.problems import Problem, near

CANARY = "canary-" + "q7Zk29xW"


@pytest.fixture
def restored() -> Iterator[None]:
    """What setting up changes in the process is put back."""
    hooks = sys.excepthook, sys.unraisablehook, threading.excepthook
    before = dict(vars(logs._OUT))
    yield
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    root = logging.getLogger()
    root.handlers = [each for each in root.handlers if not isinstance(each, logs._Strays)]
    logging.captureWarnings(False)
    logging.getLogger("aiohttp.access").disabled = False
    vars(logs._OUT).clear()
    vars(logs._OUT).update(before)


@pytest.fixture
def out(restored: None) -> io.StringIO:
    """A log that is read as JSON."""
    stream = io.StringIO()
    logs.set_up(stream)
    return stream


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_has_its_fields_in_their_order(out: io.StringIO) -> None:
    """Time, level and event come first, the rest as the table has it."""
    logs.get().info("request", ms=1.5, status=200, model="qwen3:8b", request="r1", leg="local")
    (line,) = lines(out)
    assert list(line) == ["ts", "level", "event", "request", "leg", "model", "status", "ms"]
    assert line["level"] == "info"
    assert str(line["ts"]).endswith("Z")


def test_fields_that_are_not_known_are_dropped(out: io.StringIO) -> None:
    """A call site that passes a body, a key or a header logs nothing of it."""
    logs.get().error("request", body=CANARY, prompt=[CANARY], **{CANARY: CANARY})
    assert CANARY not in out.getvalue()
    assert list(lines(out)[0]) == ["ts", "level", "event"]


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"ts", "level", "event"}))
@pytest.mark.parametrize("value", [f"{CANARY} x", [f"{CANARY} x"], {CANARY: 1}, CANARY.encode()])
def test_a_known_field_is_no_way_out_either(out: io.StringIO, name: str, value: object) -> None:
    """A value that does not have its field's shape is withheld."""
    logs.get().warning("notice", **{name: value})
    assert CANARY not in out.getvalue()
    assert lines(out)[0][name] == ("-" if name in NAMES else WITHHELD)


def test_problems_of_a_configuration_have_place_and_reason(
    out: io.StringIO, restored: None
) -> None:
    """Each as an object for machines, in one phrase for people; a text or a look-alike is none."""
    problem = Problem("listen.port", "expected a port", "port = 8787", "c.toml", 9)
    logs.get().error("reload", problems=[problem])
    assert lines(out)[0]["problems"] == [
        {
            "path": "listen.port",
            "words": "expected a port",
            "hint": "port = 8787",
            "file": "c.toml",
            "line": 9,
        }
    ]
    stream = io.StringIO()
    logs.set_up(stream, json=False)
    logs.get().error("reload", problems=[problem])
    assert "problems=c.toml:9: listen.port: expected a port" in stream.getvalue()
    for no in (str(problem), [str(problem)], [problem, CANARY], [problem] * 65, (problem,)):
        logs.get().error("reload", problems=no)
        assert stream.getvalue().endswith(f"problems={WITHHELD}\n")


def test_event_and_format_arguments_cannot_carry_text(out: io.StringIO) -> None:
    """The event is one of our words; interpolated text makes it none."""
    logs.get().warning("saw %s", f"{CANARY} X")
    assert CANARY not in out.getvalue()


@given(st.text(), st.text())
def test_every_line_is_printable_ascii_json(name: str, value: str) -> None:
    """Whatever is passed, a line is one line, and no byte of it can steer a terminal."""
    logged = logs.allow({name: value, "model": value})
    text = logs._render({"ts": "", "level": "", "event": "", **logged})
    assert text.isprintable()
    assert text.isascii()


@pytest.mark.parametrize("bad", ["\x1b[2J", "a\u202eb", "a\nb", "a\u2028b", "\ud800", "\x9b0m"])
def test_controls_and_bidi_marks_are_neutralised(bad: str) -> None:
    """A line holds no character that moves a cursor or turns text, whatever let it through."""
    line = logs.neutralise(f'{{"model":"{bad}"}}')
    assert bad not in line
    assert "\ufffd" in line
    assert logs.neutralise("žluť 鍵") == "žluť 鍵"


def test_neutralising_is_the_last_that_happens_to_a_line(
    out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the allow-list and the shapes failed, the terminal would still be safe."""
    monkeypatch.setattr(logs, "_render", lambda event: "\x1b[2J" + "a\u202eb")
    logs.get().info("request")
    assert out.getvalue() == "\ufffd[2Ja\ufffdb\n"


def test_names_are_shown_only_in_a_safe_shape(out: io.StringIO) -> None:
    """Model, tool, client and upstream names with blanks, or too long, become a dash."""
    logs.get().info("request", model="a b", tool="x" * 65, client="laptop", upstream="home")
    (line,) = lines(out)
    assert (line["model"], line["tool"]) == ("-", "-")
    assert (line["client"], line["upstream"]) == ("laptop", "home")


def test_names_in_which_the_screen_finds_something_are_not_shown(restored: None) -> None:
    """A secret used as a model name has a safe shape; the screen knows it."""
    stream = io.StringIO()
    logs.set_up(stream, clean=lambda name: CANARY not in name)
    logs.get().info("request", model=CANARY, tool="ls")
    assert lines(stream)[0]["model"] == "-"
    assert lines(stream)[0]["tool"] == "ls"


def raised() -> Exception:
    error = ValueError(CANARY)
    error.__cause__ = KeyError(CANARY)
    return error


def test_an_exception_is_its_types_and_never_its_text(out: io.StringIO) -> None:
    """The text of an exception may hold a value; types and our own frames do not."""
    logs.get().error("notice", exc_info=raised())
    (line,) = lines(out)
    assert line["error"] == ["ValueError", "KeyError"]
    assert line["at"] == []
    assert CANARY not in out.getvalue()


def test_our_own_frames_are_named(out: io.StringIO) -> None:
    """Where in our code it happened is what a report needs."""
    try:
        near(3, ["x"])  # type: ignore[arg-type]
    except AttributeError:
        logs.get().exception("notice")
    assert [str(frame).rpartition(":")[0] for frame in lines(out)[0]["at"]] == ["proxy.problems"]


def test_an_exception_that_hides_its_context_is_one_type(out: io.StringIO) -> None:
    """`raise … from None` is respected, and a triple of exception info is understood."""
    error = ValueError(CANARY)
    error.__context__, error.__suppress_context__ = KeyError(CANARY), True
    logs.get().error("notice", exc_info=(ValueError, error, None))
    assert lines(out)[0]["error"] == ["ValueError"]
    logs.get().error("notice", exc_info=None)
    assert "error" not in lines(out)[1]


def test_libraries_say_only_that_they_wanted_to_say_something(out: io.StringIO) -> None:
    """The server's and the event loop's own lines quote requests; their text goes nowhere."""
    logging.getLogger("aiohttp.server").error(
        "Error handling request %s", CANARY, exc_info=raised()
    )
    logging.getLogger("asyncio").warning("Executing %s took long", CANARY)
    logging.getLogger("asyncio").info(CANARY)
    logging.getLogger("aiohttp.access").error(CANARY)
    assert [(line["level"], line["logger"]) for line in lines(out)] == [
        ("error", "aiohttp.server"),
        ("warning", "asyncio"),
    ]
    assert lines(out)[0]["error"] == ["ValueError", "KeyError"]
    assert CANARY not in out.getvalue()


def test_warnings_and_stray_exceptions_go_the_same_way(
    out: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning, a crash, a dying thread and an exception in a destructor show no text."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn(CANARY, stacklevel=1)
        logging.captureWarnings(False)
    error = raised()
    sys.excepthook(type(error), error, error.__traceback__)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    sys.unraisablehook(type("Stray", (), {"exc_value": error})())
    threading.excepthook(type("Stray", (), {"exc_value": error})())
    assert [line["logger"] for line in lines(out)] == [
        "py.warnings",
        "crash",
        "unraisable",
        "thread",
    ]
    assert CANARY not in out.getvalue() + "".join(capsys.readouterr())


def test_setting_up_twice_writes_each_line_once(restored: None) -> None:
    """A second set-up takes the place of the first."""
    first, second = io.StringIO(), io.StringIO()
    logs.set_up(first)
    logs.set_up(second)
    logging.getLogger("asyncio").warning("x")
    assert first.getvalue() == ""
    assert len(lines(second)) == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_list_of_nothing_is_not_read_either(restored: None) -> None:
    """A field without a value is no word in a line for people; as JSON it stands there."""
    stream = Terminal()
    for as_json, shown in ((None, False), (True, True)):
        logs.set_up(stream, json=as_json)
        logs.get().info("listening", addr="http://127.0.0.1:1", settings=[])
        assert ("settings" in stream.getvalue()) is shown


def test_a_terminal_gets_lines_for_reading(restored: None) -> None:
    """In a terminal a line is time, level, event, fields; `json` decides otherwise."""
    stream = Terminal()
    logs.set_up(stream)
    logs.get().info("request", status=200, kinds=["nsec", "pem"])
    assert stream.getvalue()[8:].split() == ["info", "request", "status=200", "kinds=nsec,pem"]
    logs.set_up(stream, json=True)
    logs.get().info("request")
    assert stream.getvalue().splitlines()[1].startswith("{")


def broken() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("make", [broken])
def test_a_log_that_cannot_be_written_ends_nothing(
    restored: None, make: Callable[[], io.StringIO]
) -> None:
    """A closed standard error is no reason to fail a request."""
    logs._OUT.stream = make()
    logs.get().info("request", status=200)


def test_before_set_up_the_allow_list_holds(
    restored: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A logger that is used early has the same pipe; nothing goes to standard output."""
    vars(logs._OUT).clear()
    logs.get().info("request", status=200, body=CANARY)
    logs.get().debug("request")
    said = capsys.readouterr()
    assert said.out == ""
    assert json.loads(said.err)["status"] == 200
    assert CANARY not in said.err


def test_a_text_that_fits_one_field_is_not_known_to_fit_another(out: io.StringIO) -> None:
    """Fields are judged once for a text, each for itself, and what did not fit is judged again."""
    for _ in range(2):
        logs.get().info("request", model="local", leg="local", dialect="qwen3:8b", endpoint="/v1")
        logs.get().info("request", model="qwen3:8b", leg="qwen3:8b")
    for line in lines(out)[::2]:
        assert (line["model"], line["leg"], line["dialect"]) == ("local", "local", WITHHELD)
    for line in lines(out)[1::2]:
        assert (line["model"], line["leg"]) == ("qwen3:8b", WITHHELD)


def test_what_is_known_to_fit_is_bounded(out: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many names strangers think of."""
    monkeypatch.setattr(logs, "_MOST", 8)
    for number in range(50):
        logs.get().info("request", model=f"m{number}")
        assert len(logs._FITTING["model"]) <= 8
    assert [line["model"] for line in lines(out)] == [f"m{number}" for number in range(50)]
