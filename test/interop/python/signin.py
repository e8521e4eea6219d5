# Copyright The a2a-operator Authors.
# SPDX-License-Identifier: Apache-2.0
"""Signs in with a2a-sdk 1.x by the client credentials flow on the card, and sends a message.

Arguments: the URL of the agent, the id and the secret of the client, and the scopes. Prints the endpoint, the answer and the scheme as JSON.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types import a2a_pb2 as pb


class ClientCredentials(CredentialService):
    """Gets tokens at the token endpoints on a card."""

    def __init__(self, http, card, client, secret, scopes):
        self.http = http
        self.card = card
        self.client = (client, secret)
        self.scopes = scopes
        self.endpoint = ""
        self.scheme = ""

    async def get_credentials(self, security_scheme_name, context):
        scheme = self.card.security_schemes[security_scheme_name]
        if not scheme.oauth2_security_scheme.flows.HasField("client_credentials"):
            return None
        self.scheme = security_scheme_name
        self.endpoint = scheme.oauth2_security_scheme.flows.client_credentials.token_url
        answer = await self.http.post(
            self.endpoint, auth=self.client, data={"grant_type": "client_credentials", "scope": self.scopes},
        )
        answer.raise_for_status()
        return answer.json()["access_token"]


async def main(url, client, secret, scopes):
    async with httpx.AsyncClient(timeout=30) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        tokens = ClientCredentials(http, card, client, secret, scopes)
        agent = ClientFactory(ClientConfig(
            httpx_client=http, supported_protocol_bindings=["JSONRPC"], streaming=False,
        )).create(card, [AuthInterceptor(tokens)])
        request = pb.SendMessageRequest(message=pb.Message(
            message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text="Hi")],
        ))
        error = ""
        try:
            async for _ in agent.send_message(request):
                pass
        except Exception as e:  # a2a-sdk has an error of its own for each status
            error = f"{type(e).__name__}: {e}"
        print(json.dumps({"endpoint": tokens.endpoint, "scheme": tokens.scheme, "error": error}))


asyncio.run(main(*sys.argv[1:]))
