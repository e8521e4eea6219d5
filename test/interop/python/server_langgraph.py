# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""The server of langgraph-api, in memory, with the graph of graph_langgraph.py.

Its assistant has the path /a2a/ASSISTANT, which is part of the URL that the program writes.
"""

import contextlib
import json
import os
import pathlib
import tempfile
import uuid

from serving import RELEASE, listen, serve

# The id that the server assigns to the assistant of a graph.
ASSISTANT = uuid.uuid5(uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8"), "agent")


def main(stack):
    listener, url = listen()
    graph = str(pathlib.Path(__file__).with_name("graph_langgraph.py").absolute()) + ":graph"
    # The server writes its state into the working directory.
    os.chdir(stack.enter_context(tempfile.TemporaryDirectory()))
    # The server reads its configuration from the environment when it is imported.
    os.environ.update({
        "MIGRATIONS_PATH": "__inmem", "DATABASE_URI": ":memory:", "REDIS_URI": "fake", "N_JOBS_PER_WORKER": "10",
        "LANGSERVE_GRAPHS": json.dumps({"agent": graph}),
        "LANGSMITH_LANGGRAPH_API_VARIANT": "local_dev", "LANGGRAPH_RUNTIME_EDITION": "inmem",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true", "LANGGRAPH_ALLOW_BLOCKING": "true", "LANGGRAPH_API_URL": url,
        "LANGGRAPH_NO_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false", "LOG_LEVEL": "ERROR",
    })
    from langgraph_api.server import app
    app.router.routes.insert(0, RELEASE)
    serve(app, listener, url, path=f"/a2a/{ASSISTANT}")


if __name__ == "__main__":
    with contextlib.ExitStack() as stack:
        main(stack)
