# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plays the scenario of scenario_test.go with an official Python client.

Usage: driver.py SDK, where SDK is the module that wraps the client: v10 or v03.
Standard input contains a JSON list of jobs. A job names a sidecar and how to call it.
Standard output is one line of JSON for each operation of each job.
"""

import asyncio
import importlib
import json
import sys

import httpx


class NotOffered(Exception):
    """The card does not offer the binding of the job."""


class NoOperation(Exception):
    """The client has no such operation."""


class Scenario:
    def __init__(self, client, job, connect):
        self.client = client
        self.job = job
        self.connect = connect

    async def release(self):
        async with httpx.AsyncClient() as client:
            await client.post(self.job["control"])

    async def found(self, task_id):
        task = await self.client.get(task_id)
        return f"{task['state']} {task['text']}, {task['history']} in history"

    async def card(self):
        return self.client.card.name

    async def send(self):
        event = await self.client.send("Hi")
        return f"{event['kind']} {event['state']} {event['text']}"

    async def stream(self):
        return summary([event async for event in self.client.stream("Hi")])

    async def get(self):
        return await self.found((await self.client.send("Hi"))["id"])

    async def list(self):
        sent = await self.client.send("Hi", context_id="listed")
        tasks = await self.client.list("listed")
        if len(tasks) == 1 and tasks[0]["id"] == sent["id"]:
            return tasks[0]["state"]
        return json.dumps(tasks)

    async def cancel(self):
        sent = await self.client.send("hang", immediately=True)
        return (await self.client.cancel(sent["id"]))["state"]

    async def resubscribe(self):
        task_id = None
        stream = self.client.stream("wait")
        async for event in stream:
            task_id = event["id"]
            if event["text"] == "one ":
                break
        await stream.aclose()
        events = []
        async for event in self.client.subscribe(task_id):
            events.append(event)
            if len(events) == 1:
                await self.release()
        return summary(events)

    async def push(self, operation):
        sent = await self.client.send("Hi")
        config = await self.client.set_push(sent["id"], "config", self.job["webhook"])
        if operation == "set":
            return config
        if operation == "get":
            return await self.client.get_push(sent["id"], "config")
        if operation == "delete":
            await self.client.delete_push(sent["id"], "config")
        return ", ".join(await self.client.list_push(sent["id"])) or "none left"

    async def extended(self):
        # This operation needs a separate client, because the client uses the extended card for all later calls.
        client = await self.connect()
        try:
            card = await client.extended()
        finally:
            await client.close()
        return f"{card.name} {len(card.skills)}"

    async def error(self):
        try:
            return json.dumps(await self.client.get("nowhere"))
        except Exception as error:
            if self.client.is_not_found(error):
                return "task not found"
            raise

    async def input_required(self):
        asked = await self.client.send("ask")
        await self.client.send("This", task_id=asked["id"])
        return f"{asked['state']}, then {await self.found(asked['id'])}"

    def operations(self):
        return {
            "card": self.card,
            "send": self.send,
            "stream": self.stream,
            "get": self.get,
            "list": self.list,
            "cancel": self.cancel,
            "resubscribe": self.resubscribe,
            "push set": lambda: self.push("set"),
            "push get": lambda: self.push("get"),
            "push list": lambda: self.push("list"),
            "push delete": lambda: self.push("delete"),
            "extended card": self.extended,
            "error": self.error,
            "input required": self.input_required,
        }


def summary(events):
    if not events:
        return "no event"
    text = "".join(event["text"] for event in events)
    return f"{events[0]['kind']} ... {events[-1]['state']} {text}"


async def play(sdk, job):
    client = failure = None
    try:
        client = await sdk.connect(job)
    except Exception as error:  # each operation reports this error
        failure = error
    for name, run in Scenario(client, job, lambda: sdk.connect(job)).operations().items():
        line = {"job": job["name"], "operation": name}
        try:
            if failure:
                raise failure
            line["got"] = await asyncio.wait_for(run(), 30)
        except Exception as error:
            if isinstance(error, (NoOperation, NotImplementedError)):
                line["class"] = "none"
            elif isinstance(error, NotOffered):
                line["class"] = "off"
            else:
                line["class"] = "fails"
            line["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(line), flush=True)
    if client:
        await client.close()


async def main():
    sdk = importlib.import_module(f"client_{sys.argv[1]}")
    for job in json.load(sys.stdin):
        await play(sdk, job)


if __name__ == "__main__":
    # The clients import the exceptions of this module under its own name.
    sys.modules["driver"] = sys.modules["__main__"]
    asyncio.run(main())
