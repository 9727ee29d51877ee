"""Problems read well, name their place, and never repeat what was written."""

from proxy.problems import Invalid, Problem, near, shown


def test_a_problem_is_place_path_and_words() -> None:
    """What is not known is left out."""
    assert str(Problem("a.b", "is wrong", file="c.toml", line=4)) == "c.toml:4: a.b: is wrong"
    assert str(Problem("TRANSOM_A__B", "is wrong")) == "TRANSOM_A__B: is wrong"
    assert str(Problem("", "is wrong", file="c.toml")) == "c.toml: is wrong"


def test_a_report_has_every_problem_and_each_hint_once() -> None:
    """Hints stand below, after a blank line."""
    invalid = Invalid(
        [Problem("a", "x", "do this"), Problem("b", "y", "do this"), Problem("c", "z")]
    )
    assert invalid.report() == "a: x\nb: y\nc: z\n\nhint: do this"
    assert Invalid([Problem("a", "x")]).report() == str(Invalid([Problem("a", "x")])) == "a: x"


def test_a_near_match_is_one_of_our_names() -> None:
    """Slips, other case and beginnings of a name are understood; anything else gets no guess."""
    assert near("prot", ["host", "port"]) == "; did you mean `port`?"
    assert near("TRANSOM_LISTEN__PROT", ["TRANSOM_LISTEN__PORT"]).endswith(
        "`TRANSOM_LISTEN__PORT`?"
    )
    assert near("token", ["name", "token_sha256"]) == "; did you mean `token_sha256`?"
    assert near("to", ["name", "token_sha256"]) == ""
    assert near("zebra", ["host", "port"]) == ""


def test_a_name_is_shown_only_if_it_looks_like_one() -> None:
    """A key may be a secret that was pasted in the wrong place."""
    assert shown("max_body") == "max_body"
    assert shown("x" * 60) == "*"
    assert shown("k3y-" + "q7Zk29xW") == "*"
    assert shown("two words") == "*"
