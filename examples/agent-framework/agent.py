"""A table booker with Microsoft Agent Framework. Its tool needs the user's approval."""

import json
import os
from collections.abc import AsyncIterator
from typing import Annotated

import uvicorn
from agent_framework import Agent, AgentSession, Content, Message, tool
from agent_framework.openai import OpenAIChatCompletionClient
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse


@tool(approval_mode="always_require")
def book_table(place: str, people: int) -> str:
    """Books a table."""
    return f"Booked {place} for {people}."


client = OpenAIChatCompletionClient(model=os.environ["MODEL"])  # OPENAI_BASE_URL, OPENAI_API_KEY
agent = Agent(client, "You book tables.", tools=[book_table])
app = FastAPI()


def text(message: dict) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def answer(turn: dict) -> AsyncIterator[dict]:
    if "task" in turn:  # the task has paused: its question contains the session and the request for approval
        asked = turn["task"]["status"]["message"]["metadata"]
        session, request = AgentSession.from_dict(asked["session"]), Content.from_dict(asked["request"])
        messages = [Message("user", [request.to_function_approval_response(text(turn["message"]).lower() == "yes")])]
    else:
        session = agent.create_session()
        messages = [Message("user" if m["role"] == "user" else "assistant", [text(m)]) for m in [*turn["history"], turn["message"]]]
    requests = []
    async for update in agent.run(messages, session=session, stream=True):
        requests += update.user_input_requests
        if update.text:
            yield {"text": update.text}
    for request in requests[:1]:
        wanted = request.function_call.parse_arguments()
        question = {"kind": "text", "text": f"Shall I book {wanted['place']} for {wanted['people']}? Say yes or no."}
        metadata = {"session": session.to_dict(), "request": request.to_dict()}
        yield {"kind": "status-update", "status": {"state": "input-required", "message": {"role": "agent", "parts": [question], "metadata": metadata}}}


@app.post("/")
async def post(turn: Annotated[dict, Body()]) -> StreamingResponse:
    return StreamingResponse((json.dumps(event) + "\n" async for event in answer(turn)), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8080")))
