from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentops.settings.readers import Environment


def test_secret_from_a_file_comes_without_the_line_end(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("s3cret\n")
    assert Environment({"SECRET_KEY_FILE": str(path)}).secret("SECRET_KEY") == "s3cret"


def test_secret_from_the_environment() -> None:
    assert Environment({"SECRET_KEY": " s3cret "}).secret("SECRET_KEY") == "s3cret"
    assert Environment({}).secret("SECRET_KEY", "") == ""


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "Set the environment variable KEY, or KEY_FILE to a file with it."),
        ({"KEY": "a", "KEY_FILE": "/x"}, "Set either KEY or KEY_FILE, not both."),
        ({"KEY_FILE": "/does/not/exist"}, "KEY_FILE names /does/not/exist, which cannot be read: "),
        ({"KEY_FILE": "/dev/null"}, "KEY_FILE names /dev/null, which is empty."),
    ],
)
def test_secret_that_cannot_be_read(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        Environment(values).secret("KEY")
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(("value", "meaning"), [("1", True), ("Yes", True), ("off", False), ("0", False), ("", True)])
def test_flag(value: str, meaning: bool) -> None:
    assert Environment({"F": value}).flag("F", True) is meaning


@pytest.mark.parametrize("value", ["maybe", "2", "tru"])
def test_flag_that_is_neither_yes_nor_no(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"F is '{value}'; write one of"):
        Environment({"F": value}).flag("F", False)


def test_number() -> None:
    assert Environment({"N": "64"}).number("N", 4, least=1, most=64) == 64
    assert Environment({}).number("N", 4, least=1, most=64) == 4


@pytest.mark.parametrize("value", ["0", "65", "-1", "4.0", "٤", "four"])
def test_number_out_of_bounds_or_none(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="write a whole number from 1 to 64"):
        Environment({"N": value}).number("N", 4, least=1, most=64)


@pytest.mark.parametrize(("value", "meaning"), [("Files", "files"), ("", "vault")])
def test_choice(value: str, meaning: str) -> None:
    assert Environment({"C": value}).choice("C", "vault", ("files", "vault")) == meaning


def test_choice_of_something_else() -> None:
    with pytest.raises(ImproperlyConfigured, match="C is 'disk'; write one of files, vault"):
        Environment({"C": "disk"}).choice("C", "vault", ("files", "vault"))


def test_words() -> None:
    assert Environment({"W": "a, b,,c "}).words("W") == ["a", "b", "c"]
    assert Environment({}).words("W", ()) == []
    with pytest.raises(ImproperlyConfigured, match="Set the environment variable W"):
        Environment({}).words("W")


def test_database_address() -> None:
    database = Environment({"D": "postgres://u:p%40ss@h:6543/name?sslmode=require"}).database("D")
    assert database is not None
    assert {key: database[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")} == {
        "NAME": "name",
        "USER": "u",
        "PASSWORD": "p@ss",
        "HOST": "h",
        "PORT": 6543,
        "OPTIONS": {"sslmode": "require"},
    }
    assert Environment({}).database("D") is None


@pytest.mark.parametrize(
    "address", ["mysql://u@h/n", "sqlite:///x", "name", "postgres://h:port/n", "postgres://u@h", "postgres://u@h/"]
)
def test_database_address_that_is_none(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^D "):
        Environment({"D": address}).database("D")


@pytest.mark.parametrize("address", ["http://h", "h:6379"])
def test_redis_address_that_is_none(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^R must start with redis://"):
        Environment({"R": address}).redis("R")


@pytest.mark.parametrize("address", ["ftp://h", "https://", "api.example.com"])
def test_web_address_that_is_none(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^W must be an address"):
        Environment({"W": address}).web_address("W")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("smtp://mail.example.com", ("mail.example.com", 25, "", "", False, False)),
        ("smtp+tls://u%40x:p%2Fw@mail.example.com", ("mail.example.com", 587, "u@x", "p/w", True, False)),
        ("smtps://u:p@mail.example.com:4650", ("mail.example.com", 4650, "u", "p", False, True)),
    ],
)
def test_mail_server(address: str, expected: tuple[object, ...]) -> None:
    found = Environment({"M": address}).mail("M")
    names = ("HOST", "PORT", "HOST_USER", "HOST_PASSWORD", "USE_TLS", "USE_SSL")
    assert tuple(found[name] for name in names) == expected


def test_mail_into_a_folder_or_not_at_all() -> None:
    assert Environment({"M": "file:///var/mail"}).mail("M")["FILE_PATH"] == "/var/mail"
    assert Environment({}).mail("M") == {}


@pytest.mark.parametrize(
    "address", ["mail.example.com", "http://mail", "smtp://", "smtp://h:99999", "file://", "file://h/x"]
)
def test_mail_address_that_is_none(address: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        Environment({"M": f"{address}"}).mail("M")
    assert str(caught.value).startswith("M ")
