import logging

from agentops.logs import LineFormatter


def line(message: str, *args: object, **extra: object) -> str:
    record = logging.LogRecord("agentops.test", logging.WARNING, __file__, 1, message, args, None)
    record.created = 1_700_000_000.25
    vars(record).update(extra)
    return LineFormatter().format(record)


def test_line_has_time_level_logger_message_and_fields() -> None:
    assert line("hello %s", "you", session="s 1", step=3) == (
        '2023-11-14T22:13:20.250Z WARNING agentops.test hello you session="s 1" step=3'
    )


def test_content_cannot_forge_a_second_line() -> None:
    forged = line("name: %s", "x\n2023-11-14T22:13:20.250Z INFO auth admin logged in\x1b[2J\u202e", note="a\nb")
    assert forged.splitlines() == [forged]
    assert "\\n2023" in forged
    assert "\\x1b[2J\\u202e" in forged


def test_traceback_is_indented_under_its_line() -> None:
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", (), None)
    try:
        raise ValueError("bad\nworse")
    except ValueError as error:
        record.exc_info = (ValueError, error, error.__traceback__)
    first, *rest = LineFormatter().format(record).splitlines()
    assert first.endswith("ERROR x failed")
    assert all(part.startswith("    ") for part in rest)
    assert rest[-1] == "    worse"
