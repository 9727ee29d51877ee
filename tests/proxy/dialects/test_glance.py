"""The glance: what the top level of a body says, and nothing of what lies below."""

import pytest

from proxy.dialects import ALL
from proxy.lazyjson import Malformed, read

CONVERSATIONS = [name for name in ALL if not name.startswith("plain_text")]
EACH = pytest.mark.parametrize("dialect", ALL)
DEEP = b"[" * 300 + b"]" * 300
TWINS = b'{"a": 1, "a": 2}'


@EACH
def test_a_glance_names_the_model_that_the_view_names(dialect: str) -> None:
    """Two readers, one answer."""
    body = read(b'{"messages": [{"role": "user", "model": "other"}], "model": "m:1"}')
    assert ALL[dialect].glance(body) == ALL[dialect].view(body).model == "m:1"


@EACH
@pytest.mark.parametrize("model", ["null", "7", '["m"]', '{"m": 1}'])
def test_a_model_that_is_no_string_is_none(dialect: str, model: str) -> None:
    """An odd value names no model; it is nobody's error yet."""
    assert ALL[dialect].glance(read(f'{{"model": {model}}}'.encode())) == ""


@EACH
@pytest.mark.parametrize("below", [DEEP, TWINS, b'"\\ud800"'])
def test_nothing_below_the_top_is_opened(dialect: str, below: bytes) -> None:
    """What a reader of messages would refuse is not even met."""
    body = b'{"messages": [%b], "model": "m"}' % below
    assert ALL[dialect].glance(read(body, judge=False)) == "m"


@EACH
@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "here", "Model": "there:cloud"}',
        b'{"MODEL": "there:cloud"}',
        b'{"m\\u006fdel": "here", "MODEL": "there:cloud"}',
    ],
)
def test_no_model_hides_behind_another(dialect: str, body: bytes) -> None:
    """A server that matches keys without regard to case would run a model that nobody asked
    about."""
    with pytest.raises(Malformed, match="case"):
        ALL[dialect].glance(read(body, judge=False))


@pytest.mark.parametrize("dialect", CONVERSATIONS)
def test_a_known_member_in_other_letters_is_refused(dialect: str) -> None:
    """The rule of the view holds for every member of the top, opened or not."""
    body = b'{"model": "m", "Stream": true, "Messages": [], "INPUT": []}'
    for read_with in (ALL[dialect].glance, ALL[dialect].view):
        with pytest.raises(Malformed, match="case"):
            read_with(read(body))
