# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""An agent with kagent-langgraph, as for kagent: the first argument is its port, the second is the URL of a model.

The model gets the whole conversation, which the SDK stores at KAGENT_URL. The text "ask" pauses the graph until a decision.
"""

import logging
import sys

import httpx
from kagent.core import KAgentConfig
from kagent.langgraph import KAgentApp, KAgentCheckpointer
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from serving import listen, serve

logging.getLogger("httpx").setLevel(logging.ERROR)


def main(port, model_url):
    listener, url = listen(port)
    config = KAgentConfig()
    model = ChatOpenAI(model="stub", base_url=model_url, api_key="none")

    def answer(state):
        if state["messages"][-1].content == "ask":
            decided = interrupt({"action_requests": [{"name": "delete", "args": {"file": "a"}, "id": "call-1"}]})
            return {"messages": [AIMessage(f"decided: {decided['decision_type']}")]}
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    checkpoints = KAgentCheckpointer(client=httpx.AsyncClient(base_url=config.url), app_name=config.app_name)
    card = {
        "name": "x", "description": "d", "url": url, "version": "1", "capabilities": {"streaming": True},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": [],
    }
    app = KAgentApp(graph=graph.compile(checkpointer=checkpoints), agent_card=card, config=config, tracing=False).build()
    serve(app, listener, url)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
