"""What a drill needs around it: a scratch database, the system of record, tenants with an agent, and workers."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from django.db import transaction

from agentops.chaos import worker
from agentops.chaos.drilled import ROLE, SPEC
from agentops.chaos.worker import Order
from agentops.evals.scratch import scratch_database
from agentops.runtime.operations import employ_agent
from agentops.tenancy.models import Tenant

TENANTS = 3
"""Several, because a breaker is a tenant's: faults hit one now and then, and not all work at once."""
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["agentops.chaos.warm"])


@dataclass(frozen=True)
class Site:
    """The tenants whose work is done, and where the system of record listens."""

    tenants: tuple[Tenant, ...]
    address: str


@dataclass
class Running:
    """A worker process; ``told`` hears when it gets to its point."""

    process: BaseProcess
    told: Connection

    @property
    def reached(self) -> bool:
        """Whether it said that it got to its point; asked once after that."""
        try:
            return self.told.poll() and bool(self.told.recv())
        except EOFError:
            return False

    def go_on(self) -> None:
        """Let a worker that stopped itself go on."""
        if self.process.pid is not None:
            os.kill(self.process.pid, signal.SIGCONT)

    def end(self) -> None:
        """Kill it, whatever it is doing."""
        self.process.kill()
        self.process.join()


@contextmanager
def site() -> Iterator[Site]:
    """Make everything, and leave nothing behind."""
    with scratch_database("chaos"), SPEC.serving() as address:
        SPEC.connect(address)
        tenants = tuple(_tenant(f"drill-{number}") for number in range(TENANTS))
        yield Site(tenants, address)


@transaction.atomic
def _tenant(slug: str) -> Tenant:
    tenant = Tenant.objects.create(slug=slug, name=slug)
    SPEC.prepare(tenant.pk)
    employ_agent(tenant_id=tenant.pk, role=ROLE, name="Drill", actor="drill")
    return tenant


def start_worker(order: Order) -> Running:
    """Start a worker, forked from the warm server."""
    hears, tells = _context.Pipe(duplex=False)
    process = _context.Process(target=worker.work, args=(order, tells), daemon=True)
    process.start()
    tells.close()
    return Running(process, hears)
