"""One bounded exchange: what is not an answer in time and size is NotReached."""

import pytest

from agentops.net.http import NotReached, Reply, get
from tests.gateway.secrets import Answering, vault


def asked(answer: Answering, *, most_bytes: int = 100) -> Reply:
    with vault(answer) as server:
        return get(f"{server.address}/x", headers={"X-Vault-Token": "t"}, seconds=5.0, most_bytes=most_bytes)


def test_answer_is_returned_as_it_is() -> None:
    assert asked(lambda path: (200, {}, path.encode())) == Reply(200, b"/x")
    assert asked(lambda path: (404, {}, b"")) == Reply(404, b"")
    assert asked(lambda path: (200, {}, b"x" * 100)).body == b"x" * 100


def test_redirect_is_not_followed() -> None:
    paths: list[str] = []

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        paths.append(path)
        return 307, {"Location": "/elsewhere"}, b""

    assert (asked(answer).status, paths) == (307, ["/x"])


def test_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert asked(lambda path: (200, {}, b"{}")) == Reply(200, b"{}")


def test_too_much_or_compressed_is_refused() -> None:
    with pytest.raises(NotReached, match="more than 100 bytes"):
        asked(lambda path: (200, {}, b"x" * 101))
    with pytest.raises(NotReached, match="compressed"):
        asked(lambda path: (200, {"Content-Encoding": "br"}, b"x"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "ftp://127.0.0.1/", "http://", "http://[::1/", "nothing"])
def test_address_that_answers_nothing(url: str) -> None:
    with pytest.raises(NotReached, match="could not be reached") as raised:
        get(url, headers={"X-Vault-Token": "secret-token"}, seconds=1.0, most_bytes=100)
    assert "secret-token" not in raised.value.in_full


def test_body_is_not_printed() -> None:
    assert "value" not in repr(Reply(200, b"value"))


def test_what_never_left_is_told_from_what_may_have_arrived() -> None:
    with pytest.raises(NotReached) as away:
        get("http://127.0.0.1:1/", headers={}, seconds=1.0, most_bytes=100)
    assert (away.value.unsent, away.value.late) == (True, False)
    with pytest.raises(NotReached) as silent:
        asked(lambda path: (200, {"Content-Length": "not a number"}, b"x"))
    assert silent.value.unsent is False
