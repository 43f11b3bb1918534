"""The report: which figures there are, what is wanted of them, and the table for people."""

from collections.abc import Collection
from typing import Any

CORE = (
    ("raw_ms", "reference F2, ms a step", ""),
    ("ours_ms", "write step, ms", ""),
    ("ratio", "write step / F2", "≤ 2.0"),
    ("read_ms", "read step, ms", ""),
    ("read_ratio", "read step / F2", "≤ 1.0"),
    ("claim_ms", "claim, ms a session", ""),
    ("ratio_with_claim", "write step with its share of the claim / F2", ""),
    ("raw_300_ms", "F2, 300 steps, ms a step", ""),
    ("ours_300_ms", "write step, 300 steps, ms", ""),
    ("ratio_300", "write step / F2, 300 steps", ""),
    ("growth_300_over_20", "write step, 300 steps / 20", "≤ 1.1"),
    ("raw_growth_300_over_20", "F2, 300 steps / 20", ""),
    ("wal_20", "bytes of log a write step", "≤ 4608"),
    ("wal_300", "bytes of log a write step, 300 steps", ""),
    ("wal_growth_300_over_20", "bytes of log, 300 steps / 20", "≤ 1.1"),
    ("read_wal_20", "bytes of log a read step", ""),
    ("raw_wal_20", "bytes of log, F2", ""),
    ("table_kb_step", "KB of tables a write step", "≤ 3.5"),
    ("raw_table_kb_step", "KB of tables, F2", ""),
    ("commits_step", "commits a write step", "≤ 2"),
    ("commits_one_more_step", "commits that one more write step adds", ""),
    ("raw_commits_step", "commits, F2", ""),
    ("wal_syncs_step", "syncs of the server's log a write step", "≤ 2.1"),
    ("raw_wal_syncs_step", "syncs of the server's log, F2", ""),
    ("statements_step", "statements a write step", ""),
    ("read_statements_step", "statements a read step", ""),
)
OTHERS = (
    ("dbos_ms", "DBOS, ms a step", ""),
    ("dbos_over_ours", "DBOS / write step", "> 1"),
    ("langgraph_ms", "LangGraph on PostgreSQL, ms a step", ""),
    ("langgraph_over_ours", "LangGraph / write step", "> 1"),
)
THROUGHPUT = (
    ("throughput", "steps a second", ""),
    ("throughput_raw_8", "F2, 8 threads, steps a second", ""),
    ("throughput_ratio_8", "8 sessions in 1 process / F2", "≥ 0.45"),
)
DECISION = (
    ("decision_to_effect_ms", "decision to tool, 20 events, ms", ""),
    ("decision_call_ms", "the approver's part of it, 20 events, ms", ""),
    ("floor_ms", "floor, 20 events, ms", ""),
    ("decision_ratio", "decision to tool / floor, 20 events", "≤ 2.0"),
    ("decision_to_effect_300_ms", "decision to tool, 300 events, ms", ""),
    ("decision_call_300_ms", "the approver's part of it, 300 events, ms", ""),
    ("floor_300_ms", "floor, 300 events, ms", ""),
    ("decision_ratio_300", "decision to tool / floor, 300 events", "≤ 2.0"),
)
PARKED = (
    ("parked", "by number of parked sessions", ""),
    ("parked_claim_growth", "claim, most parked / fewest", ""),
    ("parked_sweep_growth", "sweep, most parked / fewest", ""),
)
NOT_ASKED = "not asked for"
GROUPS = {"core": CORE, "others": OTHERS, "throughput": THROUGHPUT, "decision": DECISION, "parked": PARKED}


def with_every_key(figures: dict[str, Any], reasons: dict[str, str], only: Collection[str]) -> dict[str, Any]:
    """Return the figures with None for each that is missing, and in ``reasons`` why.

    ``reasons`` names parts, or libraries (``dbos``) of the part ``others``.
    """
    told: dict[str, str] = {}
    for part, rows in GROUPS.items():
        for key, _, _ in rows:
            if key not in figures:
                figures[key] = None
                asked = NOT_ASKED if part not in only else "not measured: the others are measured with the core"
                told[key] = reasons.get(key.split("_")[0], reasons.get(part, asked))
    return {**figures, "reasons": told}


def table(figures: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = [f"{name}: {value}" for name, value in figures["server"].items()]
    lines.append(f"rounds: {figures['rounds']}, processor cores: {figures['cores']}")
    for part, rows in GROUPS.items():
        if all(figures["reasons"].get(key) == NOT_ASKED for key, _, _ in rows):
            continue
        lines += ["", part]
        for key, words, wanted in rows:
            lines += _lines(words, figures[key], wanted, figures["reasons"].get(key, ""))
    return "\n".join(lines)


def _lines(words: str, value: Any, wanted: str, reason: str) -> list[str]:
    if isinstance(value, list):
        return [
            f"  {words + ':':48}{each['steps_s']:>8}  {each['sessions_at_once']} sessions at once, "
            f"{each['workers']} workers with {each['threads']} threads"
            for each in value
        ]
    if isinstance(value, dict):
        return [
            f"  {f'{words} ({count}):':48}claim {each['claim_ms']} ms, sweep {each['sweep_ms']} ms"
            for count, each in value.items()
        ]
    shown = f"-  {reason}" if value is None else f"{value:>8}"
    return [f"  {words + ':':48}{shown}{f'  wanted {wanted}' if wanted and value is not None else ''}"]
