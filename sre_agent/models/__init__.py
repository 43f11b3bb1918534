"""The tables of the SRE role. Moments are UTC; ``ref`` is the id that people and tools use.

``Landscape`` holds the state of the simulated estate; nobody but the simulation knows what is in it, and tools read the
other tables. Writes go through ``sre_agent.connectors``.
"""

from sre_agent.models.base import REF_LENGTH
from sre_agent.models.changes import ChangeFreeze, Claim, ClusterWrite, Operation
from sre_agent.models.estate import Landscape, LogLine, Sample
from sre_agent.models.incidents import LEAST_URGENT, Alert, Incident, Note, Source, StatusUpdate
from sre_agent.models.people import Page, Shift

__all__ = [
    "LEAST_URGENT",
    "REF_LENGTH",
    "Alert",
    "ChangeFreeze",
    "Claim",
    "ClusterWrite",
    "Incident",
    "Landscape",
    "LogLine",
    "Note",
    "Operation",
    "Page",
    "Sample",
    "Shift",
    "Source",
    "StatusUpdate",
]
