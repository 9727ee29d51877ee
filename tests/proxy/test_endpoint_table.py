"""The table of endpoints is whole in itself."""

from proxy.dialects import ALL
from proxy.endpoint_table import GROUPS, TABLE, Treatment


def test_refused_rows_have_a_group_and_others_have_none():
    """What is refused can be opened by name; nothing else can be closed or opened."""
    for row in TABLE:
        assert bool(row.group) == (row.treatment is Treatment.REFUSED), row
        assert row.leaves <= (row.treatment is Treatment.REFUSED), row


def test_every_row_is_read_and_dressed_by_a_dialect_that_exists():
    """The names in the table are those of the dialects, each of the row's own family."""
    for row in TABLE:
        assert ALL[row.dress].family == (row.family or "openai"), row
        assert ALL[row.dialect].family == (row.family or "openai"), row


def test_rows_are_unique():
    """No two rows say the same about one family's address."""
    keys = [(row.family, row.method, row.path) for row in TABLE]
    assert len(keys) == len(set(keys))


def test_turns_are_bounded_where_a_model_goes_on_with_one():
    """Not where tokens are counted or a history is compacted."""
    talks = {row.path for row in TABLE if row.treatment is Treatment.CONVERSATION}
    assert talks - {row.path for row in TABLE if row.bounded} == {"/v1/responses/compact"}
    assert all(row.treatment is Treatment.CONVERSATION for row in TABLE if row.bounded)


def test_groups_are_named_as_a_configuration_would():
    """Lower case and hyphens, so that nobody has to guess."""
    assert GROUPS
    assert all(name.replace("-", "").isalpha() and name == name.lower() for name in GROUPS)
