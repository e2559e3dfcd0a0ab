// Puts the matrix on the page: lists of requirements and cases, and a grid of requirements and areas. Shared with the
// report: dom.js, theme.js, filter.js, panels.js. They are joined to one script when Fencepost is built, this one last.

const kDocuments = { ga: 'general availability', preview: 'preview', deployed: 'deployed service' };
const kBroken = ['broken', 'failed', 'outside']; // states of a requirement

const matrix = readMatrix();
start();

function start() {
  byId('p_main').hidden = false;
  setUpTheme();
  renderHead(matrix);
  setUpPanels({ requirements: renderRequirements, cases: renderCases, grid: renderGrid });
  countInTab('requirements', matrix.requirements.length);
  countInTab('cases', matrix.cases.length);
  setUpKeys();
  setUpPlaces(placeOf);
  performance.mark('p_ready');
}

// What the file holds, with what is looked up often.
function readMatrix() {
  const data = JSON.parse(byId('p_data').textContent);
  data.rules = new Map(data.requirements.map((rule) => [rule.id, rule]));
  data.byId = new Map(data.cases.map((one) => [one.id, one]));
  data.requirements.forEach((rule, i) => {
    const citing = rule.cases.map((id) => data.byId.get(id));
    const areas = [...new Set(citing.map((one) => one.area))];
    Object.assign(rule, { number: i, citing, areas, coverage: coverageOf(rule) });
    rule.state = data.run ? (rule.result?.verdict ?? 'not-in-run') : rule.coverage;
  });
  data.cases.forEach((one, i) => Object.assign(one, { number: i, state: one.result?.verdict ?? 'not-in-run' }));
  return data;
}

function coverageOf(rule) {
  if (!rule.testable) return 'untestable';
  return rule.cases.length > 0 ? 'covered' : 'uncovered';
}

function documentsOf(rule) {
  return rule.documents.length > 0 ? rule.documents : ['deployed'];
}

function placeOf(id) {
  if (matrix.rules.has(id)) return { name: 'requirements', entry: matrix.rules.get(id) };
  return matrix.byId.has(id) ? { name: 'cases', entry: matrix.byId.get(id) } : undefined;
}

// --- the head of the page ---

function renderHead(data) {
  const { kind, sign, title, sentence } = headline(data);
  byId('p_masthead').dataset.verdict = kind;
  byId('p_sign').textContent = sign;
  byId('p_verdict').textContent = title;
  byId('p_lead').textContent = sentence;
  byId('p_circumstances').textContent = circumstances(data);
  const { totals } = data;
  const orphans = data.cases_without_requirement.length;
  const figures = [
    ...outcomes(data),
    [totals.requirements, 'requirements'],
    [totals.testable, 'testable'],
    [totals.covered, 'covered'],
    [totals.uncovered, 'without a case', totals.uncovered > 0],
    [totals.of_clients, 'checked on clients'],
    [totals.untestable, 'untestable'],
    [totals.open, 'unspecified points'],
    [totals.cases, 'cases'],
    [orphans, 'cases without requirement', orphans > 0],
  ];
  for (const [number, name, bad, tone] of figures) {
    const className = tone ?? (bad ? 'bad' : undefined);
    byId('p_totals').append(el('div', { class: className }, el('dt', {}, name), el('dd', {}, String(number))));
  }
}

// How many requirements are in each state of the run, the worst first.
function outcomes(data) {
  if (!data.run) return [];
  const counts = countBy(data.requirements, (rule) => rule.state);
  const shown = [...kStates].filter(([state]) => counts.has(state) && state !== 'not-in-run');
  return shown.map(([state, { word, tone }]) => [counts.get(state), word, false, `outcome ${tone}`]);
}


// What broke in the run comes first; without a run, whether something is left unchecked.
function headline(data) {
  const broken = data.requirements.filter((rule) => kBroken.includes(rule.result?.verdict)).length;
  if (broken > 0) {
    return {
      kind: 'failed',
      sign: '✗',
      title: `${plural(broken, 'requirement')} broken`,
      sentence: `In the run of ${data.run.started} against ${data.run.endpoint}.`,
    };
  }
  const { testable, covered, uncovered } = data.levels.must;
  const sentence = `${covered} of ${testable} testable MUST requirements have a case.`;
  if (uncovered > 0) return { kind: 'failed', sign: '✗', title: 'Incomplete', sentence };
  return { kind: 'complete', sign: '✓', title: 'Complete', sentence };
}

