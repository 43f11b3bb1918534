"""The keys that payloads are sealed with: looked up seldom, never used after their end, never lost."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError
from pytest_django.fixtures import Settings

from agentops.embedded.secret import new_master_key
from agentops.kernel.clock import utcnow
from agentops.ledger import keys
from agentops.ledger.append import Event, append_to
from agentops.ledger.erasing import erase
from agentops.ledger.keys import Purpose, VaultClosed, period_of, ring
from agentops.ledger.models import LedgerEvent, Payload
from agentops.ledger.payloads import Erased, Opened
from agentops.ledger.queries import events_of, payload_of, reads_of
from agentops.ledger.rotating import rotate, standing
from agentops.ledger.vault_models import LedgerKey
from agentops.tenancy.models import Tenant
from tests.factories.books import faults_of_ledger

ANN = "customer:ann"


@pytest.fixture
def tenant(db: None) -> Tenant:
    return Tenant.objects.create(slug="north", name="North Goods")


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[Purpose]:
    """What was asked of the database for sealing."""
    found: list[Purpose] = []
    real = keys.KeyRing._find

    def find(self: keys.KeyRing, purpose: Purpose) -> Any:
        found.append(purpose)
        return real(self, purpose)

    monkeypatch.setattr(keys.KeyRing, "_find", find)
    return found


def write(tenant: Tenant, words: str = "hello", name: str = "request:1") -> tuple[UUID, int]:
    stream = append_to(tenant_id=tenant.pk, name=name, events=[Event("a", "x", payload={"w": words})], subject=ANN)
    return stream, LedgerEvent.objects.filter(stream=stream).order_by("-position").values_list("position", flat=True)[0]


@pytest.mark.parametrize(
    ("at", "quarter"),
    [((2026, 1, 1), "2026Q1"), ((2026, 3, 31), "2026Q1"), ((2026, 10, 1), "2026Q4"), ((2026, 12, 31), "2026Q4")],
)
def test_period_is_the_quarter(at: tuple[int, int, int], quarter: str) -> None:
    assert period_of(datetime(*at, tzinfo=UTC)) == quarter


def test_each_subject_class_and_quarter_has_a_key_of_its_own(tenant: Tenant) -> None:
    for subject in (ANN, "customer:bea", ""):
        for period in ("2026Q3", "2026Q4"):
            for retention in ("session", "record"):
                first = ring.key_for(Purpose(tenant.pk, subject, retention, period), epoch=None)
                again = ring.key_for(Purpose(tenant.pk, subject, retention, period), epoch=None)
                assert first.id == again.id
    assert LedgerKey.objects.count() == 12


def test_user_who_acts_is_the_subject_unless_another_is_named(tenant: Tenant) -> None:
    append_to(tenant_id=tenant.pk, name="x", events=[Event("a", "user:bob", payload={})])
    append_to(tenant_id=tenant.pk, name="x", events=[Event("a", "sweep", payload={})])
    append_to(tenant_id=tenant.pk, name="x", events=[Event("a", "user:bob", payload={})], subject=ANN)
    append_to(tenant_id=tenant.pk, name="x", events=[Event("a", "user:bob")])
    assert sorted(LedgerKey.objects.values_list("subject", flat=True)) == ["", ANN, "user:bob"]


@pytest.mark.django_db(transaction=True)
def test_under_one_epoch_a_key_is_looked_up_once(looked_up: list[Purpose]) -> None:
    purpose = Purpose(UUID(int=7), ANN, "session", "2026Q4")
    keys_used = {ring.key_for(purpose, epoch=5).id for _ in range(9)}
    assert (len(keys_used), len(looked_up)) == (1, 1)
    assert ring.key_for(purpose, epoch=6).id in keys_used
    assert ring.key_for(purpose, epoch=6).id in keys_used
    assert len(looked_up) == 2
    ring.key_for(purpose, epoch=None)
    assert len(looked_up) == 3


@pytest.mark.django_db(transaction=True)
def test_a_key_is_looked_up_again_after_a_while(looked_up: list[Purpose], monkeypatch: pytest.MonkeyPatch) -> None:
    purpose = Purpose(UUID(int=7), ANN, "session", "2026Q4")
    first = ring.key_for(purpose, epoch=5)
    now = time.monotonic()
    monkeypatch.setattr("agentops.ledger.keys.time.monotonic", lambda: now + keys.KEPT_SECONDS + 1)
    assert ring.key_for(purpose, epoch=5).id == first.id
    assert len(looked_up) == 2


@pytest.mark.django_db(transaction=True)
def test_key_of_a_transaction_that_was_undone_is_not_used_again() -> None:
    purpose = Purpose(UUID(int=7), ANN, "session", "2026Q4")
    with transaction.atomic():
        undone = ring.key_for(purpose, epoch=5)
        assert ring.key_for(purpose, epoch=5).id == undone.id
        transaction.set_rollback(True)
    kept = ring.key_for(purpose, epoch=5)
    assert kept.id != undone.id
    assert list(LedgerKey.objects.values_list("pk", flat=True)) == [kept.id]


@pytest.mark.django_db(transaction=True)
def test_key_that_was_destroyed_is_not_used_under_the_next_epoch() -> None:
    purpose = Purpose(UUID(int=7), ANN, "session", "2026Q4")
    before = ring.key_for(purpose, epoch=5)
    LedgerKey.objects.update(wrapped=None, destroyed_at=utcnow(), destroyed_by="erasure")
    assert ring.key_for(purpose, epoch=6).id != before.id
    assert ring.key_for(purpose, epoch=None).id != before.id


def test_missing_master_key_closes_the_vault_and_says_so(tenant: Tenant, settings: Settings) -> None:
    stream, position = write(tenant)
    settings.VAULT_KEY = new_master_key()
    with pytest.raises(VaultClosed, match="is missing"):
        payload_of(stream, position)
    settings.VAULT_KEY = ""
    with pytest.raises(VaultClosed), transaction.atomic():
        write(tenant, name="request:2")


def test_rotation_wraps_anew_and_payloads_stay_readable(tenant: Tenant, settings: Settings) -> None:
    stream, position = write(tenant)
    stored = bytes(Payload.objects.get().body)
    old, new = settings.VAULT_KEY, new_master_key()
    settings.VAULT_KEY = f"{new}\n{old}"
    assert [(one.keys, one.known, one.wraps) for one in standing()] == [(0, True, True), (1, True, False)]
    assert (rotate(), rotate()) == (1, 0)
    settings.VAULT_KEY = new
    assert payload_of(stream, position) == {"w": "hello"}
    assert bytes(Payload.objects.get().body) == stored
    settings.VAULT_KEY = old
    assert [(one.keys, one.known) for one in standing()] == [(0, True), (1, False)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ledger_key SET subject = 'customer:bea'",
        "UPDATE ledger_key SET period = '2030Q1'",
        "DELETE FROM ledger_key",
        "TRUNCATE ledger_key",
        "UPDATE ledger_key SET wrapped = NULL",
    ],
)
def test_rows_of_keys_are_kept_and_stay_what_they_are_for(tenant: Tenant, change: str) -> None:
    write(tenant)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


def test_destroyed_key_does_not_come_back(tenant: Tenant) -> None:
    write(tenant)
    wrapped = LedgerKey.objects.get().wrapped
    erase(tenant_id=tenant.pk, subject=ANN, actor="user:dpo")
    with pytest.raises(DatabaseError, match="stays destroyed"), transaction.atomic():
        LedgerKey.objects.filter(subject=ANN).update(wrapped=wrapped, destroyed_at=None)


def test_erased_payload_reads_as_erased_and_leaves_still_fit(tenant: Tenant) -> None:
    stream, position = write(tenant)
    erase(tenant_id=tenant.pk, subject=ANN, actor="user:dpo")
    read = reads_of(stream, [position])[position]
    assert isinstance(read, Erased)
    assert payload_of(stream, position) is None
    (event,) = events_of(stream)
    assert (event.body, event.erased_at) == (None, read.at)
    assert list(faults_of_ledger()) == []


@pytest.mark.django_db(transaction=True)
def test_plain_payload_from_before_is_read_beside_sealed_ones() -> None:
    stream = append_to(tenant_id=UUID(int=7), name="x", events=[Event("a", "x", payload={"n": 1})])
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE ledger_payload SET body = %s", [b'{"n":2}'])
        cursor.execute("SET session_replication_role = DEFAULT")
    read = reads_of(stream, [0])[0]
    assert isinstance(read, Opened)
    assert (read.value, read.salt) == ({"n": 2}, b"")


def in_threads(*work: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - told to the test below
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed, failed


@pytest.mark.django_db(transaction=True)
def test_of_writers_beside_an_erasure_nothing_before_it_is_left_and_nothing_after_it_is_lost() -> None:
    tenant = Tenant.objects.create(slug="north", name="North Goods")
    write(tenant)
    begins, ended = threading.Event(), threading.Event()
    before: list[tuple[UUID, int]] = []
    after: list[tuple[UUID, int]] = []

    def writer(name: str) -> Callable[[], None]:
        def work() -> None:
            enough = 0
            while enough < 5:
                late = ended.is_set()
                place = write(tenant, name=name)
                if late:
                    after.append(place)
                    enough += 1
                elif not begins.is_set():
                    before.append(place)

        return work

    def eraser() -> None:
        while len(before) < 12:
            time.sleep(0.005)
        begins.set()
        erase(tenant_id=tenant.pk, subject=ANN, actor="user:dpo")
        ended.set()

    in_threads(*(writer(f"request:{n}") for n in range(4)), eraser)
    assert len(before) >= 12
    assert {type(reads_of(stream, [at])[at]) for stream, at in before} == {Erased}
    assert {type(reads_of(stream, [at])[at]) for stream, at in after} == {Opened}
    assert list(faults_of_ledger()) == []
