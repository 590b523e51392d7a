"""The jars of Delta, fetched once and kept.

Spark could fetch them itself, by `spark.jars.packages`, with some thirty others that tables by path do not need.
These are two, kept in a folder that all sessions share, so that a machine which ran once runs offline.

    python -m olston.jars       fetches them ahead of time; says what it did
"""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from olston import java
from olston.errors import SparkError

PATIENCE = 600
"""Seconds that one download may take."""

FAULT = re.compile(r"access error|Exception|: not found")
"""The lines in which Ivy says what went wrong."""

# Where Debian, Fedora, Alpine and macOS keep the authorities, in the order they are tried.
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)


@dataclass(frozen=True)
class Jar:
    """A jar by its coordinates."""

    organisation: str
    module: str
    revision: str

    @property
    def file(self) -> str:
        return f"{self.module}-{self.revision}.jar"

    def __str__(self) -> str:
        return f"{self.organisation}:{self.module}:{self.revision}"


def cache() -> Path:
    """Where olston keeps what it can make again: OLSTON_CACHE, or `olston` in the user's folder for caches."""
    if chosen := os.environ.get("OLSTON_CACHE"):
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(caches) if os.path.isabs(caches) else Path.home() / ".cache") / "olston"


def needed() -> tuple[Jar, ...]:
    """The jars for the pyspark and delta-spark that are installed; Delta's name follows Spark's minor version."""
    spark = ".".join(version("pyspark").split(".")[:2])
    delta = version("delta-spark")
    return Jar("io.delta", f"delta-spark_{spark}_2.13", delta), Jar("io.delta", "delta-storage", delta)


def fetch() -> list[Path]:
    """The needed jars as files in the cache, copied from the folders of Ivy or Maven or downloaded if not there yet.

    A file in the cache is whole: it gets its name last, and only if it reads back without fault. Any number of
    processes may fetch at once.
    """
    return [_fetch(jar, cache() / "jars") for jar in needed()]


def _fetch(jar: Jar, folder: Path) -> Path:
    kept = folder / jar.file
    if kept.exists():
        return kept
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-", ignore_cleanup_errors=True) as scratch:
            fresh = Path(scratch, jar.file)
            if near := next(filter(_is_whole, _nearby(jar)), None):
                shutil.copyfile(near, fresh)
            else:
                _download(jar, fresh)
            os.replace(fresh, kept)
    except OSError as error:
        raise SparkError(
            f"{jar}: cannot be kept in {folder}: {error}. Make the folder writable, or name another with OLSTON_CACHE."
        ) from error
    return kept


def _nearby(jar: Jar) -> Iterator[Path]:
    """Where Spark, Ivy and Maven would have left `jar` in the user's home."""
    for ivy in sorted(Path.home().glob(".ivy2*"), reverse=True):
        yield ivy / "jars" / f"{jar.organisation}_{jar.file}"
        yield ivy / "cache" / jar.organisation / jar.module / "jars" / jar.file
    yield Path.home().joinpath(".m2", "repository", *jar.organisation.split("."), jar.module, jar.revision, jar.file)


def _is_whole(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as jar:
            return jar.testzip() is None
    except (OSError, zipfile.BadZipFile, zlib.error):
        return False


def _download(jar: Jar, to: Path) -> None:
    """Let Ivy put `jar` at `to`, in an empty folder.

    A Java that trusts nobody on the way there is tried once more with the authorities that Python and pip go by.
    """
    done = _ivy(jar, to, _proxy())
    if done.returncode and "javax.net.ssl" in done.stdout and (bundle := _authorities()):
        store = to.with_name("authorities.jks")
        store.write_bytes(java.trust_store(ssl.create_default_context(cafile=bundle).get_ca_certs(binary_form=True)))
        done = _ivy(jar, to, [*_proxy(), f"-Djavax.net.ssl.trustStore={store}"])
    if done.returncode or not _is_whole(to):
        faults = [line.strip(" :\t") for line in done.stdout.splitlines() if FAULT.search(line)]
        fault = faults[-1] if faults else "what came is no readable jar"
        raise SparkError(
            f"{jar}: is not in {to.parent.parent} and cannot be downloaded: {fault}. "
            "Run `python -m olston.jars` once where packages can be downloaded, name a mirror in a settings file "
            f"of Ivy with OLSTON_IVY_SETTINGS, or put {jar.file} into that folder."
        )


def _ivy(jar: Jar, to: Path, options: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the Ivy that comes with pyspark; its default settings know Maven's central repository."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    # Ivy alone: beside Spark's other jars it takes up another way to download, which hides what went wrong.
    ivy = next(Path(spec.origin).parent.glob("jars/ivy-*.jar"))
    settings = os.environ.get("OLSTON_IVY_SETTINGS")
    command = [
        *(java.find(), *options, f"-Divy.default.ivy.user.dir={to.parent / 'ivy'}"),
        *("-cp", str(ivy), "org.apache.ivy.Main"),
        *(("-settings", settings) if settings else ()),
        *("-dependency", jar.organisation, jar.module, jar.revision, "-notransitive", "-types", "jar"),
        *("-retrieve", str(to.parent / "[artifact]-[revision].[ext]")),
    ]
    try:
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, f"Server access error: no end after {PATIENCE} seconds")


def _proxy() -> list[str]:
    """HTTPS_PROXY and its like in Java's words, which does not look at them by itself."""
    proxy = urlsplit(getproxies().get("https", ""))
    return [f"-Dhttps.proxyHost={proxy.hostname}", f"-Dhttps.proxyPort={proxy.port or 80}"] if proxy.hostname else []


def _authorities() -> str | None:
    """The file of certificates by which this machine knows its registries."""
    named = (os.environ.get(name) for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"))
    known = (*named, ssl.get_default_verify_paths().cafile, *BUNDLES)
    return next((path for path in known if path and os.path.isfile(path)), None)


def main() -> None:
    """Fetch the jars that are not there yet, and say where each is."""
    for jar in needed():
        there = (cache() / "jars" / jar.file).exists()
        try:
            kept = _fetch(jar, cache() / "jars")
        except SparkError as error:
            sys.exit(str(error))
        print(f"{jar} {'is' if there else 'is now'} in {kept.parent}")


if __name__ == "__main__":
    main()
