# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Sends messages to an agent that asks for approvals: approve.py CLIENT JOB.

CLIENT is v10 or v03 for the official SDK, adk for google-adk, and mcp or agents for clients of the gateway. JOB is the JSON of a job of
approvalsite_test.go. Standard input has a line of JSON for each message: {"task", "text", "object"}. object is that of the extension, and
null for a text. Standard output has a line for each message: {"task"} with the task of the client, {"text"} with all that a client without
the task shows, or {"error"}.
"""

import asyncio
import contextlib
import importlib
import json
import sys

EXTENSION = "https://kagent.dev/extensions/hitl/v1"


@contextlib.asynccontextmanager
async def official(client, job):
    connected = await importlib.import_module(f"client_{client}").connect(job)

    async def say(line):
        return {"task": await connected.say(line["text"], line["task"], EXTENSION, line["object"])}

    yield say
    await connected.close()


@contextlib.asynccontextmanager
async def adk(_, job):
    """A program of google-adk shows what the agent asks as the arguments of a call, and its user answers the call."""
    import httpx
    from a2a.client import ClientConfig, ClientFactory
    from client_adk import say as converse
    from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    async with httpx.AsyncClient(timeout=30) as http:
        factory = ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=["JSONRPC", "HTTP+JSON"]))
        agent = RemoteA2aAgent(name="remote", agent_card=job["gateway"] + "/agents/team/echo/.well-known/agent-card.json", a2a_client_factory=factory)
        runner = InMemoryRunner(agent, app_name="interop")
        session = await runner.session_service.create_session(app_name="interop", user_id="u")
        asked = []

        async def say(line):
            part = types.Part(text=line["text"])
            if asked:
                reply = types.FunctionResponse(id=asked[-1].id, name=asked[-1].name, response={"result": line["text"]})
                part = types.Part(function_response=reply)
            text, calls = await converse(runner, session, part)
            asked.extend(calls)
            return {"text": text + "".join(str(value) for call in calls for value in call.args.values())}

        yield say


def arguments(line):
    named = {"taskId": line["task"]} if line["task"] else {}
    return {"agent": "team/echo", "message": line["text"], **named}


@contextlib.asynccontextmanager
async def mcp(_, job):
    from mcp import Client

    async with Client(job["gateway"] + "/mcp", mode="auto") as client:
        async def say(line):
            result = await client.call_tool("call_agent", arguments(line))
            return {"text": "".join(c.text for c in result.content if c.type == "text")}

        yield say


@contextlib.asynccontextmanager
async def agents(_, job):
    """A model of the OpenAI Agents SDK calls the agent, and repeats what the tool returns."""
    from agents import Agent, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp
    from framework_mcp import Script
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Caller(Script):
        async def get_response(self, system_instructions, input, *args, **kwargs):
            outputs = [i for i in input if isinstance(i, dict) and i.get("type") == "function_call_output"]
            if not outputs:
                return self.call("1", "call_agent", self.message)
            output = outputs[0]["output"]
            text = output if isinstance(output, str) else "".join(part["text"] for part in output)
            content = ResponseOutputText(type="output_text", annotations=[], text=text)
            return self.response(ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content]))

    set_tracing_disabled(True)
    async with MCPServerStreamableHttp(params={"url": job["gateway"] + "/mcp"}) as gateway:
        async def say(line):
            agent = Agent(name="caller", instructions="Ask others.", model=Caller(arguments(line)), mcp_servers=[gateway])
            return {"text": (await Runner.run(agent, "Deploy")).final_output}

        yield say


async def main(client, job):
    opened = {"adk": adk, "mcp": mcp, "agents": agents}.get(client, official)
    async with opened(client, job) as say:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                answer = await asyncio.wait_for(say(json.loads(line)), 60)
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
