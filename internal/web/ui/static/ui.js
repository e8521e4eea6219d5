// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

'use strict';

(() => {
  const base = document.body.dataset.base;
  const live = document.getElementById('live');
  // The parts of the page that the server renders again when the agents in data-live have changed.
  const parts = [...document.querySelectorAll('[data-live]')];
  // The server renders all HTML from templates or by an allow-list, and escapes the texts of agents.
  const policy = window.trustedTypes?.createPolicy('page', { createHTML: (text) => text });
  function fragmentOf(text) {
    const template = document.createElement('template');
    template.innerHTML = policy ? policy.createHTML(text) : text;
    return template.content;
  }
  window.pageHTML = fragmentOf; // for send.js: a policy has one name and is created once

  let reading = null;
  let lastRead = 0;
  let timer = 0;

  // refresh reads the parts of the page again, at most once in 500 ms. Focus, scroll position and open details stay.
  function refresh(delay) {
    clearTimeout(timer);
    timer = setTimeout(read, Math.max(delay, lastRead + 500 - Date.now()));
  }

  // The server does not send the rows again whose versions it gets. Their places are rows with data-from and data-count.
  async function read() {
    if (parts.length === 0) return;
    const kept = [...document.querySelectorAll('[data-live] tr[data-version]')];
    const headers = { Fragment: '1', Rows: kept.map((row) => row.dataset.version).join(' ') };
    reading?.abort();
    reading = new AbortController();
    lastRead = Date.now();
    const url = location.href;
    try {
      const response = await fetch(url, { headers, redirect: 'manual', signal: reading.signal });
      if (response.status === 401 || response.type === 'opaqueredirect') { // the session has ended: a proxy leads to the sign-in
        location.reload();
        return;
      }
      const text = await response.text();
      if (url !== location.href) return;
      const focused = document.activeElement?.id;
      const rows = () => parts.flatMap((part) => [...part.querySelectorAll('tbody tr, li[id]')]);
      const before = new Map(rows().map((row) => [key(row), row.textContent]));
      const next = fragmentOf(text);
      for (const row of kept) row.classList.remove('changed');
      for (const place of next.querySelectorAll('tr[data-from]')) {
        const from = Number(place.dataset.from);
        place.replaceWith(...kept.slice(from, from + Number(place.dataset.count)));
      }
      for (const part of parts) {
        const open = new Map([...part.querySelectorAll('details[id]')].map((each) => [each.id, each.open]));
        part.replaceChildren(...(next.getElementById(part.id) ?? next).childNodes);
        for (const each of part.querySelectorAll('details[id]')) each.open = open.get(each.id) ?? each.open;
      }
      if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
      for (const row of rows()) {
        if (before.size > 0 && stateOf(before.get(key(row))) !== stateOf(row.textContent)) row.classList.add('changed');
      }
      showAges();
    } catch (error) {
      if (error.name !== 'AbortError') say('off', document.body.dataset.lost);
    }
  }

  const key = (row) => row.id || row.querySelector('[id]')?.id;
  const stateOf = (text) => (text ?? '').replace(/\d+[smhd] ago/g, '').replace(/\s+/g, ' ');

  // showAges writes the ages of all times, as Layout.Age of the server does.
  function showAges() {
    for (const time of document.querySelectorAll('time.age, .age time')) {
      const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
      const [, size, unit] = ages.find(([limit]) => seconds < limit);
      time.textContent = Math.floor(seconds / size) + unit + ' ago';
    }
  }
  const ages = [[120, 1, 's'], [7200, 60, 'm'], [172800, 3600, 'h'], [Infinity, 86400, 'd']];

  function say(state, text) {
    live.className = 'live ' + state;
    if (live.textContent !== text) live.textContent = text;
  }

  // Only a visible page receives changes: a hidden one needs none, and browsers limit the connections to a host.
  let source = null;
  let ticking = 0;
  function connect() {
    source?.close();
    source = null;
    clearInterval(ticking);
    if (document.hidden) {
      clearTimeout(timer);
      reading?.abort();
      return;
    }
    showAges();
    ticking = setInterval(showAges, 10000);
    const shown = parts[0]?.dataset.live ?? '-'; // a page without parts shows no agent
    source = new EventSource(base + 'changes' + (shown && '?agent=' + encodeURIComponent(shown)));
    source.addEventListener('change', (event) => {
      const change = JSON.parse(event.data);
      if (change.problem) say('off', 'Connection lost, trying again: ' + change.problem);
      else say('on', 'Live');
      if (change.changed) refresh(0);
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
