"""Real servers, started on loopback for tests and stopped after them."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest


def find_binaries():
    """The folder with the newest PostgreSQL's programs, if there is one."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name))
    on_path = shutil.which("initdb")
    folders = [*([Path(on_path).resolve().parent] if on_path else []), *folders]
    return next((f for f in reversed(folders) if (f / "initdb").exists()), None)


def unprivileged():
    """Whom to run the server as: it refuses to run as root."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return {}


@contextmanager
def postgres_server():
    """Yield the address of a PostgreSQL server, or skip."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed")
    who = unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="mlnlearn-postgres-", dir="/tmp"))
    if who:
        os.chown(folder, who["user"], who["group"])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def call(program, *arguments):
        command = [str(binaries / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(
            command, check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=120, **who
        )

    try:
        call("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
        call("pg_ctl", "start", "-w", "-s", "-l", str(folder / "log"), "-o", options)
        try:
            yield f"postgresql://tester@127.0.0.1:{port}"
        finally:
            call("pg_ctl", "stop", "-w", "-s", "-m", "immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_session(address):
    spark = sys.modules.get("mlnlearn.counting.spark")
    session = None if spark is None else spark._SESSIONS.pop(address, None)
    if session is not None:  # somebody asked it something
        session.stop()


@contextmanager
def sail_server():
    """Yield the address of a server that speaks Spark's protocol, or skip."""
    spark = pytest.importorskip("pysail.spark", reason="pysail is not installed")
    pytest.importorskip("pyspark", reason="pyspark-client is not installed")
    server = spark.SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    try:
        yield f"sc://{host}:{port}"
    finally:
        _end_session(f"sc://{host}:{port}")
        server.stop()
