"""Unfinished decisions and edits. They survive a reload, a login and a conflict, and are never sent by themselves."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast, get_args
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import QueryDict

from agentops.console.step_form import PREFIX
from agentops.gateway.prepare import MAX_ARGUMENT_BYTES
from agentops.kernel.canonical import storable
from approvals import shown
from approvals.access import visible_requests
from approvals.models import ActKind, ApprovalRequest
from approvals.models import Draft as Kept
from approvals.request_presenters import Draft, Verb

Form = Kept.Form
_ENDING = (ActKind.EDITED, ActKind.TAKEN_OVER)
_SENT: Mapping[Form, Collection[ActKind]] = {
    Form.DECIDE: (ActKind.ASKED, ActKind.ESCALATED, *_ENDING),
    Form.EDIT: _ENDING,
}
REASON = "rationale"
"""The field of an edit that says why."""
_LINES = ("reason", "on_behalf_of")
_WORDS = ("why", "checked", "question", "note", "because")
MOST_WORDS = 2_000
MOST_LINE = 40
MOST_NAME = 200
MOST_OPENED = 100
MOST_FIELDS = 100
MOST_EDIT = 2 * MAX_ARGUMENT_BYTES
"""Characters of a whole edit. What is typed may be longer than what is sent of it: JSON with indents."""


@dataclass(frozen=True)
class Edit:
    """Arguments as a person typed them and why, valid or not, by the names of the form's fields.

    ``is_current``: on the very page that is shown now. Otherwise the request has changed since.
    """

    fields: Mapping[str, str]
    is_current: bool


def form_of(data: QueryDict) -> Form:
    """Return from which form this was sent: only an edit has its arguments' own reason."""
    return Form.EDIT if REASON in data else Form.DECIDE


def typed_edit(data: QueryDict) -> Mapping[str, str] | None:
    """Return what an edit carried, valid or not. None when it is more than any call could take.

    Nothing is cut: somebody who does not notice would propose the rest.
    """
    names = [name for name in data if name.startswith(PREFIX) or name == REASON]
    texts = {name: str(data[name]) for name in names}
    if len(texts) > MOST_FIELDS or sum(len(name) + len(text) for name, text in texts.items()) > MOST_EDIT:
        return None
    return {_text(name, MOST_NAME): _text(text, MOST_EDIT) for name, text in texts.items()}


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
    while it goes away may come after what was sent. An edit that is too long leaves what was kept before.
    """
    if request.decisions.filter(person=person, taken_back_at=None).exists() or _was_sent(request, person, data):
        return
    form = form_of(data)
    fields = typed_edit(data) if form == Form.EDIT else _decision_fields(typed(data))
    if fields is None:
        return
    if not fields:
        forget(request, person, form)
        return
    values = {"fields": fields, "digest": _text(data.get("digest"), 64), "saved_at": now}
    Kept.objects.update_or_create(request=request, person=person, form=form, defaults=values)


def _decision_fields(draft: Draft) -> Mapping[str, Any]:
    if not draft.words and not draft.verb and not draft.reason and not draft.opened:
        return {}
    return {name: getattr(draft, name) for name in ("verb", *_LINES, *_WORDS)} | {"opened": sorted(draft.opened)}


def _was_sent(request: ApprovalRequest, person: User, data: QueryDict) -> bool:
    seen = shown.seen_by(str(data.get("shown", "")), request_id=request.pk, person_id=person.pk)
    kinds = _SENT[form_of(data)]
    return seen is not None and request.acts.filter(person=person, kind__in=kinds, at__gt=seen.at).exists()


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


def forget(request: ApprovalRequest, person: User, form: Form | None = None) -> None:
    """Drop the person's draft of a form, None: of both, with what came over from the request that this one replaced."""
    found = _drafts(person, request)
    (found if form is None else found.filter(form=form)).delete()


def _drafts(person: User, request: ApprovalRequest) -> QuerySet[Kept]:
    return Kept.objects.filter(request_id__in=[pk for pk in (request.pk, request.supersedes_id) if pk], person=person)


def _newest(person: User, request: ApprovalRequest, form: Form) -> Kept | None:
    """Return the person's draft about a request, or else about the one that it replaced."""
    found = {kept.request_id: kept for kept in _drafts(person, request).filter(form=form)}
    return found.get(request.pk) or next(iter(found.values()), None)


def kept_by(person: User, request: ApprovalRequest) -> Draft:
    """Return the person's draft, or the words of the one about the request that this one replaced.

    What was opened and chosen counts for one page only: after a change it has to be looked at again.
    """
    kept = _newest(person, request, Form.DECIDE)
    return Draft() if kept is None else _read(kept.fields, whole=_is_current(kept, request))


def edit_kept_by(person: User, request: ApprovalRequest) -> Edit | None:
    """Return the person's unsent edit of a request, or of the one that it replaced, None when there is none."""
    kept = _newest(person, request, Form.EDIT)
    if kept is None:
        return None
    fields = {str(name): str(text) for name, text in kept.fields.items()}
    return Edit(fields, is_current=_is_current(kept, request))


def _is_current(kept: Kept, request: ApprovalRequest) -> bool:
    return kept.request_id == request.pk and kept.digest in ("", request.digest)


def _read(fields: Mapping[str, Any], *, whole: bool) -> Draft:
    words = {name: str(fields.get(name, "")) for name in (*_WORDS, *_LINES)}
    verb, opened = _verb(fields.get("verb")), frozenset(map(str, fields.get("opened", ())))
    return Draft(verb=verb if whole else "", opened=opened if whole else frozenset(), **words)
