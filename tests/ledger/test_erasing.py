"""Erasing a person: nothing readable is left of them, everything still fits, and what stands in the way is said."""

import base64
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from agentops.agents.models import ToolGrant
from agentops.ledger.erasing import erase, export
from agentops.ledger.holds import CannotHold, lift_hold, place_hold
from agentops.ledger.keys import Purpose, period_of, ring
from agentops.ledger.models import LedgerEvent, Payload
from agentops.ledger.queries import events_of
from agentops.ledger.retention import run_out
from agentops.ledger.vault_models import LedgerKey, LegalHold
from agentops.registry.holder import CannotErase
from agentops.registry.roles import get_role
from agentops.registry.subjects import BadSubject
from agentops.registry.tool import Dial
from agentops.runtime.audit import audit_session
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, start_session
from agentops.tenancy.models import Tenant
from approvals.models import ApprovalRequest
from support_agent.models import Customer, Order, Ticket
from support_agent.seeds import seed_demo
from tests.factories.books import faults_of_ledger

PERSON = (
    "Ottilie",
    "Quandtmeier",
    "ottilie.quandtmeier@example.net",
    "+49 151 2345 6789",
    "Wiesenpfad 417",
    "my late husband Balthasar chose the colour",
    "grüne Lärche",
)


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return seed_demo()


@pytest.fixture
def ottilie(tenant: Tenant) -> Customer:
    """The customer of a ticket, under another name, whose words stand in two tickets."""
    ticket = Ticket.objects.get(tenant=tenant, ref="T-1001")
    assert ticket.customer is not None
    person = ticket.customer
    person.first_name, person.last_name, person.email, person.address1 = PERSON[0], PERSON[1], PERSON[2], PERSON[4]
    person.save()
    Order.objects.filter(customer=person).update(address1=PERSON[4])
    words = f" Call me at {PERSON[3]}; {PERSON[5]} ({PERSON[6]}). {PERSON[0]} {PERSON[1]}, {PERSON[4]}"
    Ticket.objects.filter(pk=ticket.pk).update(body=ticket.body + words, sender=PERSON[2])
    Ticket.objects.create(
        tenant=tenant,
        ref="T-9001",
        sender=PERSON[2].upper(),
        subject=f"A question of {PERSON[1]}",
        body=f"I wonder about the warranty. {words}",
        received_at=ticket.received_at,
        source_key="T-9001",
    )
    return person


def work(tenant: Tenant) -> list[Session]:
    """Let the support agent work both tickets, the first of which ends up before a person."""
    agent = employ_agent(tenant_id=tenant.pk, role=get_role("support"), name="Support", actor="user:root")
    ToolGrant.objects.filter(version=agent.current_version, tool="issue_refund").update(dial=Dial.ASK)
    sessions = [start_session(agent=agent, subject_id=ref, actor="user:bob") for ref in ("T-1001", "T-9001")]
    work_until_quiet()
    return [Session.objects.get(pk=session.pk) for session in sessions]


def dump() -> str:
    """Return everything that the database holds, a value a line as a backup writes it: bytes as hex."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.oid::regclass::text, array_agg(format('%I::text', a.attname)) FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
            AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.oid"""
        )
        values: list[str] = []
        for table, columns in cursor.fetchall():
            cursor.execute(f"SELECT {', '.join(columns)} FROM {table}")
            values += [value for row in cursor.fetchall() for value in row if value is not None]
    return "\n".join(values)


