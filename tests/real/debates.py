"""One debate with rebut in a home of its own, and what must be true of it afterwards."""

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

JUDGES = ["risk", "value", "effort"]
QUESTION = ["decide", "Which fruit should be put into the lunch box?", "-O", "A=Apple", "-O", "B=Banana", "-c", "context.md"]
# One in ten of the smallest model's debates had an unusable answer in it.
CHANCES = 3
# The server holds a model to the form, but not a number to its range: the smallest models need to see one.
CONTEXT = """Ana eats lunch at noon. Apples keep all day. Bananas turn brown in a warm bag.

A reply looks like this:
{"claims": ["Apples keep all day."], "confidence": 0.7, "flips_if": "The bag is cold.", "option": "A", "summary": "Apples keep."}
"""


class Wrong(Exception):
    """A debate that did not go as it must."""


@dataclass
class Rebut:
    """The program, with nothing of this machine's configuration and keys."""

    program: Path
    home: Path
    turn_seconds: int
    path: str = "/usr/bin:/bin"
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *args: str, expect: tuple[int, ...] = (0,)) -> str:
        """What it prints; fails with all it said when it exits otherwise than expected."""
        environment = {"HOME": str(self.home), "PATH": self.path, "TMPDIR": str(self.temporary()), **self.variables}
        # Its own limits come first; a turn may be asked again, and be clarified.
        most = 8 * self.turn_seconds
        try:
            done = subprocess.run([self.program, *args], cwd=self.home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=most)
        except subprocess.TimeoutExpired as late:
            raise Wrong(f"rebut {args[0]} did not end within {most} s:\n{text(late.stdout)}\n{text(late.stderr)}") from late
        if done.returncode not in expect:
            wanted = " or ".join(map(str, expect))
            raise Wrong(f"rebut {args[0]} exited with {done.returncode}, not {wanted}:\n{text(done.stdout)}\n{text(done.stderr)}")
        return text(done.stdout)

    def temporary(self) -> Path:
        """Its temporary folder."""
        folder = self.home / "tmp"
        folder.mkdir(exist_ok=True)
        return folder

    def configure(self, text: str):
        """Writes its configuration."""
        (self.home / "rebut.toml").write_text(text)


def text(output: bytes | None) -> str:
    """What was printed, even if not all of it is UTF-8."""
    return (output or b"").decode(errors="replace")


def over_http(rebut: Rebut, url: str, model: str, rounds: int):
    """Three judges over the real server."""
    members = "\n".join(f'  {{ role = "{role}", model = "local:{model}", temperature = 0, max_tokens = 400 }},' for role in JUDGES)
    rebut.configure(f"""
[providers.local]
base_url = "{url}"
structured = "schema"
timeouts = {{ first_byte = {rebut.turn_seconds}, idle = {rebut.turn_seconds} }}

[panels.real]
members = [
{members}
]
""")
    return decided(rebut, rounds, ["-p", "real"])


def over_agent(rebut: Rebut, calls: list[dict]):
    """Three judges, each turn a run of the real agent program; `calls` is what the model said to it."""
    turns = decided(rebut, 1, ["-m", "cli:claude"])
    for turn in turns:
        if not (turn.get("program") or "").startswith("claude "):
            raise Wrong(f"{turn['turn']} names no program: {turn}")
        if json.loads(turn["text"]) not in calls:
            raise Wrong(f"{turn['turn']} is not what the model said: {turn['text']}")
    left = list(rebut.temporary().iterdir())
    if left:
        raise Wrong(f"folders of agents were left: {left}")
    processes = belonging_to(rebut.home)
    if processes:
        raise Wrong(f"processes of agents were left: {list(processes.values())}")
    return turns


def decided(rebut: Rebut, rounds: int, who: list[str]) -> list[dict]:
    """Runs the debate and checks all that holds for any model. Gives the recorded turns."""
    (rebut.home / "context.md").write_text(CONTEXT)
    began = time.monotonic()
    document = debated(rebut, rounds, who)
    seconds = time.monotonic() - began
    debate = document["debate_id"]
    events = [json.loads(line) for line in rebut.run("show", debate, "--events").splitlines()]
    turns = [event["data"] for event in events if event["type"] == "turn.completed"]
    transcript = rebut.run("show", debate, "--transcript")
    result = document["result"] or {"perspectives": {}}
    expect = {
        "it ended in a decision, or contested": document["outcome"] in ("consensus", "contested"),
        "nobody was missing": document["degraded"] == [],
        "no rehearsal spoke": document["rehearsal"] is False,
        "the result names every judge": {name.removesuffix("_favors") for name in result["perspectives"]} == set(JUDGES),
        "every judge answered": {turn["turn"].split("/")[1] for turn in turns} == set(JUDGES),
        "every answer has text and tokens": all(turn["text"].strip() and (turn["usage"] or {}).get("output", 0) > 0 for turn in turns),
    }
    broken = [what for what, holds in expect.items() if not holds]
    if broken:
        raise Wrong(f"not true: {'; '.join(broken)}\n{json.dumps(document, indent=1)}\n{transcript}")
    rebut.run("audit", "verify", debate)
    if rebut.run("replay", debate) != transcript:
        raise Wrong(f"the replay of {debate} differs from its transcript")
    usage = document["usage"]
    print(f"    {document['outcome']}: {document['summary']}; {document['rounds']} of at most {rounds} rounds, {usage['calls']} calls, "
          f"{usage['input_tokens']} + {usage['cached_tokens']} cached tokens in, {usage['output_tokens']} out, {seconds:.0f} s; audit and replay agree")
    return turns


def debated(rebut: Rebut, rounds: int, who: list[str]) -> dict:
    """The debate's result. When a model said something unusable, which is its own fault and no other kind, it gets another chance."""
    for chance in range(1, CHANCES + 1):
        # Codes: decided, contested, and too few usable answers.
        printed = rebut.run(*QUESTION, *who, "--rounds", str(rounds), "--timeout", str(rebut.turn_seconds), "--json", expect=(0, 1, 3))
        try:
            document = json.loads(printed)
        except ValueError as error:
            raise Wrong(f"rebut decide printed no JSON: {printed!r}") from error
        missing = document["degraded"]
        if chance == CHANCES or not missing or any(absence["reason"] != "invalid_reply" for absence in missing):
            return document
        for absence in missing:
            print(f"    {absence['turn']} was unusable, so the debate is held again: {absence['detail']}", flush=True)
    raise AssertionError("the last chance returns")


def belonging_to(home: Path) -> dict[int, str]:
    """Living processes that were started with something of that home in their environment, and their commands."""
    mark, found = os.fsencode(home), {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if mark in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
        except OSError:
            # It ended, or is somebody else's.
            continue
    return found


def end_all(home: Path):
    """Ends what is left of a debate that went wrong."""
    for process in belonging_to(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
