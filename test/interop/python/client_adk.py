# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls agents with google-adk's RemoteA2aAgent, which gets the URL of their card.

Standard input contains a JSON list of jobs: {"name", "url", "ca", "connect"}. ca is the path of the certificate authority
of the agent, "" for none. connect maps host:port to the address to which the client connects; TLS and Host use the
name. If connect is null, ADK creates the HTTP client. Standard output is a line of JSON for each job: {"job", "got"} with
the texts of the agent, before and after the answer to its question, or {"job", "error"}.
"""

import asyncio
import json
import logging
import os
import ssl
import sys
import warnings

import httpcore
import httpx
from a2a.client import ClientConfig, ClientFactory
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

warnings.filterwarnings("ignore")
logging.getLogger("google_adk").setLevel(logging.CRITICAL)


class Network(httpcore.AnyIOBackend):
    """Connects to the addresses of a table in place of the hosts of URLs, as a name service does."""

    def __init__(self, connect):
        self.connect = connect

    async def connect_tcp(self, host, port, **kwargs):
        host, _, port = self.connect.get(f"{host}:{port}", f"{host}:{port}").rpartition(":")
        return await super().connect_tcp(host, int(port), **kwargs)


def transport(job):
    made = httpx.AsyncHTTPTransport(verify=ssl.create_default_context(cafile=job["ca"] or None), trust_env=False)
    made._pool._network_backend = Network(job["connect"])
    return made


async def say(runner, session, *parts):
    texts, calls = [], []
    content = types.Content(role="user", parts=list(parts))
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=content):
        if event.error_message:
            raise RuntimeError(event.error_message)
        for part in event.content.parts if event.content else []:
            if part.text and not part.thought:
                texts.append(part.text)
            if part.function_call:
                calls.append(part.function_call)
    return "".join(texts), calls


async def converse(agent):
    runner = InMemoryRunner(agent, app_name="interop")
    session = await runner.session_service.create_session(app_name="interop", user_id="u")
    answer, _ = await say(runner, session, types.Part(text="Hi"))
    question, calls = await say(runner, session, types.Part(text="ask"))
    if not calls:
        return f"{answer}; {question}"
    reply = types.FunctionResponse(id=calls[-1].id, name=calls[-1].name, response={"result": "This"})
    end, _ = await say(runner, session, types.Part(function_response=reply))
    return f"{answer}; {question}; {end}"


async def play(job):
    if job["connect"] is None:
        os.environ["SSL_CERT_FILE"] = job["ca"]
        agent = RemoteA2aAgent(name="remote", agent_card=job["url"])
        try:
            return await converse(agent)
        finally:
            await agent.cleanup()
            del os.environ["SSL_CERT_FILE"]
    async with httpx.AsyncClient(timeout=30, transport=transport(job)) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=["JSONRPC", "HTTP+JSON"])
        return await converse(RemoteA2aAgent(name="remote", agent_card=job["url"], a2a_client_factory=ClientFactory(config)))


async def main():
    for job in json.load(sys.stdin):
        line = {"job": job["name"]}
        try:
            line["got"] = await asyncio.wait_for(play(job), 60)
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
