"""What agents carry about all day holds no secret: digests, ids, lock files, public halves.

Everything is drawn by lot from a fixed seed, in the shape of the real thing. One finding in any of
it is a false alarm, and a false alarm keeps a whole session from the cloud.
"""

import base64
import hashlib
import hmac
import json
import random
import string
import uuid
from collections.abc import Callable

import pytest

from policies.conversation import Strand
from policies.screening import Screen

ROWS = 400
COMMON = ("the", "of", "to", "into", "about", "able", "above", "across", "act", "again", "all")
Make = Callable[[random.Random, int], str]


def b64(noise: random.Random, size: int) -> str:
    return base64.b64encode(noise.randbytes(size)).decode()


def unpadded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def token(noise: random.Random, size: int) -> str:
    return "".join(noise.choices(string.ascii_letters + string.digits, k=size))


def jwt_of_the_docs(noise: random.Random, n: int) -> str:
    """Signed with the word `secret`, as every page about tokens has it."""
    head = unpadded(b'{"alg":"HS256","typ":"JWT"}')
    body = unpadded(json.dumps({"sub": str(n), "name": "John Doe", "iat": 1516239022}).encode())
    signed = f"{head}.{body}".encode()
    signature = unpadded(hmac.digest(b"secret", signed, "sha256"))
    return f"{head}.{body}.{signature} or {head}.{body}.sig and so on"


def identifier(noise: random.Random, n: int) -> str:
    words = noise.choices(("get", "Token", "Access", "secret", "Key", "Client", "api"), k=5)
    return "".join(words) + f"V2_{n}"


def picture(noise: random.Random, n: int) -> str:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + noise.randbytes(5000)).decode()
    return f".i{n}{{background:url(data:image/png;base64,{data})}}" if n % 40 == 0 else ""


