"""Whether the upstreams can be reached: a connection, and TLS where there is TLS; no request.

Owns that question for `transom check --online` and `transom doctor`. It must not know a dialect or
a credential.
"""

import socket
import ssl
from collections.abc import Callable

from policies.decision import Leg
from proxy.config import Config, UpstreamSettings
from proxy.config.addresses import Base, read_base
from proxy.local.addresses import is_local


def ping_all(config: Config, say: Callable[[str], None]) -> bool:
    """Connect to every upstream, one after another, and `say` one line about each. Returns whether
    all could be reached."""
    wrong = 0
    for upstream in config.upstreams:
        problem = ping(upstream, config)
        wrong += bool(problem)
        say(f"{upstream.name}: {problem or 'reachable'}")
    return not wrong


def ping(upstream: UpstreamSettings, config: Config) -> str:
    """What is wrong with the way to `upstream`; empty if it can be reached."""
    base = read_base(upstream.base_url)
    try:
        with socket.create_connection((base.host, base.port), config.timeouts.connect) as raw:
            peer = str(raw.getpeername()[0])
            if upstream.leg is Leg.LOCAL and not is_local(peer, tailnet=config.tailnet):
                return "is not at an address of this house"
            _greet(raw, base)
    except ssl.SSLCertVerificationError:
        return "shows a certificate that is not valid for this name"
    except TimeoutError:
        return "did not answer in time"
    except OSError as error:
        return f"cannot be reached: {error.strerror or type(error).__name__}"
    return ""


def _greet(raw: socket.socket, base: Base) -> None:
    if base.scheme == "https":
        with ssl.create_default_context().wrap_socket(raw, server_hostname=base.host):
            pass
