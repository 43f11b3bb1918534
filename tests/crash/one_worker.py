"""A worker process for one session that stops itself, or dies, at a chosen moment."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from agentops.gateway import execute as gateway
from agentops.gateway.execute import Outcome
from agentops.registry.planner import PlanContext, Turn
from agentops.registry.tool import CallContext, ToolSpec
from agentops.runtime import dispatch
from support_agent.playbook import Playbook

PATIENCE = 60


@dataclass(frozen=True)
class Moment:
    """``place`` is ``planning``, ``before`` or ``after`` a write of ``tool``; ``number`` the signal sent there."""

    place: str
    number: signal.Signals
    tool: str = ""


def work_one(moment: Moment, told: Connection) -> None:
    """Run in a process of its own: claim one session and work it with the signal at the moment."""

    def arrive() -> None:
        told.send(moment.place)
        os.kill(os.getpid(), moment.number)

    write, propose = gateway.write, Playbook.propose

    def hooked_write(tool: ToolSpec, context: CallContext, arguments: dict[str, Any], **named: Any) -> Outcome:
        if moment.place == "before" and tool.name == moment.tool:
            arrive()
        outcome = write(tool, context, arguments, **named)
        if moment.place == "after" and tool.name == moment.tool:
            arrive()
        return outcome

    def hooked_propose(self: Playbook, context: PlanContext) -> Turn:
        if moment.place == "planning":
            arrive()
        return propose(self, context)

    gateway.write, Playbook.propose = hooked_write, hooked_propose  # type: ignore[method-assign]
    dispatch.work_until_quiet(most=1)


@contextmanager
def worker_that(moment: Moment) -> Iterator[BaseProcess]:
    """Start the process and yield it once it got to the moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.warm"])
    hears, told = context.Pipe(duplex=False)
    process = context.Process(target=work_one, args=(moment, told), daemon=True)
    process.start()
    told.close()
    try:
        assert hears.poll(PATIENCE), f"the worker did not get to {moment}"
        assert hears.recv() == moment.place
        yield process
    finally:
        hears.close()
        process.kill()
        process.join()


def let_go_on(process: BaseProcess) -> None:
    """Continue a stopped worker until it ends by itself."""
    assert process.pid is not None
    for _ in range(PATIENCE * 5):
        # It told us where it is just before it stopped: a signal that comes too early is lost.
        os.kill(process.pid, signal.SIGCONT)
        process.join(0.2)
        if process.exitcode is not None:
            assert process.exitcode == 0
            return
    raise AssertionError("the worker did not end")