KINDS: dict[str, Make] = {
    "npm lock": lambda r, n: (
        f'"node_modules/p{n}": {{"version": "{n % 9}.{n % 7}.0", "resolved": '
        f'"https://registry.example/p{n}/-/p{n}-1.0.{n}.tgz", "integrity": "sha512-{b64(r, 64)}"}},'
    ),
    "yarn lock": lambda r, n: (
        f'"p@^{n}.0.0":\n  version "{n}.1.0"\n  resolved "https://r.example/p-{n}.tgz#'
        f'{r.randbytes(20).hex()}"\n  integrity sha1-{b64(r, 20)}'
    ),
    "poetry lock": lambda r, n: (
        f'    {{file = "pkg_{n}-1.0-py3-none-any.whl", hash = "sha256:{r.randbytes(32).hex()}"}},'
    ),
    "go.sum": lambda r, n: f"golang.example/x/m{n} v0.{n}.0/go.mod h1:{b64(r, 32)}",
    "cargo lock": lambda r, n: f'name = "c{n}"\nchecksum = "{r.randbytes(32).hex()}"\n',
    "git log": lambda r, n: (
        f"commit {r.randbytes(20).hex()}\ntree {r.randbytes(20).hex()}\nAuthor: A <a@e.org>\n"
        f"gpgsig {b64(r, 40)}\n\n    Rotate the access token of job {n}\n"
    ),
    "diff": lambda r, n: (
        f"index {r.randbytes(4).hex()}..{r.randbytes(4).hex()} 100644\n-token = load({n})\n"
        f'+secret_key = os.environ["SECRET_KEY_{n}"]\n+password = getpass(f"Password {n}: ")'
    ),
    "identifiers of the wire": lambda r, n: (
        f"toolu_{token(r, 24)} call_{token(r, 24)} msg_{token(r, 24)} req_{token(r, 24)} "
        f"resp_{r.randbytes(24).hex()} chatcmpl-{token(r, 29)} fc_{r.randbytes(24).hex()}"
    ),
    "uuids and digests": lambda r, n: (
        f"{uuid.UUID(int=r.getrandbits(128), version=4)} etag: {r.randbytes(16).hex()} "
        f"sha256:{r.randbytes(32).hex()} txid {r.randbytes(32).hex()} next_token={token(r, 60)}"
    ),
    "subresource integrity": lambda r, n: (
        f'<script src="https://c.example/{n}.js" integrity="sha384-{b64(r, 48)}" '
        'crossorigin="anonymous"></script>'
    ),
    "tokens of the docs": jwt_of_the_docs,
    "certificates": lambda r, n: (
        "-----BEGIN CERTIFICATE-----\n"
        + base64.encodebytes(b"\x30\x82\x03\x5d\x30\x82\x02\x45" + r.randbytes(800)).decode()
        + "-----END CERTIFICATE-----"
    ),
    "public keys": lambda r, n: (
        f"ssh-ed25519 {base64.b64encode(b'...ssh-ed25519' + r.randbytes(36)).decode()} a@b\n"
        f"PublicKey = {b64(r, 32)}\nxpub661MyMwAqRbcF{token(r, 94)}\nbc1q{r.randbytes(19).hex()}"
    ),
    "test keys": lambda r, n: (
        f"pk_test_{token(r, 24)} pk_live_{token(r, 24)} AKIAIOSFODNN7EXAMPLE sk-ant-api03-... "
        f"sk-proj-your-key-here ghp_{'x' * 36} postgres://user:password@db/x"
    ),
    "settings": lambda r, n: (
        f"SECRET_KEY=${{SECRET_{n}}}\napi_key: !vault secret/data/app{n}\nPASSWORD=changeme123\n"
        f"auth_token: {identifier(r, n)}\naccess_key = config.get('aws.access_key_{n}')\n"
        f"secret: /run/secrets/app_{n}_key\nTOKEN_URL=https://id.example/oauth2/v{n}/token"
    ),
    "arns": lambda r, n: (
        f"arn:aws:secretsmanager:eu-west-1:{n:012}:secret:MyTestSecret{n}-a1b2c3 "
        f"arn:aws:iam::{n:012}:role/access-key-rotation-{n}"
    ),
    "code": lambda r, n: (
        f"def {identifier(r, n)}(password: str = Field(min_length=12), *, api_key: str | None) "
        f'-> None:\n    """Sets {n}."""\n    self.access_token = self.client.fetch_{n}(api_key)'
    ),
    "minified": lambda r, n: (
        f"function {token(r, 2)}(e,t){{var n=t[{n}],r=e.secretKey=n.accessToken,i=r+'\\n'+{n}}}"
    ),
    "tool schemas": lambda r, n: json.dumps(
        {
            "name": f"tool_{n}",
            "input_schema": {
                "properties": {
                    "api_key": {"type": "string", "description": "Secret key of the user"}
                }
            },
        }
    ),
    "escaped": lambda r, n: json.dumps(
        json.dumps({"id": token(r, 24), "sha": r.randbytes(20).hex()})
    ),
    "notifications": lambda r, n: (
        f"<task-notification>\n<task-id>{r.randbytes(9).hex()}</task-id>\n<status>ok</status>\n"
        "</task-notification>"
    ),
    "pictures": picture,
    "addresses": lambda r, n: (
        f"https://user@host-{n}.example:8443/a?token_type=bearer&state={token(r, 20)} "
        f"mongodb://localhost:27017/db{n} redis://cache:6379/{n} git@github.com:o/r{n}.git"
    ),
    "hex dumps": lambda r, n: f"{n * 16:08x}: {r.randbytes(16).hex(' ', 2)}  ................",
    "prose with list words": lambda r, n: " ".join(r.choices(COMMON, k=30)),
    "numbers": lambda r, n: " ".join(str(r.randrange(10**12)) for _ in range(12)),
    "passwords hashed": lambda r, n: (
        f"$2b$12${token(r, 53)} {hashlib.sha512(b'%d' % n).hexdigest()}"
    ),
}


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_found_in_what_holds_nothing(screen, kind, seed):
    """Some 50 kB of each kind, as one result and as many."""
    noise = random.Random(f"{kind} {seed}")
    rows = [KINDS[kind](noise, n) for n in range(ROWS // 4)]
    at = ("messages", 2, "content", 0, "content")
    strands = [Strand(("messages", 2, "content", n, "text"), row) for n, row in enumerate(rows)]
    assert screen.findings([Strand(at, "\n".join(rows))]) == ()
    assert screen.findings(strands) == ()


def kinds(screen: Screen, text: str) -> list[str]:
    return [finding.kind for finding in screen.findings([Strand(("content",), text)])]


def packet(tag: int, body: bytes) -> bytes:
    """A packet of OpenPGP, old format, with two bytes of length."""
    return bytes([0x80 | tag << 2 | 1]) + len(body).to_bytes(2, "big") + body


def armoured(raw: bytes) -> str:
    body = base64.b64encode(raw).decode()
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    kind = "PGP PUBLIC KEY BLOCK-----"
    return f"-----BEGIN {kind}\n\n{lines}\n=OEKh\n-----END {kind}\n"


def test_long_public_keys_of_pgp_are_read_to_their_end(screen):
    """A key with many signatures is no opaque run; with a packet of another kind it is one."""
    noise = random.Random(11)
    key = packet(6, b"\4" + noise.randbytes(524)) + packet(13, b"An Archive <a@archive.example>")
    signed = key + b"".join(packet(2, b"\4" + noise.randbytes(560)) for _ in range(12))
    assert kinds(screen, armoured(signed)) == []
    assert kinds(screen, armoured(signed + packet(9, noise.randbytes(600)))) == ["opaque-run"]


@pytest.mark.parametrize(
    "text",
    [
        '"encryptionKey": "arn:aws:kms:us-west-2:' + "123456789012" + ':alias/aws/s3"',
        "".join(
            f"{hashlib.md5(b'%d' % n).hexdigest()}  /etc/pam.d/common-password\n" for n in range(9)
        ),
        "AKIA" + "EXAMPLE" + "A23456BC7",
        "password: 'dXNlcm5hbWU6" + "cGFzc3dvcmQ='",
        "callback#access_token=sdlfkj452&state=ssxyz",
        "zstyle ':completion:*:*:gawk:option-f-1:*' list-colors",
        "  '(--user)--http-password=:password' \\",
        "\n".join(f'    "mnemonic",  # mnemonic_{n}' for n in range(40)),
        json.dumps(list("一二三四五六七八九十月火水木金土日株有社名特財祝"), ensure_ascii=False),
    ],
    ids=range(9),
)
def test_look_alikes_of_real_files_are_left_alone(screen, text):
    """Names of resources, sums of files, stock logins, patterns of shells, lists of characters."""
    assert kinds(screen, text) == []


def test_long_text_with_escapes_and_labels_can_be_read(screen):
    """HTML in code, with unseen characters: the views of it stay within their bounds."""
    row = "<b>one</b> <b>two</b> <b>three</b> &amp; \\u00e9 \\x1b[1m a\u200bb \u2211x \\t\\n "
    assert kinds(screen, (row + "word 1, ") * 800) == []
