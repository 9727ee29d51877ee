"""The files of the demo."""

from proxy.demo.files import FORGED_END, GUESS, NOTES, ORDER, WALLET, bech32, folder, key, nsec


def test_bech32_meets_the_public_vectors() -> None:
    """BIP-173's segwit-free example and the NIP-19 example come out as published."""
    assert bech32("a", b"") == "a12uel5l"
    assert bech32("nsec", key()) == "".join(
        ("nsec1", "vl029mgpspedva04g90vltkh6f", "vh240zqtv9k0t9af8935ke9l", "aqsnlfe5")
    )


def test_the_folder_holds_an_order_behind_a_forged_mark_and_a_key() -> None:
    """What the demo says is in the files is there."""
    files = folder()
    assert files[NOTES].index(FORGED_END.format(guess=GUESS)) < files[NOTES].index(ORDER)
    assert f"KEY={nsec()}\n" in files[WALLET]
    assert len(GUESS) == 32
