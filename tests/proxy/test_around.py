"""What leaves beside the body."""

from proxy.around import pieces


def test_headers_path_and_query_are_read_with_their_names() -> None:
    """Each header's name and value, the path with its ids, the query decoded too."""
    found = pieces((("X-A", "one"), ("x-a", "two")), "/v1/models/m%2Fn", "q=a%20b")
    texts = [[strand.text for strand in piece.strands()] for piece in found]
    assert texts == [
        ["X-A", "one"],
        ["x-a", "two"],
        ["/v1/models/m%2Fn", "/v1/models/m/n"],
        ["q=a%20b", "q=a b"],
    ]
    assert [piece.address[0] for piece in found] == ["headers", "headers", "path", "query"]


def test_equal_pieces_have_equal_digests_and_others_not() -> None:
    """Name and value cannot be shifted against each other."""
    one, two, three = pieces((("a", "bc"), ("ab", "c"), ("a", "bc")), "/", "")[:3]
    assert one.digest == three.digest != two.digest
    assert len(pieces((), "/", "")) == 1


def test_what_a_client_says_each_time_is_taken_apart_once() -> None:
    """The same headers give the same pieces; another value, or another place for it, others."""
    said = (("x-a", "one"), ("x-b", "two"))
    first = pieces(said, "/v1/messages", "")
    assert pieces((("x-a", "one"), ("x-b", "two")), "/v1/messages", "") is first
    others = [
        pieces((("x-a", "two"), ("x-b", "one")), "/v1/messages", ""),
        pieces(said[::-1], "/v1/messages", ""),
        pieces(said, "/v1/messages/count_tokens", ""),
        pieces(said, "/v1/messages", "two"),
    ]
    digests = [tuple(piece.digest for piece in each) for each in (first, *others)]
    assert len({*digests}) == len(digests)
