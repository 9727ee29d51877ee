"""nginx beside the others: its configuration, and how it is found and started. A fake stands in for
it; where the real one is installed it reads the same file."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib import request

import pytest

from bench import nginx

FAKE = f"""#!{sys.executable}
import re, socketserver, sys
path = sys.argv[sys.argv.index("-c") + 1]
text = open(path).read()
(port,) = re.findall(r"listen 127\\.0\\.0\\.1:(\\d+) ", text)
(upstream,) = re.findall(r"server (127\\.0\\.0\\.1:\\d+);", text)

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        if self.rfile.readline():
            self.wfile.write(b"HTTP/1.0 200 OK\\r\\n\\r\\n" + upstream.encode())

socketserver.TCPServer.allow_reuse_address = True
socketserver.TCPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called nginx that reads its configuration and listens."""
    path = tmp_path / "bin" / "nginx"
    path.parent.mkdir()
    path.write_text(FAKE)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path


def test_the_configuration_is_balanced_and_its_own(tmp_path: Path) -> None:
    """Every block closes and every line ends; all that is written lies in the folder, and nothing
    is logged, buffered or limited on the way."""
    text = nginx.config("http://127.0.0.1:1234", 5678, tmp_path)
    assert text.count("{") == text.count("}") == 5
    for line in map(str.strip, text.splitlines()):
        assert line.endswith((";", "{", "}")), line
    assert "server 127.0.0.1:1234;" in text
    assert "listen 127.0.0.1:5678 " in text
    for words in ("access_log off", "proxy_buffering off", "proxy_request_buffering off"):
        assert f"{words};" in text
    paths = re.findall(r"(?:pid|_temp_path) (\S+);", text)
    assert len(paths) == 6
    assert all(Path(path).parent == tmp_path for path in paths)


def test_it_runs_until_the_block_ends(fake: Path, tmp_path: Path) -> None:
    """Started with the file that was written, ready once it accepts, ended by its id."""
    assert nginx.installed() == str(fake)
    with nginx.running("http://127.0.0.1:1234", tmp_path) as one:
        assert request.urlopen(one.url).read() == b"127.0.0.1:1234"
        assert one.cpu() > 0
        assert one.memory() > 1
    with pytest.raises(ProcessLookupError):
        os.kill(one.pid, 0)


def test_where_there_is_none_it_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No binary on the path and none where Debian keeps it."""
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    assert nginx.installed() == ""
    assert "\n" not in nginx.SKIPPED


@pytest.mark.skipif(not nginx.installed(), reason="nginx is not installed")
def test_the_real_one_accepts_the_configuration(tmp_path: Path) -> None:
    """`nginx -t` over the same text."""
    path = tmp_path / "nginx.conf"
    path.write_text(nginx.config("http://127.0.0.1:1234", 5678, tmp_path))
    command = [nginx.installed(), "-t", "-e", "stderr", "-p", str(tmp_path), "-c", str(path)]
    subprocess.run(command, check=True, capture_output=True)
