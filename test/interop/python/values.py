# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads the tasks of storedvalues_test.go with an official Python client.

Usage: values.py SDK, where SDK is the module that wraps the client: v10 or v03.
Standard input contains a JSON list of jobs. A job names a sidecar, how to call it, and the ids of its tasks.
Standard output is one line of JSON for each task of each job: the task as the SDK encodes it again, or an error.
"""

import asyncio
import importlib
import json
import sys


async def read(sdk, job):
    client = await sdk.connect(job)
    for task_id in job["tasks"]:
        line = {"job": job["name"], "id": task_id}
        try:
            line["task"] = await client.whole(task_id)
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(line))
    if job["protocol"] == "1.0":
        try:
            await client.pages(len(job["tasks"]))
        except Exception as error:
            print(json.dumps({"job": job["name"], "id": "pages", "error": f"{type(error).__name__}: {error}"}))
    await client.close()


async def main():
    sdk = importlib.import_module(f"client_{sys.argv[1]}")
    for job in json.load(sys.stdin):
        await read(sdk, job)


if __name__ == "__main__":
    asyncio.run(main())
