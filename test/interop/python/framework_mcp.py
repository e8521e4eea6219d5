# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""An agent of the OpenAI Agents SDK whose tools are the agents of the cluster, with a model of
its own: framework_mcp.py URL. It writes the last output."""

import asyncio
import json
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Script(Model):
    """A model that finds an agent, calls it and repeats what it says."""

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        outputs = [i for i in input if isinstance(i, dict) and i.get("type") == "function_call_output"]
        if not outputs:
            return self.call("1", "find_agents", {"q": "says"})
        if len(outputs) == 1:
            found = json.loads(self.text(outputs[0]))["items"][0]
            return self.call("2", "call_agent", {"agent": found["namespace"] + "/" + found["name"], "message": "Hi"})
        message = ResponseOutputText(type="output_text", annotations=[], text=self.text(outputs[1]))
        return self.response(ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[message]))

    @staticmethod
    def text(output):
        value = output["output"]
        return value if isinstance(value, str) else value[0]["text"]

    def call(self, call_id, name, arguments):
        return self.response(ResponseFunctionToolCall(
            type="function_call", call_id=call_id, name=name, arguments=json.dumps(arguments)))

    @staticmethod
    def response(item):
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main(url):
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp(params={"url": url}) as cluster:
        agent = Agent(name="caller", instructions="Ask others.", model=Script(), mcp_servers=[cluster])
        result = await Runner.run(agent, "Say hello")
        print(json.dumps({"operation": "output", "got": result.final_output}), flush=True)


asyncio.run(main(sys.argv[1]))
