"""A server of the real program in a folder of its own, and debates in every state on it."""

import contextlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

# For what takes a moment, on a machine that is busy.
PATIENCE_SECONDS = 120

# The limit is for people; here one key asks all the time. Model servers that happen to run on this machine are out of reach.
# Webhooks may be posted to one place only, where nobody listens: whatever is asked for, nothing leaves this machine.
NOBODY = "127.0.0.1:9"
CONFIG = f'[server]\nrequests_per_minute = 10000000\nwebhook_public = false\nwebhook_hosts = ["{NOBODY}"]\n' + "".join(
    f'[providers.{name}]\nbase_url = "http://127.0.0.1:9/v1"\n' for name in ["ollama", "lmstudio", "llamacpp", "vllm"]
)

# How many debates there are of each state. Requests approve, cancel and remove them; so many that there are always some left.
STATES = {"ended": 10, "solved": 10, "waiting": 60, "cancelled": 10, "paused": 10, "asking": 20}
# What their status says once they are there, unless it is a gate.
AWAITED = {"ended": "outcome", "solved": "outcome", "asking": "waiting"}
# What is done to them to get there.
AFTERWARDS = {"cancelled": "cancel", "paused": "pause"}


class Wrong(Exception):
    """What is not as it must be."""


@dataclass
class Served:
    """A server that runs."""

    url: str
    token: str
    process: subprocess.Popen
    log: Path

    def ask(self, method: str, path: str, body: dict | None = None, **more: str):
        """One request; what it says in JSON."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **more}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refused:
            raise Wrong(f"{method} {path}: {refused.status} {refused.read().decode(errors='replace')}") from refused

    def check_alive(self):
        """It still answers, and nothing of it broke."""
        if self.process.poll() is not None:
            raise Wrong(f"the server ended with {self.process.returncode}:\n{self.last_words()}")
        self.ask("GET", "/v1/session")
        if "panicked" in self.log.read_text(errors="replace"):
            raise Wrong(f"something panicked:\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4000:]


@contextlib.contextmanager
def served(program: Path, folder: Path):
    """Runs a server as long as the block."""
    config, log, data = folder / "server.toml", folder / "server.log", folder / "data"
    config.write_text(CONFIG)
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "USER": "tester"}
    usual = [str(program), "--config", str(config), "--data", str(data)]
    manner = {"cwd": folder, "env": variables, "stdin": subprocess.DEVNULL}
    key = subprocess.run([*usual, "keys", "add", "tester", "--owner", "tester", "--role", "admin"], **manner, capture_output=True, text=True)
    if key.returncode != 0:
        raise Wrong(f"no key was made: {key.stderr}")
    with open(log, "wb") as output:
        process = subprocess.Popen([*usual, "serve", "--listen", "127.0.0.1:0", "--log", "json"], **manner, stdout=output, stderr=output)
    try:
        yield Served(listening(process, log), key.stdout.strip(), process, log)
    finally:
        process.kill()
        process.wait()


def listening(process: subprocess.Popen, log: Path) -> str:
    """The address that the log tells; fails when the server ended or takes too long."""

    def told():
        lines = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return next((line["url"] for line in lines if line["event"] == "listening"), None)

    return until(told, lambda: f"the server does not listen ({process.poll()}): {log.read_text()}")


def debates(served: Served) -> dict[str, list[str]]:
    """Debates by their states."""
    ids = {state: [begin(served, state, number) for number in range(count)] for state, count in STATES.items()}
    for state, one in [(state, one) for state, of_state in ids.items() for one in of_state]:
        awaited = AWAITED.get(state, "open_gate")
        until(lambda: served.ask("GET", f"/v1/debates/{one}/status")[awaited], lambda: f"{one}, to be {state}, does not get there")
        if state in AFTERWARDS:
            served.ask("POST", f"/v1/debates/{one}/{AFTERWARDS[state]}", {})
    return ids


def webhooks(served: Served, count: int) -> list[str]:
    """Webhooks that may be asked about. An owner has 20 at most."""
    return [served.ask("POST", "/v1/webhooks", {"url": f"http://{NOBODY}/{number}"})["id"] for number in range(count)]


def begin(served: Served, state: str, number: int) -> str:
    """Starts a debate between rehearsals. Unless it is to end, its result waits for a person; or one of its turns does."""
    # A key makes the id: the same debates in every run.
    key = {"Idempotency-Key": f"{state}-{number}"}
    if state == "solved":
        agents = [{"role": "generator", "model": "rehearsal"}]
        body = {"format": "solve", "input": {"task": "Add.", "language": "python"}, "agents": agents, "config": {"phases": ["proposal"]}}
        return served.ask("POST", "/v1/debates", body, **key)["id"]
    agents = [{"role": role, "model": "rehearsal"} for role in ["risk", "value", "effort"]]
    if state == "asking":
        agents[2]["model"] = "human"
    options = [{"id": "A", "label": "Online only"}, {"id": "B", "label": "Full offline"}]
    limits = {} if state == "ended" else {"approval_seconds": 1800}
    body = {"format": "decide", "input": {"question": "Offline support?", "options": options}, "agents": agents, "seed": 7, "limits": limits}
    return served.ask("POST", "/v1/debates", body, **key)["id"]


def until(found, why):
    """Looks again and again until there is something."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if result := found():
            return result
        time.sleep(0.02)
    raise Wrong(why())