def forms(words: str) -> Iterator[str]:
    """Yield the ways in which words may stand in a dump: plain, escaped, as hex, as base64 at each offset."""
    raw = words.encode()
    yield from (words, json.dumps(words)[1:-1], words.replace("'", "''"), raw.hex())
    for skipped in range(3):
        coded = base64.b64encode(b"\x00" * skipped + raw).decode()
        # The ends depend on what stands beside the words.
        yield coded[-(-skipped * 8 // 6) + (1 if skipped else 0) : len(coded) - 4]


def found_in(text: str) -> set[str]:
    lower = text.lower()
    return {words for words in PERSON if any(form.lower() in lower for form in forms(words))}


def test_forms_are_found_where_they_stand() -> None:
    for coded in (
        b"say Ottilie".hex(),
        json.dumps("x grüne Lärche"),
        base64.b64encode(b"x +49 151 2345 6789 y").decode(),
        base64.b64encode(b"xy Wiesenpfad 417 y").decode(),
        base64.b64encode(b"xyz Wiesenpfad 417 yy").decode(),
    ):
        assert found_in(coded), coded


def test_nothing_of_a_person_is_left_in_a_dump_and_everything_fits(tenant: Tenant, ottilie: Customer) -> None:
    asked, done = work(tenant)
    assert (asked.status, done.status) == ("waiting_approval", "finished")
    assert asked.data_subject == done.data_subject == f"customer:{ottilie.ref}"
    assert found_in(dump()) == set(PERSON)
    out = StringIO()
    call_command("erase", tenant=tenant.slug, subject=f"customer:{ottilie.ref}", yes=True, stdout=out)
    assert "was erased" in out.getvalue()
    left = dump()
    assert found_in(left) == set()
    assert list(faults_of_ledger()) == []
    assert {bytes(body)[:1] for body in Payload.objects.values_list("body", flat=True)} == {b"\x02"}
    for session in (asked, done):
        session.refresh_from_db()
        assert audit_session(session.pk) == []
    assert (asked.status, asked.stop_code, asked.title) == ("stopped", "SUBJECT_ERASED", "Erased")
    assert ApprovalRequest.objects.get(session_id=asked.pk).state == "voided"
    assert work_until_quiet() == 0


def test_what_the_books_need_stays(tenant: Tenant, ottilie: Customer) -> None:
    asked, _ = work(tenant)
    before = Invocation.objects.get(session_id=asked.pk, tool="issue_refund")
    erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    after = Invocation.objects.get(pk=before.pk)
    kept = {name: value for name, value in before.arguments.items() if isinstance(value, int)}
    assert kept
    assert {name: after.arguments[name] for name in kept} == kept
    assert after.preview["money"] == before.preview["money"]
    assert ApprovalRequest.objects.get(session_id=asked.pk).money_minor == before.preview["money"][0]
    assert Order.objects.filter(customer=ottilie).exists()


def test_others_keep_everything(tenant: Tenant, ottilie: Customer) -> None:
    agent = employ_agent(tenant_id=tenant.pk, role=get_role("support"), name="Other", actor="user:root")
    other = start_session(agent=agent, subject_id="T-1003", actor="user:bob")
    work(tenant)
    before = [event.body for event in events_of(other.pk)]
    erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    assert [event.body for event in events_of(other.pk)] == before
    assert {event.erased_at for event in events_of(other.pk)} == {None}
    assert Ticket.objects.get(tenant=tenant, ref="T-1003").body


def test_tombstone_tells_who_erased_whom_and_how_much(tenant: Tenant, ottilie: Customer) -> None:
    work(tenant)
    done = erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo", reason="Article 17.")
    event = LedgerEvent.objects.get(type="subject.erased")
    assert (event.actor, event.facts["subject"]) == ("user:dpo", f"customer:{ottilie.ref}")
    assert event.facts["keys"] == done.keys > 0
    assert set(event.facts["rows"]) == {"sessions", "approval requests", "support desk"}


def test_export_has_what_is_held_and_goes_on_record(tenant: Tenant, ottilie: Customer) -> None:
    work(tenant)
    out = StringIO()
    call_command("subject", "export", tenant=tenant.slug, subject=f"customer:{ottilie.ref}", stdout=out)
    told = json.loads(out.getvalue())
    assert found_in(out.getvalue()) == set(PERSON)
    assert set(told["held"]) == {"sessions", "approval requests", "support desk"}
    assert {record["type"] for record in told["records"]} >= {"session.opened", "approval.requested"}
    assert LedgerEvent.objects.get(type="subject.exported").facts == {"subject": f"customer:{ottilie.ref}"}
    erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    again = export(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    assert found_in(json.dumps(again)) == set()
    assert again["records"] == []


def test_sender_whom_nobody_knows_is_erased_by_address(tenant: Tenant, ottilie: Customer) -> None:
    Customer.objects.filter(pk=ottilie.pk).update(email="other@example.net")
    Ticket.objects.filter(tenant=tenant, ref="T-1001").update(customer=None)
    Customer.objects.filter(pk=ottilie.pk).update(first_name="X", last_name="Y", address1="Z")
    Order.objects.filter(customer=ottilie).update(address1="Z")
    sessions = work(tenant)
    assert {session.customer_id for session in sessions} == {""}
    erase(tenant_id=tenant.pk, subject=f"sender: {PERSON[2].title()}", actor="user:dpo")
    assert found_in(dump()) == set()
    with pytest.raises(CannotErase, match="Nothing is held"):
        erase(tenant_id=tenant.pk, subject="sender:nobody@example.net", actor="user:dpo")


def test_erasing_is_refused_while_it_is_not_known_what_a_call_did(tenant: Tenant, ottilie: Customer) -> None:
    asked, _ = work(tenant)
    call = Invocation.objects.filter(session_id=asked.pk, tool="issue_refund")
    call.update(state="intended", idempotency_key="k")
    with pytest.raises(CannotErase, match="under way"):
        erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    call.update(state="unknown", unknown_since=asked.created_at)
    with pytest.raises(CannotErase, match="Nobody knows yet"):
        erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    assert found_in(dump()) == set(PERSON)


@pytest.mark.parametrize("whole_tenant", [True, False])
def test_legal_hold_refuses_with_its_reason_until_it_is_lifted(
    tenant: Tenant, ottilie: Customer, whole_tenant: bool
) -> None:
    subject = f"customer:{ottilie.ref}"
    hold = place_hold(
        tenant_id=tenant.pk, subject="" if whole_tenant else subject, reason="Case 12 O 7/26.", actor="user:lawyer"
    )
    work(tenant)
    with pytest.raises(CommandError, match="Case 12 O 7/26"):
        call_command("erase", tenant=tenant.slug, subject=subject, yes=True)
    assert found_in(dump()) == set(PERSON)
    lift_hold(tenant_id=tenant.pk, hold_id=hold.pk, actor="user:lawyer")
    with pytest.raises(CannotHold):
        lift_hold(tenant_id=tenant.pk, hold_id=hold.pk, actor="user:lawyer")
    erase(tenant_id=tenant.pk, subject=subject, actor="user:dpo")
    types = LedgerEvent.objects.filter(type__startswith="hold.").order_by("at").values_list("type", flat=True)
    assert list(types) == ["hold.placed", "hold.lifted"]


def test_hold_on_somebody_else_is_no_hindrance(tenant: Tenant, ottilie: Customer) -> None:
    place_hold(tenant_id=tenant.pk, subject="customer:somebody", reason="A case.", actor="user:lawyer")
    erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")


@pytest.mark.parametrize("subject", ["", "ottilie", "customer:", "order:7", "customer:" + "x" * 300, "customer:\x00"])
def test_what_names_nobody_is_refused(tenant: Tenant, subject: str) -> None:
    with pytest.raises(BadSubject):
        erase(tenant_id=tenant.pk, subject=subject, actor="user:dpo")


def test_somebody_who_writes_again_begins_anew(tenant: Tenant, ottilie: Customer) -> None:
    work(tenant)
    erase(tenant_id=tenant.pk, subject=f"customer:{ottilie.ref}", actor="user:dpo")
    Customer.objects.filter(pk=ottilie.pk).update(email="new@example.net")
    ticket = Ticket.objects.get(tenant=tenant, ref="T-9001")
    Ticket.objects.create(
        tenant=tenant,
        ref="T-9002",
        sender="new@example.net",
        subject="Hello",
        body="What about the warranty?",
        received_at=ticket.received_at,
        source_key="T-9002",
    )
    agent = employ_agent(tenant_id=tenant.pk, role=get_role("support"), name="Next", actor="user:root")
    session = start_session(agent=agent, subject_id="T-9002", actor="user:bob")
    work_until_quiet()
    session.refresh_from_db()
    assert session.status == "finished"
    assert {event.erased_at for event in events_of(session.pk)} == {None}


def test_records_run_out_when_their_days_are_over_unless_they_are_held(tenant: Tenant, settings: Any) -> None:
    keys = {
        (subject, retention, period): ring.key_for(Purpose(tenant.pk, subject, retention, period), epoch=None).id
        for subject in ("", "customer:a", "customer:b")
        for retention in ("session", "record")
        for period in ("2020Q1", "2020Q2", "2020Q3")
    }
    settings.RETENTION_DAYS = {"session": 180, "record": 2555}
    place_hold(tenant_id=tenant.pk, subject="customer:b", reason="A case.", actor="user:lawyer")
    now = LegalHold.objects.get().placed_at.replace(year=2020, month=12, day=1)
    assert period_of(now) == "2020Q4"
    # 180 days before lies in the second quarter: only the first is over.
    assert run_out(now, 200) == 2
    gone = set(LedgerKey.objects.exclude(destroyed_at=None).values_list("pk", flat=True))
    assert gone == {keys["", "session", "2020Q1"], keys["customer:a", "session", "2020Q1"]}
    assert run_out(now, 200) == 0
    event = LedgerEvent.objects.get(type="records.ran_out")
    assert event.facts == {"class": "session", "keys": 2, "through": "2020Q1"}
