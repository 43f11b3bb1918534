"""``manage.py import_cases FILE``: record the cases of a CSV, JSON Lines or mbox file."""

from agentops.registry.importing.command import ImportCommand
from billing_agent.importing import insert_cases


class Command(ImportCommand):
    """Cases of the billing role."""

    role = "billing"
    noun = "case"
    insert = staticmethod(insert_cases)
