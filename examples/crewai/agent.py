"""A table booker as a crew of one agent and one task, with CrewAI."""

import json
import os
from collections.abc import AsyncIterator
from typing import Annotated

import uvicorn
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from crewai.types.streaming import StreamChunkType
from fastapi import Body, FastAPI
from fastapi.responses import StreamingResponse

app = FastAPI()
model = LLM(os.environ["MODEL"], custom_openai=True, stream=True)  # OPENAI_BASE_URL, OPENAI_API_KEY


@tool("book_table")
def book_table(place: str, people: int) -> str:
    """Books a table."""
    return f"Booked {place} for {people}."


def crew() -> Crew:  # a crew stores the state of its run, so each turn needs a new crew
    booker = Agent(role="Booker", goal="Book tables.", backstory="You work for many restaurants.", llm=model, tools=[book_table])
    task = Task(description="Answer the last message:\n{conversation}", expected_output="The answer alone.", agent=booker)
    return Crew(agents=[booker], tasks=[task], stream=True)


def text(message: dict) -> str:
    return message["role"] + ": " + "".join(part.get("text", "") for part in message["parts"])


async def answer(turn: dict) -> AsyncIterator[dict]:
    conversation = "\n".join(text(m) for m in [*turn["history"], turn["message"]])
    async with await crew().akickoff({"conversation": conversation}) as output:
        async for chunk in output:
            if chunk.chunk_type == StreamChunkType.TEXT and chunk.content:
                yield {"text": chunk.content}


@app.post("/")
async def post(turn: Annotated[dict, Body()]) -> StreamingResponse:
    return StreamingResponse((json.dumps(event) + "\n" async for event in answer(turn)), media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8080")))
