# SPDX-License-Identifier: Apache-2.0
"""HTTP servers that programs under test send requests to."""
import http.server

import cameo


class WebServer:
    """Responds to GET requests, at self.url, until the end of the block. A subclass defines get(request)."""

    def __init__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802 - the library's name
                outer.get(self)

            def log_message(self, *_):
                pass

        self.server, self.url = cameo.serve(Handler)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def respond(request, status, body, *headers):
    """Sends a response with its length."""
    request.send_response(status)
    for name, value in headers:
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
