"""Unfinished decisions. They survive a reload, a login and a conflict, and are never sent by themselves."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast, get_args
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict

from agentops.kernel.canonical import storable
from approvals import shown
from approvals.access import visible_requests
from approvals.models import ActKind, ApprovalRequest
from approvals.models import Draft as Kept
from approvals.request_presenters import Draft, Verb

_SENT = (ActKind.ASKED, ActKind.ESCALATED, ActKind.EDITED, ActKind.TAKEN_OVER)
_LINES = ("reason", "on_behalf_of")
_WORDS = ("why", "checked", "question", "note", "because")
MOST_WORDS = 2_000
MOST_LINE = 40
MOST_NAME = 200
MOST_OPENED = 100


def typed(data: QueryDict, names: Collection[str] | None = None) -> Draft:
    """Return what a form carried, valid or not. ``names`` are the arguments that can be opened; None: not looked at."""
    texts = {name: _text(data.get(name), MOST_WORDS) for name in _WORDS}
    texts |= {name: _text(data.get(name), MOST_LINE) for name in _LINES}
    given = [_text(name, MOST_NAME) for name in data.getlist("opened")[:MOST_OPENED]]
    opened = frozenset(given) if names is None else frozenset(given) & frozenset(names)
    return Draft(verb=_verb(data.get("verb")), opened=opened, **texts)


def words_of(draft: Draft) -> Draft:
    """Return the draft without what was chosen and opened."""
    return replace(draft, verb="", opened=frozenset())


def _text(value: object, most: int) -> str:
    return storable(str(value or "").replace("\x00", "")[:most], most=most)


def _verb(name: object) -> Verb:
    return cast("Verb", name if name in get_args(Verb) else "")


def keep(request: ApprovalRequest, person: User, data: QueryDict, now: datetime) -> None:
    """Keep what the person typed about the request.

    Nothing is kept of somebody who has decided it, nor of a page that has been sent meanwhile: what its script saves
    while it goes away may come after what was sent.
    """
    if request.decisions.filter(person=person, taken_back_at=None).exists() or _was_sent(request, person, data):
        return
    draft = typed(data)
    if not draft.words and not draft.verb and not draft.reason and not draft.opened:
        forget(request, person)
        return
    fields = {name: getattr(draft, name) for name in ("verb", *_LINES, *_WORDS)} | {"opened": sorted(draft.opened)}
    values = {"fields": fields, "digest": _text(data.get("digest"), 64), "saved_at": now}
    Kept.objects.update_or_create(request=request, person=person, defaults=values)


def _was_sent(request: ApprovalRequest, person: User, data: QueryDict) -> bool:
    seen = shown.seen_by(str(data.get("shown", "")), request_id=request.pk, person_id=person.pk)
    return seen is not None and request.acts.filter(person=person, kind__in=_SENT, at__gt=seen.at).exists()


def keep_of_stranger(request_id: UUID, data: QueryDict, now: datetime) -> bool:
    """Keep what somebody typed whose login has run out. The form says under our signature who that was.

    False when it does not, or when that person may not see the request any more.
    """
    seen = shown.opened(str(data.get("shown", "")))
    if seen is None or seen.request_id != request_id or now - seen.at > shown.LONGEST:
        return False
    person = User.objects.filter(pk=seen.person_id, is_active=True).first()
    request = ApprovalRequest.objects.filter(pk=request_id).first()
    if person is None or request is None:
        return False
    if not visible_requests(person, request.tenant_id, now).filter(pk=request_id).exists():
        return False
    keep(request, person, data, now)
    return True


def forget(request: ApprovalRequest, person: User) -> None:
    """Drop the person's draft."""
    Kept.objects.filter(request=request, person=person).delete()


def kept_by(person: User, request: ApprovalRequest) -> Draft:
    """Return the person's draft, or the words of the one about the request that this one replaced.

    What was opened and chosen counts for one page only: after a change it has to be looked at again.
    """
    ids = [pk for pk in (request.pk, request.supersedes_id) if pk]
    found = {kept.request_id: kept for kept in Kept.objects.filter(request_id__in=ids, person=person)}
    if request.pk in found:
        kept = found[request.pk]
        return _read(kept.fields, whole=kept.digest in ("", request.digest))
    return _read(found[ids[-1]].fields, whole=False) if found else Draft()


def _read(fields: Mapping[str, Any], *, whole: bool) -> Draft:
    words = {name: str(fields.get(name, "")) for name in (*_WORDS, *_LINES)}
    verb, opened = _verb(fields.get("verb")), frozenset(map(str, fields.get("opened", ())))
    return Draft(verb=verb if whole else "", opened=opened if whole else frozenset(), **words)
