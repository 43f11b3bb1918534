"""What moved between two requests for the same call."""

from agentops.console.reveal import reveal
from agentops.kernel.money import Money
from approvals.models import ApprovalRequest
from approvals.page_parts.words import flat, written
from approvals.presenters import Change
from approvals.previews import short_changes, statements


def differences(old: ApprovalRequest, new: ApprovalRequest) -> list[Change]:
    """Return what two requests for the same call say differently, the old words before the new ones."""
    was, now = _statements(old), _statements(new)
    return [
        Change(label=flat(label), before=reveal(was.get(label, "")), after=reveal(now.get(label, "")))
        for label in [*was, *(label for label in now if label not in was)]
        if was.get(label) != now.get(label)
    ]


def _statements(request: ApprovalRequest) -> dict[str, str]:
    found = {"Effect": request.effect, "Target": request.target}
    for label, before, after in short_changes(request.preview):
        found[f"{label}, now"] = before
        found[f"{label}, after"] = after
    money = request.preview["money"]
    found["Amount"] = str(Money(*money)) if money else ""
    found |= statements(request.preview)
    found |= {f"Argument {name}": written(value) for name, value in request.arguments.items()}
    found |= {f"Version of {record}": str(version) for record, version in request.preview["versions"].items()}
    found["Approvals needed"] = str(request.people)
    return found | {"Version of the tool": str(request.tool_version), "Rules": request.policy_version}
