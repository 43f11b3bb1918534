"""What sessions can achieve is what the tools of all installed roles say, and each of its words is shown."""

from agentops.registry.roles import all_roles
from agentops.runtime.answers import OUTCOMES


def test_words_of_all_tools_are_those_that_are_shown() -> None:
    assert {tool.outcome for role in all_roles() for tool in role.tools} == {"", *OUTCOMES}
