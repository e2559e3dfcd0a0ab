// Small helpers for everything on the page. Text reaches the page as text nodes only: nothing that a peer has sent
// is ever parsed as HTML.

// el('a', {href: '#x', class: 'id'}, 'text', node, ...): an element. `false`, null and undefined are left out.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

const byId = (id) => document.getElementById(id);

function groupBy(list, keyOf) {
  const groups = new Map();
  for (const one of list) {
    const key = keyOf(one);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(one);
  }
  return groups;
}

function countBy(list, keyOf) {
  const counts = new Map();
  for (const one of list) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}

// Announces a text to screen readers.
function say(text) {
  byId('p_said').textContent = text;
}

function plural(count, one, many = one + 's') {
  return `${count} ${count === 1 ? one : many}`;
}

function milliseconds(value) {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  if (value >= 100) return `${value.toFixed(0)} ms`;
  return `${value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3)} ms`;
}

// Every verdict of a case and state of a requirement: its sign, its word, and which colour it has. Signs and words
// tell all; colours repeat it. The order is that of the filters and of what needs attention first.
const kStates = new Map([
  ['failed', { sign: '✗', word: 'failed', tone: 'bad' }],
  ['broken', { sign: '✗', word: 'broken', tone: 'bad' }],
  ['outside', { sign: '✗', word: 'outside the allowed outcomes', tone: 'bad' }],
  ['warning', { sign: '!', word: 'warning', tone: 'doubt' }],
  ['inconclusive', { sign: '?', word: 'inconclusive', tone: 'doubt' }],
  ['lost', { sign: '⊗', word: 'lost', tone: 'doubt' }],
  ['expected-failure', { sign: 'x', word: 'expected failure', tone: 'doubt' }],
  ['not-shown', { sign: '?', word: 'not shown', tone: 'doubt' }],
  ['not-run', { sign: '·', word: 'not run', tone: 'quiet' }],
  ['skipped', { sign: '–', word: 'skipped', tone: 'quiet' }],
  ['passed', { sign: '✓', word: 'passed', tone: 'good' }],
  ['covered', { sign: '✓', word: 'covered', tone: 'good' }],
  ['open', { sign: '○', word: 'unspecified', tone: 'point' }],
  ['untestable', { sign: '⊘', word: 'not testable', tone: 'quiet' }],
  ['uncovered', { sign: '∅', word: 'not covered', tone: 'quiet' }],
  ['cut-short', { sign: '?', word: 'cut short', tone: 'doubt' }],
  ['not-in-run', { sign: '·', word: 'not in the run', tone: 'quiet' }],
]);

// What needs attention, the most urgent first.
const kAttention = ['failed', 'broken', 'outside', 'warning', 'inconclusive', 'lost', 'expected-failure'];

function badge(state) {
  const { sign, word, tone } = kStates.get(state);
  return el('span', { class: `badge ${tone}` }, el('span', { class: 'sign', 'aria-hidden': 'true' }, sign), ' ', word);
}

function levelNode(level) {
  return el('span', { class: `level ${level}` }, level.toUpperCase());
}

function linkTo(id) {
  return el('a', { href: '#' + id, class: 'id' }, id);
}

// What is short stays in one piece: `-ERR` is no `-` and `ERR`.
function wordNode(text) {
  return el('code', text.length <= 24 ? { class: 'short' } : {}, text);
}

// `what stands between back-ticks` is code.
function inlineCode(text) {
  const out = document.createDocumentFragment();
  text.split('`').forEach((part, i) => out.append(i % 2 === 1 ? wordNode(part) : part));
  return out;
}

// Names and values; those without a value are left out.
function definitions(pairs, className = 'pairs') {
  const list = el('dl', { class: className });
  for (const [name, value] of pairs) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    list.append(el('dt', {}, name), el('dd', {}, value));
  }
  return list;
}

// A heading that opens what belongs to it. `fill(detail)` is called when it is opened for the first time: a report
// with a thousand cases opens as fast as one with ten. `opened(node)` is called each time.
function disclosure({ id, className, heading, summary, fill, opened }) {
  const detail = el('div', { class: 'detail', id: `${id}_detail`, hidden: true });
  const button = el(
    'button',
    { type: 'button', class: 'row', id: `${id}_row`, 'aria-expanded': 'false', 'aria-controls': detail.id },
    ...summary,
  );
  const node = el('li', { class: className }, el(heading, {}, button), detail);
  let filled = false;
  const item = { node, button, detail, isOpen: () => !detail.hidden, toggle };
  button.addEventListener('click', () => {
    toggle(detail.hidden);
    if (!detail.hidden && opened) opened(item);
  });
  return item;

  function toggle(open) {
    if (open && !filled) {
      filled = true;
      fill(detail);
    }
    detail.hidden = !open;
    node.classList.toggle('open', open);
    button.setAttribute('aria-expanded', String(open));
  }
}

// What was opened last stands in the address, so that it can be sent to a colleague. Going back stays possible:
// opening a row is not a step of its own.
function rememberPlace(id) {
  try {
    history.replaceState(null, '', `#${id}`);
  } catch {
    // Some browsers allow local files no history.
  }
}

// --- copying ---

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// For browsers that give local files no clipboard.
function copyBySelection(text) {
  const area = el('textarea', { class: 'unseen', readonly: true });
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return done;
}

function copyButton(text, what) {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${what}` }, 'Copy');
  button.addEventListener('click', async () => {
    const done = await copyText(text);
    button.textContent = done ? 'Copied' : 'Select it';
    say(done ? `Copied ${what}` : `Could not copy ${what}: select it by hand`);
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  return button;
}

function commandNode(label, command) {
  return el(
    'div',
    { class: 'command' },
    el('span', { class: 'label' }, label),
    el('code', { tabindex: '0', 'aria-label': label }, command),
    copyButton(command, 'the command'),
  );
}
