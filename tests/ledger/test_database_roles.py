"""The product runs as a role that owns nothing, and what is written once stays out of that role's hands."""

import os
from collections.abc import Iterator
from io import StringIO
from uuid import UUID

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection, transaction

from agentops.ledger.append import Event, append_to
from agentops.ledger.database_roles import BadRoleName, append_only_tables, grants, rights_too_many
from agentops.registry import roles
from agentops.runtime.operations import employ_agent
from tests.factories.people import make_cast
from tests.factories.runs import DONE, LOOK, decide, go_on, pay, work
from tests.factories.toy import Toy

TENANT = UUID(int=7)

pytestmark = pytest.mark.django_db

# Roles are the whole server's, and other runs may use it at the same time.
OWNER, APPLICATION = f"owner_{os.getpid()}", f"application_{os.getpid()}"


def as_role(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {name}")


@pytest.fixture
def two_roles() -> Iterator[None]:
    """Set up both roles and go on as the application. All of it is undone with the test's transaction."""
    with connection.cursor() as cursor:
        for statement in grants(OWNER, APPLICATION):
            cursor.execute(statement)
    as_role(APPLICATION)
    yield
    as_role("NONE")


def refused(sql: str) -> str:
    with connection.cursor() as cursor, pytest.raises(ProgrammingError) as caught, transaction.atomic():
        cursor.execute(sql)
    return str(caught.value)


def test_a_superuser_and_an_owner_are_told(two_roles: None) -> None:
    as_role("NONE")
    assert "superuser" in rights_too_many()[0]
    as_role(OWNER)
    found = rights_too_many()
    assert [words.split(" ")[2] for words in found][:3] == [OWNER] * 3
    assert all("ledger_event" in words and "ledger_payload" in words for words in found)
    checks = run_checks(include_deployment_checks=True, databases=[DEFAULT_DB_ALIAS], tags=["database"])
    assert [check.msg for check in checks if check.id == "agentops.W110"] == found


def test_the_application_has_no_right_too_many(two_roles: None) -> None:
    assert rights_too_many() == []


@pytest.mark.parametrize("column", ["facts", "at", "leaf_hash"])
def test_one_column_that_can_be_updated_is_found(two_roles: None, column: str) -> None:
    as_role("NONE")
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT UPDATE ({column}) ON ledger_event TO {APPLICATION}")
    as_role(APPLICATION)
    assert rights_too_many() == [f"The role {APPLICATION} can change or empty ledger_event."]


def test_the_application_can_change_nothing_that_is_written_once(two_roles: None) -> None:
    append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep", payload={"n": 1})])
    for table, (*_, column) in append_only_tables().items():
        for sql in (
            f'UPDATE "{table}" SET "{column}" = "{column}"',
            f'DELETE FROM "{table}"',
            f'TRUNCATE "{table}"',
            f'ALTER TABLE "{table}" DISABLE TRIGGER ALL',
            f'DROP TABLE "{table}"',
        ):
            assert "permission denied" in refused(sql) or "must be owner" in refused(sql), sql
    assert "permission denied" in refused("SET session_replication_role = replica")
    assert "permission denied" in refused("CREATE TABLE mine (id int)")
    assert "permission denied" in refused("INSERT INTO ledger_event (xid) VALUES ('5')")


def test_a_session_is_worked_and_decided_as_the_application(two_roles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, cast = Toy(), make_cast()
    spec = toy.spec()
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=spec, name="Payer", actor="user:bob")
    session = work(toy, agent, LOOK, pay(500), pay(5_000), DONE)
    assert session.status == "waiting_approval"
    decide(cast)
    assert (go_on(session).status, toy.vendor.balances["a-1"]) == ("finished", 100_000 - 5_500)


def test_the_application_may_insert_what_the_program_writes_and_no_more(two_roles: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
            JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
            AND has_column_privilege(c.oid, a.attnum, 'INSERT') GROUP BY c.relname""",
            [list(append_only_tables())],
        )
        found = {table: set(columns) for table, columns in cursor.fetchall()}
    assert found == {table: set(columns) for table, columns in append_only_tables().items()}
    assert "xid" not in found["ledger_event"]


def test_the_command_prints_the_statements_as_one_transaction() -> None:
    out = StringIO()
    call_command("ledger", "roles", "--owner", OWNER, "--application", APPLICATION, stdout=out)
    assert out.getvalue().strip() == ";\n".join(["BEGIN", *grants(OWNER, APPLICATION), "COMMIT"]) + ";"
    with pytest.raises(CommandError, match="is no name for a role"):
        call_command("ledger", "roles", "--owner", "a b", stdout=out)


@pytest.mark.parametrize(
    ("owner", "application"),
    [
        ("", "app"),
        ("own er", "app"),
        ("owner;drop", "app"),
        ("Owner", "app"),
        ("pg_read", "app"),
        ("app", "app"),
        ("a" * 64, "b"),
    ],
)
def test_names_that_are_none_are_refused(owner: str, application: str) -> None:
    with pytest.raises(BadRoleName):
        grants(owner, application)
