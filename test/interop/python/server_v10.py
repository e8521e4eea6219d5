# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server of a2a-sdk 1.x. Usage: server_v10.py BINDING, JSONRPC or HTTP+JSON."""

import sys
import uuid

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2 as pb
from serving import RELEASE, Asks, answer, listen, serve
from starlette.applications import Starlette


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        answered = context.current_task is not None
        if not answered:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        said = context.get_user_input()
        if len(context.message.parts) > 1:
            await updater.add_artifact(list(context.message.parts), artifact_id="echo", last_chunk=True)
            await updater.complete()
            return
        artifact = None
        try:
            async for text in answer(said, context.context_id, answered):
                append = artifact is not None
                artifact = artifact or str(uuid.uuid4())
                await updater.add_artifact([pb.Part(text=text)], artifact_id=artifact, append=append)
        except Asks as question:
            await updater.requires_input(updater.new_agent_message([pb.Part(text=str(question))]))
            return
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    binding = sys.argv[1]
    listener, url = listen()
    card = pb.AgentCard(
        name="x", description="d", version="1",
        supported_interfaces=[pb.AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")],
        capabilities=pb.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        skills=[pb.AgentSkill(id="s", name="S", description="d", tags=["t"])],
    )
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore(), agent_card=card)
    rpc = create_jsonrpc_routes(handler, "/") if binding == "JSONRPC" else create_rest_routes(handler)
    serve(Starlette(routes=[*create_agent_card_routes(card), RELEASE, *rpc]), listener, url)


if __name__ == "__main__":
    main()
