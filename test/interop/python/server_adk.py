# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server of google-adk's to_a2a, for an agent without a model."""

import logging
import warnings

from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types
from serving import RELEASE, Asks, answer, listen, serve

warnings.filterwarnings("ignore")
logging.getLogger("google_adk").setLevel(logging.ERROR)


class Answering(BaseAgent):
    def event(self, ctx, parts, **fields):
        return Event(
            author=self.name, invocation_id=ctx.invocation_id, content=types.Content(role="model", parts=parts), **fields)

    async def _run_async_impl(self, ctx):
        parts = ctx.user_content.parts
        if len(parts) > 1:
            yield self.event(ctx, list(parts))
            return
        response = parts[0].function_response
        said = parts[0].text or ""
        texts = []
        try:
            async for text in answer(said, ctx.session.id, response is not None or asked_before(ctx)):
                texts.append(text)
                yield self.event(ctx, [types.Part(text=text)], partial=True)
        except Asks as question:
            call = types.FunctionCall(id="call-1", name="ask", args={"question": str(question)})
            yield self.event(ctx, [types.Part(function_call=call)], long_running_tool_ids={"call-1"})
            return
        # The whole text follows its chunks, as after the stream of a model.
        yield self.event(ctx, [types.Part(text=text) for text in texts])


def asked_before(ctx):
    """Reports whether the agent's last event in the session is a question."""
    own = [e for e in ctx.session.events if e.author == ctx.agent.name]
    return bool(own and own[-1].long_running_tool_ids)


def main():
    listener, url = listen()
    app = to_a2a(Answering(name="x", description="d"), host="127.0.0.1", port=listener.getsockname()[1])
    app.routes.append(RELEASE)
    serve(app, listener, url)


if __name__ == "__main__":
    main()
