"""Hard writes on one service: restart, replicas, releases, procedures. Each is bound to the version that was read."""

from agentops.registry.declare import Schema, choice, closed, integer, ref
from agentops.registry.tool import Arguments
from sre_agent.connectors.book_rules import BOOKS
from sre_agent.connectors.port import DeleteReplica, HaltRestart, Restart, RollBack, RunBook, Scale, Stop
from sre_agent.connectors.service_rules import MOST_REPLICAS
from sre_agent.tools import flows
from sre_agent.tools.parts import (
    OUT_AFTER,
    OUT_NAME,
    OUT_VERSION,
    REASON,
    SEEN_VERSION,
    SERVICE,
    OnPlatform,
    platform_write,
)
from sre_agent.undoing import undo_restart, undo_roll_back, undo_runbook, undo_scale

_ON: dict[str, Schema] = {"service": SERVICE, "seen_version": SEEN_VERSION}
_WHY: dict[str, Schema] = {"reason": REASON}
_OUT: dict[str, Schema] = {
    "service": OUT_NAME,
    "version": OUT_VERSION,
    "ready_wanted": integer("Replicas that have to take requests then."),
    "verify_after_s": OUT_AFTER,
}
_BEFORE: dict[str, Schema] = {"replicas_before": integer("Replicas that should have run before.")}
_EXAMPLE = {"service": "checkout", "seen_version": 7}


def _restart(arguments: Arguments) -> Restart:
    return Restart(arguments["service"])


def _halt(arguments: Arguments) -> HaltRestart:
    return HaltRestart(arguments["service"])


def _scale(arguments: Arguments) -> Scale:
    return Scale(arguments["service"], arguments["replicas"])


def _stop(arguments: Arguments) -> Stop:
    return Stop(arguments["service"])


def _delete(arguments: Arguments) -> DeleteReplica:
    return DeleteReplica(arguments["service"], arguments["replica"])


def _roll_back(arguments: Arguments) -> RollBack:
    return RollBack(arguments["service"], arguments["release"])


def _run_book(arguments: Arguments) -> RunBook:
    return RunBook(arguments["service"], arguments["runbook"])


_RESTART, _HALT, _SCALE, _STOP, _DELETE, _BACK, _BOOK = (
    OnPlatform(_restart),
    OnPlatform(_halt),
    OnPlatform(_scale),
    OnPlatform(_stop),
    OnPlatform(_delete),
    OnPlatform(_roll_back),
    OnPlatform(_run_book),
)

RESTART_SERVICE = platform_write(
    name="restart_service",
    version=1,
    description=(
        "Starts every replica of a service anew, a quarter of them at a time. It helps against memory that fills and"
        " processes that hang, for a while; it mends no bad release. Refused while a rollout is under way or when what"
        " is left could not carry the load. Verify it afterwards."
    ),
    input_schema=closed({**_ON, **_WHY}),
    output_schema=closed(_OUT),
    auth_scope="sre:services:write",
    flow=flows.RESTART_SERVICE,
    run=_RESTART.run,
    examples=({**_EXAMPLE, "reason": "Memory of all replicas is above 95 % and they are being killed."},),
    undo="can be stopped where it is while it goes on",
    undo_call=undo_restart,
    preview=_RESTART.preview,
    identity=("service",),
    worst="takes a quarter of a busy service away for some minutes",
    stopped_by=(
        "more than 25 % of a capacity asks, P0 and P1 ask, a change freeze asks two people, none within 30 minutes of"
        " another; refused when what is left cannot carry the load"
    ),
)

HALT_RESTART = platform_write(
    name="halt_restart",
    version=1,
    description=(
        "Stops the rollout of a service where it is: replicas that it has not reached stay as they are. Use it when a"
        " restart makes things worse."
    ),
    input_schema=closed({**_ON, **_WHY}),
    output_schema=closed(_OUT),
    auth_scope="sre:services:write",
    flow=flows.HALT_RESTART,
    run=_HALT.run,
    examples=({**_EXAMPLE, "reason": "The replicas that were restarted fail at once."},),
    undo="the service is restarted once more, by a call of its own",
    preview=_HALT.preview,
    identity=("service",),
    worst="leaves a service half restarted",
    stopped_by="only while a rollout is under way; it takes no capacity away; asks soon after another change",
)

