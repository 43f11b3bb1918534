"""Approved runs that a planner may be shown as examples, once a second person has read them."""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.agents.models import AgentVersion
from agentops.kernel.canonical import storable
from agentops.kernel.errors import AgentOpsError
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalState
from agentops.runtime.states import InvocationState
from approvals.insight.errors import AlreadySaid, NeedsWords, NotCarriedOut, NotYours, Regretted
from approvals.insight.regret import MOST_WORDS, record
from approvals.models import ApprovalRequest, Exemplar, Regret

_S = Exemplar.State


def why_no_exemplar(request: ApprovalRequest) -> AgentOpsError | None:
    """Return what stands against proposing the run behind a request, None when nothing does."""
    if request.state != ApprovalState.APPROVED:
        return NotCarriedOut("Only an approved run can be an example.")
    if not Invocation.objects.filter(pk=request.invocation_id, state=InvocationState.SUCCEEDED).exists():
        return NotCarriedOut("Only a run that succeeded can be an example.")
    if Regret.objects.filter(request=request).exists():
        return Regretted("This run turned out to be wrong.")
    if Exemplar.objects.filter(request=request).exists():
        return AlreadySaid("This run was proposed before.")
    return None


@transaction.atomic
def propose(*, request_id: UUID, person: User, why: str, now: datetime) -> Exemplar:
    """Propose an approved run that succeeded and that nobody regrets. It is shown to no planner yet.

    Raises NeedsWords, NotCarriedOut, Regretted, AlreadySaid, or ApprovalRequest.DoesNotExist.
    """
    said = storable(why.strip(), most=MOST_WORDS)
    if not said:
        raise NeedsWords("The reviewer needs to know what the example shows.")
    request = ApprovalRequest.objects.select_for_update(of=("self",)).get(pk=request_id)
    against = why_no_exemplar(request)
    if against is not None:
        raise against
    found = Exemplar.objects.create(
        tenant_id=request.tenant_id, request=request, why=said, proposed_by=person, proposed_at=now
    )
    record(request, "exemplar.proposed", _actor(person), {}, said)
    return found


@transaction.atomic
def review(*, exemplar_id: UUID, person: User, accept: bool, words: str, now: datetime) -> Exemplar:
    """Accept or decline a proposed example. Takes another person than the one who proposed it, and words.

    Raises NeedsWords, NotYours, AlreadySaid, Regretted, or Exemplar.DoesNotExist.
    """
    said = storable(words.strip(), most=MOST_WORDS)
    if not said:
        raise NeedsWords("Say what you looked at.")
    found = _locked(exemplar_id)
    if found.state != _S.PROPOSED:
        raise AlreadySaid(f"This example is {found.get_state_display()} already.")
    if found.proposed_by_id == person.pk:
        raise NotYours("You proposed this example yourself.")
    if accept and Regret.objects.filter(request_id=found.request_id).exists():
        raise Regretted("This run turned out to be wrong.")
    found.state = _S.ACCEPTED if accept else _S.DECLINED
    found.reviewed_by, found.reviewed_at, found.review = person, now, said
    found.save(update_fields=["state", "reviewed_by", "reviewed_at", "review"])
    record(found.request, f"exemplar.{found.state}", _actor(person), {}, said)
    return found


@transaction.atomic
def retire(*, exemplar_id: UUID, person: User, words: str) -> Exemplar:
    """Show an accepted example no longer, or withdraw a proposed one. Raises NeedsWords, AlreadySaid, DoesNotExist."""
    said = storable(words.strip(), most=MOST_WORDS)
    if not said:
        raise NeedsWords("Say why it is no good example any more.")
    found = _locked(exemplar_id)
    if found.state not in (_S.ACCEPTED, _S.PROPOSED):
        raise AlreadySaid(f"This example is {found.get_state_display()} already.")
    found.state = _S.RETIRED
    found.save(update_fields=["state"])
    record(found.request, "exemplar.retired", _actor(person), {"because": "person"}, said)
    return found


def accepted_for(role: str, tool: str, tenant_id: UUID, limit: int) -> list[Exemplar]:
    """Return accepted examples of agents of a role with a tool, the last reviewed first, with their requests.

    For planners. No planner asks for them yet: the runtime knows nothing of approvals, and has no port for this.
    """
    versions = AgentVersion.objects.filter(agent__tenant_id=tenant_id, agent__role=role)
    found = Exemplar.objects.filter(
        tenant_id=tenant_id, state=_S.ACCEPTED, request__tool=tool, request__agent_version_id__in=versions.values("pk")
    )
    return list(found.select_related("request").order_by("-reviewed_at", "-pk")[:limit])


def _locked(exemplar_id: UUID) -> Exemplar:
    """Lock the request and then its example, in the order in which a regret does."""
    request_id = Exemplar.objects.values_list("request_id", flat=True).get(pk=exemplar_id)
    ApprovalRequest.objects.select_for_update(of=("self",)).get(pk=request_id)
    return Exemplar.objects.select_related("request").get(pk=exemplar_id)


def _actor(person: User) -> str:
    return f"user:{person.get_username()}"
