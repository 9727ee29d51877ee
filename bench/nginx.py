"""nginx as a further way, where it is installed: the price of passing bytes on in C.

One process, one worker, nothing looked at, nothing buffered, connections to the upstream kept. It
is a measure of the machine, not a rival: it opens no body.
"""

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import Server, child

SKIPPED = "nginx is not installed here (Debian: `apt install nginx`); its rows are left out"

_CONFIG = """daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    tcp_nodelay on;
    keepalive_requests 1000000;
    keepalive_timeout 600s;
    client_max_body_size 0;
    client_body_buffer_size 4m;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream bench {{
        server {upstream};
        keepalive 512;
        keepalive_requests 1000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{
            proxy_pass http://bench;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_read_timeout 600s;
        }}
    }}
}}
"""


def installed() -> str:
    """Path of the binary, empty where there is none. Debian keeps it where only root looks."""
    usual = ":/usr/sbin:/usr/local/sbin"
    return shutil.which("nginx") or shutil.which("nginx", path=usual) or ""


def config(upstream: str, port: int, folder: Path) -> str:
    """The whole configuration, for an upstream at `http://HOST:PORT`."""
    return _CONFIG.format(upstream=upstream.removeprefix("http://"), port=port, folder=folder)


@contextmanager
def running(upstream: str, folder: Path) -> Iterator[Server]:
    """nginx in front of `upstream` until the block ends."""
    home = folder / "nginx"
    home.mkdir(exist_ok=True)
    port = _free()
    path = home / "nginx.conf"
    path.write_text(config(upstream, port, home))
    command = [installed(), "-e", "stderr", "-p", str(home), "-c", str(path)]

    def ready(written: str) -> str:
        """It never says that it listens, so it is asked."""
        with socket.socket() as probe:
            accepts = probe.connect_ex(("127.0.0.1", port)) == 0
        return f"http://127.0.0.1:{port}" if accepts else ""

    with child("nginx", command, home, ready) as one:
        yield one


def _free() -> int:
    """A port that was free a moment ago: nginx takes none by itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
