"""A receiver of webhooks: looks whether each message is genuine and new, and prints what it is about.

Usage: receiver.py PORT SECRET_FILE
"""

import base64
import hmac
import json
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


def is_genuine(headers, body: bytes, secret: str) -> bool:
    """Whether whoever has the secret has signed exactly this, a short while ago."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    name, sent = headers["webhook-id"], headers["webhook-timestamp"]
    expected = base64.b64encode(hmac.digest(key, f"{name}.{sent}.".encode() + body, "sha256")).decode()
    is_fresh = abs(time.time() - int(sent)) < 300
    return is_fresh and any(hmac.compare_digest(one, f"v1,{expected}") for one in headers["webhook-signature"].split())


class Receiver(BaseHTTPRequestHandler):
    """Answers posts."""

    seen = set()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        is_ours = is_genuine(self.headers, body, SECRET)
        # What comes again, since our answer was lost, is not done again.
        if is_ours and self.headers["webhook-id"] not in self.seen:
            self.seen.add(self.headers["webhook-id"])
            event = json.loads(body)
            print(event["type"], event.get("data", {}).get("summary", ""), flush=True)
        self.send_response(204 if is_ours else 401)
        self.end_headers()

    def log_message(self, *_):
        """Nothing of its own."""


if __name__ == "__main__":
    SECRET = open(sys.argv[2]).read().strip()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print("listening", file=sys.stderr, flush=True)
    server.serve_forever()
