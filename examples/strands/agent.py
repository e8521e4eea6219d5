"""A table booker with Strands, behind Strands' own A2A server. A person confirms each call of its tool."""

import os

import uvicorn
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.multiagent.a2a import A2AServer
from strands.vended_interventions.hitl import HumanInTheLoop

PORT = int(os.environ.get("PORT", "8080"))


@tool
def book_table(place: str, people: int) -> str:
    """Books a table."""
    return f"Booked {place} for {people}."


def booker(context: str) -> Agent:
    return Agent(
        name="Booker",
        description="Books tables.",
        system_prompt="You book tables.",
        model=OpenAIModel(model_id=os.environ["MODEL"]),  # OPENAI_BASE_URL, OPENAI_API_KEY
        tools=[book_table],
        interventions=[HumanInTheLoop()],
        callback_handler=None,
    )


# The server creates an agent for each conversation, and keeps those of the last 1,000 conversations.
server = A2AServer(agent_factory=booker, host="127.0.0.1", port=PORT, enable_a2a_compliant_streaming=True)

if __name__ == "__main__":
    uvicorn.run(server.to_starlette_app(), host="127.0.0.1", port=PORT)
