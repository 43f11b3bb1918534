"""Procedures of the allow-list that run on one service; each has one that takes it back. Pure."""

from datetime import datetime, timedelta

from agentops.registry.preview_parts import Command
from agentops.registry.tool import Change
from sre_agent.connectors.blast import FULL_PM, settled_s
from sre_agent.connectors.effect import SOUND_DISK_PM, Effect, Gate, Snapshot, Sound, conflict, invalid
from sre_agent.connectors.port import RunBook
from sre_agent.connectors.records import Service
from sre_agent.connectors.service_rules import planned, service_in

BOOKS = {
    "archive_logs": "moves the rotated logs of a service to the archive, and turns their rotation on",
    "restore_logs": "moves the logs back that were archived, and turns their rotation off",
    "renew_certificate": "issues and installs a new certificate for a service",
    "reinstall_certificate": "installs the certificate that a service had before",
}
OPPOSITES = {
    "archive_logs": "restore_logs",
    "restore_logs": "archive_logs",
    "renew_certificate": "reinstall_certificate",
    "reinstall_certificate": "renew_certificate",
}
GOOD_FOR = timedelta(days=7)
"""So long a new certificate has to be good at least."""


def plan_book(snapshot: Snapshot, write: RunBook) -> Effect:
    """Plan a procedure of the allow-list. Raises ToolFailure.

    One that would stop the service takes all of its capacity: restoring logs onto a disk that has no room for them, and
    reinstalling a certificate that has ended. It is possible, since it takes back what was done, and is said.
    """
    service = service_in(snapshot)
    if write.book not in BOOKS:
        raise invalid(f"The runbooks are {', '.join(sorted(BOOKS))}.", "runbook")
    if write.book == "renew_certificate" and service.certificate_ends is None:
        raise conflict(f"{service.ref} has no certificate.", "runbook")
    if write.book == "reinstall_certificate" and service.certificate_before is None:
        raise conflict(f"No certificate of {service.ref} was replaced.", "runbook")
    if write.book == "restore_logs" and not service.archived_pm:
        raise conflict(f"No logs of {service.ref} were archived.", "runbook")
    command = Command(service.place, argv=("runbook", write.book, f"--service={service.ref}"))
    stops = _stopping(snapshot, service, write.book)
    away = FULL_PM if stops else 0
    said = f"Run {write.book} on {service.ref}: it {BOOKS[write.book]}{stops}"
    gate = Gate(settled_s(0), (_sound(snapshot, service, write.book),))
    changes = _changes(service, write.book)
    return planned(snapshot, service, said, away, (command,), gate, {"runbook": write.book}, *changes)


def _stopping(snapshot: Snapshot, service: Service, book: str) -> str:
    """Return in words that the service would stop, or that nobody knows whether, which counts as much; else empty."""
    if book == "restore_logs":
        figures = service.figures
        if figures is None or figures.disk_pm < 0:
            return ", and nobody knows whether there is room for them"
        return ", and it stops serving" if figures.disk_pm + service.archived_pm >= FULL_PM else ""
    before = service.certificate_before
    ended = book == "reinstall_certificate" and before is not None and before <= snapshot.now
    return ", and it stops serving" if ended else ""


def _sound(snapshot: Snapshot, service: Service, book: str) -> Sound:
    """Return what must hold afterwards, besides what must hold of every service: of the disk, or of the certificate."""
    if book == "archive_logs":
        return Sound.of(service, service.desired, disk_pm=SOUND_DISK_PM)
    if book == "renew_certificate":
        return Sound.of(service, service.desired, certificate_until=snapshot.now + GOOD_FOR)
    return Sound.of(service, service.desired)


def _changes(service: Service, book: str) -> tuple[Change, ...]:
    ends = _day(service.certificate_ends)
    match book:
        case "renew_certificate":
            return (Change("Certificate ends", ends, "as late as a new one does"),)
        case "reinstall_certificate":
            return (Change("Certificate ends", ends, _day(service.certificate_before)),)
        case _:
            return (Change("Rotated logs", *_ARCHIVED[book]),)


_ARCHIVED = {"archive_logs": ("on the disk", "in the archive"), "restore_logs": ("in the archive", "on the disk")}


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d}"
