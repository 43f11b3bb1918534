"""The same loop in other libraries, each in a process of its own: a stub model turn and a tool call of 1 KB a step.

Run as a program it is one such process: it reads one JSON order a line and answers with milliseconds a step. It
imports nothing of the product, so that it can run under another interpreter, with the packages of
``requirements-bench.txt``.
"""

import json
import operator
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

TEXT = random.Random(1).randbytes(8_000).hex()
PACKAGES = {"dbos": ("dbos",), "langgraph": ("langgraph", "langgraph-checkpoint-postgres")}
Work = Callable[[int], None]


class Other:
    """One library in its process."""

    def __init__(self, name: str, python: str, parts: dict[str, Any]) -> None:
        """Start it. ``parts`` are host, port, user, password and dbname. Raises OtherMissing with the reason."""
        self.name = name
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = self._ask(parts)
        if "missing" in said:
            self.close()
            raise OtherMissing(said["missing"])
        self.version: str = said["version"]

    def work(self, sessions: int, steps: int) -> float:
        """Work sessions and return milliseconds a step, the median of the sessions."""
        return float(self._ask({"sessions": sessions, "steps": steps})["ms"])

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(order) + "\n")
            stdin.flush()
        except BrokenPipeError:
            pass
        answer = stdout.readline()
        if not answer:
            _, words = self._process.communicate()
            raise OtherMissing(f"ended: {(words.strip().splitlines() or ['it said nothing'])[-1][:300]}")
        said: dict[str, Any] = json.loads(answer)
        return said

    def close(self) -> None:
        """End the process. May be called again."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


class OtherMissing(RuntimeError):
    """The library cannot be measured, and why."""


def start_others(python: str, parts: dict[str, Any]) -> tuple[list[Other], dict[str, str]]:
    """Return the libraries that ``python`` has, and the reasons for those that it has not."""
    found, reasons = [], {}
    for name in PACKAGES:
        try:
            found.append(Other(name, python, parts))
        except (OtherMissing, OSError) as error:
            reasons[name] = str(error)
    return found, reasons


def result_of(number: int) -> dict[str, Any]:
    """Return a result of about 1 KB."""
    start = number * 13 % 14_000
    return {"number": number, "text": TEXT[start : start + 1_000]}


# -- In the process ------------------------------------------------------------------------------------


def main() -> None:
    """Answer orders until there are none."""
    name, answers = sys.argv[1], sys.stdout
    # Whatever a library prints must not be taken for an answer.
    sys.stdout = sys.stderr

    def answer(**said: Any) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    parts = json.loads(sys.stdin.readline())
    try:
        version = ", ".join(f"{package} {metadata.version(package)}" for package in PACKAGES[name])
        work = {"dbos": prepare_dbos, "langgraph": prepare_langgraph}[name](parts)
    except (ImportError, metadata.PackageNotFoundError) as error:
        answer(missing=f"not installed: {error}")
        return
    answer(version=version)
    for line in sys.stdin:
        order = json.loads(line)
        taken = []
        for _ in range(order["sessions"]):
            began = time.perf_counter()
            work(order["steps"])
            taken.append((time.perf_counter() - began) * 1000 / order["steps"])
        answer(ms=sorted(taken)[len(taken) // 2])


def address(parts: dict[str, Any]) -> str:
    """Return the database's URL."""
    user, password, host = (quote(str(parts.get(name) or ""), safe="") for name in ("user", "password", "host"))
    return f"postgresql://{user}:{password}@{host}:{parts.get('port') or 5432}/{parts['dbname']}"


def prepare_dbos(parts: dict[str, Any]) -> Work:
    """Return a workflow whose model turn and tool call are a step each, as durable as ours: both are recorded."""
    from dbos import DBOS, DBOSConfig  # type: ignore[import-not-found] # noqa: PLC0415

    config: DBOSConfig = {
        "name": "benchmark",
        "system_database_url": address(parts),
        "log_level": "ERROR",
    }
    DBOS(config=config)

    @DBOS.step()  # type: ignore[untyped-decorator]
    def turn(number: int) -> dict[str, Any]:
        return {"tool": "put", "number": number}

    @DBOS.step()  # type: ignore[untyped-decorator]
    def call(number: int) -> dict[str, Any]:
        return result_of(number)

    @DBOS.workflow()  # type: ignore[untyped-decorator]
    def session(steps: int) -> int:
        done = 0
        while done < steps:
            proposed = turn(done)
            call(proposed["number"])
            done += 1
        return done

    DBOS.launch()

    def work(steps: int) -> None:
        if session(steps) != steps:
            raise RuntimeError("the workflow did not do its steps")

    return work


def prepare_langgraph(parts: dict[str, Any]) -> Work:
    """Return a graph of two nodes, model and tool, checkpointed after each of them before the next begins."""
    import psycopg  # noqa: PLC0415
    from langgraph.checkpoint.postgres import PostgresSaver  # type: ignore[import-not-found] # noqa: PLC0415
    from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found] # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415
    from typing_extensions import TypedDict  # noqa: PLC0415

    class State(TypedDict):
        history: Annotated[list[dict[str, Any]], operator.add]
        done: int
        steps: int

    def turn(state: State) -> dict[str, Any]:
        return {"history": [{"tool": "put", "number": state["done"]}]}

    def call(state: State) -> dict[str, Any]:
        return {"history": [result_of(state["done"])], "done": state["done"] + 1}

    server = psycopg.connect(address(parts), autocommit=True, prepare_threshold=0, row_factory=dict_row)
    saver = PostgresSaver(server)
    saver.setup()
    graph = StateGraph(State)
    graph.add_node("turn", turn)
    graph.add_node("call", call)
    graph.add_edge(START, "turn")
    graph.add_edge("turn", "call")
    graph.add_conditional_edges("call", lambda state: "turn" if state["done"] < state["steps"] else END)
    compiled = graph.compile(checkpointer=saver)

    def work(steps: int) -> None:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 10 * steps + 10}
        end = compiled.invoke({"history": [], "done": 0, "steps": steps}, config, durability="sync")
        if end["done"] != steps:
            raise RuntimeError("the graph did not do its steps")

    return work


if __name__ == "__main__":
    main()
