"""Texts of many kinds, always the same: what agents carry about, and what somebody would send to
make a screen slow.

Cut from Python's own library where that has such text, else made from a fixed seed.
"""

import base64
import http.client
import inspect
import json
import random
import string
import tarfile
import uuid
from collections.abc import Callable, Mapping
from pydoc_data import topics

_WORDS = (
    "über für größer schön können müssen Straße Häuser Übung erklärt gehört weiß natürlich",
    "привет как дела сегодня работа система программа файл строка данные запрос ответ",
    "été déjà voilà élève où garçon hôtel après naïve français première réseau donnée",
    "καλημέρα σύστημα αρχείο δεδομένα γραμμή πρόγραμμα λάθος απάντηση ερώτηση δίκτυο",
    "設定 を 確認 して ください ファイル の 内容 は 以下 の 通り です 処理 が 完了",
    "请 检查 配置 文件 的 内容 系统 已经 完成 处理 数据 没有 错误 信息 如下",
)


def code(size: int, _noise: random.Random) -> str:
    return _long("\n".join(inspect.getsource(m) for m in (http.client, tarfile, uuid)), size)


def prose(size: int, _noise: random.Random) -> str:
    return _long("\n".join(topics.topics.values()), size)


def logs(size: int, noise: random.Random) -> str:
    return _lines(size, lambda n: (
        f"2026-11-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:{n * 7 % 60:02}.{n * 37 % 1000:03}Z "
        f"{noise.choice(('INFO', 'WARN', 'DEBUG'))} [worker-{n % 16}] http.request "
        f"id={uuid.UUID(int=noise.getrandbits(128), version=4)} path=/api/v1/items/{n} "
        f"status={noise.choice((200, 204, 404))} bytes={noise.randrange(90000)} "
        f"peer=10.{n % 9}.{n % 250}.{n * 3 % 250}:{noise.randrange(1024, 65000)} took={n % 977}ms"
    ))  # fmt: skip


def locks(size: int, noise: random.Random) -> str:
    return _lines(size, lambda n: (
        f'    "node_modules/package-{n}": {{\n      "version": "{n % 9}.{n % 20}.{n % 7}",\n'
        f'      "resolved": "https://registry.example/package-{n}/-/package-{n}-1.{n}.0.tgz",\n'
        f'      "integrity": "sha512-{base64.b64encode(noise.randbytes(64)).decode()}",\n'
        f'      "sha256": "{noise.randbytes(32).hex()}"\n    }},'
    ))  # fmt: skip


def blobs(size: int, noise: random.Random) -> str:
    """Base64 of certificates, images and texts, wrapped and not, as attachments bring it."""
    png = b"\x89PNG\r\n\x1a\n"
    makers: tuple[Callable[[], str], ...] = (
        lambda: base64.encodebytes(noise.randbytes(1500)).decode(),
        lambda: base64.b64encode(noise.randbytes(2000)).decode(),
        lambda: f"data:image/png;base64,{base64.b64encode(png + noise.randbytes(2500)).decode()}",
        lambda: base64.b64encode(prose(5000, noise).encode()).decode(),
    )
    return _lines(size, lambda n: makers[n % 4]())


def history(size: int, noise: random.Random) -> str:
    """`git log --stat` with digests."""
    return _lines(size, lambda n: (
        f"commit {noise.randbytes(20).hex()}\nAuthor: Ann Other <ann{n}@example.org>\n"
        f"Date:   Mon Nov {n % 28 + 1} 12:{n % 60:02}:11 2026 +0100\n\n    Fix the reader {n}\n\n"
        f" src/module_{n}/reader.py | {n % 90} {'+' * (n % 30)}{'-' * (n % 17)}\n"
    ))  # fmt: skip


def numbered(size: int, noise: random.Random) -> str:
    """Code as a read tool shows it."""
    text = code(size, noise).splitlines()
    return "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(text, 1))[:size]


