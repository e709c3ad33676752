"""What a typical pull API does: one HGET of the version for each hit, and the body kept in memory until that differs."""

import os

import redis.asyncio as redis
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

KEY = os.environ["FILE_KEY"]
SERVER = redis.Redis(host=os.environ["FTL_REDIS_HOST"], port=int(os.environ["FTL_REDIS_PORT"]), max_connections=64)
memory = {}


async def held():
    version = await SERVER.hget(KEY, "v")
    if memory.get("version") != version:
        memory.update(version=version, body=await SERVER.hget(KEY, "gz"), etag=(await SERVER.hget(KEY, "etag")).decode())
    return memory


async def feed(request):
    copy = await held()
    headers = {"ETag": copy["etag"], "Cache-Control": "private, no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == copy["etag"]:
        return Response(status_code=304, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(copy["body"], media_type="application/json", headers=headers)


app = Starlette(routes=[Route("/{path:path}", feed)])
