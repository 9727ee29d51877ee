"""Lines of defence in `policies/`: how each is broken, and the scene that must then fail."""

from policies.decision import Leg
from tests.sabotage.breaking import Cut, Swap
from tests.sabotage.row import line, named

ENVELOPE = "policies/envelope/__init__.py"
WRAP = "policies/envelope/test_wrap.py"
OPTIONS = "policies/test_proof_options.py"
LOOPS = "scenes/test_loops.py"
BEGINNINGS = "policies/proof_beginnings.py"
BEGUN = "policies/test_proof_beginnings.py"
SPELLED = "policies/test_proof_spelled.py"


def blind(*_: object) -> tuple[()]:
    return ()


def _anyone(says: str) -> Cut:
    refuses = f'if token is not _TOKEN:\n            raise TypeError("{says}'
    return Cut(refuses, refuses.replace("token is not _TOKEN", "False"))


SCREEN_AND_PROOF = (
    line(
        "policies/decide.py",
        "a screen that failed has read nothing",
        "policies/test_decide.py::test_watching_lets_findings_go_and_a_failed_screen_never",
        Cut("if failed or policies.egress.on_hit", "if policies.egress.on_hit"),
    ),
    line(
        "policies/egress.py",
        "a mark is good for all that was looked at",
        "policies/test_egress.py::test_a_secret_in_several_short_messages",
        Cut("pieces[first : number + 1]", "pieces[number - 1 : number + 1]"),
    ),
    line(
        "policies/egress.py",
        "it names each piece and each reader",
        "policies/test_egress.py::test_one_mark_stands_for_one_history",
        Cut('sha256(b"".join(digests)).digest()', 'b""'),
    ),
    line(
        "policies/egress.py",
        "a screen that fails has read nothing",
        "sabotage/scenes.py::a_screen_that_fails_sends_nothing",
        Cut("return failed()", "return type(failed())()"),
    ),
    line(
        "policies/elsewhere.py",
        "what names no id is vouched for by nobody",
        "policies/test_elsewhere.py::test_held_state_is_ambiguous_unless_vouched_for",
        Cut("if not given or any(", "if any("),
        names=("prompt",),
        leans=(),
        found=("prompt",),
    ),
    named(
        "credentials let go",
        "policies/egress.py",
        "scenes/test_egress.py::test_a_credential_that_changes_is_looked_for_in_what_was_clean",
        Cut("if own is None:\n        return readers", "if True:\n        return readers"),
    ),
    named(
        "screen blinded",
        "policies/screening/screen.py",
        "sabotage/scenes.py::a_secret_arrives_nowhere",
        Swap("Screen.findings", blind),
        Swap("Screen.seam", blind),
    ),
    line(
        "policies/proof_lists.py",
        "leaves out a result or an order",
        f"{OPTIONS}::test_nothing_else_may_be_missing",
        Cut("if not is_thinking(parsed(came[met], at)):", "if False:"),
    ),
    line(
        "policies/proof_plan.py",
        "leaves out a text or a call",
        f"{OPTIONS}::test_nothing_else_may_be_missing",
        Cut("if thinking == gone:", "if True:"),
    ),
    line(
        "policies/proof_plan.py",
        "only the words of this very body were screened",
        f"{OPTIONS}::test_no_other_text_is_placed",
        Cut('said.startswith((words, words.removesuffix("…")))', "True"),
    ),
    line(
        "policies/screening/sifting.py",
        "what begins across ends before the last one",
        "policies/screening/test_sifting.py::"
        "test_what_begins_across_ends_is_looked_for_behind_the_next_end",
        Cut("last = ending(before, SEAM)", "last = ending(before, width)"),
    ),
    line(
        "policies/screening/parts.py",
        "what is so short that one secret may go across all",
        "policies/screening/test_sifting.py::"
        "test_one_secret_goes_across_a_short_message_that_is_known",
        Cut("if start and sum(map(len, parts)) <= 2 * size:", "if False:"),
        whole="Zq7xW2pL9rTf",
    ),
    line(
        "policies/screening/sieve.py",
        "what was not read to its end is read by itself",
        "policies/screening/test_sieve.py::test_anchors_that_cost_too_much_are_kept",
        Cut("return True", "return False"),
    ),
    line(
        "policies/screening/normal.py",
        "never longer, whatever stands there",
        "policies/screening/test_normal.py::test_marks_without_end_are_sorted_in_slices",
        Cut("end = min(start + _SLICE, len(text))", "end = len(text)"),
    ),
    line(
        "policies/screening/exempt.py",
        "the position alone is not enough",
        "policies/screening/test_exempt.py::test_a_sealed_position_is_no_hiding_place",
        Cut(" or not _SEALED.fullmatch(strand.text):", ":"),
    ),
    line(
        "policies/screening/exempt.py",
        "arguments of a call are an assistant's too",
        "policies/screening/test_exempt.py::test_other_positions",
        Cut("return kind in _BLOCKS and", "return"),
        position=("assistant", "tool_use", ("input", "encrypted_content")),
    ),
    line(
        "policies/screening/places.py",
        "a key that is not a schema word",
        "policies/screening/test_places.py::test_a_key_never_shows_itself",
        Cut("case str() if step in SCHEMA_WORDS:", "case str():"),
    ),
    line(
        "policies/wording.py",
        "a fact may hold a name that a stranger chose",
        "policies/test_notices.py::test_one_line_disarms_and_cuts",
        Cut('" " if unicodedata.category(mark)[0] in "CZ" else mark', "mark"),
    ),
    line(
        "policies/prove.py",
        "the token is private to this module",
        "policies/test_prove.py::test_only_the_proof_clears",
        _anyone("a body is cleared"),
    ),
    line(
        "policies/proof_lists.py",
        "what vouches for bytes that are not read again",
        "policies/test_prove.py::test_only_the_proof_makes_marks",
        _anyone("a mark is made"),
    ),
    line(
        "policies/proof_lists.py",
        "a memory may err, so a mark says itself",
        "policies/test_prove.py::test_the_mark_of_another_pair_clears_nothing",
        Cut("mark.digest == both and ", ""),
    ),
    line(
        "policies/proof_lists.py",
        "a memory may err, so a mark says itself",
        "policies/test_prove.py::test_a_mark_counts_only_for_frames_that_are_claimed_now",
        Cut("mark.digest == both and self.frames.meet_again(mark.frames)", "mark.digest == both"),
    ),
    line(
        "policies/proof_spelled.py",
        "what stands behind a string tells",
        f"{SPELLED}::test_a_frame_in_the_place_of_a_key_fails",
        Cut("_BEHIND.issuperset([piece[:2] for piece in outside[1:]])", "True"),
    ),
    line(
        "policies/proof_spelled.py",
        "a quotation mark behind a backslash",
        f"{SPELLED}::test_a_frame_that_begins_within_a_string_is_not_seen",
        Cut("and b'\\\\\"' not in [piece[-2:] for piece in outside[:-1]]", ""),
    ),
    line(
        "policies/proof_spelled.py",
        "a text that knows a mark may end its frame",
        f"{SPELLED}::test_a_text_that_knows_a_mark_is_no_content",
        Cut("or row.nonce in text", ""),
    ),
    line(
        "policies/proof_spelled.py",
        "and so may one that spells the stem",
        f"{SPELLED}::test_a_text_that_knows_a_mark_is_no_content",
        Cut("_NEAR.search(together) is None or", "True or"),
    ),
    line(
        "policies/proof_spelled.py",
        "how a value is spelled tells what it says",
        f"{SPELLED}::test_a_framed_message_with_a_key_twice_fails",
        Cut('and own.is_certain(b"".join(outside))', ""),
    ),
    line(
        BEGINNINGS,
        "what vouches for messages that are not read again",
        f"{BEGUN}::test_what_looks_like_a_beginning_is_none",
        _anyone("a beginning is made"),
    ),
    *(
        line(BEGINNINGS, "a memory may give anything", f"{BEGUN}::{scene}", Cut(*cut))
        for scene, *cut in (
            (
                "test_what_looks_like_a_beginning_is_none",
                "type(begun) is Beginning",
                "begun is not None",
            ),
            (
                "test_a_history_counts_only_as_it_was_decided_now",
                "and (begun.planned, begun.authored) == (asked.planned, asked.authored)",
                "",
            ),
            (
                "test_a_history_that_nobody_screened_is_refused",
                "and begun.digests <= asked.digests",
                "",
            ),
            (
                "test_a_history_counts_only_as_it_was_decided_now",
                "and frames.begin_with(begun.frames, begun.apart)",
                "and (frames.begin_with(begun.frames, begun.apart) or True)",
            ),
        )
    ),
    line(
        "policies/proof_json.py",
        "this reader passes over a key that stands twice",
        "policies/test_proof_json.py::test_no_pair_is_read_leniently",
        Cut("return value if again == raw else _SLOWLY", "return value"),
    ),
    line(
        BEGINNINGS,
        "only equal bytes are read alike",
        f"{BEGUN}::test_a_history_that_leaves_otherwise_is_read",
        Cut("if not body.startswith(memoryview(self.body)[: self.stop]):", "if False:"),
    ),
    line(
        "policies/prove.py",
        "of a key that stands twice nobody can say",
        f"{BEGUN}::test_a_key_that_stands_on_both_sides_of_a_history_is_refused",
        Cut("if (key := side.again(found.members[1:])) is not None:", "if (key := None):"),
    ),
)

