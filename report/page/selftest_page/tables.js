// What is a table: survivors, areas, the matrix by areas, the stores that must pass or must not, the cases.

function tableNode(heads, rows, className = '') {
  return el(
    'div',
    { class: 'table', tabindex: '0', role: 'group', 'aria-label': 'Table' },
    el(
      'table',
      { class: className },
      el('thead', {}, el('tr', {}, ...heads.map((head) => (head ? el('th', { scope: 'col' }, head) : el('td', {}))))),
      el(
        'tbody',
        {},
        ...rows.map(([first, ...rest]) =>
          el('tr', {}, el('th', { scope: 'row' }, first), ...rest.map((cell) => el('td', {}, ...[cell].flat()))),
        ),
      ),
    ),
  );
}

function faultLink(fault) {
  return el('a', { href: '#' + fault.id, class: 'id' }, fault.id);
}

// --- what needs attention ---

// One entry for each thing that is not as it should be; dialects that say the same stand together.
function attentionOf(data) {
  const out = new Map();
  const add = (tone, sign, subject, what, text, dialect) => {
    const key = `${what}\n${text}`;
    if (!out.has(key)) out.set(key, { tone, sign, subject, text, dialects: [] });
    out.get(key).dialects.push(dialect);
  };
  for (const survivor of data.survivors) {
    const fault = data.byId.get(survivor.id);
    const [tone, sign] = survivor.excused ? ['doubt', '○'] : ['bad', '✗'];
    add(tone, sign, { id: fault.id, link: faultLink(fault), name: fault.name, title: fault.text }, fault.id,
      survivor.text, survivor.dialect);
  }
  for (const [dialect, run] of Object.entries(data.references)) {
    if (!run.as_it_should_be) add('bad', '✗', { name: 'reference store' }, 'reference', wrongRun(data, run), dialect);
  }
  for (const [stores, bad] of [[data.benign, wrongRun], [data.null_stores, wrongNull]]) {
    for (const store of stores) {
      for (const [dialect, run] of Object.entries(store.dialects)) {
        if (run.as_it_should_be) continue;
        add('bad', '✗', { id: store.id, name: store.name, title: store.text }, store.id, bad(data, run), dialect);
      }
    }
  }
  for (const [at, dialects] of canariesByCase(data)) {
    const one = data.cases[at];
    for (const [dialect, what] of dialects) {
      const text = `passes with a wrong expectation: ${what.join('; ')}`;
      add('bad', '✗', { name: one.id, title: one.title }, one.id, text, dialect);
    }
  }
  return [...out.values()].sort((a, b) => (a.tone === b.tone ? 0 : a.tone === 'bad' ? -1 : 1));
}

// Case -> dialect -> what was made wrong.
function canariesByCase(data) {
  const out = new Map();
  for (const { case: at, what, dialect } of data.canary_survivors) {
    if (!out.has(at)) out.set(at, new Map());
    if (!out.get(at).has(dialect)) out.get(at).set(dialect, []);
    out.get(at).get(dialect).push(what);
  }
  return out;
}

function someCases(data, places) {
  const shown = places.slice(0, 3).map((at) => data.cases[at].id);
  return shown.join(', ') + (places.length > shown.length ? ` and ${number(places.length - shown.length)} more` : '');
}

// What went wrong with a store that must pass.
function wrongRun(data, run) {
  if (run.error) return run.error;
  const failed = [...run.killers, ...run.bystanders];
  if (failed.length > 0) return `a false positive: ${someCases(data, failed)} failed`;
  return `undecided: ${someCases(data, run.inconclusive)}`;
}

function wrongNull(data, run) {
  return run.error ?? `passed: ${someCases(data, run.passes ?? [])}`;
}

function renderAttention(data) {
  const section = byId('p_attention');
  const entries = attentionOf(data);
  const bad = entries.filter((entry) => entry.tone === 'bad').length;
  const ran = data.faults.length > 0;
  section.append(
    el('h2', { id: 'p_attention_head' }, 'Survivors and other problems ', el('span', { class: 'note' }, String(entries.length))),
  );
  if (entries.length === 0) {
    section.append(el('p', { class: 'note' }, ran ? 'Nothing: every fault that ran was caught.' : 'Nothing ran.'));
    return;
  }
  if (bad === 0) {
    section.append(el('p', { class: 'note' }, 'All of these need the concurrent checks: they do not count against the cases.'));
  }
  section.append(el('ul', { class: 'rows attention' }, ...entries.map((entry) => attentionRow(data, entry))));
}

function attentionRow(data, { tone, sign, subject, text, dialects }) {
  const where = dialects.length === data.dialects.length && dialects.length > 1 ? 'every dialect' : dialects.join(', ');
  return el(
    'li',
    { class: tone },
    el('span', { class: `badge ${tone}` }, el('span', { class: 'sign', 'aria-hidden': 'true' }, sign)),
    el('span', { class: 'what' }, subject.link ?? (subject.id && el('b', { class: 'id' }, subject.id)), ' ',
      el('span', { class: 'fault-name' }, subject.name), ' ', el('span', { class: 'title' }, inlineCode(subject.title ?? ''))),
    el('span', { class: 'why' }, inlineCode(text)),
    el('span', { class: 'note' }, where),
  );
}

