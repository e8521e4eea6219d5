// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

'use strict';

(() => {
  const form = document.getElementById('send');
  if (!form) return;
  const find = (id) => document.getElementById(id);
  const [log, text, cancel, fresh, submit, status, tasks] = ['log', 'message', 'cancel', 'fresh', 'submit', 'task', 'tasks'].map(find);
  const agent = find('try').dataset.agent;
  const base = document.body.dataset.base + 'agents/' + agent;
  const sent = 'Sent.';
  // task is the id of the task that the next message continues, '' for a new task.
  let task = '', context = '';
  // call is the AbortController of the response that the page reads: an answer, or the events of a task.
  let call = null;
  const artifacts = new Map();

  function add(kind, content) {
    const element = document.createElement('div');
    element.className = kind;
    if (content) element.textContent = content;
    log.hidden = false;
    log.append(element);
    log.scrollTop = log.scrollHeight;
    return element;
  }

  // show adds a part of a message to an element. It adds texts of the agent as text nodes, and images as data URLs of the
  // types that the server allows.
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

  function take(update) {
    task = update.task ?? task;
    context = update.context ?? context;
    if (update.parts?.length) {
      let element = artifacts.get(update.artifact);
      if (!update.append) element?.replaceChildren();
      element ??= add(update.own ? 'said mine' : 'said');
      if (update.artifact) artifacts.set(update.artifact, element);
      for (const part of update.parts) show(element, part);
      log.scrollTop = log.scrollHeight;
    }
    if (update.problem) add('note bad', update.problem + (update.hint ? ' ' + update.hint : ''));
    if (update.state) {
      const time = update.time ? new Date(update.time) : new Date();
      add('note ' + update.state, time.toLocaleTimeString() + '  ' + update.state);
      status.textContent = update.waits ? 'The agent waits for your answer.' : (task ? 'Task ' + task + ': ' : 'The task is ') + update.state;
      refreshTasks(300);
    }
    // A failed call does not end the task: the next message continues it.
    if (update.ended && !update.waits && !update.problem) task = '';
    cancel.hidden = !task;
    announce();
  }

  // read applies the updates of a response, one on each line. It returns false if another call replaced this one.
  async function read(url, options, what) {
    call?.abort();
    const own = call = new AbortController();
    fresh.hidden = false;
    try {
      const response = await fetch(url, { ...options, signal: own.signal });
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
      if (error.name !== 'AbortError') add('note bad', what + error.message);
    }
    return own === call;
  }

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const body = new FormData(form);
    if (task) body.append('task', task);
    if (context) body.append('context', context);
    add('said mine', [text.value, ...[...find('file').files].map((file) => '📎 ' + file.name)].filter(Boolean).join('\n'));
    submit.disabled = true;
    const before = status.textContent;
    status.textContent = sent;
    form.reset();
    if (await read(base + '/send', { method: 'POST', body }, 'The answer is not complete: ')) {
      if (status.textContent === sent) status.textContent = before;
      submit.disabled = false;
      text.focus();
    }
  });

  function clear() {
    call?.abort();
    call = null;
    task = context = '';
    submit.disabled = false;
    artifacts.clear();
    log.replaceChildren();
    log.hidden = cancel.hidden = fresh.hidden = true;
    status.textContent = '';
    announce();
  }

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
    clear();
    text.focus();
  });

  // The page reads the list of tasks again while a task runs. A click on a task shows all of its events.
  const policy = window.pagePolicy;
  let timer = 0;
  function refreshTasks(delay) {
    clearTimeout(timer);
    timer = setTimeout(readTasks, delay);
  }
  async function readTasks() {
    if (document.hidden) return;
    try {
      const response = await fetch(base + '/tasks', { headers: { Fragment: '1' } });
      const html = await response.text();
      const focused = tasks.contains(document.activeElement) ? document.activeElement.dataset.task : '';
      tasks.innerHTML = policy ? policy.createHTML(html) : html;
      if (focused) tasks.querySelector('[data-task="' + CSS.escape(focused) + '"]')?.focus({ preventScroll: true });
    } catch {
      return; // ui.js shows that the server does not respond
    }
    if (tasks.querySelector('[data-open]')) refreshTasks(5000);
  }
  document.addEventListener('visibilitychange', () => refreshTasks(0));
  refreshTasks(0);
  tasks.addEventListener('click', (event) => {
    const chosen = event.target.closest('button.open');
    if (!chosen) return;
    clear();
    task = chosen.dataset.task;
    context = chosen.dataset.context;
    read(base + '/tasks/' + encodeURIComponent(task) + '/events', {}, 'The events are not complete: ');
    log.focus();
  });

  function announce() {
    document.dispatchEvent(new CustomEvent('nextmessage', { detail: { text: text.value || 'Hello', task, context } }));
  }
  text.addEventListener('input', announce);
  announce();
})();
