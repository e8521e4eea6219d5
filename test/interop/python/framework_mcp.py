# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""An agent of the OpenAI Agents SDK whose tools are the agents of the cluster, with a stub of a model:
framework_mcp.py URL MESSAGE. It writes the tools that the model receives, and the last output."""

import asyncio
import json
import sys

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


def report(step, got):
    print(json.dumps({"operation": step, "got": got}), flush=True)


class Script(Model):
    """A model that finds an agent, calls it with the message and repeats the agent's answer."""

    def __init__(self, message):
        self.message = message

    async def get_response(self, system_instructions, input, model_settings, tools, *args, **kwargs):
        outputs = [i for i in input if isinstance(i, dict) and i.get("type") == "function_call_output"]
        if not outputs:
            report("tools", " ".join(sorted(tool.name for tool in tools)))
            return self.call("1", "find_agents", {"q": "says"})
        if len(outputs) == 1:
            found = json.loads(self.text(outputs[0]))["items"][0]
            return self.call("2", "call_agent", {"agent": found["namespace"] + "/" + found["name"], "message": self.message})
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


async def main(url, message):
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp(params={"url": url}) as cluster:
        agent = Agent(name="caller", instructions="Ask others.", model=Script(message), mcp_servers=[cluster])
        result = await Runner.run(agent, "Say hello")
        report("output", result.final_output)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
