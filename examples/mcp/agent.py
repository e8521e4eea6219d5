"""A table booker whose tools are those of an MCP server, with the OpenAI Agents SDK."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import uvicorn
from agents import Agent, Runner, RunState, set_default_openai_api, set_tracing_disabled
from agents.mcp import MCPServerStdio
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse

set_default_openai_api("chat_completions")  # the API of model servers other than OpenAI's
set_tracing_disabled(True)  # traces would go to OpenAI

tools = MCPServerStdio({"command": sys.executable, "args": ["tools.py"]}, cache_tools_list=True, require_approval="always")
agent = Agent("Booker", instructions="You book tables.", mcp_servers=[tools], model=os.environ["MODEL"])


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with tools:
        yield


app = FastAPI(lifespan=lifespan)


def text(message: dict) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def answer(turn: dict) -> AsyncIterator[dict]:
    if "task" in turn:  # the task has paused: its question contains the state of the run
        given = await RunState.from_json(agent, turn["task"]["status"]["message"]["metadata"]["run"])
        for call in given.get_interruptions():
            given.approve(call) if text(turn["message"]).lower() == "yes" else given.reject(call, rejection_message="The user said no.")
    else:
        given = [{"role": "user" if m["role"] == "user" else "assistant", "content": text(m)} for m in [*turn["history"], turn["message"]]]
    run = Runner.run_streamed(agent, given)
    try:
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                yield {"text": event.data.delta}
    finally:
        run.cancel()  # if the caller has disconnected; without effect on a run that has ended
    for call in run.interruptions[:1]:
        question = {"kind": "text", "text": f"Shall I call {call.name} with {call.arguments}? Say yes or no."}
        metadata = {"run": run.to_state().to_json()}
        yield {"kind": "status-update", "status": {"state": "input-required", "message": {"role": "agent", "parts": [question], "metadata": metadata}}}


@app.post("/")
async def post(turn: Annotated[dict, Body()]) -> StreamingResponse:
    return StreamingResponse((json.dumps(event) + "\n" async for event in answer(turn)), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8080")))
