"""Lines of defence in what a model at home says: how each is broken, and what must then fail."""

from tests.sabotage.breaking import Cut
from tests.sabotage.row import line, named

MARKS, MARKED = "proxy/home_only.py", "proxy/test_home_only.py"

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
        "proxy/local/speeches.py",
        "the next question would still be sent",
        "scenes/test_home_is_local.py"
        "::test_a_name_that_becomes_remote_within_the_minute_tells_on_itself",
        Cut("self._elsewhere()", "pass"),
    ),
    line(
        "proxy/local/spoken.py",
        "a client carries out what it is asked for",
        "proxy/local/test_spoken.py::test_what_cannot_becomes_text",
        Cut("if named is None or said.unread:", "if named is None:"),
    ),
    line(
        "proxy/config/checks.py",
        "what must not leave would leave",
        "proxy/config/test_load.py::test_only_a_local_upstream_answers_what_must_not_leave",
        Cut("and upstream and upstream.leg is not Leg.LOCAL", "and False"),
    ),
    line(
        "proxy/stay.py",
        "marks that cannot be read may be there",
        "scenes/test_home_only.py::test_marks_that_cannot_be_read_keep_everything_home",
        Cut(
            'raise Refused("home-only") from error',
            'return __import__("proxy.home_only").home_only.Held()',
        ),
    ),
    named(
        "nobody listens at home",
        "proxy/stay.py",
        "scenes/test_home_heard.py::test_a_denied_tool_is_taken_out_of_an_answer_from_home",
        Cut(
            "answer = await beside(_kept(self._hold(talk, no)), self.hearth.home.answer(asked))\n"
            "        return self._watched(answer, document, dialect)",
            "return await beside(_kept(self._hold(talk, no)), self.hearth.home.answer(asked))",
        ),
        dialect="openai_chat",
        stream=True,
        prefer="cloud",
    ),
    named(
        "calls that home writes out are not counted",
        "proxy/stay.py",
        "scenes/test_home_heard.py"
        "::test_calls_that_nobody_declared_are_a_security_signal_at_home_too",
        Cut("self.owner.lost(self.case, call.name, declared=call.declared)", "pass"),
        dialect="openai_chat",
        stream=False,
        prefer="cloud",
    ),
    line(
        "proxy/stay.py",
        "what home has written into a file",
        "scenes/test_home_only.py::test_what_home_has_written_is_not_read_by_a_cloud",
        Cut("if not self.case.at_home:", "if True:"),
    ),
    line(
        "proxy/errand.py",
        "asked last, as every line is looked up",
        "scenes/test_home_leaks.py"
        "::test_what_is_out_of_an_answer_leaves_nowhere_while_the_rest_is_told",
        Cut("parting=self._stay.repeats if cloud else None,", "parting=None,"),
        speaks="ollama",
    ),
    named(
        "what stays for another reason is not asked whether it repeats home",
        "proxy/stay.py",
        "scenes/test_home_leaks.py::test_what_repeats_home_beside_a_secret_is_held_as_a_whole",
        Cut("if self.case.unsure and not again:", "if False:"),
    ),
    line(
        MARKS,
        "a beginning that nobody has seen",
        f"{MARKED}::test_another_beginning_keeps_the_whole_session",
        Cut("if root not in found and (repeats or not found.isdisjoint(named)):", "if False:"),
    ),
    line(
        MARKS,
        "what was found for a call that is not there",
        f"{MARKED}::test_a_result_without_its_call_keeps_all_of_it",
        Cut("if _orphans(conversation):", "if False:"),
    ),
    line(
        MARKS,
        "what a user said where nobody has seen it",
        f"{MARKED}::test_an_earlier_question_that_nobody_has_seen_keeps_all_of_it",
        Cut("if run.has_user and run.start < conversation.turn and not seen:", "if False:"),
    ),
    line(
        MARKS,
        "what is not known to be the cloud's is home's",
        f"{MARKED}::test_what_was_said_before_and_by_a_cloud_is_free",
        Cut("or not went[run]", ""),
    ),
    line(
        MARKS,
        "what of an answer is still to come may stand in it",
        "scenes/test_home_leaks.py"
        "::test_what_is_out_of_an_answer_leaves_nowhere_while_the_rest_is_told",
        Cut("if not under_way:", "if True:"),
    ),
    named(
        "an answer is held when it is all out",
        MARKS,
        "scenes/test_home_leaks.py"
        "::test_what_is_out_of_an_answer_leaves_nowhere_while_the_rest_is_told",
        Cut("found |= marks.keys() & await self._so_far(saying)", "pass"),
        speaks="ollama",
    ),
    line(
        "proxy/stay.py",
        "what is not remembered could leave with the next request",
        "scenes/test_fallback.py::test_marks_that_cannot_be_written_keep_the_answer_back",
        Cut('raise Refused("state-unavailable") from error', "return"),
    ),
    line(
        "proxy/beside.py",
        "nobody hears an answer before what it rests on is kept",
        "scenes/test_home_state.py::test_a_locked_state_lets_no_word_out",
        Cut("await written", "written.cancel()"),
    ),
    line(
        "proxy/state/memory.py",
        "the oldest mark must not go for a new one",
        "contract/test_home_marks.py::test_memory_that_is_full_says_so_and_forgets_nothing",
        Cut("if len(self._home) + len(digests) > self._most:", "if False:"),
    ),
    line(
        "proxy/stay.py",
        "another node that shares the state",
        "scenes/test_home_leaks.py::test_a_node_without_a_home_keeps_what_another_has_answered",
        Cut("if not await _read(marks.present()):", "if self.config.home is None:"),
    ),
)