FRAME = (
    line(
        ENVELOPE,
        "text that holds the nonce",
        f"{WRAP}::test_a_nonce_that_the_text_or_the_label_knows_is_refused",
        Cut("if nonce in text or nonce in field:", "if False:"),
    ),
    line(
        "policies/envelope/markers.py",
        "the whole string",
        f"{WRAP}::test_any_other_tool_name_becomes_tool_result",
        Cut("_FIELD.fullmatch(value)", "_FIELD.match(value)"),
    ),
    named(
        "one nonce for all calls",
        ENVELOPE,
        f"{WRAP}::test_wrap_untrusted_token_is_per_call",
        Cut("nonce = draw()", 'draw(); nonce = "0123456789abcdef" * 2'),
    ),
    named(
        "markers not neutralised",
        ENVELOPE,
        "policies/envelope/test_forgery.py::test_forged_closing_delimiter_does_not_escape_block",
        Cut("neutralise(text if kept is None else text[:kept])", "text"),
    ),
    named(
        "markers neutralised as they stand only",
        "policies/envelope/neutralise.py",
        "policies/envelope/test_neutralise.py::test_data_envelope_neutralises_markers",
        Swap(
            "neutralise",
            lambda text: text.replace("TRANSOM_DATA", "transom-data-marker-removed"),
            "tests/policies/envelope/test_neutralise.py",
        ),
    ),
)

