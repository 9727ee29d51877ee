"""Lines of defence on the way in and on the way out: how each is broken, and who must notice."""

import aiohttp

from tests.sabotage.breaking import Cut, Swap
from tests.sabotage.row import line, named
from tests.sabotage.session import by_session, closed

DOOR = "proxy/door.py"
UPSTREAM = "proxy/upstream.py"
EXCHANGE = "proxy/exchange.py"
UPSTREAM_TESTS = "proxy/test_upstream.py"

WAY_IN = (
    line(
        "proxy/config/load.py",
        "a file that is gone must not become the defaults",
        "proxy/test_cli.py::test_a_reload_does_not_take_defaults_for_a_file_that_is_gone",
        Cut("path if path is not None else find_file(None, environ)", "find_file(None, environ)"),
    ),
    line(
        DOOR,
        "nothing reads a body here",
        "proxy/test_door.py::test_no_body_where_none_is_read",
        Cut('raise _refused("this endpoint takes no body")', "pass"),
    ),
    line(
        DOOR,
        "a page in a browser can make any name resolve",
        "proxy/test_door.py::test_foreign_hosts",
        Cut("if len(hosts) != 1 or hosts[0].lower() not in self.hosts:", "if False:"),
    ),
    named(
        "Host unchecked, socket",
        DOOR,
        "sabotage/scenes.py::a_foreign_host_reaches_nothing",
        Cut("if len(hosts) != 1 or hosts[0].lower() not in self.hosts:", "if False:"),
    ),
    named(
        "Origin unchecked, socket",
        DOOR,
        "sabotage/scenes.py::a_foreign_host_reaches_nothing",
        Cut("if origin and origin[0].lower() not in self.origins:", "if False:"),
    ),
    line(
        DOOR,
        "a browser leaves Origin out of some requests",
        "proxy/test_door.py::test_requests_that_a_browser_makes_for_another_site",
        Cut("if not origin and any(site.lower()", "if False and any(site.lower()"),
    ),
    line(
        DOOR,
        "every client is compared, each in constant time",
        "proxy/test_door.py::test_every_client_is_compared",
        Cut("if hmac.compare_digest(digest, known):", "if digest == known:"),
    ),
    line(
        DOOR,
        "two of them are two ways to tell where a body ends",
        "proxy/test_door.py::test_nothing_else_passes_for_a_known_head",
        Cut('if names.count(b"content-length") == 1:', 'if b"content-length" in names:'),
        # Of two, the other one would still tell this head from a known one.
        Cut(
            "(*raw[:at], *raw[at + 1 :])",
            'tuple([each for each in raw if each[0].lower() != b"content-length"])',
        ),
    ),
    *(
        line(
            DOOR,
            "two readers of one path must not see two paths",
            "proxy/test_door.py::test_targets_that_two_readers_could_read_in_two_ways",
            Cut(check, "if False:"),
        )
        for check in (
            'if method == "CONNECT" or not target.startswith("/"):',
            'if not _PRINTABLE.fullmatch(target) or "#" in target:',
            'if _BAD_PATH.search(path) or "//" in decoded:',
            'if not {".", ".."}.isdisjoint(decoded.split("/")):',
        )
    ),
    line(
        "proxy/endpoints.py",
        "the upstream gets this, built from checked values",
        "proxy/test_endpoints.py::test_model_ids_are_filled_in_anew",
        Cut('return "/".join(filled)', 'return "/".join(segments)'),
    ),
    line(
        "proxy/endpoints.py",
        "a key of the one vendor must not go to the other",
        "proxy/test_endpoints.py::test_shared_addresses_go_by_header",
        Cut('or ("x-api-key" in headers', 'or (False and "x-api-key" in headers'),
    ),
    line(
        "proxy/bodies.py",
        "whoever undoes one layer only",
        "proxy/test_bodies.py::test_unknown_and_stacked_codings_are_refused",
        Cut("if len(named) > 1:", "if False:"),
    ),
    named(
        "coding passed undecoded",
        "proxy/bodies.py",
        "sabotage/scenes.py::a_coded_body_arrives_decoded",
        Cut("return _Inflater(coding, body, limit, ratio).run()", "return body"),
    ),
    line(
        "proxy/control.py",
        "file modes alone are not enough",
        "proxy/test_control.py::test_only_the_user_may_speak",
        Cut("if peer_uid(peer) not in (os.geteuid(), 0):", "if False:"),
    ),
)

HEADERS = (
    line(
        "proxy/headers.py",
        "client tokens and the node's own words never leave",
        "proxy/test_headers.py::test_what_belongs_to_this_hop_stays",
        Cut(" or _is_dropped(low) or", " or"),
    ),
    line(
        "proxy/sent_headers.py",
        "a credential comes in by its own list alone",
        f"{UPSTREAM_TESTS}::test_no_credential_slips_through_among_the_headers",
        Cut('if is_credential(name) or low.startswith("x-transom-"):', "if False:"),
    ),
    named(
        "x-transom-* passed upstream",
        "proxy/headers.py",
        "sabotage/scenes.py::our_own_headers_stay_here",
        Cut(" or _is_dropped(low) or", " or"),
        Cut(' or low.startswith("x-transom-"):', ":", "proxy/sent_headers.py"),
    ),
    named(
        "client token in a credential leaked upstream",
        DOOR,
        "sabotage/scenes.py::a_client_token_stays_here",
        Cut(
            "for pair in credentials if not self._known(token_in(*pair))", "for pair in credentials"
        ),
    ),
    named(
        "client token in its own header leaked upstream",
        "proxy/headers.py",
        "sabotage/scenes.py::a_client_token_stays_here",
        Cut(" or _is_dropped(low) or", " or"),
        Cut(' or low.startswith("x-transom-"):', ":", "proxy/sent_headers.py"),
        shown="x-transom-token",
    ),
    line(
        "proxy/heads.py",
        "dropping what is no UTF-8",
        f"{UPSTREAM_TESTS}::test_a_header_that_would_leave_as_something_else_is_refused",
        Cut(
            'return f"{text}\\r\\n\\r\\n".encode()',
            'return f"{text}\\r\\n\\r\\n".encode("utf-8", "ignore")',
        ),
        Cut(
            "if not text.isascii() and _LONE.search(text):",
            "if False:",
            "proxy/sent_headers.py",
        ),
    ),
    line(
        "proxy/sent_headers.py",
        "the caller's credentials go nowhere but",
        f"{UPSTREAM_TESTS}::test_credentials_go_where_auth_says",
        Cut('if upstream.auth == "caller":', 'if upstream.auth != "key":'),
    ),
    named(
        "credentials sent to a local leg",
        "proxy/errand.py",
        "sabotage/scenes.py::a_local_model_gets_no_credential",
        Cut(
            "headers=self.admitted.headers,\n                body=parcel,",
            "headers=self.admitted.headers + self.admitted.credentials,\n"
            "                body=parcel,",
        ),
        Cut("if is_credential(name) or low", "if low", "proxy/sent_headers.py"),
    ),
)

