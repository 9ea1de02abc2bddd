# SPDX-License-Identifier: Apache-2.0
"""An ASGI application: coroutines that wait for each other, and JSON."""
import asyncio
import json


async def price(i):
    await asyncio.sleep(0)
    return {"name": f"item {i}", "price": i * i % 97}


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    rows = await asyncio.gather(*(price(i) for i in range(20)))
    body = json.dumps(sorted(rows, key=lambda r: r["price"])).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
