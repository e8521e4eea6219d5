// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Plays the scenario of scenario_test.go with one of the official JavaScript
// clients, and prints what it found: one line of JSON for each operation.
//
//   TOKEN=... [TASKS=...] node driver.mjs CLIENT PROTOCOL BINDING AGENT-URL RELEASE-URL WEBHOOK

const [client, protocol, binding, url, control, webhook] = process.argv.slice(2);
// The options of every call contain the token, as a header or as metadata of gRPC.
const options = { serviceParameters: { Authorization: `Bearer ${process.env.TOKEN}` } };
const transport = { "JSON-RPC": "JSONRPC", REST: "HTTP+JSON", gRPC: "GRPC" }[binding];

class Off extends Error {}
class None extends Error {}

const release = () => fetch(control, { method: "POST" });
const text = (parts) => (parts ?? []).map((p) => p.text ?? "").join("");
const stateOf = (state) => (state ?? "").replace("TASK_STATE_", "").replaceAll("_", "-").toLowerCase();

// driver has the operations of the scenario, with the same methods for each client.
const driver = client.endsWith("0.3.14") ? await oldClient() : await newClient();

async function newClient() {
  const sdk = await import("@a2a-js/sdk");
  const { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } =
    await import("@a2a-js/sdk/client");
  const { GrpcTransportFactory } = await import("@a2a-js/sdk/client/grpc");
  const legacyCompat = { enabled: protocol === "0.3" };
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(url);
  const offered = card.supportedInterfaces.filter(
    (i) => i.protocolBinding === transport && i.protocolVersion.startsWith(protocol),
  );
  const factory = new ClientFactory({
    transports: [
      new JsonRpcTransportFactory({ legacyCompat }),
      new RestTransportFactory({ legacyCompat }),
      new GrpcTransportFactory({ legacyCompat }),
    ],
  });
  const c = offered.length ? await factory.createFromAgentCard({ ...card, supportedInterfaces: offered }) : null;
  const request = ({ text: said, taskId, contextId, immediately }) => ({
    ...sdk.SendMessageRequest.fromJSON({
      message: {
        messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: said }],
        ...(taskId && { taskId }), ...(contextId && { contextId }),
      },
      configuration: { returnImmediately: !!immediately },
    }),
  });
  const task = (t) => {
    const json = sdk.Task.toJSON(t);
    return {
      kind: "task", id: json.id, state: stateOf(json.status?.state),
      text: (json.artifacts ?? []).map((a) => text(a.parts)).join(""), history: (json.history ?? []).length,
    };
  };
  const event = (e) => {
    const json = sdk.StreamResponse.toJSON(e);
    if (json.task) return task(sdk.Task.fromJSON(json.task));
    if (json.message) return { kind: "message", state: "", text: text(json.message.parts) };
    if (json.statusUpdate) {
      return { kind: "status", id: json.statusUpdate.taskId, state: stateOf(json.statusUpdate.status?.state), text: "" };
    }
    return { kind: "artifact", id: json.artifactUpdate.taskId, state: "", text: text(json.artifactUpdate.artifact?.parts) };
  };
  const config = (p) => `${p.id} ${p.url}`;
  return {
    card, offered: !!c,
    send: async (m) => {
      const result = await c.sendMessage(request(m), options);
      return "status" in result ? task(result) : { kind: "message", state: "", text: "" };
    },
    async *stream(m) { for await (const e of c.sendMessageStream(request(m), options)) yield event(e); },
    async *subscribe(id) { for await (const e of c.resubscribeTask({ tenant: "", id }, options)) yield event(e); },
    get: async (id) => task(await c.getTask({ tenant: "", id }, options)),
    whole: async (id) => sdk.Task.toJSON(await c.getTask({ tenant: "", id }, options)),
    pages: async () => {
      let pageToken = "";
      do {
        const page = await c.listTasks(sdk.ListTasksRequest.fromJSON({ pageSize: 100, historyLength: 100, includeArtifacts: true, pageToken }), options);
        pageToken = page.nextPageToken;
      } while (pageToken);
    },
    cancel: async (id) => task(await c.cancelTask({ tenant: "", id, metadata: undefined }, options)),
    list: async (contextId) => {
      if (protocol === "0.3") throw new None("0.3 has no list");
      const page = await c.listTasks(sdk.ListTasksRequest.fromJSON({ contextId }), options);
      return page.tasks.map(task);
    },
    setPush: async (taskId, id, to) =>
      config(await c.createTaskPushNotificationConfig(sdk.TaskPushNotificationConfig.fromJSON({ taskId, id, url: to }), options)),
    getPush: async (taskId, id) => config(await c.getTaskPushNotificationConfig({ tenant: "", taskId, id }, options)),
    listPush: async (taskId) =>
      (await c.listTaskPushNotificationConfig(sdk.ListTaskPushNotificationConfigsRequest.fromJSON({ taskId }), options)).configs.map(config),
    deletePush: (taskId, id) => c.deleteTaskPushNotificationConfig({ tenant: "", taskId, id }, options),
    extended: async () => {
      if (!card.capabilities?.extendedAgentCard) throw new Off("the card says that there is none");
      const extended = await c.getAgentCard(options);
      return `${extended.name} ${extended.skills.length}`;
    },
  };
}

