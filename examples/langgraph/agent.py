"""A table booker as a LangGraph graph. Its tool interrupts the graph to ask."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Annotated

import uvicorn
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from langchain.agents import create_agent
from langchain.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt


def book_table(place: str, people: int) -> str:
    """Books a table."""
    if interrupt(f"Shall I book {place} for {people}? Say yes or no.").lower() != "yes":
        return "The user said no."
    return f"Booked {place} for {people}."


model = ChatOpenAI(model=os.environ["MODEL"])  # OPENAI_BASE_URL, OPENAI_API_KEY
checkpoints = InMemorySaver()  # stores paused tasks; with several replicas, use a saver with a database
graph = create_agent(model, [book_table], system_prompt="You book tables.", checkpointer=checkpoints)
app = FastAPI()


def text(message: dict) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def answer(turn: dict) -> AsyncIterator[dict]:
    if "task" in turn:  # the task has paused
        given = Command(resume=text(turn["message"]))
    else:
        given = {"messages": [{"role": "user" if m["role"] == "user" else "assistant", "content": text(m)} for m in [*turn["history"], turn["message"]]]}
    config = {"configurable": {"thread_id": turn["taskId"]}}
    paused = False
    try:
        async for mode, chunk in graph.astream(given, config, stream_mode=["messages", "updates"]):
            if mode == "messages" and isinstance(chunk[0], AIMessageChunk) and chunk[0].text:
                yield {"text": chunk[0].text}
            elif mode == "updates" and "__interrupt__" in chunk:
                paused, question = True, {"kind": "text", "text": chunk["__interrupt__"][0].value}
                yield {"kind": "status-update", "status": {"state": "input-required", "message": {"role": "agent", "parts": [question]}}}
    finally:
        if not paused:
            checkpoints.delete_thread(turn["taskId"])


async def lines(events: AsyncIterator[dict]) -> AsyncIterator[str]:
    # Starlette cancels its own task repeatedly, which would leave the call of the model open. A separate task is canceled once.
    queue: asyncio.Queue = asyncio.Queue()

    async def run() -> None:
        async for event in events:
            queue.put_nowait(json.dumps(event) + "\n")

    task = asyncio.create_task(run())
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while line := await queue.get():
            yield line
        await task
    finally:
        task.cancel()


@app.post("/")
async def post(turn: Annotated[dict, Body()]) -> StreamingResponse:
    return StreamingResponse(lines(answer(turn)), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8080")))
