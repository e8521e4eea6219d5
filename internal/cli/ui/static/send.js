// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

'use strict';

(() => {
  const form = document.getElementById('send');
  if (!form) return;
  const find = (id) => document.getElementById(id);
  const [log, text, cancel, fresh, submit, status] = ['log', 'message', 'cancel', 'fresh', 'submit', 'task'].map(find);
  const agent = form.dataset.agent;
  const [namespace, name] = agent.split('/');
  const base = document.body.dataset.base + 'agents/' + agent;
  let task = '', context = '', waits = false;

  function add(kind, content) {
    const element = document.createElement('div');
    element.className = kind;
    if (content) element.textContent = content;
    log.hidden = false;
    log.append(element);
    log.scrollTop = log.scrollHeight;
    return element;
  }

  // show adds a part. Texts of the agent become text nodes, and images data URLs of types that the server allows.
  function show(element, part) {
    if (part.text) element.append(part.text);
    if (part.url) element.append('File at ' + part.url);
    if (!part.name) return;
    const bytes = Uint8Array.from(atob(part.content ?? ''), (c) => c.charCodeAt(0));
    if (part.image) {
      const image = document.createElement('img');
      image.alt = part.name;
      image.src = 'data:' + part.type + ';base64,' + part.content;
      element.append(image);
    }
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    link.download = part.name;
    link.textContent = 'Download ' + part.name + ' (' + bytes.length + ' bytes)';
    element.append(link);
  }

  const artifacts = new Map();
  function take(update) {
    task = update.task ?? task;
    context = update.context ?? context;
    waits = update.waits ?? false;
    if (update.parts?.length) {
      let element = artifacts.get(update.artifact);
      if (!update.append) element?.replaceChildren();
      element ??= add('said');
      if (update.artifact) artifacts.set(update.artifact, element);
      for (const part of update.parts) show(element, part);
      log.scrollTop = log.scrollHeight;
    }
    if (update.problem) add('note bad', update.problem + (update.hint ? ' ' + update.hint : ''));
    if (update.state) {
      add('note', new Date().toLocaleTimeString() + '  ' + update.state);
      status.textContent = 'Task ' + task + ': ' + update.state;
    }
    cancel.hidden = !task || (update.ended === true && !waits);
    if (update.ended && !waits) task = '';
    if (waits) status.textContent = 'The agent waits for your answer.';
    commands();
  }

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const body = new FormData(form);
    if (task) body.append('task', task);
    if (context) body.append('context', context);
    add('said mine', [text.value, ...[...find('file').files].map((file) => '📎 ' + file.name)].filter(Boolean).join('\n'));
    submit.disabled = true;
    status.textContent = 'Sent.';
    form.reset();
    try {
      const response = await fetch(base + '/send', { method: 'POST', body });
      if (!response.ok) throw new Error(await response.text());
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split('\n');
        rest = lines.pop();
        for (const line of lines) take(JSON.parse(line));
      }
    } catch (error) {
      add('note bad', 'The answer is not complete: ' + error.message);
    }
    submit.disabled = false;
    fresh.hidden = false;
    text.focus();
  });

  text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  cancel.addEventListener('click', async () => {
    try {
      const response = await fetch(base + '/tasks/' + encodeURIComponent(task) + '/cancel', { method: 'POST' });
      take(await response.json());
    } catch (error) {
      add('note bad', 'The task is not canceled: ' + error.message);
    }
  });
  fresh.addEventListener('click', () => {
    task = context = '';
    waits = false;
    artifacts.clear();
    log.replaceChildren();
    log.hidden = cancel.hidden = fresh.hidden = true;
    status.textContent = '';
    commands();
    text.focus();
  });

  const quote = (value) => "'" + value.replaceAll("'", "'\\''") + "'";
  function commands() {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: text.value || 'Hello' }] };
    if (task) message.taskId = task;
    if (context) message.contextId = context;
    let line = 'kubectl a2a send ' + agent + ' ' + quote(text.value || 'Hello');
    if (task) line += ' --task-id ' + quote(task);
    else if (context) line += ' --context-id ' + quote(context);
    find('line-kubectl').textContent = line;
    const curl = find('line-curl');
    if (!curl) return;
    const call = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } };
    curl.textContent = 'kubectl -n ' + namespace + ' port-forward service/' + name + ' 8080:80 &\n' +
      'curl -N http://127.0.0.1:8080/ -H "Authorization: Bearer $(kubectl a2a token ' + agent + ')" -H \'A2A-Version: 1.0\' \\\n' +
      "  -H 'Content-Type: application/json' -d " + quote(JSON.stringify(call));
  }
  text.addEventListener('input', commands);
  commands();
  for (const button of document.querySelectorAll('.copy')) {
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(find(button.dataset.copy).textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
  }
})();
