#!/usr/bin/env python3
"""Debates with real parts: a real small model on a real server, and a real agent program. Usually called by `./check --real`.

What it needs is fetched into a cache (REBUT_REAL_CACHE, else ~/.cache/rebut-real) and kept there. Nothing is skipped:
a part that cannot be had is a failure. The exit code is 0 only when every debate went as it must.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import debates
import parts
import serving


def main() -> int:
    """Gets the parts, then runs the debates."""
    options = arguments()
    cache = Path(os.environ.get("REBUT_REAL_CACHE") or Path.home() / ".cache" / "rebut-real")
    # So that servers are stopped on the way out, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        cache.mkdir(parents=True, exist_ok=True)
        if not Path("/proc/self/environ").exists():
            raise parts.Missing("there is no /proc, by which processes left behind are found: run this on Linux")
        weights = step(f"weights of {options.model}", lambda: parts.weights(cache, options.model))
        own = parts.Server([str(options.server)]) if options.server else None
        server = own or step("model server", lambda: parts.server(cache))
        agent = step("agent program", lambda: parts.agent(cache))
        with tempfile.TemporaryDirectory(prefix="rebut-real-") as folder:
            debate(options, Path(folder), weights, server, agent)
    except (parts.Missing, debates.Wrong) as error:
        print(f"\nreal: {error}", file=sys.stderr)
        return 1
    print("real: every debate went as it must")
    return 0


def debate(options: argparse.Namespace, folder: Path, weights: Path, server: parts.Server, agent: Path):
    """Both debates, over one server."""
    model, program, log = parts.MODELS[options.model], options.rebut.resolve(), folder / "server.log"
    over_http, over_agent = (debates.Rebut(program, folder / name, model.turn_seconds) for name in ["http", "agent"])
    for rebut in [over_http, over_agent]:
        rebut.home.mkdir()
    try:
        with serving.model_server(server, weights, log) as url:
            step("three judges over HTTP", lambda: debates.over_http(over_http, url, options.model, model.rounds))
            with serving.relay(url, model.turn_seconds) as (address, calls):
                over_agent.path = f"{agent}:{os.environ['PATH']}"
                over_agent.variables = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "none-needed"}
                step("three judges by cli:claude", lambda: debates.over_agent(over_agent, calls))
    except debates.Wrong as wrong:
        raise debates.Wrong(f"{wrong}\n\nthe model server said last:\n{log.read_text(errors='replace')[-2000:]}") from wrong
    finally:
        debates.end_all(folder)


def step(name: str, work):
    """Does a piece of work and prints how long it took."""
    began = time.monotonic()
    result = work()
    print(f"{time.monotonic() - began:5.0f} s  {name}", flush=True)
    return result


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="./check --real", description="Debates with real parts; see docs/src/real-models.md.")
    parser.add_argument("--rebut", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--model", choices=sorted(parts.MODELS), default="smollm2-135m", help="the model that answers (default: %(default)s)")
    parser.add_argument("--server", type=Path, help="a llama-server of this machine, instead of Debian's")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
