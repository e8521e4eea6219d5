# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""A server of a2a-sdk 0.3. Usage: server_v03.py BINDING, JSONRPC or HTTP+JSON."""

import sys
import uuid

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TaskState, TextPart
from a2a.utils import new_task
from serving import RELEASE, Asks, answer, listen, serve


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        answered = context.current_task is not None
        if not answered:
            await event_queue.enqueue_event(new_task(context.message))
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
                await updater.add_artifact([Part(root=TextPart(text=text))], artifact_id=artifact, append=append)
        except Asks as question:
            asks = updater.new_agent_message([Part(root=TextPart(text=str(question)))])
            await updater.update_status(TaskState.input_required, asks, final=True)
            return
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    binding = sys.argv[1]
    listener, url = listen()
    card = AgentCard(
        name="x", description="d", version="1", url=url, preferred_transport=binding,
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"],
        skills=[AgentSkill(id="s", name="S", description="d", tags=["t"])],
    )
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore())
    application = A2AStarletteApplication if binding == "JSONRPC" else A2ARESTFastAPIApplication
    app = application(agent_card=card, http_handler=handler).build()
    app.router.routes.insert(0, RELEASE)
    serve(app, listener, url)


if __name__ == "__main__":
    main()
