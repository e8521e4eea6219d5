"""A table booker with FastAPI and OpenAI's client: no agent framework."""

import json
import os
from collections.abc import AsyncIterator
from typing import Annotated

import openai
import uvicorn
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

model = openai.AsyncOpenAI()  # OPENAI_BASE_URL, OPENAI_API_KEY
app = FastAPI()


class BookTable(BaseModel):
    """Books a table."""

    place: str
    people: int

    def run(self) -> str:
        return f"Booked {self.place} for {self.people}."


TOOLS = [openai.pydantic_function_tool(BookTable, name="book_table")]


def text(message: dict) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def answer(turn: dict) -> AsyncIterator[dict]:
    messages = [{"role": "user" if m["role"] == "user" else "assistant", "content": text(m)} for m in turn["history"]]
    if "task" in turn:  # the task has paused: its question contains the call that needs the approval
        call = turn["task"]["status"]["message"]["metadata"]["call"]
        booking = BookTable.model_validate_json(call["function"]["arguments"])
        result = booking.run() if text(turn["message"]).lower() == "yes" else "The user said no."
        messages += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": call["id"], "content": result}]
    else:
        messages.append({"role": "user", "content": text(turn["message"])})
    async with model.chat.completions.stream(model=os.environ["MODEL"], messages=messages, tools=TOOLS) as stream:
        async for event in stream:
            if event.type == "content.delta":
                yield {"text": event.delta}
        message = (await stream.get_final_completion()).choices[0].message
    for call in (message.tool_calls or [])[:1]:
        booking = call.function.parsed_arguments
        question = {"kind": "text", "text": f"Shall I book {booking.place} for {booking.people}? Say yes or no."}
        metadata = {"call": json.loads(call.model_dump_json(include={"id": True, "type": True, "function": {"name", "arguments"}}))}
        yield {"kind": "status-update", "status": {"state": "input-required", "message": {"role": "agent", "parts": [question], "metadata": metadata}}}


@app.post("/")
async def post(turn: Annotated[dict, Body()]) -> StreamingResponse:
    return StreamingResponse((json.dumps(event) + "\n" async for event in answer(turn)), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8080")))
