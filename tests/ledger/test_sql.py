"""Prepared statements by libpq: transactions, errors and values as by a cursor, on connections that come and go."""

import threading
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import IntegrityError, OperationalError, ProgrammingError, connection, transaction

from agentops.kernel.ids import new_id
from agentops.ledger import sql
from agentops.ledger.sql import fetch_all, fetch_one

ECHO = "SELECT %(value)s::{}"
ADD = "INSERT INTO ledger_stream (id, tenant_id, name, position) VALUES (%(id)s, %(id)s, %(name)s, 0) RETURNING name"
NAMES = "SELECT name FROM ledger_stream ORDER BY name"

pytestmark = pytest.mark.django_db(transaction=True)


def plain() -> "psycopg.Connection[Any]":
    connection.ensure_connection()
    found: psycopg.Connection[Any] = connection.connection
    return found


def prepared() -> set[str]:
    rows = plain().execute("SELECT name FROM pg_prepared_statements WHERE NOT from_sql").fetchall()
    return {name for (name,) in rows}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uuid", UUID(int=7)),
        ("bytea", b"\x00\xff"),
        ("timestamptz", datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("boolean", True),
        ("text", "naïve €"),
        ("text[]", ["a", "b"]),
        ("bigint", 2**40),
        ("int", 3),
        ("int", None),
    ],
)
def test_values_go_and_come_as_they_are(kind: str, value: object) -> None:
    assert fetch_one(ECHO.format(kind), {"value": value}) == (value,)


def test_numbers_of_any_size_fit_one_statement() -> None:
    values = (1, 40_000, 3_000_000_000, -1, None, 2**62)
    assert [fetch_one(ECHO.format("bigint"), {"value": value}) for value in values] == [(v,) for v in values]


def test_rows_are_all_returned_and_none_is_none() -> None:
    assert fetch_one(NAMES, {}) is None
    for name in "ba":
        assert fetch_one(ADD, {"id": new_id(), "name": name}) == (name,)
    assert fetch_all(NAMES, {}) == [("a",), ("b",)]


def test_statement_is_prepared_once() -> None:
    fetch_one(ECHO.format("int"), {"value": 1})
    before = prepared()
    fetch_one(ECHO.format("int"), {"value": 2})
    assert prepared() == before
    assert len([name for name in before if name.startswith("agentops_")]) == len(before)


def test_it_takes_part_in_the_transaction_from_its_first_statement_on() -> None:
    with transaction.atomic():
        fetch_one(ADD, {"id": new_id(), "name": "a"})
        assert plain().pgconn.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        transaction.set_rollback(True)
    assert fetch_all(NAMES, {}) == []
    with transaction.atomic():
        fetch_one(ADD, {"id": new_id(), "name": "b"})
        with transaction.atomic():
            fetch_one(ADD, {"id": new_id(), "name": "c"})
            transaction.set_rollback(True)
    assert fetch_all(NAMES, {}) == [("b",)]


def test_errors_are_those_of_django() -> None:
    params = {"id": new_id(), "name": "a"}
    fetch_one(ADD, params)
    with pytest.raises(IntegrityError) as caught:
        fetch_one(ADD, params)
    assert isinstance(caught.value.__cause__, psycopg.errors.UniqueViolation)
    with pytest.raises(ProgrammingError):
        fetch_one("SELECT nothing FROM nowhere", {})
    assert fetch_one(ADD, {"id": new_id(), "name": "b"}) == ("b",)


def test_statement_that_somebody_deallocated_is_prepared_again() -> None:
    fetch_one(ECHO.format("int"), {"value": 1})
    plain().execute("DEALLOCATE ALL")
    assert fetch_one(ECHO.format("int"), {"value": 2}) == (2,)
    plain().execute("DEALLOCATE ALL")
    with pytest.raises(ProgrammingError, match="does not exist"), transaction.atomic():
        fetch_one(ECHO.format("int"), {"value": 3})
    with transaction.atomic():
        assert fetch_one(ECHO.format("int"), {"value": 4}) == (4,)


def test_statement_whose_result_changed_its_shape_is_prepared_again() -> None:
    plain().execute("CREATE TEMPORARY TABLE shape (a int); INSERT INTO shape VALUES (1)")
    assert fetch_one("SELECT * FROM shape", {}) == (1,)
    plain().execute("ALTER TABLE shape ADD COLUMN b text DEFAULT 'x'")
    assert fetch_one("SELECT * FROM shape", {}) == (1, "x")
    plain().execute("DROP TABLE shape")


def test_broken_connection_is_an_error_and_the_next_one_works() -> None:
    fetch_one(ECHO.format("int"), {"value": 1})
    with psycopg.connect(plain().info.dsn, password=plain().info.password, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [plain().info.backend_pid])
    with pytest.raises(OperationalError):
        fetch_one(ECHO.format("int"), {"value": 2})
    connection.close()
    assert fetch_one(ECHO.format("int"), {"value": 3}) == (3,)


def test_oldest_statement_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setattr(sql, "MOST_STATEMENTS", 3)
    for _ in range(2):
        for number in range(5):
            assert fetch_one(f"SELECT {number}", {}) == (number,)
    assert len(prepared()) == 3


def test_threads_have_statements_of_their_own() -> None:
    found: list[Any] = []

    def work() -> None:
        found.extend(fetch_one(ECHO.format("int"), {"value": n}) for n in range(50))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted((n,) for n in range(50) for _ in range(4))
