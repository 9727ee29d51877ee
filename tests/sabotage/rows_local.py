"""Lines of defence in what a model at home says: how each is broken, and what must then fail."""

from tests.sabotage.breaking import Cut
from tests.sabotage.row import line

ROWS = (
    line(
        "proxy/local/heard.py",
        "a name may lead elsewhere since it was asked for",
        "proxy/local/test_heard.py::test_an_answer_from_elsewhere_is_none_from_home",
        Cut('if line.get("remote_host") or line.get("remote_model"):', "if False:"),
    ),
    line(
        "proxy/local/heard.py",
        "nothing behind a mark that may begin a quote",
        "proxy/local/test_heard.py::test_an_error_is_told_up_to_where_it_may_quote",
        Cut("_SHOWN.match(said.strip())", 're.match(".*", said.strip())'),
    ),
    line(
        "proxy/local/spoken.py",
        "a client carries out what it is asked for",
        "proxy/local/test_spoken.py::test_what_cannot_becomes_text",
        Cut("if named is None or said.unread:", "if named is None:"),
    ),
)
