"""Running the parts of the benchmark, one after the other, on one scratch database."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from agentops.agents.models import Agent
from benchmarks import runtime_core, runtime_decision, runtime_parked, runtime_throughput
from benchmarks.runtime_base import conninfo, make_agent, scratch_database
from benchmarks.runtime_others import Other, start_others
from benchmarks.runtime_report import with_every_key

BESIDE = Path(__file__).resolve().parent.parent / ".venv-bench" / "bin" / "python"


def run_parts(options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of all parts that are wanted; those of the others are None, with the reason."""
    figures: dict[str, Any] = {"rounds": options.rounds, "cores": os.cpu_count()}
    reasons: dict[str, str] = {}
    try:
        with scratch_database():
            figures["server"] = runtime_core.versions()
            agent = make_agent()
            if "core" in options.only:
                figures |= _core(agent, options, reasons)
            if "throughput" in options.only:
                figures |= runtime_throughput.measure(agent, rounds=max(1, options.rounds // 5))
            if "decision" in options.only and settings.REDIS_URL:
                figures |= runtime_decision.measure(agent, samples=min(40, 2 * options.rounds))
            elif "decision" in options.only:
                reasons["decision"] = "REDIS_URL is not set"
            if "parked" in options.only:
                figures |= runtime_parked.measure(agent, options.parked, samples=min(60, 4 * options.rounds))
    finally:
        if settings.REDIS_URL:
            runtime_decision.forget()
    return with_every_key(figures, reasons, options.only)


def _core(agent: Agent, options: argparse.Namespace, reasons: dict[str, str]) -> dict[str, Any]:
    others: list[Other] = []
    if "others" in options.only:
        python = options.others or (str(BESIDE) if BESIDE.exists() else sys.executable)
        parts = {name: value for name, value in conninfo_to_dict(conninfo()).items() if value}
        others, missing = start_others(python, parts)
        reasons |= missing
    try:
        figures = runtime_core.measure(agent, others, rounds=options.rounds)
        return figures | {f"{other.name}_version": other.version for other in others}
    finally:
        for other in others:
            other.close()