// --- areas ---

function renderAreas(data, filterBy) {
  const rows = data.areaList.map((area) => {
    const button = el('button', { type: 'button', class: 'link' }, area.name);
    button.addEventListener('click', () => filterBy({ faultArea: area.letters }));
    const open = area.total - area.caught - area.needs_concurrency;
    const kills = area.faults.map((fault) => fault.killers.length).sort((a, b) => a - b);
    const times = area.faults.filter((fault) => fault.slowest > 0).map((fault) => fault.slowest).sort((a, b) => a - b);
    return [
      button,
      areaBar(area),
      `${area.caught} of ${area.total}`,
      open > 0 ? el('b', { class: 'badge bad' }, `✗ ${open}`) : '–',
      area.needs_concurrency > 0 ? el('span', { class: 'badge doubt' }, `○ ${area.needs_concurrency}`) : '–',
      number(kills[Math.floor(kills.length / 2)]),
      times.length > 0 ? milliseconds(times[Math.floor(times.length / 2)]) : '–',
    ];
  });
  const heads = ['Area', '', 'Caught', 'Survived', 'Needs concurrency', 'Cases that catch one (median)', 'Time to kill (median)'];
  byId('p_area_table').append(
    rows.length > 0 ? tableNode(heads, rows, 'areas') : el('p', { class: 'note' }, 'No fault was run.'),
  );
}

function areaBar({ caught, total, needs_concurrency }) {
  const bar = el('div', { class: 'bar', 'aria-hidden': 'true' });
  for (const [count, tone] of [[caught, 'good'], [total - caught - needs_concurrency, 'bad'], [needs_concurrency, 'doubt']]) {
    if (count === 0) continue;
    const part = el('span', { class: tone });
    part.style.flexGrow = count;
    bar.append(part);
  }
  return bar;
}

// --- the matrix by areas ---

function renderHeat(data, filterBy) {
  const head = el('tr', {}, el('th', { scope: 'col' }, 'Faults'), ...data.caseAreas.map((area) =>
    el('th', { scope: 'col', class: 'upright' }, el('span', {}, area.name))));
  const rows = data.areaList.map((area) =>
    el('tr', {}, el('th', { scope: 'row' }, `${area.letters} ${area.name}`, el('span', { class: 'note' }, ` ${area.total}`)),
      ...data.caseAreas.map((cases) => heatCell(data, area, cases, filterBy))));
  byId('p_heat_body').append(
    el('p', { class: 'note' }, 'How many faults of the row are caught by the cases of the column. Choose a number to see them.'),
    el('div', { class: 'table heat' }, el('table', {}, el('thead', {}, head), el('tbody', {}, ...rows))),
  );
}

function heatCell(data, area, cases, filterBy) {
  const caught = area.faults.filter((fault) => fault.killers.some((at) => data.cases[at].area === cases.name)).length;
  if (caught === 0) return el('td', { class: 'nothing' }, el('span', { class: 'unseen' }, '0'));
  const label = `Cases of ${cases.name} catch ${caught} of ${plural(area.total, 'fault')} of ${area.name}`;
  const button = el('button', { type: 'button', title: label, 'aria-label': label }, String(caught));
  button.addEventListener('click', () => filterBy({ faultArea: area.letters, caseArea: cases.name }));
  const cell = el('td', {}, button);
  cell.style.setProperty('--share', `${Math.round(8 + (45 * caught) / area.total)}%`);
  return cell;
}

// --- stores that must pass, and those that must not ---

function renderRight(data) {
  const cell = (run, must) => {
    if (!run) return '–';
    if (run.error) return el('span', { class: 'badge bad' }, `✗ not run: ${run.error}`);
    const failed = run.killers.length + run.bystanders.length;
    const counts = [[run.passed, 'passed'], [failed, 'failed'], [run.inconclusive.length, 'undecided']]
      .filter(([count]) => count > 0)
      .map(([count, word]) => `${number(count)} ${word}`);
    const good = run.as_it_should_be;
    return [
      el('span', { class: `badge ${good ? 'good' : 'bad'}` }, good ? '✓ ' : '✗ ', must),
      el('span', { class: 'note' }, ` ${counts.join(', ')}`),
    ];
  };
  const storeRow = (store, word) => [
    el('span', {}, el('span', { class: 'id' }, store.id), ' ', store.name),
    el('span', {}, inlineCode(store.text)),
    ...names.map((name) => {
      const run = store.dialects[name];
      return cell(run, word(run));
    }),
  ];
  const names = unique([...Object.keys(data.references), ...data.dialects]);
  const right = (run) => (run?.as_it_should_be ? 'passes' : 'does not pass');
  const reference = { id: '', name: 'reference', text: 'the conforming store', dialects: data.references };
  const heads = ['Store', 'What it does', ...names];
  const passRows = [reference, ...data.benign].map((store) => storeRow(store, right));
  const nullRows = data.null_stores.map((store) => storeRow(store, (run) => (run?.as_it_should_be ? 'no case passes' : 'cases pass')));
  const canaries = data.score.canaries;
  byId('p_right_body').append(
    el('h3', { class: 'group' }, 'Must pass: unusual, but conforming'),
    names.length > 0 ? tableNode(heads, passRows, 'stores') : el('p', { class: 'note' }, 'None was run.'),
    el('h3', { class: 'group' }, 'Must not pass: stores that do nothing'),
    nullRows.length > 0 ? tableNode(heads, nullRows, 'stores') : el('p', { class: 'note' }, 'None was run.'),
    el('h3', { class: 'group' }, 'Canaries'),
    el('p', {}, canaries.planted === 0
      ? 'None was planted.'
      : `${number(canaries.red)} of ${number(canaries.planted)} copies of cases with one wrong expectation do not pass on the conforming store.`),
  );
}

