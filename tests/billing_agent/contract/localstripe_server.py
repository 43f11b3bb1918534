"""localstripe on loopback, run as a process: ``python localstripe_server.py PORT``.

What the API has and localstripe does not have yet is added where it says nothing new: a charge is not disputed, a
customer's cards are also at the path under the customer, and an unknown path is told as JSON. It keeps no file.
"""

import sys

from aiohttp import web
from localstripe import resources, server


async def methods(request: web.Request) -> web.Response:
    """Answer the cards of a customer."""
    customer = request.match_info["id"]
    found = resources.PaymentMethod._api_list_all(request.path, customer=customer, type="card", limit="100")
    return web.json_response(found._export())


async def unknown(request: web.Request) -> web.Response:
    """Answer what localstripe does not have."""
    message = f"Unrecognized request URL ({request.method}: {request.path})."
    return web.json_response({"error": {"type": "invalid_request_error", "message": message}}, status=404)


resources.Store.dump_to_disk = lambda store: None
resources.Charge.disputed = False
server.app.router.add_get("/v1/customers/{id}/payment_methods", methods)
server.app.router.add_route("*", "/{path:.*}", unknown)
web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