WAY_OUT = (
    line(
        "proxy/heads.py",
        "a line break within a part",
        "proxy/test_exchange.py::test_a_head_that_could_split_is_never_written",
        Cut('if text.count("\\n") >= len(lines) or text.count("\\r") >= len(lines)', "if False"),
    ),
    line(
        UPSTREAM,
        "the type is the proof",
        f"{UPSTREAM_TESTS}::test_only_what_was_cleared_leaves_for_a_cloud",
        Cut("if type(cleared) is not Cleared:", 'if not hasattr(cleared, "body"):'),
        thing="Cleared",
    ),
    line(
        UPSTREAM,
        "a leg is what the configuration calls it",
        f"{UPSTREAM_TESTS}::test_a_local_send_takes_no_cloud_upstream",
        Cut("if upstream.leg is not Leg.LOCAL:", "if False:"),
    ),
    line(
        UPSTREAM,
        "Ollama also takes `MODEL`",
        f"{UPSTREAM_TESTS}::test_a_body_whose_model_was_not_seen_is_not_sent",
        Cut(
            'raise Refused("home-not-local", reason="no model is named where it is looked for")',
            "return None",
        ),
    ),
    named(
        "redirect followed",
        EXCHANGE,
        "sabotage/scenes.py::a_redirect_leads_nowhere",
        Swap("Exchange.ask", by_session(follow=True)),
        Swap("Exchange.close", closed),
    ),
    named(
        "environment proxies honoured",
        EXCHANGE,
        f"{UPSTREAM_TESTS}::test_the_environment_names_no_proxy",
        Swap("Exchange.ask", by_session(trust_env=True)),
        Swap("Exchange.close", closed),
    ),
    named(
        "cookies kept",
        EXCHANGE,
        f"{UPSTREAM_TESTS}::test_cookies_are_not_kept",
        Swap("Exchange.ask", by_session(cookie_jar=lambda: aiohttp.CookieJar(unsafe=True))),
        Swap("Exchange.close", closed),
    ),
    line(
        "proxy/connector.py",
        "the peer of this very connection",
        f"{UPSTREAM_TESTS}::test_a_local_leg_looks_at_the_peer_of_the_connection_itself",
        Cut("if self._allowed is not None and not self._allowed(peer.address):", "if False:"),
    ),
    line(
        "proxy/connector.py",
        "before the handshake of TCP",
        f"{UPSTREAM_TESTS}::test_a_local_leg_connects_to_no_other_address",
        Cut("if self._allowed is not None and not self._allowed(str(info[4][0])):", "if False:"),
    ),
    line(
        "proxy/local/addresses.py",
        "a list, not `is_private`",
        "proxy/local/test_addresses.py::test_what_is_not",
        Cut(
            "return any(parsed in network for network in "
            "((*LOCAL, TAILNET) if tailnet else LOCAL))",
            "return parsed.is_private",
        ),
    ),
    line(
        UPSTREAM,
        "Ollama speaks the other dialects as well",
        f"{UPSTREAM_TESTS}::test_an_ollama_under_another_name_is_one",
        Cut("return await self._guard.is_ollama(", "return False and await self._guard.is_ollama("),
    ),
    line(
        "proxy/local/guard.py",
        "upstream cuts blanks round name and tag",
        "proxy/local/test_guard.py::test_names_of_cloud_models_are_refused_unasked",
        Cut('"".join(model.split()).casefold()', "model"),
    ),
    line(
        "proxy/local/guard.py",
        "any value counts",
        "proxy/local/test_guard.py::test_a_remote_model_is_refused_and_never_remembered",
        Cut("if any(part.get(name) for part", "if any(part.get(name) is True for part"),
    ),
    line(
        "proxy/local/tools.py",
        "a model at home has seen what must not leave",
        "scenes/test_at_home.py::test_tools_of_a_server_never_go_home",
        Cut("if away:", "if False:"),
    ),
    line(
        "proxy/local/tools.py",
        "what begins alike may end with another tool",
        "proxy/local/test_tools.py::test_only_the_very_same_tools_are_known_to_stay",
        Cut("at_home.get(key) == raw", "at_home.get(key) is not None"),
    ),
    named(
        "the older name of a model, unseen",
        "proxy/dialects/plain_text.py",
        "scenes/test_at_home.py::test_no_way_of_naming_a_model_of_the_cloud_passes",
        Cut("names=self._names", 'names=("model",)'),
    ),
)

ROWS = (*WAY_IN, *HEADERS, *WAY_OUT)
