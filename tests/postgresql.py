"""A PostgreSQL server for tests: real, on a port of its own, gone afterwards."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs() -> Path:
    """The folder with initdb and pg_ctl; Debian does not put it on the PATH."""
    found = shutil.which("pg_ctl")
    if found is None:
        places = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
        if not places and os.environ.get("OLSTON_POSTGRESQL") != "required":
            pytest.skip("no PostgreSQL server here; install the package postgresql, as .ci/run does")
        found = str(places[-1])
    return Path(os.path.realpath(found)).parent


@contextmanager
def server() -> Iterator[str]:
    """The URL of a database `olston` on a new server."""
    folder = Path(tempfile.mkdtemp(prefix="olston-postgresql-"))
    # it refuses to run as root, so there it runs as the user that its package makes
    who = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if who:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def call(program: str, *arguments: str) -> None:
        command = [*who, str(programs() / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)

    data = str(folder / "data")
    call("initdb", "-D", data, "-A", "trust", "-U", "olston", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
    call("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        call("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "olston", "olston")
        yield f"postgresql+psycopg://olston@127.0.0.1:{port}/olston"
    finally:
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def database(url: str) -> str:
    """The URL of a new database on the server of `url`."""
    from sqlalchemy import create_engine

    name = f"olston_{secrets.token_hex(4)}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return url.rpartition("/")[0] + "/" + name
