# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client of a2a-sdk 1.x, with the methods that driver.py calls."""

import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import TaskNotFoundError
from google.protobuf.json_format import MessageToDict
from driver import NoOperation, NotOffered

TRANSPORTS = {"JSON-RPC": "JSONRPC", "REST": "HTTP+JSON", "gRPC": "GRPC"}


class Credentials(CredentialService):
    def __init__(self, job):
        self.job = job

    async def get_credentials(self, security_scheme_name, context):
        return self.job["credential"] if security_scheme_name == self.job["scheme"] else None


async def connect(job):
    http = httpx.AsyncClient(timeout=30)
    card = await A2ACardResolver(http, job["url"]).get_agent_card()
    transport = TRANSPORTS[job["binding"]]
    offered = [
        i for i in card.supported_interfaces
        if i.protocol_binding == transport and i.protocol_version.startswith(job["protocol"])
    ]
    if not offered:
        await http.aclose()
        raise NotOffered(f"the card has no {job['binding']} {job['protocol']}")
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(offered)
    factory = ClientFactory(ClientConfig(
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[transport],
    ))
    # A client without streaming calls the operation with a single response.
    once = ClientFactory(ClientConfig(
        httpx_client=http,
        grpc_channel_factory=grpc.aio.insecure_channel,
        supported_protocol_bindings=[transport],
        streaming=False,
    ))
    auth = [AuthInterceptor(Credentials(job))]
    return Client(job, card, http, factory.create(card, auth), once.create(card, auth))


class Client:
    def __init__(self, job, card, http, streaming, once):
        self.job = job
        self.card = card
        self.http = http
        self.streaming = streaming
        self.once = once

    async def close(self):
        await self.streaming.close()
        await self.once.close()
        await self.http.aclose()

    def request(self, text, task_id="", context_id="", immediately=False):
        return pb.SendMessageRequest(
            message=pb.Message(
                message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)],
                task_id=task_id, context_id=context_id,
            ),
            configuration=pb.SendMessageConfiguration(return_immediately=immediately),
        )

    async def send(self, text, **options):
        async for response in self.once.send_message(self.request(text, **options)):
            return event(response)

    async def say(self, text, task_id, extension, value):
        """Sends a text, with the value of an extension unless it is None, and returns the task as JSON."""
        request = self.request(text, task_id)
        if value is not None:
            request.message.extensions.append(extension)
            request.message.metadata.update({extension: value})
        async for response in self.once.send_message(request):
            return MessageToDict(response.task)

    async def stream(self, text):
        async for response in self.streaming.send_message(self.request(text)):
            yield event(response)

    async def subscribe(self, task_id):
        async for response in self.streaming.subscribe(pb.SubscribeToTaskRequest(id=task_id)):
            yield event(response)

    async def get(self, task_id):
        return task(await self.once.get_task(pb.GetTaskRequest(id=task_id)))

    async def whole(self, task_id):
        return MessageToDict(await self.once.get_task(pb.GetTaskRequest(id=task_id)))

    async def pages(self, number):
        """Reads all tasks as pages."""
        request = pb.ListTasksRequest(page_size=100, history_length=100, include_artifacts=True)
        while number > 0:
            page = await self.once.list_tasks(request)
            number -= len(page.tasks)
            request.page_token = page.next_page_token
            if number > 0 and not page.next_page_token:
                raise ValueError(f"{number} tasks are on no page")

    async def list(self, context_id):
        if self.job["protocol"] == "0.3":
            raise NoOperation("0.3 has no list")
        page = await self.once.list_tasks(pb.ListTasksRequest(context_id=context_id))
        return [task(t) for t in page.tasks]

    async def cancel(self, task_id):
        return task(await self.once.cancel_task(pb.CancelTaskRequest(id=task_id)))

    async def set_push(self, task_id, config_id, url):
        return config(await self.once.create_task_push_notification_config(
            pb.TaskPushNotificationConfig(task_id=task_id, id=config_id, url=url)))

    async def get_push(self, task_id, config_id):
        return config(await self.once.get_task_push_notification_config(
            pb.GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)))

    async def list_push(self, task_id):
        page = await self.once.list_task_push_notification_configs(
            pb.ListTaskPushNotificationConfigsRequest(task_id=task_id))
        return [config(c) for c in page.configs]

    async def delete_push(self, task_id, config_id):
        await self.once.delete_task_push_notification_config(
            pb.DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id))

    async def extended(self):
        if not self.card.capabilities.extended_agent_card:
            raise NotOffered("the card says that there is none")
        return await self.once.get_extended_agent_card(pb.GetExtendedAgentCardRequest())

    def is_not_found(self, error):
        return isinstance(error, TaskNotFoundError)


def state_of(status):
    name = pb.TaskState.Name(status.state)
    return name.removeprefix("TASK_STATE_").replace("_", "-").lower()


def text_of(parts):
    return "".join(part.text for part in parts)


def task(t):
    return {
        "kind": "task", "id": t.id, "state": state_of(t.status),
        "text": "".join(text_of(a.parts) for a in t.artifacts), "history": len(t.history),
    }


def event(response):
    kind = response.WhichOneof("payload")
    if kind == "task":
        return task(response.task)
    if kind == "message":
        return {"kind": "message", "id": "", "state": "", "text": text_of(response.message.parts)}
    if kind == "status_update":
        return {"kind": "status", "id": response.status_update.task_id, "state": state_of(response.status_update.status), "text": ""}
    if kind == "artifact_update":
        update = response.artifact_update
        return {"kind": "artifact", "id": update.task_id, "state": "", "text": text_of(update.artifact.parts)}
    raise ValueError(f"unknown response {MessageToDict(response)}")


def config(c):
    return f"{c.id} {c.url}"
