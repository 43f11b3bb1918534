"""``manage.py import_tickets FILE``: record the tickets of a CSV, JSON Lines or mbox file."""

from agentops.registry.importing.command import ImportCommand
from support_agent.importing import insert_tickets


class Command(ImportCommand):
    """Tickets of the support role."""

    role = "support"
    noun = "ticket"
    insert = staticmethod(insert_tickets)
