// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

'use strict';

(() => {
  const base = document.body.dataset.base;
  const fragment = document.getElementById('fragment');
  const live = document.getElementById('live');
  // The templates of this server render fragments to HTML, and escape the texts of agents.
  const policy = window.trustedTypes?.createPolicy('page', { createHTML: (text) => text });
  window.pagePolicy = policy; // for send.js: a policy has one name and is created once
  const html = (text) => (policy ? policy.createHTML(text) : text);

  let reading = null;
  let lastRead = 0;
  let timer = 0;

  // refresh reads the fragment of the page again, at most once in 500 ms. Focus and scroll position stay.
  function refresh(delay) {
    clearTimeout(timer);
    timer = setTimeout(read, Math.max(delay, lastRead + 500 - Date.now()));
  }

  async function read() {
    if (!fragment) return;
    reading?.abort();
    reading = new AbortController();
    lastRead = Date.now();
    const url = location.href;
    try {
      const response = await fetch(url, { headers: { Fragment: '1' }, signal: reading.signal });
      if (response.status === 401) { // the session has ended: the sign-in leads back here
        location.reload();
        return;
      }
      const text = await response.text();
      if (url !== location.href) return;
      const focused = fragment.contains(document.activeElement) ? document.activeElement.id : '';
      const before = new Map([...fragment.querySelectorAll('tbody tr')].map((row) => [key(row), row.textContent]));
      fragment.innerHTML = html(text);
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
      for (const row of fragment.querySelectorAll('tbody tr')) {
        const old = before.get(key(row));
        if (before.size > 0 && stateOf(old) !== stateOf(row.textContent)) row.classList.add('changed');
      }
    } catch (error) {
      if (error.name !== 'AbortError') say('off', document.body.dataset.lost);
    }
  }

  const key = (row) => row.querySelector('[id]')?.id ?? row.querySelector('th')?.textContent ?? '';
  const stateOf = (text) => (text ?? '').replace(/\d+[a-z](\d+[a-z])? ago/g, '').replace(/\s+/g, ' ');

  function say(state, text) {
    live.className = 'live ' + state;
    if (live.textContent !== text) live.textContent = text;
  }

  // Only a visible page receives changes, because browsers limit the connections to a host.
  let source = null;
  function connect() {
    source?.close();
    source = null;
    if (document.hidden) return;
    source = new EventSource(base + 'changes');
    source.addEventListener('change', (event) => {
      const change = JSON.parse(event.data);
      if (change.problem) say('off', 'Connection lost, trying again: ' + change.problem);
      else say('on', 'Live');
      const shown = fragment?.dataset.agent;
      if (shown && (change.all || (shown === '*' ? change.agents.length > 0 : change.agents.includes(shown)))) refresh(0);
    });
    source.onerror = () => {
      say('off', document.body.dataset.lost);
      if (source?.readyState !== EventSource.CLOSED) return;
      refresh(0); // its response shows whether the session has ended
      setTimeout(connect, 5000);
    };
  }
  if (live) {
    document.addEventListener('visibilitychange', connect);
    connect();
  }

  // Search as you type.
  const search = document.getElementById('search');
  if (search) {
    const update = (delay) => {
      const query = new URLSearchParams(new FormData(search));
      for (const [name, value] of [...query]) if (!value) query.delete(name);
      history.replaceState(null, '', base + (query.size ? '?' + query : ''));
      clearTimeout(timer);
      timer = setTimeout(read, delay);
    };
    search.addEventListener('input', () => update(150));
    search.addEventListener('submit', (event) => {
      event.preventDefault();
      update(0);
    });
    document.addEventListener('keydown', (event) => {
      if (event.key === '/' && !event.ctrlKey && !event.metaKey && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)) {
        event.preventDefault();
        search.elements.q.focus();
      }
    });
  }
})();
