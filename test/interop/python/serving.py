# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""The part that all servers share: the agent that they run, its journal, and their listener.

Standard output has lines of JSON: {"url": ...} when the server listens, and {"turn": ..., "run": ..., "sent": ...} for
each part of a numbered turn that the agent has passed to its SDK. A turn that runs twice has two values of "run".
"""

import asyncio
import json
import re
import socket
import sys
import threading
import uuid

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

# released lets one waiting agent continue.
released: asyncio.Queue = asyncio.Queue()
# conversations has the messages of each context, in order.
conversations: dict[str, list[str]] = {}


def tell(**fact):
    """Writes a line of the journal with one call, so that lines do not mix."""
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


class Asks(Exception):
    """The agent asks for input before it goes on."""


def numbered(said):
    """Returns the name and the number of parts of a numbered turn, such as "turn t-7 5", or None."""
    if match := re.fullmatch(r"turn (\S+) (\d+)", said):
        return match[1], int(match[2])
    return None


async def answer(said, context_id, answered):
    """Yields the texts of the answer, and raises Asks when the agent needs input first.

    The journal has a text once the consumer, which has passed it to the SDK, asks for the next one.
    """
    told = conversations.setdefault(context_id, [])
    told.append(said)
    if turn := numbered(said):
        run = str(uuid.uuid4())
        for i in range(turn[1]):
            text = f"{turn[0]}/{i} "
            yield text
            tell(turn=turn[0], run=run, sent=text)
            await asyncio.sleep(0.01)  # the connection may be cut before the agent is done
    elif answered:
        yield "That one"
    elif said == "ask":
        raise Asks("Which?")
    elif said in ("wait", "hang"):
        yield "one "
        if said == "hang":
            await asyncio.Event().wait()
        await released.get()
        yield "two"
    elif said == "fail":
        raise RuntimeError("the agent broke")
    elif said == "what was said":
        yield ", ".join(told[:-1])
    else:
        yield "Hello "
        yield "world"


async def release(_: Request):
    await released.put(None)
    return Response(status_code=204)


RELEASE = Route("/release", release, methods=["POST"])


def listen(port=0):
    """Returns a socket on a port of the loopback, by default a free one, and its URL."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def serve(app, listener, url, **facts):
    """Serves until standard input ends, which the test keeps open.

    The line with the URL has the facts, too.
    """
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))

    def watch():
        sys.stdin.buffer.read()
        server.should_exit = True

    class Announcing(type(server)):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            tell(url=url, **facts)

    server.__class__ = Announcing
    threading.Thread(target=watch, daemon=True).start()
    server.run(sockets=[listener])
