# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""The ARD client of ard-sdk: client_ard.py URL TOKEN QUESTION.

The client reads the manifest of the registry at URL without the token. It searches the registries of the manifest with
the token. It writes one line of JSON for each step.
"""

import asyncio
import json
import sys

from ard.http import ArdClient


def report(step, got):
    print(json.dumps({"operation": step, "got": got}), flush=True)


async def main(url, token, question):
    async with ArdClient() as ard:
        manifest = await ard.fetch_manifest(url + "/.well-known/ard.json")
        report("registries", str(len(manifest.registries)))
        registry = ard.registry(manifest.registries[0].url, token=token)
        page = await registry.search(question, filter={"type": ["application/a2a-agent-card+json"]}, page_size=5)
        report("found", " ".join(str(hit.identifier) for hit in page))
        report("card", str(page[0].url))


asyncio.run(main(*sys.argv[1:]))
