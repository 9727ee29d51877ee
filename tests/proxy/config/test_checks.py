"""Settings that do not fit together are refused before anything listens."""

from pathlib import Path

import pytest

from proxy.config import Config, load, sources
from proxy.problems import Invalid

HASH = "0123456789abcdef" * 4
LITERAL = "lit-" + "eral-q7Zk29xW"
UP = '[[upstream]]\nname = "x"\nleg = "cloud"\ndialects = ["openai"]\n'
HOME = '[[upstream]]\nname = "home"\nleg = "local"\ndialects = ["ollama"]\n'
CLIENT = f'[[client]]\nname = "laptop"\ntoken_sha256 = "{HASH}"\n'


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a configuration; neither the user's nor the system's file is in the way."""
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    return tmp_path


def read(house: Path, text: str) -> Config:
    path = house / "c.toml"
    path.write_text(text)
    return load(path, {"HOME": str(house), "KEY": "k" * 8})


def report(house: Path, text: str) -> str:
    with pytest.raises(Invalid) as caught:
        read(house, text)
    said = caught.value.report()
    assert LITERAL not in said
    return said


@pytest.mark.parametrize(
    ("text", "auth"),
    [
        (UP + 'base_url = "https://api.openai.com/v1"', "caller"),
        (UP + 'base_url = "https://gw.example"\nauth = "caller"', "caller"),
        (UP + 'base_url = "http://10.0.0.1:4000"\nauth = "none"', "none"),
        (UP + 'base_url = "https://gw.example"\nauth = "key"\nkey = { env = "KEY" }', "key"),
        (HOME + 'base_url = "http://127.0.0.1:11434"', "none"),
        (HOME + 'base_url = "http://ollama.lan:11434"\nauth = "none"', "none"),
    ],
)
def test_who_gets_which_credentials(house: Path, text: str, auth: str) -> None:
    """The caller's go to the vendors by default, elsewhere only when that is written."""
    assert read(house, text).upstreams[0].auth == auth


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (UP + 'base_url = "https://gw.example"', "upstream[0].auth: is missing"),
        (UP + 'base_url = "http://api.openai.com"', "upstream[0].auth: is missing"),
        (UP + 'base_url = "https://api.openai.com.gw.example"', "upstream[0].auth: is missing"),
        (UP + 'base_url = "https://gw.example"\nauth = "key"', "upstream[0].key: is missing"),
        (
            UP + 'base_url = "https://gw.example"\nauth = "none"\nkey = { env = "KEY" }',
            'c.toml:7: upstream[0].key: is not used with auth = "none"',
        ),
        (
            UP + 'base_url = "https://api.openai.com"\nkey = { env = "KEY" }',
            'is not used with auth = "caller"',
        ),
        (
            UP + 'base_url = "https://gw.example"\nauth = "key"\nkey = { env = "NONE_SUCH" }',
            "upstream[0].key: the environment variable NONE_SUCH is not set",
        ),
        (
            UP + 'base_url = "https://gw.example"\nauth = "key"\nkey = { file = "none" }',
            "upstream[0].key: the file cannot be read",
        ),
        (
            UP + f'base_url = "https://gw.example"\nauth = "key"\nkey = "{LITERAL}"',
            'upstream[0].key: expected a place, { file = "…" } or { env = "…" }, got a literal',
        ),
        (
            UP + 'base_url = "https://gw.example"\nauth = "key"\nkey = { env = "KEY", file = "x" }',
            'upstream[0].key: expected a place, { file = "…" } or { env = "…" }, got both',
        ),
        (
            UP + f'base_url = "https://gw.example"\nauth = "key"\nkey = {{ env = "{LITERAL}" }}',
            "upstream[0].key: expected a place",
        ),
        (
            UP + 'base_url = "https://gw.example"\nauth = "key"\nkey = { file = "" }',
            "upstream[0].key: expected a place",
        ),
        (UP + f'base_url = "https://u:{LITERAL}@gw.example"', "a user name or password"),
        (UP + "base_url = 3", "upstream[0].base_url: expected an address"),
        (
            HOME + 'base_url = "http://127.0.0.1:11434"\nauth = "caller"',
            "upstream[0].auth: a local upstream never gets credentials",
        ),
        (
            HOME + 'base_url = "http://127.0.0.1:11434"\nauth = "key"\nkey = { env = "KEY" }',
            "upstream[0].auth: a local upstream never gets credentials",
        ),
        (
            HOME + 'base_url = "http://127.0.0.1:11434"\nkey = { env = "KEY" }',
            "upstream[0].key: is not used",
        ),
        (HOME + 'base_url = "http://203.0.113.9"', "is not an address of this house"),
        (HOME + 'base_url = "http://100.64.1.1"', "is not an address of this house"),
        (HOME + 'base_url = "http://[2001:db8::1]"', "is not an address of this house"),
        (
            UP + 'base_url = "https://api.openai.com"\n' + 2 * CLIENT,
            "client[1].name: expected diff",
        ),
        (
            2 * (UP + 'base_url = "https://api.openai.com"\n'),
            "upstream[1].name: expected different",
        ),
        (
            CLIENT + CLIENT.replace("laptop", "phone").replace("abc", "ABC"),
            "client[1].token_sha256: expected different values",
        ),
        ('[[client]]\nname = "a"\ntoken_sha256 = "abc"', "expected 64 hexadecimal digits"),
        (f'[[client]]\nname = "a"\ntoken = "{LITERAL}"', "did you mean `token_sha256`?"),
        ("[[client]]\nname = 3\ntoken_sha256 = 4", "client[0].name: expected a name"),
        ('[[route]]\nupstream = "hom"', "there is no such upstream; did you mean `home`?"),
        ('[[route]]\nmodel = "x"', "route[0].upstream: is missing"),
        (
            '[[route]]\nupstream = "home"\ndialect = "openai"',
            "route[0].dialect: the upstream of this route does not speak it",
        ),
        (
            CLIENT + '[[route]]\nupstream = "home"\nclient = "latop"',
            "route[0].client: there is no such client; did you mean `laptop`?",
        ),
        ('[listen]\nhost = "0.0.0.0"', "listen.host: others can reach this address"),
        ('[listen]\nhost = "192.168.1.1"', "listen.host: others can reach this address"),
        ('[listen]\nhost = "box.lan"', "listen.host: others can reach this address"),
        ('[listen]\nhost = "*"', "listen.host: expected an IP address or a host name"),
        ('[listen]\nhost = ""', "listen.host: expected an IP address"),
        ('[listen]\norigins = ["*"]', "listen.origins: expected an origin"),
        ("[listen]\nport = 11434", "listen.port: the default upstream `home` has this very addr"),
        ('[session]\nheader = "Authorization"', "session.header: expected"),
        ('[session]\nheader = "a b"', "session.header: expected"),
        ('[screen]\nsecrets_dir = "secrets"', "screen.secrets_dir: expected an absolute path"),
        ('[endpoints]\nopen = ["file"]', "did you mean `files`?"),
        ('[[tool]]\ntrust = "operator"', "tool[0].match: is missing"),
        ('[[tool]]\nmatch = "a"\ntrust = "operatr"', "did you mean `operator`?"),
    ],
)
def test_what_does_not_fit_together_is_refused(house: Path, text: str, problem: str) -> None:
    """Each rule between settings has its sentence, at the place where it is broken."""
    assert problem in report(house, text)