LIMITS = (
    line(
        "policies/proof_tools.py",
        "a turn that has gone on for too long",
        f"{OPTIONS}::test_tool_use_is_off_where_that_is_planned",
        Cut("if key in CHOICES and", "if False and"),
    ),
    named(
        "loops uncounted",
        "policies/decide.py",
        f"{LOOPS}::test_a_loop_is_told_then_answered_without_tools_then_not_by_a_model",
        Cut("judge(conversation, policies.limits) if bounded else None", "None"),
        dialect="openai_chat",
        leg=Leg.CLOUD,
    ),
    named(
        "a runaway is asked on",
        "policies/limits.py",
        f"{LOOPS}::test_behind_a_bound_nothing_goes_upstream",
        Cut("Level.BEYOND if before >= bound.hard else Level.HARD", "Level.HARD"),
        dialect="openai_responses",
        leg=Leg.CLOUD,
        style="answer",
    ),
    named(
        "tools left on",
        "proxy/dialects/ollama_chat.py",
        f"{LOOPS}::test_a_loop_is_told_then_answered_without_tools_then_not_by_a_model",
        Cut("if not decision.tool_use and", "if False and"),
        dialect="ollama_chat",
        leg=Leg.LOCAL,
    ),
    line(
        "proxy/undeclared/editing.py",
        "what two readers could read in two ways",
        "proxy/undeclared/test_undeclared.py::test_what_cannot_be_read_for_certain_ends_the_answer",
        Cut(
            'raise Refused("upstream-unreachable", reason="its answer cannot be read") from None',
            "return (event,)",
        ),
        dialect="openai_chat",
        stream=True,
    ),
    named(
        "undeclared calls pass",
        "proxy/watched.py",
        "scenes/test_answer_filters.py::test_undeclared_calls_are_dropped_where_that_is_set",
        Cut("return replace(answer, filters=(*answer.filters, dropping))", "return answer"),
        dialect="openai_chat",
        story="only",
        leg=Leg.CLOUD,
    ),
    named(
        "held streams left silent",
        "proxy/filtering.py",
        "scenes/test_answer_filters.py::test_a_call_that_is_held_keeps_its_client",
        Cut("case _News.QUIET if kind:", "case _News.QUIET if False:"),
        dialect="ollama_chat",
    ),
    named(
        "notes forgotten",
        "proxy/ledger.py",
        f"{LOOPS}::test_a_note_stays_where_it_stood",
        Cut("told = [number for number, row in rows.items() if row.followed]", "told = []"),
        dialect="openai_chat",
    ),
)

