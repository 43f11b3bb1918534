"""How the policy stands up to a planner that does whatever a planted text says, on AgentDojo's tasks, without a model.

    python benchmarks/agentdojo.py [--suite NAME|all] [--json] [--adaptive] [--quiet] [--why]
                                   [--policy engine|ask|none] [--python PYTHON]

Needs the packages of requirements-dojo.txt in an environment of its own, .venv-dojo or that of PYTHON. What the figures
mean, and which rule was found on which suite: docs/design/provenance.md.
"""

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Python puts the folder of this file first, where the package of the same name would be looked for in vain.
sys.path[0] = str(ROOT)
from benchmarks.starting import parser_of  # noqa: E402 - found by the path above

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentops.settings.test")
NAMES = ("banking", "workspace", "slack", "travel")
BESIDE = ROOT / ".venv-dojo" / "bin" / "python"


def main() -> int:
    """Run the suites that are wanted and print their figures."""
    options = _options()
    if importlib.util.find_spec("agentdojo") is None:
        return _under(options.python)
    warnings.simplefilter("ignore")
    # They need the path above, and a package that only this benchmark has.
    from benchmarks.dojo_forged import forged_counts  # noqa: PLC0415
    from benchmarks.dojo_report import Runs, pooled, table, why  # noqa: PLC0415

    suites: dict[str, Runs] = {}
    forged: dict[str, Any] = {}
    for name in NAMES if options.suite == "all" else (options.suite,):
        declarations: Any = importlib.import_module(f"benchmarks.dojo_{name}")
        suites[name] = _runs(name, declarations, options)
        if options.adaptive:
            forged[name] = forged_counts(name, declarations)
        if options.why:
            print("\n".join(why([*suites[name].benign, *suites[name].attacked])), file=sys.stderr)
            print("\n".join(forged[name].calls if options.adaptive else ()), file=sys.stderr)
    figures = {name: runs.figures() for name, runs in suites.items()}
    figures["pooled"] = pooled(suites.values()).figures()
    if forged:
        forged["pooled"] = sum(forged.values(), start=type(next(iter(forged.values())))())
        for name, counts in forged.items():
            figures[name] |= counts.figures()
    print(json.dumps({"policy": options.policy, **figures}) if options.json else table(figures))
    return 0


def _under(python: str) -> int:
    """Run under the interpreter that has the package."""
    if not Path(python).is_file() or "BENCHMARK_UNDER" in os.environ:
        how = "python -m venv .venv-dojo && .venv-dojo/bin/pip install -r requirements-dojo.txt"
        print(f"agentdojo is missing: {how}", file=sys.stderr)
        return 2
    command = [python, str(Path(__file__).resolve()), *sys.argv[1:]]
    return subprocess.run(command, env={**os.environ, "BENCHMARK_UNDER": python}, check=False).returncode


def _runs(name: str, declarations: Any, options: argparse.Namespace) -> Any:
    from benchmarks.dojo_report import Runs  # noqa: PLC0415 - as above
    from benchmarks.dojo_run import Quiet, Session  # noqa: PLC0415
    from benchmarks.dojo_world import World  # noqa: PLC0415

    world = World(name, declarations.SHAPES)
    runs = Runs()
    attacks = [Quiet(attack) if options.quiet else attack for attack in world.injection_tasks]
    for task in world.user_tasks:
        for attack in (None, *attacks):
            for person in (True, False):
                session = Session(world, declarations.DECLARED, task, attack, policy=options.policy, person=person)
                run = session.play()
                kind = ("benign" if attack is None else "attacked") + ("" if person else "_alone")
                getattr(runs, kind).append(run)
    return runs


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--suite", choices=(*NAMES, "all"), default="all")
    parser.add_argument("--adaptive", action="store_true", help="also forge calls as an attacker who knows the rules")
    parser.add_argument("--policy", choices=("engine", "ask", "none"), default="engine")
    parser.add_argument("--quiet", action="store_true", help="plant a text that names none of the attacker's values")
    parser.add_argument("--why", action="store_true", help="print each question and each unasked call")
    parser.add_argument("--python", default=str(BESIDE), help="the Python that has the packages, else .venv-dojo")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
