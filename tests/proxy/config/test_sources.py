"""The file is found in the promised order, and what cannot be read is said with its place."""

from pathlib import Path

import pytest

from proxy.config import sources
from proxy.config.sources import (
    LARGEST_FILE,
    LARGEST_TEXT,
    find_file,
    home,
    read_document,
    read_overrides,
    state_folder,
    user_file,
)
from proxy.problems import Invalid

CANARY = "canary-" + "q7Zk29xW"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, and a system file that is not the machine's."""
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "etc" / "config.toml")
    return tmp_path


def put(path: Path, text: str = "version = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_search_order(house: Path) -> None:
    """-c, then TRANSOM_CONFIG, then the user's file, then the system's, then none."""
    environ = {"HOME": str(house)}
    assert find_file(None, environ) is None
    system = put(house / "etc" / "config.toml")
    assert find_file(None, environ) == system
    user = put(house / ".config" / "transom" / "config.toml")
    assert find_file(None, environ) == user
    named = put(house / "named.toml")
    environ |= {"TRANSOM_CONFIG_FILE": str(put(house / "name", f"{named}\n"))}
    assert find_file(None, environ) == named
    environ |= {"TRANSOM_CONFIG": str(named)}
    assert find_file(None, environ) == named
    assert find_file(system, environ) == system


def test_a_file_that_was_named_must_be_there(house: Path) -> None:
    """A named file that is missing is an error; its name, which may be anything, is not shown."""
    for given, environ in ((Path(CANARY), {}), (None, {"TRANSOM_CONFIG": CANARY})):
        with pytest.raises(Invalid, match="cannot be found") as caught:
            find_file(given, environ)
        assert CANARY not in caught.value.report()


def test_folders_follow_the_xdg_rules(house: Path) -> None:
    """The XDG variables win, relative values are ignored, HOME is the base."""
    environ = {"HOME": "/h"}
    assert state_folder(environ) == Path("/h/.local/state/transom")
    assert user_file(environ) == Path("/h/.config/transom/config.toml")
    environ |= {"XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "relative"}
    assert state_folder(environ) == Path("/s/transom")
    assert user_file(environ) == Path("/h/.config/transom/config.toml")


def test_without_a_home_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a home folder is told which variable helps."""

    def homeless(_: Path) -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(Invalid, match="home folder is not known"):
        home({})


def refusal(path: Path) -> str:
    with pytest.raises(Invalid) as caught:
        read_document(path)
    return caught.value.report()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'a = 1\nb = "{CANARY}\n', ":2: is not valid TOML"),
        (f"a = {CANARY}\n", ":1: is not valid TOML: Invalid value"),
        (f"{CANARY} {CANARY}\n", ":1: is not valid TOML"),
        (f"[{CANARY}]\n[{CANARY}]\n", ":2: is not valid TOML: a table stands there twice"),
        (f"{CANARY} = 1\n{CANARY} = 2\n", ":2: is not valid TOML: a key stands there twice"),
        (f"[{CANARY}\n", ":1: is not valid TOML: Expected ']' at the end of a table declaration"),
        (f"{CANARY}\n", ":1: is not valid TOML: Expected '=' after a key in a key/value pair"),
        (f'a = "{CANARY}\n', "TOML: a character may not stand here"),
        ("a = [\n1,\n", ":3: is not valid TOML"),
        ("a = " + "9" * 5000, ": is not valid TOML"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a\x00b", ":1: is not valid TOML"),
    ],
)
def test_broken_toml_has_a_line_and_no_quotation(house: Path, text: str, words: str) -> None:
    """What the parser quotes may be a secret: only its plain words and the line are shown."""
    said = refusal(put(house / "c.toml", text))
    assert said.startswith(str(house / "c.toml"))
    assert words in said
    assert CANARY not in said


def test_what_is_no_text_file_is_refused(house: Path) -> None:
    """Other codings, huge files, folders and missing files are each named."""
    path = house / "c.toml"
    path.write_bytes(b"# \xc3\xa9\n# \xe9\n")
    assert f"{path}:2: is not UTF-8 here" in refusal(path)
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    assert "is larger than" in refusal(path)
    assert "cannot be read: Is a directory" in refusal(house)
    assert "cannot be read: No such file" in refusal(house / "none")


def test_a_byte_order_mark_is_forgiven(house: Path) -> None:
    """Editors that write one make no invalid configuration, and lines still count."""
    path = house / "c.toml"
    path.write_bytes(b"\xef\xbb\xbfversion = 1\r\n\r\nprofile = 'relay'\r\n")
    document = read_document(path)
    assert document.values == {"version": 1, "profile": "relay"}
    assert document.lines[("profile",)] == 3


def test_variables_become_settings(house: Path) -> None:
    """Two underscores are a dot; _FILE reads a file, without its last line end; empty is unset."""
    port = put(house / "port", "8080\r\n")
    found, problems = read_overrides(
        {
            "TRANSOM_LISTEN__PORT_FILE": str(port),
            "TRANSOM_SCREEN__ON_HIT": "observe",
            "TRANSOM_PROFILE": "relay",
            "TRANSOM_LISTEN__HOST": "",
            "TRANSOM_CONFIG": "x",
            "TRANSOM_STATE_KEY_FILE": "x",
            "TRANSOM_SERVICE_HOST": "10.0.0.1",
            "TRANSOM_PORT_8787_TCP": "tcp://10.0.0.1:8787",
            "PATH": "/bin",
        }
    )
    assert problems == []
    assert {path: (each.variable, each.text) for path, each in found.items()} == {
        "listen.port": ("TRANSOM_LISTEN__PORT_FILE", "8080"),
        "screen.on_hit": ("TRANSOM_SCREEN__ON_HIT", "observe"),
        "profile": ("TRANSOM_PROFILE", "relay"),
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TRANSOM_LISTEN__PROT", "no such setting; did you mean `TRANSOM_LISTEN__PORT`?"),
        ("TRANSOM_LISTEN_PORT", "no such setting; did you mean `TRANSOM_LISTEN__PORT`?"),
        ("TRANSOM_LISTEN_PORT_FILE", "did you mean `TRANSOM_LISTEN__PORT`?"),
        ("TRANSOM_UPSTREAM__CLAUDE__AUTH", "only in the file"),
        ("TRANSOM_Q__Q", "no such setting"),
    ],
)
def test_a_variable_that_means_no_setting_is_a_problem(name: str, words: str) -> None:
    """A slip in a variable's name is named with the right one, and its value is not shown."""
    _, problems = read_overrides({name: CANARY})
    said = Invalid(problems).report()
    assert said.startswith(name)
    assert words in said
    assert CANARY not in said


def test_a_variable_may_not_be_set_in_two_ways(house: Path) -> None:
    """The same setting as a value and as a file is a contradiction."""
    _, problems = read_overrides(
        {
            "TRANSOM_LISTEN__PORT": "1",
            "TRANSOM_LISTEN__PORT_FILE": str(put(house / "port", "2")),
        }
    )
    assert [str(problem) for problem in problems] == [
        "TRANSOM_LISTEN__PORT_FILE: TRANSOM_LISTEN__PORT sets the same"
    ]


def test_a_file_behind_a_variable_must_be_a_small_text(house: Path) -> None:
    """Missing, huge and binary files are problems of that variable."""
    path = house / "value"
    for content, words in (
        (None, "the file cannot be read"),
        (b"x" * (LARGEST_TEXT + 1), "a text of at most"),
        (b"\xff", "a text of at most"),
    ):
        if content is not None:
            path.write_bytes(content)
        _, problems = read_overrides({"TRANSOM_LISTEN__HOST_FILE": str(path)})
        assert words in str(problems[0])
        assert problems[0].path == "TRANSOM_LISTEN__HOST_FILE"


def test_an_unreachable_folder_holds_no_configuration(house: Path) -> None:
    """A file that cannot even be looked at is not found, instead of ending in a traceback."""
    loop = house / ".config" / "transom"
    loop.parent.mkdir()
    loop.symlink_to(loop)
    assert find_file(None, {"HOME": str(house)}) is None
