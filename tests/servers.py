"""Real servers, started on loopback for tests and stopped after them.

Tests of Spark run on Sail, which needs no Java. ``MLNLEARN_TEST_SPARK=local[2]`` runs them on Spark
itself, where Java and all of pyspark are installed, and an address such as ``sc://host:15002`` on
a server that is there already.
"""

import importlib.util
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

from mlnlearn.counting.spark import spark_session


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


def has_all_of_spark():
    """Whether Spark itself can be started here."""
    found = importlib.util.find_spec("pyspark")
    jars = found is not None and (Path(found.origin).parent / "jars").is_dir()
    return jars and shutil.which("java") is not None


def end_session(address):
    """Close the session with a server, if somebody asked it something."""
    spark = sys.modules.get("mlnlearn.counting.spark")
    opened = None if spark is None else spark._SESSIONS.pop(address, None)
    if opened is not None:
        opened.session.stop()


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
        end_session(f"sc://{host}:{port}")
        server.stop()


@contextmanager
def spark_server():
    """Yield the address of the server that tests of Spark run on: Sail, or one that is named."""
    address = os.environ.get("MLNLEARN_TEST_SPARK")
    if not address:
        with sail_server() as sail:
            yield sail
        return
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    }  # hundreds of small statements: what is spent on one matters
    if address.startswith("local"):
        options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        settings["spark.driver.extraJavaOptions"] = options
    spark_session(address, settings)  # stays open for whoever asks by address
    try:
        yield address
    finally:
        end_session(address)