@pytest.mark.parametrize(
    ("base", "end", "instead"),
    [
        ("https://api.anthropic.com/v1/messages", "/v1/messages", '"https://api.anthropic.com"'),
        ("https://api.openai.com/v1/responses/", "/v1/responses", '"https://api.openai.com"'),
        ("http://127.0.0.1:11434/api/chat", "/api/chat", '"http://127.0.0.1:11434"'),
        ("http://[::1]:11434/API/Generate", "/API/Generate", '"http://[::1]:11434"'),
        ("http://localhost:4000/v1/models", "/v1/models", '"http://localhost:4000"'),
        (f"https://gw.example/{LITERAL}/chat/completions", "/chat/completions", "what stands"),
        (f"https://{LITERAL}.example/v1/embeddings", "/v1/embeddings", "what stands"),
        (f"http://10.0.0.1/t/{LITERAL}/v1/messages", "/v1/messages", "what stands"),
        ("https://gw.example/v1/messages/count_tokens", "/v1/messages/count_tokens", "what stands"),
    ],
)
def test_an_address_ends_before_the_endpoint(
    house: Path, base: str, end: str, instead: str
) -> None:
    """It says which endpoint and what to write, and shows no address that may hold a token."""
    said = report(house, f'{UP}base_url = "{base}"')
    words = f"upstream[0].base_url: ends in an endpoint, {end}, which every request brings along"
    assert f"{words}; write {instead}" in said
    assert said.count("upstream[0]") == 1


