"""The door for webhooks. No login and no cookie opens it: only the signature of what is sent."""

import logging

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from agentops.api.deliveries import INCIDENT, take
from agentops.api.receiving import MINUTE, admit, verified_event
from agentops.api.refusals import HookRefused, NotNow, NotPosted, TooLarge, TooMany
from agentops.kernel.clock import utcnow

log = logging.getLogger(__name__)


@csrf_exempt
@login_not_required
@never_cache
def hook(request: HttpRequest, public_id: str) -> JsonResponse:
    """Take what a sender tells: 200 when it is kept and what follows is done, also when it was before."""
    try:
        _take(request, public_id)
    except HookRefused as refused:
        return _refusal(refused)
    except Exception:
        # The sender comes again, and is told no more than that it should.
        log.exception("%s: a message could not be answered", INCIDENT)
        return _refusal(NotNow("It cannot be taken now."))
    return JsonResponse({"received": True})


def _refusal(refused: HookRefused) -> JsonResponse:
    told = {"code": refused.code, "message": refused.in_full}
    response = JsonResponse({"error": told}, status=refused.status)
    if isinstance(refused, NotPosted):
        response.headers["Allow"] = "POST"
    if isinstance(refused, TooMany):
        response.headers["Retry-After"] = str(MINUTE)
    return response


def _take(request: HttpRequest, public_id: str) -> None:
    if request.method != "POST":
        raise NotPosted("Only POST is answered here.")
    now = utcnow()
    admitted = admit(public_id, now)
    if request.content_type != "application/json":
        raise HookRefused("The content type is not application/json.")
    body = _body_of(request, admitted.source.most_bytes)
    headers = {name.lower(): value for name, value in request.headers.items()}
    take(admitted, verified_event(admitted, headers, body, now), body, now=now)


def _body_of(request: HttpRequest, most: int) -> bytes:
    """Return the body as it was sent. One that says it is too large is not read, nor more of any than is allowed."""
    said = request.headers.get("Content-Length", "")
    if not said.isascii() or not said.isdigit():
        raise HookRefused("The content length is missing.")
    if len(said) > 9 or int(said) > most:
        raise TooLarge(f"The body is larger than {most} bytes.")
    return request.read(int(said))
