"""A file and the environment become one frozen configuration, or every problem at once."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from policies.decision import Leg
from policies.settings import Also, Egress, Envelope, Minimality, Policies, RefusalRule, ToolRule
from proxy.config import (
    ClientSettings,
    Config,
    Fallback,
    Listen,
    RouteSettings,
    Timeouts,
    UpstreamSettings,
    examine,
    load,
    sources,
)
from proxy.config.kinds import Rate
from proxy.problems import Invalid

CANARY = "canary-" + "q7Zk29xW"
HASH = "0123456789abcdef" * 4


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a configuration; neither the user's nor the system's file is in the way."""
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    return tmp_path


def read(house: Path, text: str, **environ: str) -> Config:
    path = house / "c.toml"
    path.write_text(text)
    return load(path, {"HOME": str(house), **environ})


def wrong(house: Path, text: str, **environ: str) -> list[str]:
    """The problems, without the file's name."""
    with pytest.raises(Invalid) as caught:
        read(house, text, **environ)
    assert CANARY not in caught.value.report()
    return [str(problem).removeprefix(f"{house}/") for problem in caught.value.problems]


UP = '[[upstream]]\nname = "x"\nleg = "cloud"\ndialects = ["openai"]\n'
HOME = '[[upstream]]\nname = "home"\nleg = "local"\ndialects = ["ollama"]\n'


def test_no_configuration_at_all_works(house: Path) -> None:
    """Without a file the vendors are called with the caller's own credentials, home is Ollama."""
    config = load(None, {"HOME": str(house)})
    assert config == Config(state_url=f"sqlite://{house}/.local/state/transom/transom.db")
    assert [(up.name, up.leg.value, up.base_url, up.auth) for up in config.upstreams] == [
        ("claude", "cloud", "https://api.anthropic.com", "caller"),
        ("openai", "cloud", "https://api.openai.com", "caller"),
        ("home", "local", "http://127.0.0.1:11434", "none"),
    ]


def test_every_setting_that_works_arrives(house: Path) -> None:
    """What is written in the file stands in the configuration, in bytes and seconds."""
    text = f"""
version = 1
profile = "relay"
[listen]
host = "::1"
port = 0
names = ["Box.lan"]
origins = ["http://localhost:3000"]
max_body = "1 MiB"
[timeouts]
connect = "1s"
first_byte = "2m"
idle = "500ms"
[state]
url = "memory:"
[screen]
secrets_dir = "/srv/secrets"
on_hit = "observe"
[ledger]
keep = "2d"
[limits]
requests = ["1/1s", "2/1s"]
[envelope]
enabled = false
reminder = "request"
[[envelope.also]]
client = "lap*"
open = "<file>"
close = "</file>"
[session]
header = "X-Session"
[endpoints]
open = ["files", "batches"]
[local]
tailnet = true
[[upstream]]
name = "gw"
leg = "cloud"
base_url = "https://gw.example/v1"
dialects = ["openai", "anthropic"]
auth = "key"
key = {{ env = "GW_KEY" }}
[[upstream]]
name = "home"
leg = "local"
base_url = "http://100.100.1.1:11434/"
dialects = ["ollama"]
[[route]]
model = "gpt-*"
client = "lap*"
dialect = "openai"
upstream = "gw"
[[route]]
client = "laptop"
upstream = "home"
[[client]]
name = "laptop"
token_sha256 = "{HASH.upper()}"
[[tool]]
match = "mail_*"
trust = "operator"
[[tool]]
match = "*"
encode = "json"
max_chars = 20000
deny = true
refused = "No."
"""
    assert read(house, text, GW_KEY=CANARY) == Config(
        listen=Listen("::1", 0, ("box.lan",), ("http://localhost:3000",), 1024**2),
        timeouts=Timeouts(1.0, 120.0, 0.5),
        state_url="memory:",
        ledger_keep=172_800.0,
        secrets_dir="/srv/secrets",
        policies=Policies(
            Envelope(
                False,
                (
                    ToolRule("mail_*", "operator"),
                    ToolRule("*", encode="json", max_chars=20_000),
                ),
                "request",
                (Also("lap*", "<file>", "</file>"),),
            ),
            Egress("observe"),
            Minimality("off"),
            refusals=(RefusalRule("mail_*"), RefusalRule("*", True, "No.")),
        ),
        requests=(Rate(1, 1.0), Rate(2, 1.0)),
        endpoints_open=frozenset({"files", "batches"}),
        tailnet=True,
        session_header="x-session",
        upstreams=(
            UpstreamSettings(
                "gw", Leg.CLOUD, "https://gw.example", ("openai", "anthropic"), "key", CANARY
            ),
            UpstreamSettings("home", Leg.LOCAL, "http://100.100.1.1:11434", ("ollama",), "none"),
        ),
        routes=(
            RouteSettings("gpt-*", "lap*", "openai", "gw"),
            RouteSettings("", "laptop", "", "home"),
        ),
        profile="relay",
        clients=(ClientSettings("laptop", HASH),),
    )


