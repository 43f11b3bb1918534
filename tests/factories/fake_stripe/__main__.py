"""The fake as a process of its own, which lives on when its client is killed.

``python -m tests.factories.fake_stripe`` prints its address as one line and serves until it is ended.
"""

import argparse
import sys
from pathlib import Path

from tests.factories.fake_stripe.account import Account
from tests.factories.fake_stripe.server import serve


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description="A Stripe of our own on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append every effect to this file, one JSON object a line")
    parser.add_argument("--now", type=int, help="let the clock stand at this second since 1970")
    asked = parser.parse_args()
    server, stripe = serve(Account(asked.now, asked.log), asked.port)
    sys.stdout.write(f"{stripe.url}\n")
    sys.stdout.flush()
    server.serve_forever()


main()
