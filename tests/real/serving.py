"""The servers of a run, all on loopback: one that computes a real model's answers, one that hands an agent program's calls on to it."""

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from parts import Missing, Server

# Loading is quick; a machine under load is not.
START_SECONDS = 180


@contextlib.contextmanager
def model_server(server: Server, weights: Path, log: Path):
    """Runs the server as long as the block; gives its address, up to and with the version."""
    port = free_port()
    # One thread, because more of them fight on a busy machine; one answer at a time, so that what a model says does not
    # depend on who else asked. Without a penalty, small models say one sentence for ever.
    place = ["--host", "127.0.0.1", "--port", str(port)]
    manner = ["-c", "8192", "-np", "1", "-t", "1", "--jinja", "--repeat-penalty", "1.15", "--repeat-last-n", "64"]
    with open(log, "wb") as output:
        command = [*server.command, "-m", str(weights), *place, *manner]
        process = subprocess.Popen(command, cwd=server.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    try:
        wait_until_healthy(process, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_healthy(process: subprocess.Popen, url: str, log: Path):
    """Asks until it says that it is ready; fails when it ended or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    why = f"was not ready after {START_SECONDS} s" if process.poll() is None else f"ended with {process.returncode}"
    raise Missing(f"the model server {why}:\n{log.read_text(errors='replace')[-2000:]}")


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def relay(model_url: str, patience: int):
    """Speaks Anthropic's messages to an agent program; the model behind it answers in the form the program's tool asks for.

    The model server speaks messages too, but leaves it to the model whether it calls the tool, and these models do not.
    Gives the address and a list that grows by one for each call of the tool.
    """
    calls: list[dict] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                return self.reply(404, "application/json", b'{"type":"error","error":{"type":"not_found_error","message":"not here"}}')
            try:
                message = answered(model_url, patience, request, calls)
            except (OSError, KeyError, ValueError) as error:
                body = {"type": "error", "error": {"type": "api_error", "message": f"the model server failed: {error!r}"}}
                return self.reply(500, "application/json", json.dumps(body).encode())
            if request.get("stream"):
                return self.reply(200, "text/event-stream", b"".join(event(data) for data in events(message)))
            return self.reply(200, "application/json", json.dumps(message).encode())

        def do_HEAD(self):
            self.reply(200, "text/plain", b"")

        def reply(self, status: int, kind: str, body: bytes):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}", calls
    finally:
        listener.shutdown()
        listener.server_close()


def answered(model_url: str, patience: int, request: dict, calls: list[dict]) -> dict:
    """The message that answers a request: a call of its tool, filled by the model, or a word after that."""
    tools = [tool for tool in request.get("tools", []) if "input_schema" in tool]
    last = request["messages"][-1]["content"]
    is_told = isinstance(last, list) and any(part.get("type") == "tool_result" for part in last)
    if is_told or not tools:
        return message(request, {"type": "text", "text": "Done."}, "end_turn", {"prompt_tokens": 0, "completion_tokens": 0})
    tool = tools[-1]
    asked = {
        "messages": [{"role": "system", "content": plain(request.get("system", ""))}]
        + [{"role": said["role"], "content": plain(said["content"])} for said in request["messages"]],
        "max_tokens": 400,
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": tool["name"], "strict": True, "schema": tool["input_schema"]}},
    }
    call = urllib.request.Request(f"{model_url}/chat/completions", json.dumps(asked).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(call, timeout=patience) as answer:
        completion = json.load(answer)
    filled = json.loads(completion["choices"][0]["message"]["content"])
    calls.append(filled)
    content = {"type": "tool_use", "id": f"toolu_{len(calls)}", "name": tool["name"], "input": filled}
    return message(request, content, "tool_use", completion["usage"])


def plain(content) -> str:
    """Text that came as text or in parts."""
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content if part.get("type") == "text")


def message(request: dict, content: dict, stop_reason: str, usage: dict) -> dict:
    """A whole message."""
    return {
        "id": "msg_real", "type": "message", "role": "assistant", "model": request["model"], "content": [content], "stop_reason": stop_reason,
        "stop_sequence": None, "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def events(whole: dict):
    """The same message as a stream, in as few pieces as there can be."""
    (content,) = whole["content"]
    is_text = content["type"] == "text"
    empty = {**content, "text": ""} if is_text else {**content, "input": {}}
    delta = {"type": "text_delta", "text": content["text"]} if is_text else {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def event(data: dict) -> bytes:
    """One event of a stream."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