MINIMAL = (
    named(
        "a plan that is not kept",
        "policies/prove.py",
        "sabotage/scenes.py::what_a_cut_takes_out_does_not_leave",
        Swap("_Proof.bodies", blind),
    ),
    line(
        "policies/proof_lists.py",
        "a call, a result or a thought of an earlier turn",
        "policies/test_proof_cut.py::test_a_result_that_was_planned_to_stay_is_seen",
        Cut("if not short.stays(after) or not own", "if not own"),
    ),
    line(
        "policies/proof_cut.py",
        "a turn that is found elsewhere",
        "policies/test_proof_cut.py::test_a_turn_that_is_found_elsewhere_is_seen",
        Cut("if (begin is not None and skipped + begin != cut.turn) or last", "if last"),
    ),
    line(
        "policies/proof_cut.py",
        "what was given at home is left out",
        "policies/test_proof_cut.py::test_a_plan_that_shows_what_home_has_said_is_seen",
        Cut("if not cut.home <= home <= cut.gone | cut.home or max(", "if False and max("),
    ),
    line(
        "policies/proof_lists.py",
        "a view in which nothing is left out",
        "policies/test_proof_cut.py::test_a_plan_that_shows_what_home_has_said_is_seen",
        Cut("elif self.planned.home and key == self.planned.key:", "elif False:"),
    ),
    line(
        "policies/minimality.py",
        "nothing of what was given at home stays",
        "policies/test_minimality.py::test_of_what_was_said_at_home_one_line_stays",
        Cut("if index in conversation.home:", "if False:"),
    ),
    line(
        "policies/showing.py",
        "a turn that home has taken part in",
        "policies/test_showing.py::test_what_cannot_be_left_out_keeps_all_at_home",
        Cut('if window.mode == "off" or max(home) >= conversation.turn:', "if False:"),
    ),
    line(
        "policies/turn_minimal.py",
        "what is not known to be the text of who speaks",
        "policies/test_turn_minimal.py::test_no_result_may_stay",
        Cut("else elides and _emptied(part)", "else True"),
    ),
    line(
        "policies/showing.py",
        "what nothing may be taken out of",
        "scenes/test_minimality.py::test_with_the_strategy_home_nothing_is_cut",
        Cut('if cuts and window.strategy == "home":', "if False:"),
        dialect="openai_chat",
        mode="dialogue",
    ),
    line(
        "policies/showing.py",
        "what an upstream holds may be the whole house",
        "policies/test_showing.py::test_state_that_an_upstream_holds_is_not_minimal",
        Cut('if window.mode == "off" or not seen.held:', "if True:"),
    ),
    line(
        "proxy/dialects/plain_text.py",
        "nobody can say of token ids",
        "scenes/test_minimality.py::test_a_talk_that_is_folded_into_token_ids_does_not_leave",
        Cut("if key == _FOLDED and", "if not key and"),
    ),
    line(
        "policies/drop_notice.py",
        "a name that is cut or cleaned",
        "policies/test_drop_notice.py::test_drop_notice_prints_only_granted_safe_names",
        Cut("if is_safe(name) and name in granted", "if name in granted"),
    ),
    line(
        "policies/envelope/epoch.py",
        "what a cut takes out was never to leave",
        "policies/envelope/test_epoch.py::test_a_cut_view_never_waits_for_the_operator",
        Cut(" or conversation.since):", "):"),
    ),
    named(
        "canaries of other turns",
        "policies/minimality.py",
        "scenes/test_minimality.py::test_unrelated_context_is_not_escalated_to_cloud",
        Cut('if window.mode == "off" or turn <= start:', "if True:"),
        dialect="openai_chat",
        mode="strict",
        strategy="drop",
    ),
)

REPORT = (
    named(
        "hidden characters untold",
        "policies/decide.py",
        "scenes/test_reports.py::test_hidden_characters_are_logged_once_without_their_text",
        Swap("report", blind),
        dialect="openai_chat",
    ),
    named(
        "context forgotten: every hidden character is told",
        "policies/unicode_screen.py",
        "policies/test_unicode_screen.py::test_what_a_writing_system_needs_is_not_told",
        Cut("return tuple(kind for kind in KINDS if judged[kind](text, there))", "return KINDS"),
    ),
)

ROWS = (*SCREEN_AND_PROOF, *FRAME, *LIMITS, *MINIMAL, *REPORT)