def test_a_configuration_is_frozen_and_shows_no_key(house: Path) -> None:
    """No request can change it, and printing it prints no secret."""
    text = UP + 'base_url = "https://gw.example"\nauth = "key"\nkey = { env = "K" }\n'
    config = read(house, text, K=CANARY)
    assert CANARY not in repr(config)
    with pytest.raises(FrozenInstanceError):
        config.tailnet = True  # type: ignore[misc]


def test_all_problems_at_once_each_with_its_line(house: Path) -> None:
    """One run names everything: unknown names with a near match, wrong kinds, missing keys."""
    text = """\
versoin = 1
port = 3
[listen]
prot = 80
port = "eighty"
[lisen]
[timeouts]
idle = "10"
[[upstream]]
nam = "x"
leg = "clud"
[[upstream]]
name = "y"
"""
    assert wrong(house, text, TRANSOM_LISTEN__MAX_BODY="64") == [
        'TRANSOM_LISTEN__MAX_BODY: expected a size such as "512 kB", "4 MB" or "64 MiB", '
        "from 1024 to 1073741824 bytes, got another string",
        "c.toml:1: versoin: no such setting; did you mean `version`?",
        "c.toml:2: port: no such setting",
        "c.toml:4: listen.prot: no such setting; did you mean `port`?",
        "c.toml:5: listen.port: expected a whole number from 0 to 65535, got another string",
        "c.toml:6: lisen: no such setting; did you mean `listen`?",
        'c.toml:8: timeouts.idle: expected a time such as "250ms", "10s", "5m", "2h" or "45d", '
        'at most "366d", got another string',
        "c.toml:9: upstream[0].name: is missing (Name of the upstream)",
        "c.toml:9: upstream[0].base_url: is missing (Its address, with a path prefix if there is "
        "one; a trailing /v1 is folded)",
        "c.toml:9: upstream[0].dialects: is missing (What it speaks: anthropic, openai, ollama)",
        "c.toml:10: upstream[0].nam: no such setting; did you mean `name`?",
        "c.toml:11: upstream[0].leg: expected cloud or local, got another string; "
        "did you mean `cloud`?",
        "c.toml:12: upstream[1].leg: is missing (Cloud is allowed on any address, local only on "
        "addresses of this house)",
        "c.toml:12: upstream[1].base_url: is missing (Its address, with a path prefix if there is "
        "one; a trailing /v1 is folded)",
        "c.toml:12: upstream[1].dialects: is missing (What it speaks: anthropic, openai, ollama)",
    ]


def test_a_setting_outside_its_table_is_shown_the_way(house: Path) -> None:
    """A key above its table's head is the commonest slip when a comment sign is taken away."""
    with pytest.raises(Invalid) as caught:
        read(house, "on_hit = 'observe'\n")
    assert "hint: `on_hit` stands under [screen]" in caught.value.report()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("listen = 3", "c.toml:1: listen: expected a table, write [listen]"),
        (
            "[upstream]\nname='x'",
            "c.toml:1: upstream: expected tables that may stand several times, write [[upstream]]",
        ),
        (
            "upstream = [1]",
            "c.toml:1: upstream: expected tables that may stand several times, write [[upstream]]",
        ),
        ("[listen.port]\nx = 1", "c.toml:1: listen.port: expected a whole number from 0 to 65535"),
        ("[envelope]\nalso = 1", "c.toml:2: envelope.also: expected tables"),
        (f"'{CANARY} {CANARY}' = 1", "c.toml:1: *: no such setting"),
        (f"[listen]\n'{CANARY}' = 1", "c.toml:2: listen.*: no such setting"),
        ("[[client]]\nname='a'\n'x y'=1", "client[0].*: no such setting"),
        ("version = 2", "c.toml:1: version: expected the number 1, got 2"),
        ("[a.b.c]\nx=1", "c.toml:1: a: no such setting"),
        (
            '[[envelope.also]]\nclient="a"\nopen="|"\nclose="|"',
            "envelope.also[0].close: must differ from open",
        ),
        ("[ledger]\nkeep = '5m'", "ledger.keep: expected a time"),
    ],
)
def test_shapes_that_are_wrong(house: Path, text: str, problem: str) -> None:
    """Tables, arrays of tables and values each say what they should have been."""
    assert any(problem in said for said in wrong(house, text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[owner]\nenabled = true", "owner.enabled: not in this version; write false"),
        (
            '[screen]\non_hit = "redact"',
            'screen.on_hit: not in this version; write "home" or "refuse" or "observe"',
        ),
        ('[[route]]\nupstream="home"\nprefer="x"', "route[0].prefer: expected local or cloud"),
        ("[[envelope.also]]", "envelope.also[0].client: is missing"),
        ('[minimality]\nmode = "ajar"', "minimality.mode: expected strict, dialogue or off"),
        ('[[route]]\nupstream="home"\nminimality="x"', "[0].minimality: expected strict, dialogue"),
        ('[[route]]\nupstream="home"\nprofile="x"', "route[0].profile: expected private, balanced"),
        ('profile = "paranoid"', "profile: expected private, balanced or relay"),
    ],
)
def test_what_asks_for_a_protection_that_is_not_there_is_refused(
    house: Path, text: str, problem: str
) -> None:
    """Nobody is left to believe in a protection that this version does not have."""
    assert any(problem in said for said in wrong(house, text))


