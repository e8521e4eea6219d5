// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Sends messages to an agent that asks for approvals, as python/approve.py does: approve.mjs CLIENT JOB. CLIENT is a package and its version,
// or mcp for the client of the gateway.

import { createInterface } from "node:readline";

const [client] = process.argv.slice(2);
const job = JSON.parse(process.argv[3]);
const extension = "https://kagent.dev/extensions/hitl/v1";
const options = { serviceParameters: { Authorization: `Bearer ${job.credential}` } };
const transport = { "JSON-RPC": "JSONRPC", REST: "HTTP+JSON" }[job.binding];
const extended = (object) => (object ? { extensions: [extension], metadata: { [extension]: object } } : {});

const say = client === "mcp" ? await mcp() : client.endsWith("0.3.14") ? await oldClient() : await newClient();

async function newClient() {
  const sdk = await import("@a2a-js/sdk");
  const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await import("@a2a-js/sdk/client");
  const card = await new DefaultAgentCardResolver().resolve(job.url);
  const offered = card.supportedInterfaces.filter((i) => i.protocolBinding === transport && i.protocolVersion.startsWith(job.protocol));
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory(), new RestTransportFactory()] });
  const c = await factory.createFromAgentCard({ ...card, supportedInterfaces: offered });
  return async ({ task, text, object }) => {
    const request = sdk.SendMessageRequest.fromJSON({
      message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...(task && { taskId: task }), ...extended(object) },
    });
    return { task: sdk.Task.toJSON(await c.sendMessage(request, options)) };
  };
}

async function oldClient() {
  const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, RestTransportFactory } = await import("@a2a-js/sdk-0.3/client");
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports: [new RestTransportFactory()], preferredTransports: [transport] }),
  );
  const c = await factory.createFromAgentCard(await new DefaultAgentCardResolver().resolve(job.url));
  return async ({ task, text, object }) => {
    const message = {
      kind: "message", messageId: crypto.randomUUID(), role: "user", parts: [{ kind: "text", text }], ...(task && { taskId: task }), ...extended(object),
    };
    return { task: await c.sendMessage({ message }, options) };
  };
}

async function mcp() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const c = new Client({ name: "interop", version: "1" }, { capabilities: {}, versionNegotiation: { mode: "auto" } });
  await c.connect(new StreamableHTTPClientTransport(new URL(job.gateway + "/mcp")));
  return async ({ task, text }) => {
    const named = task ? { taskId: task } : {};
    const result = await c.callTool({ name: "call_agent", arguments: { agent: "team/echo", message: text, ...named } });
    return { text: result.content.filter((part) => part.type === "text").map((part) => part.text).join("") };
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await say(JSON.parse(line));
  } catch (error) {
    answer = { error: `${error.constructor?.name}: ${error.message}` };
  }
  console.log(JSON.stringify(answer));
}
process.exit(0);
