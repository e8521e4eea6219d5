"""A table booker with Pydantic AI. Its tool is deferred until the user approves."""

import json
import os
from collections.abc import AsyncIterator
from typing import Annotated

import uvicorn
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, PartDeltaEvent, PartStartEvent
from pydantic_ai import AgentRunResultEvent, ModelRequest, ModelResponse, TextPart, TextPartDelta, ToolDenied
from pydantic_ai.models.openai import OpenAIChatModel

model = OpenAIChatModel(os.environ["MODEL"])  # OPENAI_BASE_URL, OPENAI_API_KEY
agent = Agent(model, instructions="You book tables.", output_type=[str, DeferredToolRequests])
app = FastAPI()


@agent.tool_plain(requires_approval=True)
def book_table(place: str, people: int) -> str:
    """Books a table."""
    return f"Booked {place} for {people}."


def text(message: dict) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def answer(turn: dict) -> AsyncIterator[dict]:
    prompt, results = text(turn["message"]), None
    if "task" in turn:  # the task has paused: its question contains the messages of the run
        asked = turn["task"]["status"]["message"]["metadata"]
        history = ModelMessagesTypeAdapter.validate_python(asked["messages"])
        verdict = True if prompt.lower() == "yes" else ToolDenied("The user said no.")
        prompt, results = None, DeferredToolResults(approvals={call: verdict for call in asked["calls"]})
    else:
        history = [ModelRequest.user_text_prompt(text(m)) if m["role"] == "user" else ModelResponse([TextPart(text(m))]) for m in turn["history"]]
    async with agent.run_stream_events(prompt, message_history=history, deferred_tool_results=results) as events:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                yield {"text": event.part.content}
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                yield {"text": event.delta.content_delta}
            elif isinstance(event, AgentRunResultEvent) and isinstance(event.result.output, DeferredToolRequests):
                calls = event.result.output.approvals
                question = [{"kind": "text", "text": "Shall I book {place} for {people}? Say yes or no.".format(**c.args_as_dict())} for c in calls]
                metadata = {"calls": [c.tool_call_id for c in calls], "messages": json.loads(event.result.all_messages_json())}
                yield {"kind": "status-update", "status": {"state": "input-required", "message": {"role": "agent", "parts": question, "metadata": metadata}}}


@app.post("/")
async def post(turn: Annotated[dict, Body()]) -> StreamingResponse:
    return StreamingResponse((json.dumps(event) + "\n" async for event in answer(turn)), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8080")))