def test_inert_settings_are_accepted_and_named(house: Path) -> None:
    """They are checked, named, and change nothing."""
    text = """
[timeouts]
home_first_byte = "10s"
[owner]
enabled = false
host = "127.0.0.1"
port = 9
[ledger]
keep = "1d"
[limits]
[fallback]
upstream = "home"
explain = "text"
[minimality]
mode = "off"
strategy = "drop"
[[upstream]]
name = "home"
leg = "local"
base_url = "http://127.0.0.1:11434"
dialects = ["ollama"]
model = "qwen3:8b"
[[tool]]
match = "a"
encode = "raw"
"""
    config = read(house, text, TRANSOM_FALLBACK__UPSTREAM="home")
    assert sorted(config.inert) == ["owner.host", "owner.port"]
    assert "soft limit first" in wrong(house, "[limits]\nsame_result = [8, 5]\n")[0]


def test_the_fallback_is_read(house: Path) -> None:
    """Who answers what must not leave, for how long it is waited, and how much it may be asked."""
    text = """
[timeouts]
home_first_byte = "10s"
[fallback]
upstream = "home"
explain = "text"
max_context = 4096
[[upstream]]
name = "home"
leg = "local"
base_url = "http://127.0.0.1:11434"
dialects = ["ollama"]
model = "qwen3:8b"
"""
    config = read(house, text)
    assert config.fallback == Fallback("home", "cloud", "text", 4096)
    assert config.timeouts.home_first_byte == 10.0
    assert config.home == config.upstreams[0]
    assert read(house, text.replace('model = "qwen3:8b"', "")).home is None
    assert read(house, "").home is None


@pytest.mark.parametrize(
    ("text", "general", "route"),
    [
        ("", "cloud", ""),
        ('profile = "private"\n', "local", ""),
        ('profile = "private"\n[fallback]\nprefer = "cloud"\n', "cloud", ""),
        ('[[route]]\nupstream = "home"\nprofile = "private"\n', "cloud", "local"),
        ('[[route]]\nupstream = "home"\nprefer = "local"\n', "cloud", "local"),
        ('[[route]]\nupstream = "home"\nprofile = "private"\nprefer = "cloud"', "cloud", "cloud"),
    ],
)
def test_who_is_asked_first(house: Path, text: str, general: str, route: str) -> None:
    """By the profile, unless it is written; for all or for a route."""
    config = read(house, text)
    assert config.fallback.prefer == general
    assert [each.prefer for each in config.routes] == ([route] if "route" in text else [])


def test_only_a_local_upstream_answers_what_must_not_leave(house: Path) -> None:
    """A name that is not there, and a cloud, are problems where they are written."""
    cloud = (
        '[[upstream]]\nname = "away"\nleg = "cloud"\nbase_url = "https://api.openai.com"\n'
        'dialects = ["openai"]\nmodel = "m"\n'
    )
    (said,) = wrong(house, '[fallback]\nupstream = "away"\n' + cloud)
    assert "fallback.upstream: is a cloud" in said
    (said,) = wrong(house, '[fallback]\nupstream = "awy"\n' + cloud)
    assert "fallback.upstream: there is no such upstream" in said
    assert read(house, cloud).home is None


def test_rates_and_refusals_are_read(house: Path) -> None:
    """The soft rate is not above the hard one; tools may be denied, or say that they refuse."""
    text = '[limits]\nrequests = ["1/1s", "60/1m"]\n[[tool]]\nmatch = "a*"\ndeny = true\n'
    config = read(house, text + "refused = 'No.'\n[[tool]]\nmatch = 'b'\n")
    assert config.requests == (Rate(1, 1.0), Rate(60, 60.0))
    assert config.policies.refusals == (RefusalRule("a*", True, "No."), RefusalRule("b"))
    assert read(house, "").requests == (Rate(300, 600.0), Rate(1200, 600.0))
    assert "soft limit first" in wrong(house, '[limits]\nrequests = ["61/1m", "1/1s"]\n')[0]


