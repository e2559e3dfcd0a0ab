// Puts a history on the page. The parts: dom.js, theme.js and bytes.js (shared with the report), data.js, layout.js,
// drawing.js, timeline.js. They are joined to one script when Fencepost is built, this one last.

const run = readHistory();
const legend = legendNode();
const timeline = makeTimeline(run, legend, renderDetail);
start();

function start() {
  byId('p_main').hidden = false;
  setUpTheme();
  setUpTools();
  showVerdict(0);
  setUpKeys();
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('p_ready')));
}

function button(text, action, label) {
  const node = el('button', { type: 'button', 'aria-label': label }, text);
  node.addEventListener('click', action);
  return node;
}

function setUpTools() {
  const found = run.verdicts.some((verdict) => verdict.witness.length > 0);
  const only = el('input', { type: 'checkbox', id: 'p_only', checked: true });
  only.addEventListener('change', () => timeline.restrict(only.checked));
  const shown = run.count === run.total ? '' : `${run.count} of ${run.total} operations, those around the finding`;
  byId('p_tools').append(
    button('−', () => timeline.zoom(2), 'Zoom out'),
    button('+', () => timeline.zoom(0.5), 'Zoom in'),
    button('◀', () => timeline.pan(-0.4), 'Earlier'),
    button('▶', () => timeline.pan(0.4), 'Later'),
    button('Whole history', () => timeline.whole()),
    ...(found ? [button('Finding', () => timeline.finding())] : []),
    ...(run.keys > 1 && run.verdicts.length > 0 ? [el('label', {}, only, 'Only this key')] : []),
    ...(shown ? [el('span', { class: 'note' }, shown)] : []),
    legend,
  );
}

function legendNode() {
  const entries = [
    ['write', 'written'],
    ['read', 'read'],
    ['gone', 'deleted'],
    ['refused', 'refused'],
    ['silent', 'no reply'],
    ['told', 'notification'],
    ['finding-mark', 'of the finding'],
  ];
  return el(
    'ul',
    { class: 'legend', 'aria-label': 'Legend' },
    ...entries.map(([name, text]) => el('li', {}, el('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), ` ${text}`)),
  );
}

// --- the finding ---

function showVerdict(at) {
  const verdict = run.verdicts[at] ?? null;
  const box = byId('p_finding_box');
  box.replaceChildren();
  if (verdict) box.append(findingNode(verdict, at));
  timeline.show(verdict);
}

function findingNode(verdict, at) {
  const violation = verdict.answer === 'violation';
  const node = el('div', { class: `finding ${violation ? 'bad' : 'doubt'}` });
  if (run.verdicts.length > 1) node.append(verdictChoice(at));
  const rule = el('p', { class: 'cited' });
  if (violation) rule.append(el('span', { class: 'id' }, verdict.requirement), verdict.level ? levelNode(verdict.level) : '');
  else rule.append(el('b', {}, 'Unknown'));
  rule.append(el('span', {}, 'key ', el('code', {}, quoted(run.text(verdict.key)))));
  node.append(rule);
  if (verdict.rule) node.append(el('blockquote', {}, inlineCode(verdict.rule)));
  node.append(el('p', { class: 'seen' }, el('span', { class: 'label' }, violation ? 'Seen: ' : 'Why: '), verdict.text));
  const places = verdict.witness.map((number) => run.place.get(number)).filter((place) => place !== undefined);
  if (places.length > 0) {
    const numbers = new Map(places.map((place, i) => [place, i + 1]));
    const origin = Math.min(...places.map((place) => run.called[place]));
    const note = run.unit === 'lines' ? '' : `Times are from the first of these on, ${timeText(run, origin)} after the history began.`;
    node.append(operationTable(run, places, { label: 'The operations of the finding', choose: timeline.choose, numbers, origin }));
    if (note) node.append(el('p', { class: 'note' }, note));
  }
  if (verdict.others > 0) {
    const words = `${plural(verdict.others, 'other operation')} could explain it by their times, and do not.`;
    node.append(el('p', { class: 'note' }, words));
  }
  return node;
}

function verdictChoice(at) {
  const names = run.verdicts.map((verdict) => `${verdict.requirement || 'unknown'}: key ${quoted(run.text(verdict.key))}`);
  const select = el('select', { id: 'p_which' }, ...names.map((name, i) => el('option', { value: i, selected: i === at }, name)));
  select.addEventListener('change', () => {
    showVerdict(Number(select.value));
    byId('p_which').focus();
  });
  const more = run.not_shown > 0 ? `, and ${run.not_shown} not shown` : '';
  return el('p', {}, el('label', {}, `Finding (of ${run.verdicts.length}${more}) `, select));
}

// --- one operation ---

function renderDetail(place) {
  for (const row of document.querySelectorAll('tr[data-place]')) {
    row.classList.toggle('chosen', Number(row.dataset.place) === place);
  }
  const box = byId('p_detail');
  if (place < 0) {
    box.replaceChildren(el('p', { class: 'note' }, 'Point at a bar, or choose one, to see its bytes, version and times.'));
    return;
  }
  const { operations } = run;
  const version = operations.version[place];
  const list = definitions([
    ['Operation', `${run.number[place]} of client ${run.clients[run.client[place]]}, key ${quoted(run.text(run.key[place]))}`],
    ['Request', el('code', {}, requestText(run, place))],
    ['Reply', el('code', {}, replyText(run, place))],
    ['Version', version >= 0 && el('code', {}, run.version(version))],
    ['Times', `called ${timeText(run, run.called[place])}, returned ${endText(run, place)} (${spanOf(run, place)})`],
  ]);
  box.replaceChildren(list, ...bytesNodes('Value sent', operations.value[place]), ...bytesNodes('Value read', operations.read[place]));
}

// Bytes that do not speak for themselves.
function bytesNodes(label, at) {
  if (at < 0 || !run.text(at).includes('\\')) return [];
  return [el('p', { class: 'label' }, label), el('pre', { class: 'hex', tabindex: '0' }, hexView(bytesOf(run.text(at))))];
}

// --- keys ---

function setUpKeys() {
  const actions = {
    n: () => timeline.step(1),
    p: () => timeline.step(-1),
    w: () => timeline.finding(),
    0: () => timeline.whole(),
    '+': () => timeline.zoom(0.5),
    '-': () => timeline.zoom(2),
    '[': () => timeline.pan(-0.3),
    ']': () => timeline.pan(0.3),
    Escape: () => timeline.choose(-1),
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !byId('p_keys').checked) return;
    if (event.target.closest('input:not([type="checkbox"]), select, textarea') || !actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
  });
}
