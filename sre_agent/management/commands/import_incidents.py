"""``manage.py import_incidents FILE``: record the incidents of a CSV, JSON Lines or mbox file."""

from agentops.registry.importing.command import ImportCommand
from sre_agent.importing import insert_incidents


class Command(ImportCommand):
    """Incidents of the SRE role."""

    role = "sre"
    noun = "incident"
    insert = staticmethod(insert_incidents)
