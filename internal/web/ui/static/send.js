// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

'use strict';

(() => {
  const form = document.getElementById('send');
  if (!form) return;
  const find = (id) => document.getElementById(id);
  const [log, progress, examples, prompt, text, secret, file, cancel, fresh, submit, status, tasks] =
    ['log', 'progress', 'examples', 'prompt', 'message', 'secret', 'file', 'cancel', 'fresh', 'submit', 'task', 'tasks'].map(find);
  const agent = find('try').dataset.agent;
  const base = document.body.dataset.base + 'agents/' + agent;
  const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');
  // task is the id of the task that the next message continues, '' for a new task.
  let task = '', context = '';
  // call is the AbortController of the response that the page reads: an answer, or the events of a task.
  let call = null;
  // asked is the form that decides about tools or answers questions. While it waits, a text is no answer.
  let asked = null;
  const artifacts = new Map();

  function make(tag, kind, ...content) {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    element.append(...content);
    return element;
  }

  function add(kind, ...content) {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    const element = make('div', kind, ...content);
    log.hidden = false;
    if (examples) examples.hidden = true;
    log.append(element);
    if (atEnd) log.scrollTop = log.scrollHeight;
    return element;
  }

  // note adds a line of the page, once if it is the same as the last one.
  function note(kind, content) {
    if (log.lastElementChild?.textContent !== content) add('note ' + kind, content);
  }

  // step adds a step to the folded list at the end of the conversation. The list is closed, and its title has the last step.
  function step(words) {
    let list = log.lastElementChild;
    if (list?.className !== 'steps') {
      list = make('details', 'steps', make('summary'), make('ol'));
      add('', list).replaceWith(list);
    }
    list.lastElementChild.append(make('li', '', words));
    list.firstElementChild.textContent = plural(list.lastElementChild.children.length, 'step') + ', the last: ' + words;
  }

  // show shows a part in an element. It adds texts as text nodes, Markdown as the HTML that the server has made from it, and
  // images as data URLs of the types that the server allows.
  function show(element, part) {
    const last = element.lastElementChild;
    if (part.markdown) {
      const rest = last?.classList.contains('rest') ? last : element.appendChild(make('div', 'rest'));
      rest.before(pageHTML(part.html ?? ''));
      rest.replaceChildren(pageHTML(part.rest ?? ''));
      return;
    }
    if (part.text) (last?.className === 'plain' ? last : element.appendChild(make('p', 'plain'))).append(part.text);
    if (part.data) {
      const pre = make('pre', '', part.data);
      pre.tabIndex = 0;
      pre.ariaLabel = part.name || 'Data';
      if (part.name) element.append(make('p', 'caption', part.name));
      element.append(pre);
    }
    if (part.url) element.append(make('p', 'plain', (part.name || 'File') + ' at ' + part.url));
    if (!part.type) return;
    const bytes = Uint8Array.from(atob(part.content ?? ''), (c) => c.charCodeAt(0));
    if (part.image) {
      const image = make('img');
      image.alt = part.name;
      image.src = 'data:' + part.type + ';base64,' + part.content;
      element.append(image);
    }
    const link = make('a', 'file', 'Download ' + part.name + ' (' + plural(bytes.length, 'byte') + ')');
    link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
    link.download = part.name;
    element.append(link);
  }

  function take(update) {
    heard = Date.now();
    task = update.task ?? task;
    context = update.context ?? context;
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    if (update.step) step(update.step);
    if (update.parts?.length) {
      let element = artifacts.get(update.artifact);
      if (!update.append) element?.replaceChildren();
      element ??= add(update.own ? 'said mine' : 'said');
      if (update.artifact) artifacts.set(update.artifact, element);
      if (update.name && !element.firstChild) element.append(make('p', 'caption', update.name));
      for (const part of update.parts) show(element, part);
      if (atEnd) log.scrollTop = log.scrollHeight;
    }
    if (update.problem) note('bad', update.problem + (update.hint ? ' ' + update.hint : ''));
    if (update.own || update.state) settle();
    if (update.state) state(update);
    // A failed call does not end the task: the next message continues it.
    if (update.ended && !update.waits && !update.problem) task = '';
    cancel.hidden = !task;
    announce();
  }

  function state(update) {
    const is = (task ? 'Task ' + task + ' is ' : 'The task is ') + update.state + '.';
    if (update.ended && !update.waits) {
      note(update.state, update.state + ' at ' + (update.time ? new Date(update.time) : new Date()).toLocaleTimeString());
    }
    status.textContent = is;
    busy(!update.ended); // the stream of a task that waits stays open
    if (update.waits) ask(update);
    refreshTasks(300);
  }

  // ask shows for what the agent waits.
  function ask(update) {
    const question = update.question ?? {};
    if (update.state === 'auth-required') {
      status.textContent = 'The agent waits for an authorization, which its message describes. Then send a message to continue.';
      return;
    }
    status.textContent = 'The agent waits for your answer.';
    prompt.textContent = 'Your answer';
    form.classList.add('asked');
    text.hidden = !!question.sensitive;
    secret.hidden = secret.disabled = !question.sensitive;
    if (question.calls?.length) asked = approval(question);
    else if (question.questions?.length) asked = choices(question);
    enable();
    if (!asked) return;
    status.textContent = 'The agent waits for your ' + (question.calls?.length ? 'decision. A text does not decide.' : 'answers.');
    add('', asked);
    log.scrollTop += asked.getBoundingClientRect().top - log.getBoundingClientRect().top - 8;
    asked.querySelector('legend').focus({ preventScroll: true });
  }

  function enable() {
    form.classList.toggle('decides', !!asked); // hides the fields of a message
    submit.disabled = running || !!asked;
    text.disabled = text.hidden || !!asked;
    file.disabled = !!asked;
  }

  // settle ends the question before this update.
  function settle() {
    asked?.querySelectorAll('button, input').forEach((each) => { each.disabled = true; });
    asked = null;
    form.classList.remove('asked');
    prompt.textContent = 'Message';
    secret.hidden = secret.disabled = true;
    text.hidden = false;
    enable();
  }

  function field(label, type, name, value) {
    const input = Object.assign(make('input'), { type, name, value: value ?? '' });
    return type === 'text' ? make('label', 'wide', label, input) : make('label', '', input, ' ', label);
  }

  function group(title, ...content) {
    const legend = make('legend', '', title);
    legend.tabIndex = -1;
    return make('fieldset', '', legend, ...content);
  }

  // approval returns a form with each call of a tool and all of its arguments. Buttons decide about one call; if there are
  // more, the person decides about each.
  function approval({ calls, hint, reasons, agent: other, form: seen }) {
    const single = calls.length === 1;
    const each = calls.map((call, i) => {
      const args = make('pre', '', call.arguments);
      args.tabIndex = 0;
      args.ariaLabel = 'Arguments of ' + call.tool;
      const content = [make('p', 'soft', 'Agent ', make('code', '', other || agent), ' asks to call the tool' + (call.source ? ' (' + call.source + ')' : '') + ' with these arguments:'), args];
      if (!single) content.push(make('div', 'actions', field('Approve', 'radio', 'call-' + i, 'approve'), field('Reject', 'radio', 'call-' + i, 'reject')));
      if (reasons) content.push(field('Reason, if you reject it', 'text', 'reason-' + i));
      const set = group('Approve ' + call.tool + '?', ...content);
      set.querySelectorAll('[type=radio]').forEach((radio) => { radio.required = true; });
      return set;
    });
    if (hint) each.unshift(make('p', 'lead', hint));
    const buttons = single ? [['approve', 'Approve'], ['reject', 'Reject']] : [['', 'Send the decisions']];
    return decides(each, buttons, (data, button) => {
      const decisions = calls.map((call, i) => {
        const approved = (single ? button : data.get('call-' + i)) === 'approve';
        return { id: call.id, approved, reason: approved ? '' : data.get('reason-' + i) ?? '' };
      });
      return [{ form: seen, decisions }, decisions.map((one, i) => (one.approved ? 'Approved: ' : 'Rejected: ') + calls[i].tool + (one.reason && ' (' + one.reason + ')')).join('\n')];
    });
  }

  // choices returns a form with questions, each with its choices and a field for another answer. A choice is
  // named by its index.
  function choices({ questions, hint, form: seen }) {
    const each = questions.map((one, i) => group(one.text,
      ...(one.choices ?? []).map((choice, n) => field(choice, one.multiple ? 'checkbox' : 'radio', 'choice-' + i, n)),
      field(one.choices?.length ? 'Other answer' : 'Answer', 'text', 'other-' + i)));
    if (hint) each.unshift(make('p', 'lead', hint));
    return decides(each, [['', 'Send the answers']], (data) => {
      const answers = questions.map((_, i) => ({ text: data.get('other-' + i).trim(), choices: data.getAll('choice-' + i).map(Number) }));
      return [{ form: seen, answers }, questions.map((one, i) => one.text + ' ' +
        (answers[i].text || answers[i].choices.map((n) => one.choices[n]).join(', '))).join('\n')];
    });
  }

  // decides returns a form whose buttons send a decision. The key Enter sends none: it would be that of the first button.
  function decides(content, buttons, decision) {
    const made = make('form', 'ask', ...content, make('div', 'actions', ...buttons.map(([value, label]) => {
      const button = make('button', value === 'reject' ? '' : 'main', label);
      Object.assign(button, { type: 'button', value });
      button.addEventListener('click', () => {
        if (!made.reportValidity()) return;
        const [decided, words] = decision(new FormData(made), value);
        const body = new FormData();
        body.append('decision', JSON.stringify(decided));
        send(body, words);
      });
      return button;
    })));
    made.addEventListener('submit', (event) => event.preventDefault());
    return made;
  }

  // The page shows how long the agent works, so that a silent agent is not taken for a broken page. sentAt is the time of the
  // call, and heard that of the last update.
  let running = false, sentAt = 0, heard = 0, ticking = 0;
  const span = (ms) => (ms < 60e3 ? Math.floor(ms / 1e3) + ' s' : Math.floor(ms / 60e3) + ' min ' + Math.floor(ms / 1e3) % 60 + ' s');
  function tick() {
    const silent = Date.now() - heard;
    progress.textContent = 'The agent works, ' + span(Date.now() - sentAt) + (silent > 10e3 ? '. It has sent nothing for ' + span(silent) + '.' : '');
  }
  function busy(on) {
    if (on === running) return;
    clearInterval(ticking);
    running = on;
    log.ariaBusy = String(on);
    enable();
    progress.hidden = !on;
    if (!on) return;
    sentAt = heard = Date.now();
    ticking = setInterval(tick, 1000);
    tick();
  }

  // read applies the updates of a response, one on each line. It returns false if another call replaced this one.
  async function read(url, options, what) {
    call?.abort();
    const own = call = new AbortController();
    fresh.hidden = false;
    busy(true);
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
      if (error.name !== 'AbortError') note('bad', what + error.message);
    }
    if (own === call) busy(false);
    return own === call;
  }

  // send sends a message, which the conversation shows as words. A question continues to wait if the call fails.
  async function send(body, words) {
    if (task) body.append('task', task);
    if (context) body.append('context', context);
    const decided = asked, before = status.textContent;
    add('said mine', words);
    decided?.querySelectorAll('button').forEach((each) => { each.disabled = true; });
    status.textContent = 'Sent.';
    if (!await read(base + '/send', { method: 'POST', body }, 'The answer is not complete: ')) return;
    if (status.textContent === 'Sent.') status.textContent = before;
    if (decided && asked === decided) decided.querySelectorAll('button').forEach((each) => { each.disabled = false; });
    if (!asked) (secret.hidden ? text : secret).focus();
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const body = new FormData(form);
    const words = [secret.hidden ? text.value.trim() : secret.value && '••••••', ...[...file.files].map((each) => '📎 ' + each.name)].filter(Boolean).join('\n');
    if (submit.disabled || !words) return;
    form.reset();
    send(body, words);
  });

  function clear() {
    call?.abort();
    call = null;
    task = context = '';
    busy(false);
    settle();
    artifacts.clear();
    log.replaceChildren();
    log.hidden = cancel.hidden = fresh.hidden = true;
    if (examples) examples.hidden = false;
    status.textContent = '';
    announce();
  }

  text.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.altKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  // Escape leads from the conversation and the tasks back to the message.
  find('try').addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !asked) (secret.hidden ? text : secret).focus();
  });
  // A click on an example sends it, unless a message is being written or the agent works.
  document.addEventListener('click', (event) => {
    const example = event.target.closest('button.example');
    if (!example || text.disabled) return;
    const send = !text.value && !submit.disabled;
    text.value = example.textContent;
    announce();
    text.scrollIntoView({ block: 'nearest' });
    if (send) form.requestSubmit();
    else text.focus();
  });
  cancel.addEventListener('click', async () => {
    try {
      const response = await fetch(base + '/tasks/' + encodeURIComponent(task) + '/cancel', { method: 'POST' });
      const update = await response.json();
      if (update.problem) update.problem = 'The task is not canceled: ' + update.problem;
      take(update);
    } catch (error) {
      note('bad', 'The task is not canceled: ' + error.message);
    }
  });
  fresh.addEventListener('click', () => {
    clear();
    text.focus();
  });

  // The page reads the list of tasks again while a task runs. A click on a task shows all of its events.
  let timer = 0, token = '';
  function refreshTasks(delay) {
    clearTimeout(timer);
    timer = setTimeout(readTasks, delay);
  }
  async function readTasks() {
    if (document.hidden) return;
    try {
      const response = await fetch(base + '/tasks?token=' + encodeURIComponent(token), { headers: { Fragment: '1' } });
      const html = pageHTML(await response.text());
      const focused = tasks.contains(document.activeElement) ? document.activeElement.dataset.task : '';
      tasks.replaceChildren(html);
      if (focused) tasks.querySelector('[data-task="' + CSS.escape(focused) + '"]')?.focus({ preventScroll: true });
    } catch {
      return; // ui.js shows that the server does not respond
    }
    if (tasks.querySelector('[data-open]')) refreshTasks(5000);
  }
  document.addEventListener('visibilitychange', () => refreshTasks(0));
  refreshTasks(0);
  tasks.addEventListener('click', async (event) => {
    const turn = event.target.closest('button.turn'), chosen = event.target.closest('button.open');
    if (turn) {
      token = turn.dataset.token;
      clearTimeout(timer);
      await readTasks();
      tasks.querySelector('button')?.focus();
    }
    if (!chosen) return;
    clear();
    task = chosen.dataset.task;
    context = chosen.dataset.context;
    log.hidden = false;
    log.focus();
    read(base + '/tasks/' + encodeURIComponent(task) + '/events', {}, 'The events are not complete: ');
  });

  function announce() {
    document.dispatchEvent(new CustomEvent('nextmessage', { detail: { text: text.value || 'Hello', task, context } }));
  }
  text.addEventListener('input', announce);
  announce();
})();
