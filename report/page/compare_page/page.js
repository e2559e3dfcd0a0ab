// Puts runs side by side on the page: each run a column. Shared with the report: dom.js, theme.js, filter.js, panels.js.
// They are joined to one script when Fencepost is built, this one last.

const kVerdicts = new Map([
  ['conformant', 'good'],
  ['NOT conformant', 'bad'],
]);

const compared = JSON.parse(byId('p_data').textContent);
start();

function start() {
  byId('p_main').hidden = false;
  setUpTheme();
  renderHead();
  setUpPanels({
    findings: () => renderTable('findings', compared.findings, findingCell),
    requirements: () => renderTable('requirements', compared.requirements, stateCell),
    cases: () => renderTable('cases', compared.cases, caseCell),
    forms: () => renderTable('forms', compared.forms, pointCell),
    points: () => renderTable('points', compared.open_points, pointCell),
  });
  countInTab('findings', compared.findings.length);
  countInTab('requirements', compared.requirements.length);
  countInTab('cases', compared.cases.length);
  countInTab('forms', compared.forms.length);
  countInTab('points', compared.open_points.length);
  setUpKeys();
  setUpPlaces(() => undefined);
  performance.mark('p_ready');
}

// --- the head of the page ---

function renderHead() {
  const { columns } = compared;
  const rows = columns.map((column) => [
    column.name,
    verdictNode(column),
    `${column.must.kept} of ${column.must.all}`,
    casesText(column.cases),
    column.dialect_observed,
    column.profile,
    el('span', { class: 'mono' }, column.endpoint),
    column.started,
    `${column.suite_version} (${column.suite_commit})`,
  ]);
  const heads = ['Run', 'Verdict', 'MUST kept', 'Cases', 'Dialect', 'Profile', 'Endpoint', 'Started', 'Fencepost'];
  byId('p_columns').append(tableOf(heads, rows.map((cells) => rowOf(cells)), 'The runs'));
}

function verdictNode(column) {
  const tone = kVerdicts.get(column.verdict) ?? 'doubt';
  const sign = { good: '✓', bad: '✗', doubt: '?' }[tone];
  const words = [el('span', { class: `badge ${tone}` }, `${sign} ${column.verdict}`)];
  if (column.part) words.push(el('div', { class: 'note' }, `${column.part}, which certifies nothing`));
  if (column.stopped_because) words.push(el('div', { class: 'note' }, column.stopped_because));
  return el('div', {}, ...words);
}

function casesText(cases) {
  const parts = Object.entries(cases).filter(([, count]) => count > 0);
  return parts.map(([word, count]) => `${count} ${word.replace('_', ' ')}`).join(', ');
}

// --- tables ---

function rowOf(cells) {
  return el('tr', {}, ...cells.map((cell, i) => el(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row' } : {}, cell)));
}

function tableOf(heads, rows, label) {
  const head = el('tr', {}, ...heads.map((text) => el('th', { scope: 'col' }, text)));
  const table = el('table', {}, el('thead', {}, head), el('tbody', {}, ...rows));
  return el('div', { class: 'table compared', tabindex: '0', role: 'region', 'aria-label': label }, table);
}

// Rows that differ come first, in a group of their own.
function renderTable(name, list, cellOf) {
  const heads = [{ cases: 'Case', forms: 'Place' }[name] ?? 'Requirement', ...compared.columns.map((column) => column.name)];
  const groups = [];
  for (const differs of [true, false]) {
    const rows = list.filter((row) => row.differs === differs);
    if (rows.length === 0) continue;
    const entries = rows.map((row) => ({ ...row, rows: differs ? 'differ' : 'alike', item: itemOf(row, cellOf) }));
    const others = name === 'cases' ? 'Not decided by all runs' : 'No difference found';
    const title = differs ? 'Different' : others;
    const table = tableOf(heads, entries.map((entry) => entry.item.node), title);
    const node = el('section', {}, el('h3', { class: 'group' }, title), table);
    byId(`p_${name}_table`).append(node);
    groups.push({ node, entries });
  }
  if (groups.length === 0) byId(`p_${name}_table`).append(el('p', {}, 'Nothing.'));
  return makeFilter({
    form: byId(`p_${name}_filter`),
    entries: groups.flatMap((group) => group.entries),
    groups,
    textOf: (row) => `${row.id} ${row.text} ${JSON.stringify(row.cells)}`,
    noun: 'row',
    choices: [
      { name: 'Level', values: ['must', 'should', 'may'], of: (row) => [row.level] },
      { name: 'Rows', values: ['differ', 'alike'], of: (row) => [row.rows] },
    ],
  });
}

function itemOf(row, cellOf) {
  const what = el('div', {}, el('span', { class: 'id' }, row.id), ' ', row.level && levelNode(row.level));
  const head = el('th', { scope: 'row' }, what, el('div', { class: 'title' }, inlineCode(row.text)));
  const node = el('tr', {}, head, ...row.cells.map((cell, i) => cellOf(cell, i)));
  return { node, button: node };
}

function emptyCell() {
  return el('td', { class: 'quiet' }, el('span', { class: 'note' }, '–'));
}

function findingCell(cell) {
  if (!cell) return emptyCell();
  return el(
    'td',
    { class: kStates.get(cell.verdict)?.tone ?? 'quiet' },
    kStates.has(cell.verdict) ? badge(cell.verdict) : cell.verdict,
    ` ${plural(cell.cases, 'case')}`,
    el('div', { class: 'note' }, cell.cause),
  );
}

function stateCell(cell) {
  if (!cell) return emptyCell();
  return el('td', { class: kStates.get(cell)?.tone ?? 'quiet' }, kStates.has(cell) ? badge(cell) : cell);
}

function caseCell(cell) {
  if (!cell) return emptyCell();
  const { tone } = kStates.get(cell.verdict) ?? { tone: 'quiet' };
  const said = [cell.requirement, cell.message, cell.expected && `expected ${cell.expected}`, cell.actual && `got ${cell.actual}`];
  const words = kStates.has(cell.verdict) ? badge(cell.verdict) : cell.verdict;
  return el('td', { class: tone }, words, ...said.filter(Boolean).map((text) => el('div', { class: 'note' }, text)));
}

function pointCell(cell) {
  return cell ? el('td', {}, cell.join(', ')) : emptyCell();
}
