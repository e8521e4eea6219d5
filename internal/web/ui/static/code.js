// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

'use strict';

(() => {
  const snippets = [...document.querySelectorAll('pre[data-template]')];
  const word = (text) => "'" + text.replaceAll("'", "'\\''") + "'";
  // Python and Go read a JSON string as a literal, except for halves of surrogate pairs.
  const literal = (text) => JSON.stringify(text.toWellFormed());

  // The conversation dispatches this event when the next message changes.
  document.addEventListener('nextmessage', (event) => {
    const { text, task, context } = event.detail;
    const message = { messageId: crypto.randomUUID?.() ?? String(Date.now()), role: 'ROLE_USER', parts: [{ text }] };
    if (task) message.taskId = task;
    if (context) message.contextId = context;
    const values = {
      shell: word(text),
      literal: literal(text),
      call: word(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } })),
      flags: task ? ' --task-id ' + word(task) : context ? ' --context-id ' + word(context) : '',
      python: (task ? ', task_id=' + literal(task) : '') + (context ? ', context_id=' + literal(context) : ''),
      go: (task ? '\n\tmessage.TaskID = ' + literal(task) : '') + (context ? '\n\tmessage.ContextID = ' + literal(context) : ''),
    };
    for (const snippet of snippets) {
      snippet.textContent = snippet.dataset.template.replace(/@(shell|literal|call|flags|python|go)@/g, (_, name) => values[name]);
    }
  });

  for (const button of document.querySelectorAll('.copy')) {
    button.addEventListener('click', async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = 'Copied';
      } catch { // without the permission to write to the clipboard, select the text
        getSelection().selectAllChildren(source);
        button.textContent = 'Selected';
      }
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
  }
})();
