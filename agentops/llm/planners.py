"""Which planner a role's sessions get."""

from functools import lru_cache

from django.conf import settings
from django.utils.crypto import salted_hmac

from agentops.llm.configuration import ModelChoice, model_choice
from agentops.registry.planner import Planner
from agentops.registry.role import RoleSpec


def planner_for(role: RoleSpec) -> Planner:
    """Return the configured model, or the role's offline playbook when none is. Raises BadModelSetting."""
    choice = model_choice()
    if choice is None:
        return role.playbook()
    return _model_planner(choice, _salt(settings.SECRET_KEY))


@lru_cache(maxsize=8)
def _model_planner(choice: ModelChoice, salt: bytes) -> Planner:
    # The providers' libraries take seconds to import; a process that never calls a model is spared them.
    from agentops.llm.model import ModelPlanner  # noqa: PLC0415

    return ModelPlanner(choice, salt=salt)


def _salt(secret_key: str) -> bytes:
    return salted_hmac("agentops.llm.untrusted", "marker", secret=secret_key, algorithm="sha256").digest()
