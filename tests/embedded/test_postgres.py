import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from agentops.embedded.access import HOST, USER
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.embedded.home import home_for
from agentops.embedded.postgres import EmbeddedPostgres
from agentops.embedded.processes import all_running_in, runs_in

NewServer = Callable[..., EmbeddedPostgres]
AS_ROOT = os.geteuid() == 0
OTHER_PROCESS = """
import sys, time
from pathlib import Path
from agentops.embedded.postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), sys.argv[2], durable=False)
print(server.ensure().port, flush=True)
sys.stdin.readline()
if sys.argv[3] == "polite":
    server.stop()
"""


def other_process(base: Path, name: str, end: str = "polite") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, str(base), name, end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def port_of(process: "subprocess.Popen[str]") -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def wait_until_gone(data: Path, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while all_running_in(data):
        assert time.monotonic() < deadline, f"still running: {all_running_in(data)}"
        time.sleep(0.02)


def test_server_answers_only_with_the_password(server: EmbeddedPostgres) -> None:
    access = server.ensure()
    with access.connect() as connection:
        assert connection.execute("SELECT current_user, current_database()").fetchone() == ("agentops", "agentops")
    for password in ("", "guess"):
        with pytest.raises(psycopg.OperationalError, match=r"password|no password supplied"):
            psycopg.connect(host=HOST, port=access.port, user=USER, password=password, dbname="agentops")


def test_server_listens_on_this_machine_only(server: EmbeddedPostgres) -> None:
    with server.ensure().connect() as connection:
        shown = connection.execute(
            "SELECT current_setting('listen_addresses'), current_setting('unix_socket_directories')"
        ).fetchone()
    assert shown == ("127.0.0.1", "")


def test_password_and_data_are_private(server: EmbeddedPostgres) -> None:
    cluster = server.cluster
    assert stat.S_IMODE((cluster.folder / "password").stat().st_mode) == 0o600
    assert stat.S_IMODE(cluster.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(cluster.data.stat().st_mode) == 0o700
    assert cluster.password() not in repr(server.ensure())


def test_text_is_compared_and_lowered_as_unicode(server: EmbeddedPostgres) -> None:
    with server.ensure().connect() as connection:
        assert connection.execute("SELECT lower('ÄÉ'), current_setting('server_encoding')").fetchone() == ("äé", "UTF8")


def test_ensure_again_returns_the_running_server(server: EmbeddedPostgres, base: Path) -> None:
    pid = server.cluster.recorded()[0]
    again = EmbeddedPostgres(base, "shared", durable=False)
    assert again.ensure() == server.ensure()
    again.stop()
    assert server.cluster.recorded()[0] == pid
    assert server.ensure().answers()


@pytest.mark.skipif(not AS_ROOT, reason="only root has privileges to drop")
def test_server_of_root_runs_without_privileges(server: EmbeddedPostgres) -> None:
    status = Path(f"/proc/{server.cluster.recorded()[0]}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert set(fields["Uid"].split()) == {str(server.cluster.account.uid)}
    assert set(fields["Gid"].split()) == {str(server.cluster.account.gid)}
    assert fields["Groups"].strip() == ""
    assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0
    assert server.cluster.account.uid != 0


def test_killed_server_comes_back_with_its_data_on_the_same_port(new_server: NewServer) -> None:
    server = new_server("killed")
    before = server.ensure()
    with before.connect() as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS value")
    pid = server.cluster.recorded()[0]
    os.kill(pid, signal.SIGKILL)
    while runs_in(pid, server.cluster.data):
        time.sleep(0.01)
    after = server.ensure()
    assert after == before
    with after.connect() as connection:
        assert connection.execute("SELECT value FROM kept").fetchone() == (7,)
    server.destroy()


def test_server_that_ends_while_it_is_waited_for_is_started_again(base: Path, new_server: NewServer) -> None:
    server = new_server("ending")
    server.ensure()
    pid = server.cluster.recorded()[0]
    os.kill(pid, signal.SIGSTOP)  # it runs, and answers nobody
    threading.Timer(1, os.kill, (pid, signal.SIGKILL)).start()
    other = EmbeddedPostgres(base, "ending", durable=False)
    assert other.ensure().answers()
    assert other.cluster.recorded()[0] != pid
    server.stop()
    other.destroy()


def test_two_processes_starting_at_once_share_one_server(base: Path, new_server: NewServer) -> None:
    data = new_server("race").cluster.data
    starters = [other_process(base, "race") for _ in range(3)]
    assert len({port_of(starter) for starter in starters}) == 1
    for starter in starters:
        starter.communicate("\n", timeout=30)
        assert starter.returncode == 0
    wait_until_gone(data)


def test_threads_starting_at_once_share_one_server(new_server: NewServer) -> None:
    server = new_server("threads")
    ports: list[int] = []
    threads = [threading.Thread(target=lambda: ports.append(server.ensure().port)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ports) == 4
    assert len(set(ports)) == 1
    server.destroy()


def test_stop_leaves_no_process_and_no_temporary_data(new_server: NewServer) -> None:
    server = new_server("stopped")
    server.ensure()
    cluster = server.cluster
    server.stop()
    assert all_running_in(cluster.data) == []
    assert not cluster.folder.exists()


def test_server_stays_while_another_process_uses_it(base: Path, new_server: NewServer) -> None:
    server = new_server("both")
    other = other_process(base, "both")
    port_of(other)
    access = server.ensure()
    data = server.cluster.data
    server.stop()
    assert access.answers()
    with pytest.raises(EmbeddedPostgresError, match="another process uses it"):
        server.destroy()
    other.communicate("\n", timeout=30)
    wait_until_gone(data)


def test_server_ends_when_its_only_user_is_killed(base: Path, new_server: NewServer) -> None:
    cluster = new_server("orphan").cluster
    other = other_process(base, "orphan")
    port_of(other)
    other.kill()
    other.communicate()
    wait_until_gone(cluster.data)
    deadline = time.monotonic() + 10
    while cluster.folder.exists():
        assert time.monotonic() < deadline, "the temporary data was not removed"
        time.sleep(0.02)


def test_server_without_keeper_is_used_and_ended_all_the_same(base: Path, new_server: NewServer) -> None:
    server = new_server("keeperless")
    other = other_process(base, "keeperless")
    port = port_of(other)
    pid = server.cluster.recorded()[0]
    os.kill(_parent_of(pid), signal.SIGKILL)
    other.kill()
    other.communicate()
    assert runs_in(pid, server.cluster.data)
    data = server.cluster.data
    assert server.ensure().port == port
    server.stop()
    assert all_running_in(data) == []


def test_interrupted_creation_is_made_anew(base: Path) -> None:
    server = EmbeddedPostgres(base, "half", durable=False)
    unfinished = server.cluster.folder / "data.new"
    unfinished.mkdir()
    (unfinished / "PG_VERSION").write_text("18\n")
    (server.cluster.folder / "password.initdb").write_text("half")
    assert server.ensure().answers()
    assert not unfinished.exists()
    server.destroy()


def test_record_of_a_process_that_is_not_the_server_is_ignored(new_server: NewServer) -> None:
    server = new_server("stale", durable=True)
    server.ensure()
    server.stop()
    cluster = server.cluster
    # The number now belongs to a living program of the server's own account, which PostgreSQL alone cannot tell.
    stranger = subprocess.Popen(["sleep", "60"], cwd="/", **cluster.account.popen_options())
    record = cluster.data / "postmaster.pid"
    record.write_text(f"{stranger.pid}\n{cluster.data}\n0\n5999\n\n127.0.0.1\n0 0\nready\n")
    try:
        assert server.ensure().answers()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
        server.destroy()


def test_data_of_another_version_is_refused_in_one_sentence(base: Path) -> None:
    server = EmbeddedPostgres(base, "old")
    data = server.cluster.data
    data.mkdir()
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedPostgresError, match="made by PostgreSQL 9, and the one found now is"):
        server.ensure()
    server.destroy()


def test_server_that_cannot_start_says_its_own_reason(new_server: NewServer) -> None:
    server = new_server("broken", durable=True)
    server.ensure()
    server.stop()
    (server.cluster.data / "global" / "pg_control").unlink()
    with pytest.raises(EmbeddedPostgresError, match="pg_control"):
        server.ensure()
    server.destroy()


@pytest.mark.skipif(not AS_ROOT, reason="only root could change permissions of other people's paths")
def test_clone_in_a_private_home_works_and_keeps_its_permissions(tmp_path: Path) -> None:
    home = tmp_path / "home"
    clone = home / "clone"
    clone.mkdir(parents=True)
    home.chmod(0o700)
    (clone / "neighbour").write_text("x")
    watched = [home, clone, clone / "neighbour", tmp_path, *tmp_path.parents]
    before = [_owner_and_mode(path) for path in watched]
    server = EmbeddedPostgres(clone / ".demo", "private", durable=False)
    assert server.ensure().answers()
    assert not server.cluster.data.is_relative_to(home)
    elsewhere = server.cluster.folder.parent
    server.stop()
    assert [_owner_and_mode(path) for path in watched] == before
    _remove(elsewhere)


@pytest.mark.skipif(not AS_ROOT, reason="only root keeps the files in another folder")
def test_pointer_to_a_folder_of_somebody_else_is_not_followed(tmp_path: Path) -> None:
    account = EmbeddedPostgres(tmp_path / "mine", "x").cluster.account
    mine = home_for(tmp_path / "mine", account)
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "elsewhere").write_text(f"{mine}\n")
    assert account.uid is not None
    opened = home_for(copied, account)
    assert opened != mine
    os.chown(opened, account.uid, -1)
    assert home_for(copied, account) != opened
    for folder in (mine, opened, home_for(copied, account)):
        _remove(folder)


def test_name_that_would_leave_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        EmbeddedPostgres(tmp_path, "../other")


def _parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _owner_and_mode(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid, status.st_mode


def _remove(folder: Path) -> None:
    subprocess.run(["rm", "-rf", str(folder)], check=True)
