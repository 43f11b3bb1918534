"""The tables of this app: what is asked and decided, who may not decide it, where it goes, and what people are told."""

from approvals.models.desk import Draft, SavedView
from approvals.models.duties import Absence, Delegation, Exclusion
from approvals.models.insight import Drill, DrillAnswer, Exemplar, Regret
from approvals.models.notices import Notice, NoticePreference, SlackChannel
from approvals.models.requests import Act, ActKind, ApprovalQueue, ApprovalRequest, Decision, OnExpiry, Verdict
from approvals.models.routes import BusinessHours, Detector, OnCallShift, Rung, ToolRoute

__all__ = [
    "Absence",
    "Act",
    "ActKind",
    "ApprovalQueue",
    "ApprovalRequest",
    "BusinessHours",
    "Decision",
    "Delegation",
    "Detector",
    "Draft",
    "Drill",
    "DrillAnswer",
    "Exclusion",
    "Exemplar",
    "Notice",
    "NoticePreference",
    "OnCallShift",
    "OnExpiry",
    "Regret",
    "Rung",
    "SavedView",
    "SlackChannel",
    "ToolRoute",
    "Verdict",
]