function circumstances(data) {
  const parts = [`Fencepost ${data.suite_version}.`];
  const { run } = data;
  if (!run) return parts[0];
  parts.push(
    `With the run of ${run.started} against ${run.endpoint}, profile ${run.profile}, exit code ${run.exit_code}.`,
  );
  if (run.absent_cases > 0) parts.push(`${plural(run.absent_cases, 'case')} here that its report does not have.`);
  if (run.unknown_cases > 0) parts.push(`${plural(run.unknown_cases, 'case')} of its report that are unknown here.`);
  return parts.join(' ');
}

// --- requirements ---

function ruleChoices() {
  const { requirements } = matrix;
  return [
    ...commonChoices(requirements),
    {
      name: 'Coverage',
      values: ['covered', 'not covered', 'not testable', 'unspecified'],
      of: (rule) => [kStates.get(rule.coverage).word, rule.open && 'unspecified'],
    },
    { name: 'Applies to', values: [...new Set(requirements.map((rule) => rule.binds))], of: (rule) => [rule.binds] },
    { name: 'Document', values: Object.keys(kDocuments), of: documentsOf },
  ];
}

function ruleText(rule) {
  return `${rule.id} ${rule.text} ${rule.section} ${rule.untestable} ${rule.cases.join(' ')}`;
}

function renderRequirements() {
  const urgent = matrix.requirements
    .filter((rule) => kAttention.includes(rule.state))
    .sort((a, b) => kAttention.indexOf(a.state) - kAttention.indexOf(b.state));
  const sections = matrix.sections
    .filter((section) => section.requirements.some((id) => !urgent.includes(matrix.rules.get(id))))
    .map((section) => ({
      name: section.title,
      note: sectionNote(section.totals),
      about: section.note,
      entries: section.requirements.map((id) => matrix.rules.get(id)).filter((rule) => !urgent.includes(rule)),
    }));
  const groups = urgent.length > 0 ? [{ name: 'Needs attention', note: '', entries: urgent }, ...sections] : sections;
  const rendered = renderGroups(byId('p_requirement_list'), groups, ruleItem);
  const empty = matrix.sections.filter((section) => section.requirements.length === 0);
  byId('p_requirement_list').append(
    el('h3', { class: 'group' }, 'Sections without a rule'),
    definitions(empty.map((section) => [section.title, inlineCode(section.note)])),
  );
  return makeFilter({
    form: byId('p_requirement_filter'),
    entries: matrix.requirements,
    groups: rendered,
    stateOf: (rule) => rule.state,
    textOf: ruleText,
    noun: 'requirement',
    choices: ruleChoices(),
  });
}

function sectionNote(totals) {
  return `${plural(totals.requirements, 'rule')}, ${totals.covered} of ${totals.testable} testable covered, ${plural(totals.cases, 'case')}`;
}

function ruleItem(rule) {
  return ruleEntry(rule, {
    note: rule.testable ? plural(rule.cases.length, 'case') : rule.of_clients ? 'on clients' : 'untestable',
    tag: rule.open && el('span', { class: 'tag' }, 'unspecified'),
    detail: ruleDetail,
  });
}

function bullets(texts) {
  return texts.length > 0 && el('ul', { class: 'plain' }, ...texts.map((text) => el('li', {}, inlineCode(text))));
}

function ruleDetail(rule) {
  const forms = Object.entries(rule.dialects).map(([name, form]) => `${name}: ${form}`);
  const where = documentsOf(rule).map((id) => kDocuments[id]);
  const counts = Object.entries(rule.result?.cases ?? {}).map(([verdict, count]) => `${count} ${verdict}`);
  const citing = el('div', { class: 'citing' });
  for (const one of rule.citing) {
    citing.append(linkTo(one.id), el('span', {}, inlineCode(one.title)), matrix.run ? badge(one.state) : el('span'));
  }
  const pairs = definitions([
    ['Applies to', rule.binds],
    ['Section', `${rule.section} (${where.join(', ')})`],
    ['Dialects', bullets(forms)],
    ['How to observe it', rule.observe && inlineCode(rule.observe)],
    ['No case', rule.untestable && inlineCode(rule.untestable)],
    ['Checked on clients', rule.of_clients && inlineCode(rule.of_clients)],
    ['Concurrent clients', rule.at_once && 'also checked with concurrent requests: fencepost stress'],
    ['Outcomes that the rule allows', bullets(rule.outcomes)],
    ['The run', counts.join(', ')],
    ['Outcomes seen', rule.result?.observed.join(', ')],
    ['Defined at', el('code', {}, `${rule.file}:${rule.line}`)],
  ]);
  return el('div', {}, pairs, citing);
}

// --- cases ---

