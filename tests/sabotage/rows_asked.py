"""Lines of defence between a caller's request and a model at home, and who must notice."""

from tests.sabotage.breaking import Cut
from tests.sabotage.row import line

STRAIGHT = "proxy/local/straight.py"

ROWS = (
    line(
        "proxy/local/asked/toolbox.py",
        "would carry words of this model to it",
        "proxy/local/asked/test_anthropic.py::test_a_search_in_the_web_never_goes_home",
        Cut("if self.away and (", "if False and ("),
    ),
    line(
        "proxy/local/ollama.py",
        "drops the oldest messages and says nothing",
        "proxy/local/test_ollama.py::"
        "test_the_model_that_is_there_is_asked_for_a_stream_and_nothing_is_dropped",
        Cut('"truncate": False,', '"truncate": True,'),
    ),
    line(
        STRAIGHT,
        "would carry words of this model to it",
        "proxy/local/test_straight.py::test_what_no_local_server_could_answer_is_refused",
        Cut("if not left and forced & (away | _ANY):", "if False:"),
    ),
    line(
        STRAIGHT,
        "carry out what they know of these",
        "proxy/local/test_straight.py::test_only_model_server_tools_and_members_of_vendors_change",
        Cut("return kind in _CLIENTS[dialect]", "return True"),
    ),
)