def foreign(size: int, noise: random.Random) -> str:
    languages = [words.split() for words in _WORDS]
    return _lines(size // 2, lambda n: (
        " ".join(noise.choice(languages[n // 4 % len(languages)]) for _ in range(24)) + "."
    ))  # fmt: skip


def nested(size: int, noise: random.Random) -> str:
    """JSON inside JSON inside a string."""

    def row(n: int) -> str:
        inner = json.dumps(
            {"path": f"src/{n}.py", "text": code(3000, noise)[n % 900 : n % 900 + 300]}
        )
        return json.dumps({"id": f"call_{n}", "arguments": inner, "ok": True})

    return _lines(size, row)


def minified(size: int, noise: random.Random) -> str:
    def row(n: int) -> str:
        a, b, c = (noise.choice(string.ascii_letters) + str(noise.randrange(9)) for _ in range(3))
        return f'function {a}({b},{c}){{return {b}.{c}?"{b}\\n":{a}[{n}]&&({c}="#{n:06x}")}};'

    return _lines(size, row).replace("\n", "")


KINDS: Mapping[str, Callable[[int, random.Random], str]] = {
    "code": code, "prose": prose, "logs": logs, "lock files": locks, "blobs": blobs,
    "git log": history, "numbered code": numbered, "foreign prose": foreign,
    "JSON in JSON": nested, "minified": minified,
}  # fmt: skip


def sample(kind: str, size: int) -> str:
    """About `size` characters of a kind; the same for the same arguments."""
    return KINDS[kind](size, random.Random(kind))


FLOODS: Mapping[str, str] = {
    "prefixes": "sk-proj-",
    "prefixes 2": "glpat-",
    "prefixes 3": "AKIA",
    "sorted out late": "MIIEvQ",
    "token heads": "eyJ",
    "token heads 2": "eyJhbGciOiJIUzI1NiJ9.",
    "key heads": "-----BEGIN PRIVATE KEY-----",
    "telling words": "secret key ",
    "telling words 2": "rpcpassword=",
    "web addresses": "https://a:",
    "database addresses": "postgres://",
    "bech32": "nsec1q",
    "hex heads": "0201036c6e64",
    "cashu": "cashuA",
    "fedimint": "fedimint",
    "notes": "AgEE",
    "basic": "basic ",
    "lndconnect": "walletconnect:",
    "base58": "K" + "z" * 51 + "/",
    "base58 2": "5" * 51 + " ",
    "words": "abandon ability able about above absent ",
    "words 2": "zoo abandon zone ability ",
    "labels": "word 1: abandon ",
    "one letter": "a",
    "capital": "A",
    "digits": "7",
    "hex": "0f",
    "base64": "QUJD",
    "slashes": "ab/",
    "backslashes": "\\",
    "escapes": "\\u0041",
    "escaped quotes": '\\"',
    "percent": "%25",
    "percent 2": "%41",
    "references": "&#38;",
    "references 2": "&amp;",
    "quotes": "'+'",
    "joints": "'\n'",
    "dumps": "00000000: 0a0a 0a0a\n",
    "spaced hex": "0a:",
    "spaced hex 2": "0x0a, ",
    "terminal": "\x1b[",
    "terminal 2": "\x1b[31mx",
    "unseen": "\u200b",
    "unseen 2": "a\u200b",
    "alike": "aе",
    "wide": "ａ",
    "wrapped": "A" * 64 + "\n",
    "wrapped 2": "QUJD" * 15 + "\n",
    "line numbers": "1\tQUJDREVGR0hJSktMTU5PUFFSU1RVVg==\n",
    "marks": "+" + "QUJD" * 10 + "\n",
    "assignments": "password=",
    "assignments 2": 'api_key="aB3',
    "kana": "ありがとう",
    "gzip": "H4sI" + "A" * 30 + " ",
    "braces": "{[",
    "one each": "ghp_ npm_ AKIA eyJ hf_ ya29. xoxb- prv AIza sk-ant- ",
}


def flood(name: str, size: int) -> str:
    """`size` characters of one thing, over and over."""
    unit = FLOODS[name]
    return (unit * (size // len(unit) + 1))[:size]


def _long(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]


def _lines(size: int, make: Callable[[int], str]) -> str:
    rows: list[str] = []
    room = size
    while room > 0:
        rows.append(make(len(rows)))
        room -= len(rows[-1]) + 1
    return "\n".join(rows)