@pytest.mark.parametrize(
    "base",
    [
        "https://gw.example/v1",
        "https://gw.example/api",
        "https://gw.example/openai/v1",
        "https://gw.example/messages",
        "https://gw.example/completions",
        "https://gw.example/my-messages",
        "https://gw.example/v1/messages/anthropic",
        "https://gw.example/chat",
    ],
)
def test_a_prefix_may_look_a_little_like_an_endpoint(house: Path, base: str) -> None:
    """One word is anybody's prefix, and a trailing /v1 is folded as ever."""
    config = read(house, f'{UP}base_url = "{base}"\nauth = "none"')
    assert config.upstreams[0].base_url == base.removesuffix("/v1")


@pytest.mark.parametrize(
    ("listen", "base"),
    [
        ("", "http://127.0.0.1:8787"),
        ("", "http://localhost:8787"),
        ('[listen]\nnames = ["box.lan"]\n', "http://box.lan:8787"),
        ('[listen]\nhost = "localhost"\nport = 80\n', "http://127.0.0.1"),
        (CLIENT + '[listen]\nhost = "0.0.0.0"\n', "http://127.0.0.1:8787/v1"),
        (CLIENT + '[listen]\nhost = "0.0.0.0"\n', "http://localhost:8787"),
    ],
)
def test_an_upstream_that_is_our_own_listener_is_refused(
    house: Path, listen: str, base: str
) -> None:
    """Requests would go round for ever."""
    said = report(house, f'{listen}{UP}auth = "none"\nbase_url = "{base}"\n')
    assert "upstream[0].base_url: is our own listener" in said


def test_a_listener_with_clients_may_be_reached_by_others(house: Path) -> None:
    """Client tokens are what listening beyond loopback needs."""
    config = read(house, CLIENT + '[listen]\nhost = "0.0.0.0"\n')
    assert config.listen.host == "0.0.0.0"
    assert config.clients[0].token_sha256 == HASH


def test_a_client_that_is_broken_still_counts_as_written(house: Path) -> None:
    """One slip in a client is one problem, not a second one about the listener."""
    said = report(house, '[listen]\nhost = "0.0.0.0"\n[[client]]\nname = "a"\ntoken_sha256 = "x"\n')
    assert "others can reach" not in said


def test_an_address_of_a_tailnet_is_home_when_that_is_written(house: Path) -> None:
    """100.64.0.0/10 counts as local only with local.tailnet."""
    text = HOME + 'base_url = "http://100.64.1.1:11434"\n[local]\ntailnet = true\n'
    assert read(house, text).upstreams[0].base_url == "http://100.64.1.1:11434"


def test_a_route_to_a_broken_upstream_is_no_second_problem(house: Path) -> None:
    """A name that is written counts, even if its table has problems of its own."""
    said = report(house, UP + '[[route]]\nupstream = "x"\n')
    assert "no such upstream" not in said