// --- concurrent requests ---

function renderMeetings(data) {
  const met = data.meetings;
  if (!met) return; // over the network, or no store of that kind was selected
  byId('p_meetings').hidden = false;
  const row = (store) => [
    el('span', {}, el('span', { class: 'id' }, store.id), ' ', store.name),
    el('span', {}, inlineCode(store.text)),
    store.dialect,
    meetingVerdict(store),
    store.requirement ?? '–',
    number(store.runs),
    store.operations === undefined ? '–' : number(store.operations),
    store.witness === undefined ? '–' : number(store.witness),
  ];
  const heads = ['Store', 'What it does', 'Dialect', 'Verdict', 'Attributed to', 'Runs', 'Operations', 'In the counter-example'];
  const wrong = met.stores.filter((store) => !store.right);
  const right = met.stores.filter((store) => store.right);
  byId('p_meetings_body').append(
    el('p', {}, `${number(met.caught)} of ${number(met.faults)} faults caught, ${number(met.passed)} of ${number(met.right)} conforming stores pass.`),
    ...(wrong.length > 0 ? [el('h3', { class: 'group' }, 'Must be caught'), tableNode(heads, wrong.map(row), 'stores')] : []),
    ...(right.length > 0 ? [el('h3', { class: 'group' }, 'Must pass'), tableNode(heads, right.map(row), 'stores')] : []),
  );
}

function meetingVerdict(store) {
  const good = store.as_it_should_be;
  let word = good ? 'caught' : 'NOT caught';
  if (store.right) {
    word = good ? 'passes' : 'does not pass';
    if (!good && !store.requirement) word = `${number(store.unknown)} keys undecided`;
  }
  return el('span', { class: `badge ${good ? 'good' : 'bad'}` }, good ? '✓ ' : '✗ ', word);
}

// --- cases ---

function renderCases(data) {
  const body = byId('p_cases_body');
  if (data.faults.length === 0) {
    body.append(el('p', { class: 'note' }, 'No fault was run.'));
    return;
  }
  const catching = data.cases.filter((one) => one.kills.length > 0).length;
  const idle = data.cases_without_kill;
  body.append(
    el('p', {}, `${number(catching)} of ${number(data.cases.length)} cases catch at least one of these faults. `,
      `${number(idle.length)} ran and catch none: none of these stores breaks what they check.`),
    el('h3', { class: 'group' }, 'The only case that catches a fault ', el('span', { class: 'note' }, String(data.unique_killers.length))),
  );
  const rows = data.unique_killers.map(({ case: at, faults }) => {
    const one = data.cases[at];
    const ids = unique(faults.map((entry) => entry.id));
    return [
      caseButton(one),
      el('span', {}, inlineCode(one.title)),
      ids.map((id) => {
        const where = faults.filter((entry) => entry.id === id).map((entry) => entry.dialect);
        const fault = data.byId.get(id);
        const note = where.length < Object.keys(fault.dialects).length ? ` (${where.join(', ')})` : '';
        return el('div', {}, faultLink(fault), ` ${fault.name}${note}`);
      }),
    ];
  });
  body.append(
    rows.length > 0
      ? tableNode(['Case', 'What it checks', 'Without it, this would survive'], rows, 'unique')
      : el('p', { class: 'note' }, 'None: every fault that is caught is caught by two cases or more.'),
  );
  if (idle.length > 0) body.append(idleNode(data, idle));
}

function idleNode(data, idle) {
  const lists = data.caseAreas.flatMap((area) => {
    const own = idle.filter((at) => data.cases[at].area === area.name);
    return own.length > 0 ? areaLine(data, area, own, () => '') : [];
  });
  return el('details', { class: 'help' }, el('summary', {}, `Cases that catch none of these faults: ${number(idle.length)}`),
    el('dl', { class: 'case-areas' }, ...lists));
}
