import pytest

from agentops.console.formats import bytes_words, cost_words, duration_words, time_left_words

SPACE = "\u00a0"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3, "0.0 s"),
        (0.44, "0.4 s"),
        (59.94, "59.9 s"),
        (59.96, "1 m 00 s"),
        (848, "14 m 08 s"),
        (3599.6, "1 h 00 m"),
        (8059, "2 h 14 m"),
        (86399.9, "1 d 0 h"),
        (273_600, "3 d 4 h"),
    ],
)
def test_duration_words_have_at_most_two_units(seconds: float, words: str) -> None:
    assert duration_words(seconds).replace(SPACE, " ") == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "time is up"),
        (0, "time is up"),
        (1, "under a minute"),
        (0.5, "under a minute"),
        (60, "1 min"),
        (1139, "18 min"),
        (12_539, "3 h 28 m"),
        (90_000, "1 d 1 h"),
    ],
)
def test_time_left_words_never_promise_more_than_there_is(seconds: float, words: str) -> None:
    assert time_left_words(seconds).replace(SPACE, " ") == words


@pytest.mark.parametrize(
    ("micro_usd", "words"),
    [
        (0, "–"),
        (1, "<\u2060$0.0001"),
        (49, "<\u2060$0.0001"),
        (50, "$0.0001"),
        (13_500, "$0.0135"),
        (99_999, "$0.1000"),
        (100_000, "$0.10"),
        (1_234_500_000, "$1,234.50"),
    ],
)
def test_cost_words_never_show_a_cost_as_nothing(micro_usd: int, words: str) -> None:
    assert cost_words(micro_usd) == words


def test_bytes_words_are_exact() -> None:
    assert [bytes_words(n).replace(SPACE, " ") for n in (0, 1, 84_210)] == ["0 bytes", "1 byte", "84,210 bytes"]
