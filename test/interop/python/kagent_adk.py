# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""An agent with kagent-adk, as for kagent: the first argument is its port, the second is the URL of a model.

The model gets the whole session, which the SDK stores at KAGENT_URL. The model calls the tool delete if the user says "ask", and the
tool needs a confirmation.
"""

import logging
import sys
import warnings

from a2a.types import AgentCapabilities, AgentCard
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from kagent.adk import KAgentApp
from kagent.adk.models import OpenAI
from kagent.core import KAgentConfig
from serving import listen, serve

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)


def delete(file: str) -> str:
    """Deletes a file."""
    return f"deleted {file}"


def main(port, model_url):
    listener, url = listen(port)
    config = KAgentConfig()

    def agent():
        model = OpenAI(type="openai", model="stub", base_url=model_url, api_key="none")
        return LlmAgent(name="x", model=model, instruction="Answer.", tools=[FunctionTool(delete, require_confirmation=True)])

    card = AgentCard(
        name="x", description="d", url=url, version="1", capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text"], default_output_modes=["text"], skills=[])
    serve(KAgentApp(agent, card, config.url, config.app_name).build(), listener, url)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
