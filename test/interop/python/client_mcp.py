# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls the gateway with the MCP client of the Python SDK: client_mcp.py MODE URL.

The client finds an agent and calls it, answers the agent's question, and cancels a call. It writes one line
of JSON for each step.
"""

import asyncio
import json
import sys

import mcp_types as types
from mcp import Client


def report(step, got):
    print(json.dumps({"operation": step, "got": got}), flush=True)


def texts(result):
    return [c.text for c in result.content if c.type == "text"]


async def answer(context, params):
    report("question", params.message)
    return types.ElicitResult(action="accept", content={"answer": "The first"})


async def main(mode, url):
    async with Client(url, mode=mode, elicitation_callback=answer) as client:
        tools = await client.list_tools()
        report("tools", " ".join(sorted(t.name for t in tools.tools)))
        found = await client.call_tool("find_agents", {"q": "says"})
        agent = found.structured_content["items"][0]
        name = agent["namespace"] + "/" + agent["name"]
        report("find", name)

        progress = []

        async def notified(count, total, message):
            progress.append(message)

        called = await client.call_tool("call_agent", {"agent": name, "message": "Do it"}, progress_callback=notified)
        report("call", " ".join(texts(called)[:-1]))
        report("progress", "some" if progress else "none")
        report("state", json.loads(texts(called)[-1])["state"])

        failed = await client.call_tool("call_agent", {"agent": "team/nobody", "message": "x"})
        report("error", texts(failed)[0] if failed.is_error else "none")

    async with Client(url, mode=mode) as client:
        called = await client.call_tool("call_agent", {"agent": name, "message": "Do it"})
        facts = json.loads(texts(called)[-1])
        report("without a user", facts["state"])
        called = await client.call_tool(
            "call_agent", {"agent": name, "message": "The first", "taskId": facts["taskId"]})
        report("continued", " ".join(texts(called)[:-1]))


asyncio.run(main(sys.argv[1], sys.argv[2]))
