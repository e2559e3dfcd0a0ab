// The list of faults: filtered, sorted, each opening to the cases that catch it.

const kShownCases = 12; // of one area, before "and more"

// Returns {filterBy, clear, focus, reveal, visible}.
function makeFaultList(data) {
  const form = byId('p_fault_filter');
  const list = byId('p_fault_list');
  const items = new Map(data.rows.map((fault) => [fault, faultItem(data, fault)]));
  const texts = new Map(data.rows.map((fault) => [fault, textOf(data, fault)]));
  const search = el('input', {
    type: 'search',
    placeholder: 'Search faults   ( / )',
    'aria-label': 'Search faults: ids, names, what they do, rules, first detecting cases',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const area = choice('Area', data.areaList.map((one) => [one.letters, `${one.letters} ${one.name}`]), 'all');
  const caughtBy = choice('Caught by cases of', data.caseAreas.map((one) => [one.name, one.name]), 'any area');
  const order = choice('Order', [['killers', 'fewest detecting cases first'], ['time', 'slowest first']], 'by area');
  const chips = stateButtons(data.rows, apply);
  const found = el('output', { class: 'found' });
  const clearButton = el('button', { type: 'button', class: 'clear', hidden: true }, 'Clear the filter');
  const caseChip = el('button', { type: 'button', class: 'chip', hidden: true });
  let killer = null; // only faults that this case kills

  form.append(search, area.label, caughtBy.label, order.label, chips.node, caseChip, found, clearButton);
  form.addEventListener('submit', (event) => event.preventDefault());
  search.addEventListener('input', apply);
  for (const one of [area, caughtBy, order]) one.select.addEventListener('change', apply);
  caseChip.addEventListener('click', () => {
    killer = null;
    apply();
    search.focus();
  });
  clearButton.addEventListener('click', () => {
    clear();
    search.focus();
  });
  apply();
  return { filterBy, clear, focus: () => search.focus(), reveal, visible };

  function matches(fault, words) {
    if (chips.chosen.size > 0 && !chips.chosen.has(fault.state)) return false;
    if (area.select.value && fault.area !== area.select.value) return false;
    if (killer && !killer.kills.includes(fault)) return false;
    const wanted = caughtBy.select.value;
    if (wanted && !fault.killers.some((at) => data.cases[at].area === wanted)) return false;
    return words.every((word) => texts.get(fault).includes(word));
  }

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = data.rows.filter((fault) => matches(fault, words));
    const filtered =
      words.length > 0 || chips.chosen.size > 0 || area.select.value || caughtBy.select.value || killer !== null;
    list.replaceChildren(...(shown.length > 0 ? [columnHeads()] : []), ...groupsOf(shown, order.select.value));
    found.textContent = filtered
      ? `${shown.length} of ${plural(data.rows.length, 'fault')}`
      : plural(data.rows.length, 'fault');
    clearButton.hidden = !filtered;
    caseChip.hidden = !killer;
    caseChip.textContent = killer ? `Caught by ${killer.id} ✕` : '';
    if (killer) caseChip.setAttribute('aria-label', `Only what ${killer.id} catches: remove this filter`);
  }

  function groupsOf(shown, how) {
    if (shown.length === 0) {
      const why = data.rows.length === 0 ? 'No fault was run.' : 'No fault matches.';
      return [el('p', { class: 'empty note' }, why)];
    }
    if (how) {
      const sorted = [...shown].sort(
        how === 'time' ? (a, b) => b.slowest - a.slowest : (a, b) => a.killers.length - b.killers.length,
      );
      return [rowsNode(sorted)];
    }
    return data.areaList.flatMap((one) => {
      const own = shown.filter((fault) => fault.area === one.letters);
      if (own.length === 0) return [];
      const note = el('span', { class: 'note' }, own.length === one.total ? `${own.length}` : `${own.length} of ${one.total}`);
      return [el('h3', { class: 'group' }, one.name, ' ', note), rowsNode(own)];
    });
  }

  function rowsNode(faults) {
    return el('ul', { class: 'rows' }, ...faults.map((fault) => items.get(fault).node));
  }

  function clear() {
    search.value = '';
    for (const one of [area, caughtBy]) one.select.value = '';
    killer = null;
    chips.reset();
    apply();
  }

  // Faults of an area, caught by cases of an area, or by one case.
  function filterBy({ faultArea = '', caseArea = '', testCase = null }) {
    clear();
    area.select.value = faultArea;
    caughtBy.select.value = caseArea;
    killer = testCase;
    apply();
    byId('p_faults').scrollIntoView();
    search.focus({ preventScroll: true });
  }

  // Opens a fault, and goes to it.
  function reveal(fault) {
    const item = items.get(fault);
    if (!item.node.isConnected) clear();
    item.toggle(true);
    item.node.scrollIntoView({ block: 'start' });
    item.button.focus({ preventScroll: true });
  }

  function visible() {
    return [...list.querySelectorAll('.fault .row')];
  }
}

// What the columns are, for eyes: each row's own words say it to everyone else.
function columnHeads() {
  const heads = [['', ''], ['what', ''], ['killers', 'Caught by'], ['first', 'First detecting case'], ['ms', 'Time to kill']];
  return el('p', { class: 'heads-of-rows', 'aria-hidden': 'true' },
    ...heads.map(([name, text]) => el('span', { class: name }, text)));
}

function choice(name, values, all) {
  const select = el('select', {}, el('option', { value: '' }, all));
  for (const [value, text] of values) select.append(el('option', { value }, text));
  return { select, label: el('label', {}, `${name} `, select) };
}

// One button for each state that occurs; those pressed are shown, and all when none is.
function stateButtons(faults, changed) {
  const chosen = new Set();
  const node = el('div', { class: 'chips', role: 'group', 'aria-label': 'Show only' });
  for (const [state, { tone }] of kFaultStates) {
    const count = faults.filter((fault) => fault.state === state).length;
    if (count === 0) continue;
    const chip = el(
      'button',
      { type: 'button', class: `chip ${tone}`, 'aria-pressed': 'false' },
      stateNode(state),
      ' ',
      el('b', {}, String(count)),
    );
    chip.addEventListener('click', () => {
      if (!chosen.delete(state)) chosen.add(state);
      chip.setAttribute('aria-pressed', String(chosen.has(state)));
      changed();
    });
    node.append(chip);
  }
  const reset = () => {
    chosen.clear();
    for (const chip of node.children) chip.setAttribute('aria-pressed', 'false');
  };
  return { node, chosen, reset };
}

function textOf(data, fault) {
  const firsts = Object.values(fault.dialects).map((run) => data.cases[run.first_killer]?.id ?? '');
  return [fault.id, fault.name, fault.text, ...fault.requirements, ...firsts].join(' ').toLowerCase();
}

// --- one fault ---

function faultItem(data, fault) {
  const times = data.dialects.map((dialect) => fault.dialects[dialect]?.time_to_kill_ms);
  const known = times.filter((time) => time !== undefined);
  const first = Object.values(fault.dialects).find((run) => run.first_killer !== undefined);
  return disclosure({
    id: `p_fault_${fault.id}`,
    className: `fault ${fault.state === 'survived' ? 'bad' : fault.state === 'concurrency' ? 'doubt' : ''}`,
    heading: 'h4',
    summary: [
      stateNode(fault.state),
      el(
        'span',
        { class: 'what' },
        el('span', { class: 'id' }, fault.id),
        el('span', { class: 'fault-name' }, fault.name),
        ' ',
        el('span', { class: 'title' }, inlineCode(fault.text)),
      ),
      el('span', { class: 'killers' }, fault.killers.length === 0 ? 'no case' : plural(fault.killers.length, 'case')),
      el('span', { class: 'first mono' }, first && el('span', { class: 'unseen' }, 'first by '),
        first ? data.cases[first.first_killer].id : ''),
      el('span', { class: 'ms' }, known.length === 0 ? '–' : longest(known)),
    ],
    fill: (detail) => detail.append(...faultDetail(data, fault)),
    opened: () => rememberPlace(fault.id),
  });
}

// The longest time to kill: who waits for an answer waits for the slowest dialect.
function longest(times) {
  return milliseconds(Math.max(...times));
}

function faultDetail(data, fault) {
  const needs = {
    transport: 'an MQTT connection: packet flags, flow control, broken connections',
    direct: 'a direct connection: a broker would change what the store sends',
    meeting: 'concurrent requests within a millisecond, as in process',
  }[fault.needs];
  const reasons = data.survivors.filter((survivor) => survivor.id === fault.id);
  return [
    el('p', { class: 'because' }, inlineCode(fault.text)),
    ...reasons.map((one) => el('p', { class: 'remark doubt' }, `Survives in the dialect ${one.dialect}: ${one.text}.`)),
    definitions([
      ['Breaks', fault.requirements.length > 0 && el('span', { class: 'mono' }, fault.requirements.join(', '))],
      ['Needs', needs],
    ]),
    runsTable(data, fault),
    ...caseLists(data, fault),
    el('p', { class: 'note' }, 'Details: ', el('code', {}, `fencepost explain ${fault.id}`), ', of a case: ',
      el('code', {}, 'fencepost explain CASE')),
  ];
}

function runsTable(data, fault) {
  const heads = ['Dialect', 'Detecting', 'Non-detecting', 'Inconclusive', 'Passed', 'First detecting case', 'Time to kill', 'Took'];
  const rows = Object.entries(fault.dialects).map(([dialect, run]) => [
    dialect,
    ...(run.error
      ? ['–', '–', '–', '–', `not run: ${run.error}`]
      : [
          number(run.killers.length),
          number(run.bystanders.length),
          number(run.inconclusive.length),
          number(run.passed),
          run.first_killer === undefined ? '–' : caseButton(data.cases[run.first_killer]),
        ]),
    run.time_to_kill_ms === undefined ? '–' : milliseconds(run.time_to_kill_ms),
    milliseconds(run.duration_ms),
  ]);
  return tableNode(heads, rows, 'runs');
}

// Detecting, non-detecting and undecided cases, by area; what holds in one dialect only says so.
function caseLists(data, fault) {
  const kinds = [
    ['Detecting', 'killers', 'fail, and cite a rule that the fault breaks'],
    ['Non-detecting', 'bystanders', 'fail for another rule'],
    ['Inconclusive', 'inconclusive', 'could not be decided'],
  ];
  const ran = Object.entries(fault.dialects).filter(([, run]) => !run.error);
  return kinds.flatMap(([title, kind, meaning]) => {
    const all = unique(ran.flatMap(([, run]) => run[kind])).sort((a, b) => a - b);
    if (all.length === 0) return [];
    const only = (at) => {
      const where = ran.filter(([, run]) => run[kind].includes(at)).map(([dialect]) => dialect);
      return where.length < ran.length ? where.join(', ') + ' only' : '';
    };
    const areas = data.caseAreas.flatMap((area) => {
      const own = all.filter((at) => data.cases[at].area === area.name);
      return own.length === 0 ? [] : [areaLine(data, area, own, only)];
    });
    return [el('h5', {}, `${title}: ${number(all.length)}`, el('span', { class: 'note' }, meaning)),
      el('dl', { class: 'case-areas' }, ...areas.flat())];
  });
}

function areaLine(data, area, own, only) {
  const entry = (at) => {
    const note = only(at);
    return el('li', {}, caseButton(data.cases[at]), note && el('span', { class: 'note' }, ` ${note}`));
  };
  const list = el('ul', {}, ...own.slice(0, kShownCases).map(entry));
  if (own.length > kShownCases) {
    const more = el('button', { type: 'button', class: 'link' }, `and ${number(own.length - kShownCases)} more`);
    more.addEventListener('click', () => {
      const rest = own.slice(kShownCases).map(entry);
      more.parentElement.replaceWith(...rest);
      rest[0].querySelector('button').focus();
    });
    list.append(el('li', {}, more));
  }
  return [
    el('dt', {}, area.name, ' ', el('span', { class: 'note' }, `${number(own.length)} of ${number(area.cases.length)}`)),
    el('dd', {}, list),
  ];
}

// The id of a case; pressed, the list shows what that case catches.
function caseButton(one) {
  const button = el('button', { type: 'button', class: 'case-id id', title: one.title }, one.id);
  button.addEventListener('click', () => faultList.filterBy({ testCase: one }));
  return button;
}