async function oldClient() {
  const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } =
    await import("@a2a-js/sdk-0.3/client");
  const { GrpcTransportFactory } = await import("@a2a-js/sdk-0.3/client/grpc");
  const card = await new DefaultAgentCardResolver().resolve(url);
  const bindings = [card.preferredTransport ?? "JSONRPC", ...(card.additionalInterfaces ?? []).map((i) => i.transport)];
  const offered = bindings.includes(transport);
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory(), new RestTransportFactory(), new GrpcTransportFactory()],
      preferredTransports: [transport],
    }),
  );
  const c = offered ? await factory.createFromAgentCard(card) : null;
  const request = ({ text: said, taskId, contextId, immediately }) => ({
    message: {
      kind: "message", messageId: crypto.randomUUID(), role: "user", parts: [{ kind: "text", text: said }],
      ...(taskId && { taskId }), ...(contextId && { contextId }),
    },
    ...(immediately && { configuration: { blocking: false } }),
  });
  const event = (e) => {
    switch (e.kind) {
      case "task":
        return {
          kind: "task", id: e.id, state: e.status.state,
          text: (e.artifacts ?? []).map((a) => text(a.parts)).join(""), history: (e.history ?? []).length,
        };
      case "status-update":
        return { kind: "status", id: e.taskId, state: e.status.state, text: "" };
      case "artifact-update":
        return { kind: "artifact", id: e.taskId, state: "", text: text(e.artifact.parts) };
      default:
        return { kind: "message", state: "", text: text(e.parts) };
    }
  };
  const config = (p) => `${p.pushNotificationConfig.id} ${p.pushNotificationConfig.url}`;
  return {
    card, offered,
    send: async (m) => event(await c.sendMessage(request(m), options)),
    async *stream(m) { for await (const e of c.sendMessageStream(request(m), options)) yield event(e); },
    async *subscribe(id) { for await (const e of c.resubscribeTask({ id }, options)) yield event(e); },
    get: async (id) => event(await c.getTask({ id }, options)),
    whole: (id) => c.getTask({ id }, options),
    cancel: async (id) => event(await c.cancelTask({ id }, options)),
    list: async () => { throw new None("0.3 has no list"); },
    setPush: async (taskId, id, to) =>
      config(await c.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id, url: to } }, options)),
    getPush: async (taskId, id) => config(await c.getTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }, options)),
    listPush: async (taskId) => (await c.listTaskPushNotificationConfig({ id: taskId }, options)).map(config),
    deletePush: (taskId, id) => c.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }, options),
    extended: async () => {
      if (!card.supportsAuthenticatedExtendedCard) throw new Off("the card says that there is none");
      const extended = await c.getAgentCard(options);
      return `${extended.name} ${extended.skills.length}`;
    },
  };
}

