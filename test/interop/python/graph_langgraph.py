# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""The graph that server_langgraph.py serves: one node that calls a stub of a model."""

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from serving import answer


class Stub(BaseChatModel):
    """A model that answers with the texts of the agent in serving.py, one chunk each."""

    context_id: str = ""
    answered: bool = False

    @property
    def _llm_type(self):
        return "stub"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise NotImplementedError("the graph is asynchronous")

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        text = "".join([c.message.content async for c in self._astream(messages)])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        async for text in answer(messages[-1].text, self.context_id, self.answered):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=text))
            if run_manager:
                await run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk


async def speak(state: MessagesState, config: RunnableConfig):
    messages = state["messages"]
    thread = config["configurable"]["thread_id"]
    if messages[-1].text == "ask":
        interrupt("Which?")
        return {"messages": [AIMessage(content="That one")]}
    return {"messages": [await Stub(context_id=thread).ainvoke(messages, config)]}


graph = StateGraph(MessagesState).add_node(speak).add_edge(START, "speak").add_edge("speak", END).compile()
