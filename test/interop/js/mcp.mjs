// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Calls the gateway with the MCP clients of the TypeScript SDK: mcp.mjs MODE URL. MODE is "v1" for SDK 1. For SDK 2, MODE
// is its version negotiation: "legacy", "auto" or a version of MCP.
//
// It finds an agent and calls it, answers its question, and continues a call. It writes one line of JSON for each step.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const [mode, url] = process.argv.slice(2)

const report = (operation, got) => console.log(JSON.stringify({ operation, got }))
const texts = result => result.content.filter(c => c.type === 'text').map(c => c.text)
const state = result => JSON.parse(texts(result).at(-1))

const answer = async request => {
  report('question', request.params.message)
  return { action: 'accept', content: { answer: 'The first' } }
}

// connect returns a client, with a user who answers questions or without one.
async function connect(user) {
  const info = { name: 'interop', version: '1' }
  const capabilities = user ? { elicitation: {} } : {}
  let client
  if (mode === 'v1') {
    client = new ClientV1(info, { capabilities })
    if (user) client.setRequestHandler(ElicitRequestSchema, answer)
    await client.connect(new TransportV1(new URL(url)))
  } else {
    const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode }
    client = new Client(info, { capabilities, versionNegotiation: { mode: negotiation } })
    if (user) client.setRequestHandler('elicitation/create', answer)
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  }
  return client
}

const call = (client, name, args, options) =>
  mode === 'v1' ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options)

let client = await connect(true)
report('tools', (await client.listTools()).tools.map(t => t.name).sort().join(' '))
const found = (await call(client, 'find_agents', { q: 'says' })).structuredContent.items[0]
const agent = found.namespace + '/' + found.name
report('find', agent)

const progress = []
const called = await call(client, 'call_agent', { agent, message: 'Do it' }, { onprogress: p => progress.push(p.message) })
report('call', texts(called).slice(0, -1).join(' '))
report('progress', progress.length > 0 ? 'some' : 'none')
report('state', state(called).state)

const failed = await call(client, 'call_agent', { agent: 'team/nobody', message: 'x' })
report('error', failed.isError ? texts(failed)[0] : 'none')
await client.close()

client = await connect(false)
const paused = state(await call(client, 'call_agent', { agent, message: 'Do it' }))
report('without a user', paused.state)
const continued = await call(client, 'call_agent', { agent, message: 'The first', taskId: paused.taskId })
report('continued', texts(continued).slice(0, -1).join(' '))
await client.close()