async function collect(stream) {
  const events = [];
  for await (const e of stream) events.push(e);
  return events;
}

const summary = (events) =>
  events.length === 0 ? "no event" : `${events[0].kind} ... ${events.at(-1).state} ${events.map((e) => e.text).join("")}`;

async function get(id) {
  const t = await driver.get(id);
  return `${t.state} ${t.text}, ${t.history} in history`;
}

async function push(operation) {
  const { id } = await driver.send({ text: "Hi" });
  const set = await driver.setPush(id, "config", webhook);
  if (operation === "set") return set;
  if (operation === "get") return driver.getPush(id, "config");
  if (operation === "delete") await driver.deletePush(id, "config");
  const all = await driver.listPush(id);
  return all.length === 0 ? "none left" : all.join(", ");
}

const isA = (error, ...names) => {
  for (let e = error; e; e = e.cause) {
    if (names.some((name) => (e.name ?? "").includes(name) || (e.constructor?.name ?? "").includes(name))) return true;
  }
  return false;
};

const operations = {
  card: async () => driver.card.name,
  send: async () => {
    const e = await driver.send({ text: "Hi" });
    return `${e.kind} ${e.state} ${e.text}`;
  },
  stream: async () => summary(await collect(driver.stream({ text: "Hi" }))),
  get: async () => get((await driver.send({ text: "Hi" })).id),
  list: async () => {
    const { id } = await driver.send({ text: "Hi", contextId: "listed" });
    const all = await driver.list("listed");
    return all.length === 1 && all[0].id === id ? all[0].state : JSON.stringify(all);
  },
  cancel: async () => (await driver.cancel((await driver.send({ text: "hang", immediately: true })).id)).state,
  resubscribe: async () => {
    let id;
    for await (const e of driver.stream({ text: "wait" })) {
      id = e.id;
      if (e.text === "one ") break;
    }
    const events = [];
    for await (const e of driver.subscribe(id)) {
      events.push(e);
      if (events.length === 1) await release();
    }
    return summary(events);
  },
  "push set": () => push("set"),
  "push get": () => push("get"),
  "push list": () => push("list"),
  "push delete": () => push("delete"),
  "extended card": () => driver.extended(),
  error: async () => {
    try {
      return JSON.stringify(await driver.get("nowhere"));
    } catch (error) {
      if (isA(error, "TaskNotFound")) return "task not found";
      throw error;
    }
  },
  "input required": async () => {
    const asked = await driver.send({ text: "ask" });
    await driver.send({ text: "This", taskId: asked.id });
    return `${asked.state}, then ${await get(asked.id)}`;
  },
};

function classOf(error) {
  if (error instanceof None) return "none";
  if (error instanceof Off || isA(error, "PushNotificationNotSupported", "UnsupportedOperation", "CardNotConfigured")) return "off";
  return "fails";
}

// With TASKS, the driver reads these tasks of storedvalues_test.go, and prints each of them as the SDK encodes it again.
if (process.env.TASKS) {
  for (const id of JSON.parse(process.env.TASKS)) await decode(id, () => driver.whole(id));
  if (protocol === "1.0") await decode("pages", () => driver.pages());
  process.exit(0);
}

async function decode(id, read) {
  try {
    const task = await read();
    if (task) console.log(JSON.stringify({ id, task }));
  } catch (error) {
    console.log(JSON.stringify({ id, error: `${error.constructor?.name}: ${error.message}` }));
  }
}

for (const [operation, run] of Object.entries(operations)) {
  const line = { operation };
  try {
    if (!driver.offered) throw new Off("the card does not offer it");
    line.got = await run();
  } catch (error) {
    line.class = classOf(error);
    line.error = `${error.constructor?.name}: ${error.message}`;
  }
  console.log(JSON.stringify(line));
}
process.exit(0);
