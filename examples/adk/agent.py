"""A table booker with Google's ADK, behind ADK's own A2A server. Its tool asks for confirmation."""

import logging
import os

import uvicorn
from google.adk.a2a.converters.request_converter import AgentRunRequest, convert_a2a_request_to_agent_run_request
from google.adk.a2a.executor.a2a_agent_executor import A2aAgentExecutor
from google.adk.a2a.executor.config import A2aAgentExecutorConfig
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import StreamingMode
from google.adk.models import LlmResponse
from google.adk.models.lite_llm import LiteLlm
from google.adk.tools import FunctionTool

PORT = int(os.environ.get("PORT", "8080"))


def book_table(place: str, people: int) -> str:
    """Books a table."""
    return f"Booked {place} for {people}."


def model_failed(callback_context, llm_request, error: Exception) -> LlmResponse:
    logging.error("The model failed", exc_info=error)
    return LlmResponse(error_code="MODEL_FAILED", error_message="The model failed.")  # without it, clients would receive the text of the exception


agent = LlmAgent(
    name="booker",
    description="Books tables.",
    instruction="You book tables.",
    model=LiteLlm("openai/" + os.environ["MODEL"]),  # OPENAI_BASE_URL, OPENAI_API_KEY
    tools=[FunctionTool(book_table, require_confirmation=True)],
    on_model_error_callback=model_failed,
)


def streamed(*args) -> AgentRunRequest:
    request = convert_a2a_request_to_agent_run_request(*args)
    request.run_config.streaming_mode = StreamingMode.SSE
    return request


config = A2aAgentExecutorConfig(request_converter=streamed)
app = to_a2a(
    agent,
    host="127.0.0.1",
    port=PORT,
    agent_executor_factory=lambda runner: A2aAgentExecutor(runner=runner, config=config, force_new_version=True),
)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=PORT)
