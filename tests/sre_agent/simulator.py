"""A session at the simulated estate without a runtime: it answers the role's tools from the estate, and people decide.

Time stands still but for decisions of people (60 seconds each) and for the wait until a change can be verified.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from agentops.registry.planner import FinalAnswer, Observation, ObservationStatus, PlanContext, Subject, ToolCall
from sre_agent.estate import actions
from sre_agent.estate.actions import Refused, Runbook
from sre_agent.estate.alerting import firing, priority_of
from sre_agent.estate.running import AT_ONCE_PM, START_TICKS
from sre_agent.estate.stepping import Moment, step
from sre_agent.estate.values import TICK_S, Estate, Line, Sample, Service
from sre_agent.playbook import Playbook

EPOCH = datetime(2031, 3, 4, 9, 0, tzinfo=UTC)
DECIDES_TICKS = 60 // TICK_S
MOST_STEPS = 50
READS = frozenset(
    {
        "read_incident", "list_services", "describe_service", "read_logs", "read_metrics", "list_deploys", "list_nodes",
        "verify_change", "list_on_call", "list_runbooks",
    }
)  # fmt: skip
ACTS = frozenset({"scale_service", "roll_back", "drain_node", "uncordon_node", "run_runbook"})
SOFT = frozenset({"update_incident", "resolve_incident", "escalate_incident", "page_person", "draft_status_update"})
EVIDENCE = frozenset({"read_logs", "read_metrics", "list_deploys"})
FIGURES = ("requests", "errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm")

Decides = Callable[[ToolCall], ObservationStatus]


def approves(call: ToolCall) -> ObservationStatus:
    """Whatever it is."""
    return ObservationStatus.OK


def rejects(call: ToolCall) -> ObservationStatus:
    """Whatever it is."""
    return ObservationStatus.REJECTED


class Conflict(Exception):
    """What the platform refuses."""


@dataclass
class Gate:
    """What must hold of services at a tick."""

    due: int
    services: tuple[str, ...]
    tool: str


@dataclass
class World:
    """An estate that is worked on. ``decides`` says what people do about a write on the platform."""

    estate: Estate
    decides: Decides = approves
    meanwhile: Callable[["World"], None] | None = None
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    history: list[Observation] = field(default_factory=list)
    acted: list[ToolCall] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)
    gates: dict[str, Gate] = field(default_factory=dict)
    opened_at: int = 0
    status: str = "open"
    summary: str = ""
    paged: int = 0
    answer: FinalAnswer | None = None
    on_call: tuple[int, ...] = (1, 2)

    def move(self, ticks: int) -> None:
        """Let time pass."""
        for _ in range(ticks):
            self._see(step(self.estate))

    def until_alert(self, most: int) -> bool:
        """Let time pass until an alert fires, and a tick more; it opens the incident. False when none does."""
        for _ in range(most):
            self.move(1)
            if self._firing():
                self.move(1)
                self.open()
                return True
        return False

    def open(self, *alerts: Mapping[str, Any]) -> None:
        """Open the incident of all alerts that fire, and of these."""
        self.opened_at = self.estate.tick
        self.alerts = [*self._firing(), *map(dict, alerts)]

    def work(self) -> None:
        """Let the playbook work the incident to its end."""
        while self.answer is None:
            assert len(self.history) < MOST_STEPS, [seen.tool for seen in self.history]
            proposal = Playbook().propose(self.context()).proposal
            if isinstance(proposal, FinalAnswer):
                self.answer = proposal
            else:
                assert isinstance(proposal, ToolCall)
                self._call(proposal)

    @property
    def tools(self) -> list[str]:
        """The tools that were called, in order."""
        return [seen.tool for seen in self.history]

    def context(self) -> PlanContext:
        """Return what the planner sees now."""
        done = {seen.tool for seen in self.history if seen.status is ObservationStatus.OK}
        names = READS | SOFT | (ACTS if done >= EVIDENCE else frozenset())
        tools: Any = tuple(SimpleNamespace(name=name, is_write=name not in READS) for name in sorted(names))
        now = self._at(self.estate.tick)
        subject = Subject("incident", "INC-1", "Alerts fire", "", "", None, now)
        return PlanContext(UUID(int=1), "", "", subject, tools, tuple(self.history), now)

    def _call(self, call: ToolCall) -> None:
        status, arguments = ObservationStatus.OK, call.arguments
        assert isinstance(arguments, dict)
        try:
            if call.tool in ACTS:
                assert set(self.tools) >= EVIDENCE, "a write was proposed before its evidence"
                self._plan(call.tool, arguments)
                status = self._decided(call)
            result = getattr(self, f"_{call.tool}")(**arguments) if status is ObservationStatus.OK else {"code": "NO"}
        except (Refused, Conflict) as error:
            status, result = ObservationStatus.FAILED, {"code": "CONFLICT", "message": str(error)}
        except LookupError as error:
            status, result = ObservationStatus.FAILED, {"code": "NOT_FOUND", "message": str(error)}
        if call.tool in ACTS and status is ObservationStatus.OK:
            self.acted.append(call)
        self.history.append(Observation(len(self.history) + 1, call.tool, arguments, status, result))

    def _decided(self, call: ToolCall) -> ObservationStatus:
        self.move(DECIDES_TICKS)
        if self.meanwhile is not None:
            self.meanwhile(self)
        return self.decides(call)

    def _plan(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Refuse what leaves too little capacity, before anybody is asked, as the platform does."""
        if tool != "drain_node":
            return
        for service in self.estate.services.values():
            here = sum(replica.node == arguments["node"] for replica in service.replicas)
            used = self._figures(service.ref)["processor_pm"]
            away = min(here, max(1, service.desired // 4)) * 1000 // service.desired
            if used < 1000 and away < 1000 and used * 1000 // (1000 - away) > 950:
                raise Conflict(f"there is no room for the load of {service.ref}")

    # Reads

    def _read_incident(self) -> dict[str, Any]:
        firing_now = {(each["rule"], each["service"]) for each in self._firing()}
        for alert in self.alerts:
            if not alert["ended_at"] and alert.get("simulated") and (alert["rule"], alert["service"]) not in firing_now:
                alert["ended_at"] = self._iso(self.estate.tick)
        tiers = [alert["priority"] for alert in self.alerts]
        return {
            "incident_id": "INC-1",
            "title": "Alerts fire",
            "priority": min(tiers, default=2),
            "status": self.status,
            "service": self.alerts[0]["service"] if self.alerts else "",
            "opened_at": self._iso(self.opened_at),
            "summary": self.summary,
            "version": len(self.history),
            "alerts": [dict(alert) for alert in self.alerts],
            "notes": [],
            "pages": [{"page_id": "PG-1"}] * self.paged,
            "drafts": [],
        }

    def _list_services(self) -> dict[str, Any]:
        return {"services": [self._row(service) for _, service in sorted(self.estate.services.items())]}

    def _describe_service(self, service: str) -> dict[str, Any]:
        found = self.estate.services[service]
        ends = found.certificate_ends
        releases = [
            {"release": each.version, "at": self._iso(each.at), "by": each.by, "change": each.change}
            for each in reversed(found.releases)
        ]
        return {
            **self._row(found),
            "releases": releases,
            "certificate_ends": "" if ends is None else self._iso(ends),
            "claimed_by": "",
            "frozen": False,
        }

    def _read_logs(self, service: str, minutes: int) -> dict[str, Any]:
        since = self.estate.tick - minutes * 60 // TICK_S
        rows = [line for line in reversed(self.lines) if line.service == service and line.tick >= since]
        lines = [
            {"at": self._iso(line.tick), "level": line.level.value, "replica": line.replica, "text": line.text}
            for line in rows[:60]
        ]
        return {"service": service, "lines": lines, "cut": len(rows) > len(lines)}

    def _read_metrics(self, service: str, minutes: int) -> dict[str, Any]:
        width = max(1, minutes * 60 // TICK_S // 24)
        first = self.estate.tick - 24 * width
        points = []
        for number in range(24):
            begins = first + number * width
            piece = [sample for sample in self.samples[service] if begins < sample.tick <= begins + width]
            if piece:
                figures = {name: int(median(getattr(sample, name) for sample in piece)) for name in FIGURES}
                points.append({"at": self._iso(begins + 1), **figures, "ready": min(sample.ready for sample in piece)})
        return {"service": service, "points": points}

    def _list_deploys(self, service: str, hours: int) -> dict[str, Any]:
        since = self.estate.tick - hours * 3_600 // TICK_S
        rows = [each for each in reversed(self.estate.services[service].releases) if each.at >= since]
        deploys = [
            {"release": each.version, "at": self._iso(each.at), "by": each.by, "change": each.change} for each in rows
        ]
        return {"service": service, "deploys": deploys}

    def _list_nodes(self) -> dict[str, Any]:
        nodes = []
        for node in self.estate.nodes.values():
            runs = [
                {"service": service.ref, "replicas": sum(replica.node == node.ref for replica in service.replicas)}
                for service in self.estate.services.values()
            ]
            nodes.append(
                {
                    "node": node.ref,
                    "cordoned": node.cordoned,
                    "stolen_pm": node.stolen_pm,
                    "runs": [each for each in runs if each["replicas"]],
                    "seen_version": node.generation,
                }
            )
        return {"nodes": nodes}

    def _list_runbooks(self) -> dict[str, Any]:
        return {"runbooks": [{"runbook": each.value, "what_it_does": "", "opposite": ""} for each in Runbook]}

    def _list_on_call(self) -> dict[str, Any]:
        return {"people": [{"person": f"P{n}", "level": n, "until": self._iso(10_000)} for n in self.on_call]}

    def _verify_change(self, target: str) -> dict[str, Any]:
        gate = self.gates[target]
        self.move(max(0, gate.due - self.estate.tick))
        problems = [problem for ref in gate.services for problem in self._problems(self.estate.services[ref])]
        return {"target": target, "tool": gate.tool, "sound": not problems, "problems": problems}

    def _problems(self, service: Service) -> list[str]:
        figures = self._figures(service.ref)
        found = []
        if not service.is_settled(self.estate.tick):
            found.append("A rollout is still under way.")
        if figures["errors_pm"] > 50:
            found.append(f"{figures['errors_pm']} of 1000 requests fail.")
        if figures["latency_ms"] > 1_500:
            found.append(f"Requests take {figures['latency_ms']} ms.")
        return found

    # Writes

    def _scale_service(self, service: str, seen_version: int, replicas: int, reason: str) -> dict[str, Any]:
        before = self.estate.services[service].desired
        self.estate = actions.scale(self.estate, service, seen_version, replicas)
        return {**self._done("scale_service", service), "replicas_before": before}

    def _roll_back(self, service: str, seen_version: int, release: str, reason: str) -> dict[str, Any]:
        before = self.estate.services[service].wanted.version
        self.estate = actions.roll_back(self.estate, service, seen_version, release)
        return {**self._done("roll_back", service), "release_before": before}

    def _run_runbook(self, service: str, seen_version: int, runbook: str, reason: str) -> dict[str, Any]:
        self.estate = actions.run_book(self.estate, service, seen_version, Runbook(runbook))
        return {**self._done("run_runbook", service), "runbook": runbook}

    def _drain_node(self, node: str, seen_version: int, reason: str) -> dict[str, Any]:
        here = [s.ref for s in self.estate.services.values() if any(r.node == node for r in s.replicas)]
        self.estate = actions.drain(self.estate, node, seen_version)
        return self._node_done("drain_node", node, here)

    def _uncordon_node(self, node: str, seen_version: int, reason: str) -> dict[str, Any]:
        self.estate = actions.uncordon(self.estate, node, seen_version)
        return self._node_done("uncordon_node", node, [])

    def _done(self, tool: str, ref: str) -> dict[str, Any]:
        service = self.estate.services[ref]
        due = self.estate.tick + _rollout_ticks(service)
        self.gates[f"service:{ref}"] = Gate(due, (ref,), tool)
        return {"service": ref, "version": service.generation, "verify_after_s": 0, "ready_wanted": service.desired}

    def _node_done(self, tool: str, node: str, services: list[str]) -> dict[str, Any]:
        longest = max((_rollout_ticks(self.estate.services[ref]) for ref in services), default=2)
        self.gates[f"node:{node}"] = Gate(self.estate.tick + longest, tuple(services), tool)
        found = self.estate.nodes[node]
        return {"node": node, "cordoned": found.cordoned, "version": found.generation, "verify_after_s": 0}

    def _update_incident(self, summary: str, mitigated: bool = False) -> dict[str, Any]:
        self.summary, self.status = summary, "mitigated" if mitigated else self.status
        return {"incident_id": "INC-1", "version": len(self.history)}

    def _resolve_incident(self, cause: str, remedy: str) -> dict[str, Any]:
        if any(not alert["ended_at"] for alert in self._read_incident()["alerts"]):
            raise Conflict("an alert fires")
        self.status = "resolved"
        return {"incident_id": "INC-1", "status": self.status}

    def _escalate_incident(self, reason: str, summary: str) -> dict[str, Any]:
        self.status = "escalated"
        return {"incident_id": "INC-1", "status": self.status}

    def _page_person(self, level: int, words: str) -> dict[str, Any]:
        if level not in self.on_call:
            raise LookupError("nobody is on call")
        self.paged += 1
        return {"page_id": "PG-1", "person": "P1"}

    def _draft_status_update(self, text: str) -> dict[str, Any]:
        return {"update_id": "SU-1"}

    # What is seen

    def _see(self, moment: Moment) -> None:
        self.estate = moment.estate
        for sample in moment.samples:
            self.samples.setdefault(sample.service, []).append(sample)
        self.lines += moment.lines

    def _firing(self) -> list[dict[str, Any]]:
        found = []
        for ref, samples in sorted(self.samples.items()):
            for alert in firing(samples[-6:]):
                priority = priority_of(self.estate.services[ref].tier, alert.rule)
                found.append(
                    {
                        "alert_id": alert.fingerprint,
                        "rule": alert.rule.name,
                        "service": ref,
                        "priority": priority,
                        "words": alert.rule.words,
                        "times": 1,
                        "began_at": self._iso(alert.since),
                        "ended_at": "",
                        "silenced_until": "",
                        "simulated": True,
                    }
                )
        return sorted(found, key=lambda each: (each["priority"], each["service"]))

    def _row(self, service: Service) -> dict[str, Any]:
        return {
            "service": service.ref,
            "tier": int(service.tier),
            "ready": len(service.ready(self.estate.tick)),
            "desired": service.desired,
            "rolling": service.is_rolling,
            "release": service.wanted.version,
            **self._figures(service.ref),
            "depends_on": list(service.depends_on),
            "seen_version": service.generation,
        }

    def _figures(self, ref: str) -> dict[str, int]:
        latest = self.samples[ref][-3:]
        return {name: int(median(getattr(sample, name) for sample in latest)) for name in FIGURES}

    def _at(self, tick: int) -> datetime:
        return EPOCH + timedelta(seconds=tick * TICK_S)

    def _iso(self, tick: int) -> str:
        return self._at(tick).isoformat()


def _rollout_ticks(service: Service) -> int:
    """Return how long a rollout takes at most, and the samples that tell of it."""
    at_once = max(1, service.desired * AT_ONCE_PM // 1000)
    waves = -(-max(service.desired, len(service.replicas)) // at_once)
    return waves * (START_TICKS + 1) + 4