SCALE_SERVICE = platform_write(
    name="scale_service",
    version=1,
    description=(
        "Runs another number of replicas of a service, one at least: more when requests come in faster than it can"
        " serve. replicas is the number afterwards. Fewer are refused when they could not carry the load. Verify it"
        " afterwards."
    ),
    input_schema=closed({**_ON, "replicas": integer("How many afterwards.", least=1, most=MOST_REPLICAS), **_WHY}),
    output_schema=closed({**_OUT, **_BEFORE}),
    auth_scope="sre:services:write",
    flow=flows.SCALE_SERVICE,
    run=_SCALE.run,
    examples=({**_EXAMPLE, "replicas": 6, "reason": "Twice the usual requests; the processor is at its limit."},),
    undo="as many replicas as before can be run again",
    undo_call=undo_scale,
    preview=_SCALE.preview,
    identity=("service", "replicas"),
    worst="runs fifty replicas of what needs four, and pays for them",
    stopped_by=(
        "a number that the agent chose asks; at most 50; fewer than the load needs are refused; it can be scaled back"
    ),
)

STOP_SERVICE = platform_write(
    name="stop_service",
    version=1,
    description=(
        "Runs no replica of a service any more: it is down, and whatever needs it fails. Only when going on does harm,"
        " such as data that is being destroyed. Two people decide each time."
    ),
    input_schema=closed({**_ON, **_WHY}),
    output_schema=closed({**_OUT, **_BEFORE}),
    auth_scope="sre:services:stop",
    flow=flows.STOP_SERVICE,
    run=_STOP.run,
    examples=({**_EXAMPLE, "reason": "Every order that it takes is written twice."},),
    destructive=True,
    irreversible=True,
    preview=_STOP.preview,
    identity=("service",),
    worst="takes a service down, and whatever needs it",
    stopped_by="two people decide (cannot be undone, destroys); the dry run names what depends on it",
)

DELETE_REPLICA = platform_write(
    name="delete_replica",
    version=1,
    description=(
        "Deletes one replica of a service with whatever it alone knew; another one is started in its place. Only for a"
        " replica that hangs when a restart of the service is too much. Two people decide each time."
    ),
    input_schema=closed({**_ON, "replica": ref("The replica's name, as describe_service lists it."), **_WHY}),
    output_schema=closed({**_OUT, "replica": OUT_NAME}, optional=("replica",)),
    auth_scope="sre:services:delete",
    flow=flows.DELETE_REPLICA,
    run=_DELETE.run,
    examples=({**_EXAMPLE, "replica": "checkout-0-2", "reason": "It answers nothing and is not restarted by itself."},),
    destructive=True,
    irreversible=True,
    preview=_DELETE.preview,
    identity=("service", "replica"),
    worst="destroys what only that replica knew",
    stopped_by="two people decide (cannot be undone, destroys); one replica a call, of a service that was looked at",
)

ROLL_BACK_SERVICE = platform_write(
    name="roll_back",
    version=1,
    description=(
        "Deploys a release of a service once more that ran before, also in the middle of a rollout. Use it when the"
        " trouble began with a deploy. release is one of list_deploys. Verify it afterwards."
    ),
    input_schema=closed({**_ON, "release": ref("The release, as list_deploys gives it."), **_WHY}),
    output_schema=closed({**_OUT, "release_before": OUT_NAME}),
    auth_scope="sre:services:write",
    flow=flows.ROLL_BACK_SERVICE,
    run=_BACK.run,
    examples=({**_EXAMPLE, "release": "1.9.0", "reason": "Requests fail since 1.10.0 was deployed."},),
    undo="the release that ran can be deployed again",
    undo_call=undo_roll_back,
    preview=_BACK.preview,
    identity=("service", "release"),
    worst="brings an old fault back, or a program that cannot read today's data",
    stopped_by=(
        "a release that the agent chose after reading logs asks; only one that ran before; it can be rolled forward"
    ),
)

RUN_RUNBOOK = platform_write(
    name="run_runbook",
    version=1,
    description=(
        "Runs a procedure of list_runbooks on a service: archive_logs when a disk is full, renew_certificate when a"
        " certificate has ended. Each has an opposite that takes it back. Verify it afterwards."
    ),
    input_schema=closed({**_ON, "runbook": choice(*BOOKS, words="One of list_runbooks."), **_WHY}),
    output_schema=closed({**_OUT, "runbook": OUT_NAME}),
    auth_scope="sre:services:write",
    flow=flows.RUN_RUNBOOK,
    run=_BOOK.run,
    examples=({**_EXAMPLE, "runbook": "archive_logs", "reason": "The disk is full; nothing can be written."},),
    undo="the opposite procedure can be run",
    undo_call=undo_runbook,
    preview=_BOOK.preview,
    identity=("service", "runbook"),
    worst="moves logs away that somebody is reading",
    stopped_by="procedures of the allow-list alone, each with an opposite; P0 and P1 ask",
)

SERVICES = (
    RESTART_SERVICE,
    HALT_RESTART,
    SCALE_SERVICE,
    STOP_SERVICE,
    DELETE_REPLICA,
    ROLL_BACK_SERVICE,
    RUN_RUNBOOK,
)
