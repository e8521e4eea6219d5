# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""The client of a2a-sdk 0.3, with the methods that driver.py calls.

Its REST and gRPC transports ignore interceptors. The HTTP client or the channel
therefore sends the credential, in the header that the card names.
"""

import uuid

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import (
    GetTaskPushNotificationConfigParams, Message, MessageSendConfiguration, Part, PushNotificationConfig, Role,
    Task, TaskArtifactUpdateEvent, TaskIdParams, TaskPushNotificationConfig, TaskQueryParams,
    TaskStatusUpdateEvent, TextPart,
)
from driver import NoOperation, NotOffered

TRANSPORTS = {"JSON-RPC": "JSONRPC", "REST": "HTTP+JSON", "gRPC": "GRPC"}


class Credentials(CredentialService):
    def __init__(self, job):
        self.job = job

    async def get_credentials(self, security_scheme_name, context):
        return self.job["credential"] if security_scheme_name == self.job["scheme"] else None


def header(card, job):
    """Returns the header for the credential, as the card names it."""
    scheme = card.security_schemes[job["scheme"]].root
    if scheme.type == "apiKey":
        return scheme.name, job["credential"]
    return "Authorization", f"Bearer {job['credential']}"


class Metadata(grpc.aio.UnaryUnaryClientInterceptor, grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, name, value):
        self.entry = (name.lower(), value)

    def add(self, details):
        metadata = [*(details.metadata or []), self.entry]
        return grpc.aio.ClientCallDetails(
            details.method, details.timeout, grpc.aio.Metadata(*metadata), details.credentials, details.wait_for_ready)

    async def intercept_unary_unary(self, continuation, client_call_details, request):
        return await continuation(self.add(client_call_details), request)

    async def intercept_unary_stream(self, continuation, client_call_details, request):
        return await continuation(self.add(client_call_details), request)


def channels(name, value):
    """Returns a factory of channels that add a header to each call."""
    def open_channel(url):
        # grpc.aio assigns an interceptor to the first kind of calls whose base class it has, so each kind needs its own object.
        unary = type("Unary", (grpc.aio.UnaryUnaryClientInterceptor,), dict(Metadata.__dict__))(name, value)
        stream = type("Stream", (grpc.aio.UnaryStreamClientInterceptor,), dict(Metadata.__dict__))(name, value)
        return grpc.aio.insecure_channel(url, interceptors=[unary, stream])
    return open_channel


async def connect(job):
    http = httpx.AsyncClient(timeout=30)
    card = await A2ACardResolver(http, job["url"]).get_agent_card()
    transport = TRANSPORTS[job["binding"]]
    offered = [card.preferred_transport or "JSONRPC", *(i.transport for i in card.additional_interfaces or [])]
    if transport not in offered:
        await http.aclose()
        raise NotOffered(f"the card has no {job['binding']}")
    name, value = header(card, job)
    if transport == "HTTP+JSON":
        http.headers[name] = value

    def create(streaming):
        factory = ClientFactory(ClientConfig(
            httpx_client=http, grpc_channel_factory=channels(name, value), supported_transports=[transport],
            use_client_preference=True, streaming=streaming,
        ))
        return factory.create(card, interceptors=[AuthInterceptor(Credentials(job))])

    return Client(card, http, create(True), create(False))


class Client:
    def __init__(self, card, http, streaming, once):
        self.card = card
        self.http = http
        self.streaming = streaming
        self.once = once

    async def close(self):
        await self.streaming.close()
        await self.once.close()
        await self.http.aclose()

    def message(self, text, task_id=None, context_id=None):
        return Message(
            message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text))],
            task_id=task_id, context_id=context_id,
        )

    async def send(self, text, immediately=False, **options):
        configuration = MessageSendConfiguration(blocking=False) if immediately else None
        async for result in self.once.send_message(self.message(text, **options), configuration=configuration):
            return event(result)

    async def say(self, text, task_id, extension, value):
        """Sends a text, with the value of an extension unless it is None, and returns the task as JSON."""
        message = self.message(text, task_id=task_id or None)
        if value is not None:
            message.extensions = [extension]
            message.metadata = {extension: value}
        async for result in self.once.send_message(message):
            return result[0].model_dump(mode="json", by_alias=True, exclude_none=True)

    async def stream(self, text):
        async for result in self.streaming.send_message(self.message(text)):
            yield event(result)

    async def subscribe(self, task_id):
        async for result in self.streaming.resubscribe(TaskIdParams(id=task_id)):
            yield event(result)

    async def get(self, task_id):
        return task(await self.once.get_task(TaskQueryParams(id=task_id)))

    async def whole(self, task_id):
        return (await self.once.get_task(TaskQueryParams(id=task_id))).model_dump(mode="json", by_alias=True)

    async def list(self, context_id):
        raise NoOperation("0.3 has no list")

    async def cancel(self, task_id):
        return task(await self.once.cancel_task(TaskIdParams(id=task_id)))

    async def set_push(self, task_id, config_id, url):
        return config(await self.once.set_task_callback(TaskPushNotificationConfig(
            task_id=task_id, push_notification_config=PushNotificationConfig(id=config_id, url=url))))

    async def get_push(self, task_id, config_id):
        return config(await self.once.get_task_callback(GetTaskPushNotificationConfigParams(
            id=task_id, push_notification_config_id=config_id)))

    async def list_push(self, task_id):
        raise NoOperation("the client has no list of push configurations")

    async def delete_push(self, task_id, config_id):
        raise NoOperation("the client has no delete of push configurations")

    async def extended(self):
        if not self.card.supports_authenticated_extended_card:
            raise NotOffered("the card says that there is none")
        return await self.once.get_card()

    def is_not_found(self, error):
        """Reports the error by its code or by its status: the transport preserves one of them."""
        if isinstance(error, A2AClientJSONRPCError):
            return error.error.code == -32001
        if isinstance(error, A2AClientHTTPError):
            return error.status_code == 404
        return isinstance(error, grpc.aio.AioRpcError) and error.code() == grpc.StatusCode.NOT_FOUND


def text_of(parts):
    return "".join(getattr(part.root, "text", "") for part in parts)


def task(t):
    return {
        "kind": "task", "id": t.id, "state": t.status.state.value,
        "text": "".join(text_of(a.parts) for a in t.artifacts or []), "history": len(t.history or []),
    }


def event(result):
    """Reads an item of the client: a message, or a task and its last event."""
    if isinstance(result, Message):
        return {"kind": "message", "id": "", "state": "", "text": text_of(result.parts)}
    whole, update = result if isinstance(result, tuple) else (result, None)
    if isinstance(update, TaskStatusUpdateEvent):
        return {"kind": "status", "id": update.task_id, "state": update.status.state.value, "text": ""}
    if isinstance(update, TaskArtifactUpdateEvent):
        return {"kind": "artifact", "id": update.task_id, "state": "", "text": text_of(update.artifact.parts)}
    if isinstance(whole, Task):
        return task(whole)
    raise ValueError(f"unknown result {result!r}")


def config(c):
    return f"{c.push_notification_config.id} {c.push_notification_config.url}"