def test_the_environment_beats_the_file(house: Path) -> None:
    """A variable wins over the file, and a problem with it names the variable."""
    text = "[listen]\nport = 1\nnames = ['a']\n"
    variables = {"LISTEN__PORT": "2", "LISTEN__NAMES": "b, c", "LOCAL__TAILNET": "true"}
    config = read(house, text, **{f"TRANSOM_{name}": value for name, value in variables.items()})
    assert (config.listen.port, config.listen.names, config.tailnet) == (2, ("b", "c"), True)
    assert wrong(house, text, TRANSOM_LISTEN__PORT=CANARY) == [
        "TRANSOM_LISTEN__PORT: expected a whole number from 0 to 65535, got another string"
    ]


def test_an_unknown_home_is_a_problem_only_where_it_is_needed(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a state of its own a node needs no home folder."""

    def homeless(_: Path) -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "expanduser", homeless)
    path = house / "c.toml"
    path.write_text("[state]\nurl = 'memory:'\n")
    assert load(path, {}).state_url == "memory:"
    path.write_text("")
    with pytest.raises(Invalid, match="home folder is not known"):
        load(path, {})


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("memory:", True),
        ("sqlite:///srv/transom.db", True),
        ("sqlite://srv/transom.db", False),
        ("sqlite:////srv/transom.db", False),
        ("sqlite:///srv/t.db?mode=ro", False),
        ("redis://localhost", False),
        ("/srv/transom.db", False),
    ],
)
def test_state_urls(house: Path, url: str, good: bool) -> None:
    """Memory, or SQLite with an absolute path."""
    text = f'[state]\nurl = "{url}"\n'
    if good:
        assert read(house, text).state_url == url
    else:
        assert "state.url: expected" in wrong(house, text)[0]


def test_origins_of_settings_are_kept(house: Path) -> None:
    """`check --show` can say of each setting where it comes from."""
    path = house / "c.toml"
    path.write_text("[listen]\n\nport = 1\n[[tool]]\nmatch = 'a'\n")
    examined = examine(path, {"HOME": str(house), "TRANSOM_LISTEN__HOST": "::1"})
    origins = {item.path: item.origin for item in examined.effective}
    assert examined.path == path
    assert origins["listen.port"] == f"{path}:3"
    assert origins["listen.host"] == "TRANSOM_LISTEN__HOST"
    assert origins["listen.max_body"] == "default"
    assert origins["tool[0].match"] == f"{path}:5"
    assert origins["tool[0].trust"] == "default"
    assert origins["upstream[2].base_url"] == "default"
    values = {item.path: item.value for item in examined.effective}
    assert values["state.url"] == f"sqlite://{house}/.local/state/transom/transom.db"
    assert len(origins) == len(examined.effective)


@pytest.mark.parametrize(
    ("profile", "mode"), [("private", "strict"), ("balanced", "dialogue"), ("relay", "off")]
)
def test_a_profile_expands_to_values_that_are_shown(house: Path, profile: str, mode: str) -> None:
    """Each value that it stands for, and where it comes from; a written key beats it."""
    file = house / "c.toml"
    file.write_text(f'profile = "{profile}"\n')
    examined = examine(file, {"HOME": str(house)})
    assert examined.config.profile == profile
    assert examined.config.policies.minimality == Minimality(mode)  # type: ignore[arg-type]
    shown = {each.path: (each.value, each.origin) for each in examined.effective}
    assert shown["minimality.mode"] == (mode, f"profile {profile}")
    assert shown["minimality.strategy"] == ("drop", "default")
    text = f'profile = "{profile}"\n[minimality]\nmode = "strict"\nstrategy = "elide"\n'
    file.write_text(text + "max_outbound_chars = 7\n")
    written = examine(file, {"HOME": str(house)}).config.policies.minimality
    assert written == Minimality("strict", "elide", 7)
    named = examine(file, {"HOME": str(house), "TRANSOM_MINIMALITY__MODE": "off"})
    assert named.config.policies.minimality.mode == "off"


def test_a_route_may_have_a_profile_or_a_mode(house: Path) -> None:
    """The mode beats the profile; without either the general one holds."""
    file = house / "c.toml"
    rows = ('profile = "private"', 'profile = "private"\nminimality = "off"', "")
    file.write_text("\n".join(f'[[route]]\nupstream = "home"\n{row}' for row in rows))
    config = load(file, {"HOME": str(house)})
    assert [route.minimality for route in config.routes] == ["strict", "off", ""]