function renderCases() {
  const groups = matrix.areas.map((area) => ({
    name: area.name,
    note: `${plural(area.cases, 'case')}, ${plural(area.requirements, 'rule')}`,
    entries: matrix.cases.filter((one) => one.area === area.name),
  }));
  return makeFilter({
    form: byId('p_case_filter'),
    entries: matrix.cases,
    groups: renderGroups(byId('p_case_list'), groups, caseItem),
    stateOf: matrix.run && ((one) => one.state),
    textOf: (one) => `${one.id} ${one.title} ${one.requirements.join(' ')}`,
    noun: 'case',
  });
}

function caseItem(one) {
  return disclosure({
    id: `p_case_${one.number}`,
    className: matrix.run ? `requirement ${kStates.get(one.state).tone}` : 'without-verdict',
    heading: 'h4',
    summary: [
      matrix.run && badge(one.state),
      el('span', { class: 'what' }, el('span', { class: 'id' }, one.id), ' ', el('span', { class: 'title' }, one.title)),
      levelNode(one.level),
      el('span', { class: 'state-note' }, one.requirements.join(', ')),
    ].filter(Boolean),
    fill: (detail) => detail.append(caseDetail(one)),
    opened: () => rememberPlace(one.id),
  });
}

function caseDetail(one) {
  const cited = el('div', { class: 'citing' });
  for (const id of one.requirements) {
    const rule = matrix.rules.get(id);
    cited.append(linkTo(id), el('span', {}, rule && inlineCode(rule.text)), rule ? levelNode(rule.level) : el('span'));
  }
  const pairs = definitions([
    ['Needs', one.requires.join(', ')],
    ['Tags', one.tags.join(', ')],
    ['The run', one.result?.message],
    ['Attributed to', one.result?.charged && linkTo(one.result.charged)],
    ['Defined at', el('code', {}, `${one.file}:${one.line}`)],
  ]);
  return el('div', {}, pairs, cited, commandNode('Run it', `fencepost certify --run ${one.id}`));
}

// --- the grid ---

// Its rows are of their own, as the list of requirements has rows of the same entries.
function renderGrid() {
  const head = el(
    'tr',
    {},
    el('th', { scope: 'col' }, 'Requirement'),
    ...matrix.areas.map((area) => el('th', { scope: 'col' }, el('span', {}, area.name))),
    el('th', { scope: 'col' }, 'Why not'),
  );
  const table = el('table', {}, el('thead', {}, head));
  const groups = [];
  for (const section of matrix.sections.filter((one) => one.requirements.length > 0)) {
    const span = String(matrix.areas.length + 2);
    const title = el('th', { class: 'section', scope: 'rowgroup', colspan: span }, section.title);
    const node = el('tbody', {}, el('tr', {}, title));
    const entries = section.requirements.map((id) => ({ ...matrix.rules.get(id), item: gridItem(matrix.rules.get(id)) }));
    node.append(...entries.map((entry) => entry.item.node));
    table.append(node);
    groups.push({ node, entries });
  }
  byId('p_grid_table').append(el('div', { class: 'table grid', tabindex: '0', role: 'region', 'aria-label': 'Grid' }, table));
  return makeFilter({
    form: byId('p_grid_filter'),
    entries: groups.flatMap((group) => group.entries),
    groups,
    stateOf: (rule) => rule.state,
    textOf: ruleText,
    noun: 'requirement',
    choices: ruleChoices(),
  });
}

function gridItem(rule) {
  const link = linkTo(rule.id);
  const why = rule.coverage === 'uncovered' ? 'no case' : inlineCode(rule.untestable);
  const cells = matrix.areas.map((area) => gridCell(rule, area));
  return { node: el('tr', {}, el('th', { scope: 'row' }, link), ...cells, el('td', { class: 'why' }, why)), button: link };
}

function gridCell(rule, area) {
  const cases = rule.citing.filter((one) => one.area === area.name);
  const count = cases.length;
  if (count === 0) return el('td', { class: 'number' });
  const worst = matrix.run && [...kStates.keys()].find((state) => cases.some((one) => one.state === state));
  const outcome = worst ? `: ${kStates.get(worst).word}` : '';
  const label = `${plural(count, 'case')} of ${area.name} for ${rule.id}${outcome}`;
  const button = el('button', { type: 'button', title: label, 'aria-label': label }, String(count));
  button.addEventListener('click', () => {
    showPanel('cases');
    const { filter } = panels.get('cases');
    filter.searchFor(rule.id);
    filter.choose('Area', area.name);
    byId('p_case_filter').scrollIntoView();
  });
  const out = el('td', { class: worst ? `number ${kStates.get(worst).tone}` : 'number' }, button);
  out.style.setProperty('--share', `${Math.min(10 + count * 6, 55)}%`);
  return out;
}
