#!/usr/bin/env python3
"""What the program prints and takes, against the schemas it prints. Called by `run.py` with the Python that has the validator.

Every format is run; its result, its events as they happen and those that are kept must have the form of `rebut schema`. Sections of a configuration, good
and bad, must be judged alike by `rebut config validate` and by `rebut schema config`. The exit code is 0 only if all of this holds.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ASK = ["Where do sessions live?", "-O", "A=Redis", "-O", "B=Memcached", "-m", "rehearsal"]
# Only code that may run needs a sandbox; a solution that is only proposed has the same form.
PROPOSE = ["--set", 'solve.phases=["proposal"]']
# One debate of every format that a command holds, and some ends that leave things out or add them.
DEBATES = {
    "decide": ["decide", *ASK],
    "decide with weights": ["decide", *ASK, "--set", 'decide.weights={ risk = "1.5" }'],
    "decide that stops": ["decide", *ASK, "--max-calls", "2"],
    "decide without anybody": ["decide", *ASK[:-1], "script:nobody.md"],
    "single": ["single", *ASK],
    "poll": ["poll", *ASK],
    "society": ["society", *ASK],
    "challenge": ["challenge", "Offline support?", "-m", f"script:{EXAMPLES}/challenge/script.md", "-c", f"{EXAMPLES}/challenge/spec.md"],
    "evaluate": ["evaluate", "idea.md", "--no-files", "-m", f"script:{EXAMPLES}/evaluate/script.md"],
    "review": ["review", f"{EXAMPLES}/review/prompt.md", "--debate", "-m", f"script:{EXAMPLES}/review/script.md"],
    "solve": ["solve", "Add two numbers.", "-m", "rehearsal", *PROPOSE],
}

# Sections, and whether they may stand so. Of every format: a key of its own, and one of another's.
SECTIONS = [
    ("[decide]\nmax_rounds = 3\nconsensus_threshold = 0.8", True),
    ("[decide]\nbatch = 2", False),
    ("[decide]\nmax_rounds = 'many'", False),
    ("[challenge]\npersonas = 'auto'", True),
    ("[challenge]\nmax_attempts = 2", False),
    ("[evaluate]\nmax_arguments = 3", True),
    ("[evaluate]\nmin_judges = 2", False),
    ("[review]\nedit = false\n[review.debate]\nmax_pairs = 1", True),
    ("[debate]\nmax_pairs = 1", True),
    ("[review]\nrounds = 2", False),
    ("[solve]\nmax_attempts = 2\n[solve.tools]\nlint = []", True),
    ("[solve]\nedit = false", False),
    ("[single]\ntimeout = 5", True),
    ("[single]\nconsensus_threshold = 0.5", False),
    ("[poll]\nbatch = 2", True),
    ("[poll]\nmax_rounds = 2", False),
    ("[society]\nrounds = 2", True),
    ("[society]\nmax_rounds = 2", False),
    ("[triage]\ntimeout = 5", True),
    ("[triage]\nrounds = 5", False),
    ("[propose]\ntimeout = 5", True),
    ("[budget]\nmax_cost = 0.5\nmax_time = '10m'", True),
    ("[nothing]\nx = 1", False),
]


class Program:
    """The built program in a folder of its own."""

    def __init__(self, rebut: Path, folder: Path):
        self.rebut, self.folder = rebut, folder
        self.variables = {"PATH": os.environ["PATH"], "HOME": str(folder), "USER": "tester"}

    def run(self, *words: str, codes=(0,)) -> str:
        """What it prints; it must end with one of the codes."""
        manner = {"cwd": self.folder, "env": self.variables, "stdin": subprocess.DEVNULL}
        done = subprocess.run([str(self.rebut), *words], **manner, capture_output=True, text=True)
        if done.returncode not in codes:
            raise SystemExit(f"rebut {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def schema(self, of: str) -> Draft202012Validator:
        """A schema it prints, itself looked at."""
        schema = json.loads(self.run("schema", of))
        Draft202012Validator.check_schema(schema)
        return Draft202012Validator(schema)


def misfits(schema: Draft202012Validator, value) -> list[str]:
    """Where a value is not of a form."""
    return [f"{error.json_path}: {error.message[:200]}" for error in schema.iter_errors(value)]


def debates(program: Program) -> list[str]:
    """Results and events of every format."""
    result, event = program.schema("result"), program.schema("event")
    kinds = {kind: Draft202012Validator(schema) for kind, schema in event.schema["x-data-by-type"].items()}
    wrong, seen = [], set()
    (program.folder / "idea.md").write_text("# An app\n\nIt works in the field.\n")
    (program.folder / "nobody.md").write_text("## recommend/*\n!refusal\n")
    for name, words in DEBATES.items():
        codes = (0, 1, 3, 5)
        document = json.loads(program.run(*words, "--json", codes=codes))
        wrong += [f"{name}: result {misfit}" for misfit in misfits(result, document)]
        kept = program.run("show", document["debate_id"], "--json", codes=codes)
        wrong += [f"{name}: show {misfit}" for misfit in misfits(result, json.loads(kept))]
        lines = program.run(*words, "--stream-json", codes=codes).splitlines()
        lines += program.run("show", document["debate_id"], "--events").splitlines()
        for told in map(json.loads, lines):
            seen.add(told["type"])
            wrong += [f"{name}: {told['type']} {misfit}" for misfit in misfits(event, told) + misfits(kinds[told["type"]], told["data"])]
        if not lines:
            wrong.append(f"{name}: no event was told")
    print(f"{len(DEBATES)} debates, {len(seen)} kinds of events")
    return wrong


def configurations(program: Program) -> list[str]:
    """Sections as the program and its schema judge them, and what it shows itself."""
    schema, file, wrong = program.schema("config"), program.folder / "rebut.toml", []
    shown = tomllib.loads(program.run("config", "show"))
    formats = {name for name in DEBATES if " " not in name}
    if not formats <= shown.keys():
        wrong.append(f"config show lacks {formats - shown.keys()}")
    wrong += [f"config show: {misfit}" for misfit in misfits(schema, shown)]
    for text, good in SECTIONS:
        file.write_text(text + "\n")
        program.run("config", "validate", codes=(0,) if good else (2,))
        found = misfits(schema, tomllib.loads(text))
        if good != (not found):
            wrong.append(f"{text!r} is {'good' if good else 'bad'}, and the schema says {found or 'nothing'}")
    file.unlink()
    print(f"{len(SECTIONS)} sections of a configuration")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks what the program prints and takes against the schemas it prints.")
    parser.add_argument("--rebut", type=Path, required=True, help="the built program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rebut-schemas-") as folder:
        program = Program(options.rebut.resolve(), Path(folder))
        wrong = configurations(program) + debates(program)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
