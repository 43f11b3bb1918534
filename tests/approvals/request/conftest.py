"""People and pages for the tests of a request's page."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Role
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, client_of, page_url
from tests.factories.people import make_person


@pytest.fixture
def dave_(stage: Stage) -> User:
    """A second approver of the same queue."""
    dave = make_person("dave", stage.cast.tenant, Role.APPROVER)
    assign_perm("approvals.decide_queue", dave, stage.cast.queue)
    return dave


@pytest.fixture
def dave(dave_: User) -> Client:
    return client_of(dave_)


def send(client: Client, request: ApprovalRequest, verb: str, **fields: Any) -> HttpResponse:
    """Send the form of the page with one of its verbs, as the page carries it."""
    panel = client.get(page_url(request)).context["page"].panel
    data = {"verb": verb, "digest": request.digest, "shown": panel.shown if panel else "", **fields}
    return client.post(reverse("approval_decide", args=[request.pk]), data)


def body_of(client: Client, request: ApprovalRequest) -> str:
    """Return the page as the person reads it."""
    return client.get(page_url(request)).content.decode()


def state(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.values_list("state", flat=True).get(pk=request.pk)
