#!/usr/bin/env python3
"""The interface as its own documents say it: schemathesis against the real server, and `schemas.py`. Usually called by `./check`.

A server of the built program runs in a folder of its own, with debates that ended, wait at a gate, were cancelled, are paused or ask a person. Every operation
of its document is then asked with what fits the document and what does not. It fails on a status, body or header that is not described, on
a bad request that is taken, a good one that is refused, a key that is not looked at, and on every 5xx. The exit code is 0 only without any.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import server

# Both by name and version, and so is what they need besides: a commit that passed must pass again.
PACKAGES = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"]
CONSTRAINTS = Path(__file__).with_name("constraints.txt")

# The same requests in every run, as far as the server's answers are the same; hence also one worker, and nothing drawn from answers.
SEED = 7
# Each phase ends by itself before that; a machine that is busy is no mistake of the interface.
MOST_SECONDS = 600

# Where a valid request may still be refused: the document cannot say which models, roles and panels the operator allows, which settings a format takes
# (that is in `/v1/formats`), which steps, options and events a debate has, which form a turn's reply has, where webhooks may go, nor where two fields contradict each
# other. Everywhere else what fits must be taken.
OPEN_ENDED = ["createDebate", "estimate", "forkDebate", "answer", "markDebate", "redactEvent", "tally", "answerTurnRequest", "createWebhook", "replaceWebhook"]
# What the state of a debate forbids, and what a debate does not have.
STATES = ["2xx", "404", "409", "426"]


def main() -> int:
    """Gets the tools, starts the server, checks the document, then the answers."""
    options = arguments()
    # So that the server is stopped on the way out, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        tools = installed(options.tools)
        check_schemas(tools, options.rebut)
        with tempfile.TemporaryDirectory(prefix="rebut-api-") as folder, server.served(options.rebut.resolve(), Path(folder)) as served:
            check_document(tools, served, Path(folder))
            ids = server.debates(served)
            # Some are only removed, so that the others stay to be asked about; there is room for more.
            hooks = server.webhooks(served, 12)
            ids |= {"hooks": hooks[:6], "doomed": hooks[6:]}
            print(f"{sum(map(len, ids.values()))} debates and webhooks; asking", flush=True)
            return ask(tools, served, ids, Path(folder), options.seed)
    except (server.Wrong, OSError, subprocess.TimeoutExpired) as error:
        print(f"\ninterface: {error}", file=sys.stderr)
        return 1


def installed(tools: Path) -> Path:
    """The folder with the tools' programs, made anew when it is not for these versions."""
    venv, wanted = tools.resolve() / "interface", "\n".join([*PACKAGES, CONSTRAINTS.read_text()])
    marker = venv / "installed"
    if not marker.exists() or marker.read_text() != wanted:
        call([sys.executable, "-m", "venv", "--clear", str(venv)], "Python cannot make environments: install python3-venv")
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", str(CONSTRAINTS), *PACKAGES]
        call(pip, "the tools cannot be installed from PyPI")
        marker.write_text(wanted)
    return venv / "bin"


def call(command: list[str], advice: str):
    """Runs a command that must succeed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise server.Wrong(f"{advice}\n{done.stdout}{done.stderr}")


def check_schemas(tools: Path, rebut: Path):
    """What the command line prints and takes has the form that it says."""
    script = Path(__file__).with_name("schemas.py")
    call([str(tools / "python"), str(script), "--rebut", str(rebut)], "what is printed or taken is not of the form that `rebut schema` says:")


def check_document(tools: Path, served: server.Served, folder: Path):
    """Somebody else's reading of OpenAPI 3.1 finds nothing wrong with the document."""
    document = folder / "openapi.json"
    document.write_text(json.dumps(served.ask("GET", "/v1/openapi.json")))
    call([str(tools / "openapi-spec-validator"), "--schema", "3.1", str(document)], "the document is no valid OpenAPI 3.1:")


def ask(tools: Path, served: server.Served, ids: dict[str, list[str]], folder: Path, seed: int) -> int:
    """Runs schemathesis in the folder, so that whatever it keeps goes with it; gives its exit code."""
    config = folder / "schemathesis.toml"
    config.write_text(settings(ids, folder, seed))
    command = [str(tools / "schemathesis"), "--config-file", str(config), "run", f"{served.url}/v1/openapi.json"]
    began = time.monotonic()
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "REBUT_TOKEN": served.token, "PYTHONUTF8": "1", "PYTHONHASHSEED": str(SEED)}
    done = subprocess.run(command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MOST_SECONDS)
    print(done.stdout.decode(errors="replace"), flush=True)
    print(f"asked for {time.monotonic() - began:.0f} s")
    served.check_alive()
    return done.returncode


def settings(ids: dict[str, list[str]], folder: Path, seed: int) -> str:
    """What schemathesis is told. JSON's texts and lists are TOML's too."""
    text, mixed = json.dumps, sorted(one for state in server.STATES for one in ids[state])
    return f"""
seed = {seed}
workers = 1
request-timeout = 30
max-stream-events = 5
continue-on-failure = true

[cache]
enabled = false
directory = {text(str(folder / "cache"))}

[headers]
Authorization = "Bearer ${{REBUT_TOKEN}}"

[dictionaries.debates]
values = {text(mixed)}

[dictionaries.solved]
values = {text(ids["solved"])}

[dictionaries.gates]
values = ["result"]

[dictionaries.asking]
values = {text(ids["asking"])}

[dictionaries.versions]
values = ["1"]

[dictionaries.hooks]
values = {text(ids["hooks"])}

[dictionaries.doomed]
values = {text(ids["doomed"])}

[parameters]
"path.id" = {{ dictionary = "debates", probability = 0.9 }}
"path.gate" = {{ dictionary = "gates", probability = 0.7 }}
"path.n" = {{ dictionary = "versions", probability = 0.7 }}
"path.webhook" = {{ dictionary = "hooks", probability = 0.9 }}

[generation]
database = "none"
max-examples = 30

[phases.coverage.extra-data-sources]
responses = false

[phases.fuzzing.extra-data-sources]
responses = false

[phases.stateful.generation]
max-examples = 10

[checks.positive_data_acceptance]
expected-statuses = {text(STATES)}

[[operations]]
include-operation-id = {text(OPEN_ENDED)}
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = ["listCodeVersions", "getCodeVersion", "getCodeDiff"]
parameters = {{ "path.id" = {{ dictionary = "solved", probability = 0.9 }} }}

[[operations]]
include-operation-id = ["listTurnRequests", "getTurnRequest", "answerTurnRequest"]
parameters = {{ "path.id" = {{ dictionary = "asking", probability = 0.9 }} }}

[[operations]]
include-operation-id = ["deleteWebhook"]
parameters = {{ "path.webhook" = {{ dictionary = "doomed", probability = 0.9 }} }}
"""


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Checks the server against the document of its interface.")
    parser.add_argument("--rebut", type=Path, required=True, help="the built program")
    parser.add_argument("--tools", type=Path, required=True, help="where tools are installed and kept")
    parser.add_argument("--seed", type=int, default=SEED, help="what requests are drawn from, to look for more (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
