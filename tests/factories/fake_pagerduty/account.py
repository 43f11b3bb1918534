"""An account with users, an escalation policy and incidents: keys, assignments, notes, pages, and a log of calls."""

import json
import re
from typing import Any

from tests.factories.loopback import Answer, Asked, Loopback

KEY = "u+key-of-tests-0123456789"
SERVICE, POLICY, SENDER = "PSVC1", "PPOL1", "agent@shop.example"
LONGEST_KEY = 255


class Account(Loopback):
    """A running account. ``called`` are the effects: who was called about what, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.users: dict[str, dict[str, Any]] = {}
        self.on_call: list[dict[str, Any]] = []
        self.incidents: dict[str, dict[str, Any]] = {}
        self.log: dict[str, list[dict[str, Any]]] = {}
        self.notes: dict[str, list[dict[str, Any]]] = {}
        self.called: list[tuple[str, str]] = []
        self.resolved: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.may_write = True
        self.page = 100
        self.now = "2026-11-03T09:30:00Z"

    def add(self, ref: str, name: str, level: int | None = None, *, end: str | None = "2026-11-03T17:00:00Z") -> None:
        """Add a user, who is on call at a level if one is given; without ``end`` always."""
        mail = f"{name.lower().replace(' ', '.')}@shop.example"
        self.users[ref] = {"id": ref, "type": "user", "name": name, "summary": name, "email": mail}
        if level is not None:
            start = None if end is None else "2026-11-03T09:00:00Z"
            policy = {"id": POLICY, "type": "escalation_policy_reference"}
            entry = {"user": ref, "escalation_policy": policy, "escalation_level": level, "start": start, "end": end}
            self.on_call.append(entry)

    def answer(self, asked: Asked) -> Answer:
        """Do what is asked."""
        if asked.headers.get("authorization") != f"Token token={KEY}":
            return Answer(401, b"")
        path = asked.path.strip("/").split("/")
        match asked.method, path:
            case "GET", ["oncalls"]:
                return self._oncalls(asked)
            case "GET", ["incidents"]:
                return self._found(asked)
            case "GET", ["users", ref]:
                return Answer(200, {"user": self.users[ref]}) if ref in self.users else _missing()
            case "GET", ["incidents", ref, "log_entries"] if ref in self.incidents:
                return self._listed(asked, "log_entries", list(reversed(self.log[ref])))
            case "GET", ["incidents", ref, "notes"] if ref in self.incidents:
                return Answer(200, {"notes": self.notes[ref]})
            case ("POST", ["incidents"]) | ("PUT", ["incidents", _]):
                return self._write(asked, path[1:])
        return _missing()

    def _oncalls(self, asked: Asked) -> Answer:
        policies = asked.query.get("escalation_policy_ids[]", [])
        with_users = "users" in asked.query.get("include[]", [])
        found = [
            {**each, "user": self.users[each["user"]] if with_users else {"id": each["user"], "type": "user_reference"}}
            for each in self.on_call
            if each["escalation_policy"]["id"] in policies
        ]
        return self._listed(asked, "oncalls", found)

    def _found(self, asked: Asked) -> Answer:
        [key], statuses = asked.query["incident_key"], asked.query["statuses[]"]
        found = [each for each in self.incidents.values() if each["incident_key"] == key and each["status"] in statuses]
        return self._listed(asked, "incidents", found)

    def _listed(self, asked: Asked, name: str, found: list[dict[str, Any]]) -> Answer:
        first = int(asked.query["offset"][0])
        last = first + min(self.page, int(asked.query["limit"][0]))
        # The next page begins where it was asked to, so that pages of another size than asked for leave nothing out.
        if self.page < int(asked.query["limit"][0]):
            first, last = first // 100 * self.page, first // 100 * self.page + self.page
        return Answer(200, {name: found[first:last], "offset": first, "more": last < len(found)})

    def _write(self, asked: Asked, path: list[str]) -> Answer:
        if not self.may_write:
            return _wrong(403, 2010, "Access Denied")
        if asked.headers.get("from") != SENDER:
            return _wrong(400, 2001, "Invalid Input Provided", "Requester User Not Found")
        body = json.loads(asked.body)["incident"]
        self.bodies.append(body)
        if not path:
            return self._opened(body)
        if path[0] not in self.incidents:
            return _missing()
        incident = self.incidents[path[0]]
        if incident["status"] == "resolved":
            return _wrong(400, 1001, "Incident Already Resolved")
        incident.update(status=body["status"], assignments=[])
        self.resolved.append(incident["id"])
        self.notes[incident["id"]].append({"id": "N1", "content": body.get("resolution", "")})
        return Answer(200, {"incident": incident})

    def _opened(self, body: dict[str, Any]) -> Answer:
        if body["service"]["id"] != SERVICE:
            return _wrong(400, 2001, "Invalid Input Provided", "Service Not Found")
        key, open_ = body["incident_key"], ("triggered", "acknowledged")
        if not re.fullmatch(rf".{{1,{LONGEST_KEY}}}", key) or not body["title"]:
            return _wrong(400, 2001, "Invalid Input Provided")
        if any(each["incident_key"] == key and each["status"] in open_ for each in self.incidents.values()):
            return _wrong(400, 2002, "Arguments Caused Error", "Open incident with matching dedup key already exists.")
        users = [each["assignee"]["id"] for each in body["assignments"]]
        if not users or any(user not in self.users for user in users):
            return _wrong(400, 2001, "Invalid Input Provided", "Assignee not found")
        ref = f"Q{len(self.incidents) + 1:04}"
        told = {name: body[name] for name in ("title", "incident_key", "urgency", "assignments")}
        self.incidents[ref] = {"id": ref, "type": "incident", "status": "triggered", "created_at": self.now, **told}
        assigned = {"type": "assign_log_entry", "created_at": self.now, "assignees": [{"id": user} for user in users]}
        self.log[ref] = [{"type": "trigger_log_entry", "created_at": self.now}, assigned]
        self.notes[ref] = []
        self.called += [(user, body["title"]) for user in users]
        return Answer(201, {"incident": self.incidents[ref]})

    def reassigned(self, ref: str, user: str) -> None:
        """Let somebody else take an incident over."""
        self.incidents[ref]["assignments"] = [{"assignee": {"id": user}}]
        entry = {"type": "assign_log_entry", "created_at": "2026-11-03T09:45:00Z", "assignees": [{"id": user}]}
        self.log[ref].append(entry)


def _wrong(status: int, code: int, message: str, *errors: str) -> Answer:
    return Answer(status, {"error": {"code": code, "message": message, "errors": list(errors)}})


def _missing() -> Answer:
    return _wrong(404, 2100, "Not Found")
