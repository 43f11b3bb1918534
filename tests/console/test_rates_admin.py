"""Rate limits in the admin: offered tools, refused nonsense, every change on record and in force at once."""

import pytest
from django.test import Client

from agentops.runtime.rate_models import RateLimit
from agentops.tenancy.models import Switchboard
from tests.console.conftest import Stage
from tests.console.operators import superuser_of
from tests.console.test_admin import form_of, recorded, save

ADD = "/admin/agentops/ratelimit/add/"


@pytest.fixture
def root(stage: Stage) -> Client:
    return superuser_of(stage)


def values(stage: Stage, **changes: str) -> dict[str, str]:
    good = {"tool": "pay", "per": "tool", "most": "5", "window_seconds": "3600", "excess": "forbid"}
    return {"tenant": str(stage.cast.tenant.pk), **good, **changes}


def test_a_limit_is_added_changed_and_deleted_on_record(stage: Stage, root: Client) -> None:
    tenant = stage.cast.tenant
    before = Switchboard.objects.get().epoch
    save(root, ADD, **values(stage))
    limit = RateLimit.objects.get()
    assert Switchboard.objects.get().epoch > before
    [(model, added)] = recorded(tenant, f"tenant:{tenant.pk}", "config.added")
    assert (model, added["most"], added["tool"]) == ("RateLimit", ["", "5"], ["", "pay"])
    save(root, f"/admin/agentops/ratelimit/{limit.pk}/change/", most="7")
    assert recorded(tenant, f"tenant:{tenant.pk}", "config.changed") == [("RateLimit", {"most": ["5", "7"]})]
    root.post(f"/admin/agentops/ratelimit/{limit.pk}/delete/", {"post": "yes"})
    assert not RateLimit.objects.exists()
    [(model, _)] = recorded(tenant, f"tenant:{tenant.pk}", "config.deleted")
    assert model == "RateLimit"


def test_list_says_what_holds(stage: Stage, root: Client) -> None:
    RateLimit.objects.create(tenant=stage.cast.tenant, per="tenant", most=9, window_seconds=60, excess="ask")
    RateLimit.objects.create(tenant=stage.cast.other, per="tenant", most=8, window_seconds=60, excess="ask")
    page = root.get("/admin/agentops/ratelimit/")
    assert page.context["cl"].result_count == 1
    assert "every tool" in page.content.decode()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tool": "look"}, "tool"),
        ({"tool": "nothing"}, "tool"),
        ({"per": "tenant"}, "tool"),
        ({"most": "0"}, "most"),
        ({"most": "-1"}, "most"),
        ({"window_seconds": "0"}, "window_seconds"),
        ({"window_seconds": "99999999"}, "window_seconds"),
        ({"excess": "shrug"}, "excess"),
    ],
)
def test_nonsense_is_refused(stage: Stage, root: Client, changes: dict[str, str], field: str) -> None:
    response = root.post(ADD, form_of(root, ADD, **values(stage, **changes)))
    assert response.status_code == 200
    assert list(response.context["adminform"].errors) == [field]


def test_limit_of_another_tenant_cannot_be_made_or_seen(stage: Stage, root: Client) -> None:
    response = root.post(ADD, form_of(root, ADD, **values(stage, tenant=str(stage.cast.other.pk))))
    assert list(response.context["adminform"].errors) == ["tenant"]
    theirs = RateLimit.objects.create(tenant=stage.cast.other, per="tenant", most=8, window_seconds=60, excess="ask")
    assert root.get(f"/admin/agentops/ratelimit/{theirs.pk}/change/").status_code == 302


def test_same_limit_twice_is_refused(stage: Stage, root: Client) -> None:
    save(root, ADD, **values(stage))
    response = root.post(ADD, form_of(root, ADD, **values(stage, most="6")))
    assert response.status_code == 200
    assert RateLimit.objects.count() == 1
