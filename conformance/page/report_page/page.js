// Puts the report on the page. The parts: dom.js (helpers), theme.js, bytes.js (escaped bytes, differences), filter.js,
// cases.js, sequence.js (the diagram), requirements.js, figures.js (dialect, open points, latency). They are joined
// to one script when Fencepost is built, this one last.

const report = readReport();
const panels = new Map(); // name -> {tab, panel, filter}
start();

function start() {
  byId('p_main').hidden = false;
  judgeRequirements(report);
  drawBar();
  addCommandButton();
  setUpTheme();
  setUpPanels();
  renderBroken(report, showCasesOf);
  openFirstFailures(report.cases);
  setUpKeys();
  setUpPlaces();
  performance.mark('p_ready');
}

// What the file holds, with what is looked up often.
function readReport() {
  const data = JSON.parse(byId('p_data').textContent);
  const out = { ...data.report, requirements: data.requirements };
  out.cases.forEach((one, i) => {
    Object.assign(one, { number: i, source: data.sources[data.source_of[i]] });
    one.reproduce ??= `${out.command} --run ${one.id}`;
  });
  out.values = data.values;
  out.requirements.forEach((rule, i) => Object.assign(rule, { number: i }));
  out.rules = new Map(out.requirements.map((rule) => [rule.id, rule]));
  out.byId = new Map(out.cases.map((one) => [one.id, one]));
  return out;
}

// --- the head of the page ---

// How the cases went, as one line of many colours; the counts beside it say the same in words.
function drawBar() {
  const counts = countBy(report.cases, (one) => one.verdict);
  for (const [state, { tone }] of [...kStates].reverse()) {
    if (!counts.has(state)) continue;
    const part = el('span', { class: tone });
    part.style.flexGrow = counts.get(state);
    byId('p_bar').append(part);
  }
}

function addCommandButton() {
  byId('p_command').after(copyButton(byId('p_command').textContent, 'the command'));
}

// --- tabs ---

function setUpPanels() {
  const renderers = {
    cases: () =>
      makeFilter({
        form: byId('p_case_filter'),
        entries: report.cases,
        groups: renderCases(report),
        stateOf: (one) => one.verdict,
        textOf: caseText,
        noun: 'case',
      }),
    requirements: () =>
      makeFilter({
        form: byId('p_requirement_filter'),
        entries: report.requirements,
        groups: renderRequirements(report),
        stateOf: (rule) => rule.state,
        textOf: (rule) => `${rule.id} ${rule.text} ${rule.section} ${rule.note}`,
        noun: 'requirement',
      }),
    observed: () => renderObserved(report),
    latency: () => renderLatency(report),
  };
  for (const [name, render] of Object.entries(renderers)) {
    const tab = byId(`p_tab_${name}`);
    panels.set(name, { tab, panel: byId(`p_${name}`), render, filter: null, rendered: false });
    tab.addEventListener('click', () => {
      showPanel(name);
      rememberPlace(`p_${name}`);
    });
    tab.addEventListener('keydown', moveBetweenTabs);
  }
  byId('p_tab_cases').append(el('span', { class: 'count' }, ` ${report.cases.length}`));
  byId('p_tab_requirements').append(el('span', { class: 'count' }, ` ${report.requirements.length}`));
  showPanel('cases');
  // Printed is everything.
  window.addEventListener('beforeprint', () => panels.forEach(renderOnce));
}

function caseText(one) {
  const rules = one.requirements.map((id) => `${id} ${report.rules.get(id)?.text ?? ''}`);
  return `${one.id} ${one.title} ${one.message} ${one.failure?.requirement ?? ''} ${rules.join(' ')}`;
}

function renderOnce(entry) {
  if (entry.rendered) return;
  entry.rendered = true;
  entry.filter = entry.render() ?? null;
}

function showPanel(name) {
  for (const [other, entry] of panels) {
    const chosen = other === name;
    if (chosen) renderOnce(entry);
    entry.panel.hidden = !chosen;
    entry.tab.setAttribute('aria-selected', String(chosen));
    entry.tab.tabIndex = chosen ? 0 : -1;
  }
}

function currentPanel() {
  return [...panels.values()].find((entry) => !entry.panel.hidden);
}

function moveBetweenTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const names = [...panels.keys()];
  const at = names.findIndex((name) => panels.get(name).tab === event.currentTarget);
  const next = names[(at + step + names.length) % names.length];
  showPanel(next);
  panels.get(next).tab.focus();
  event.preventDefault();
}

function showCasesOf(requirementId) {
  showPanel('cases');
  panels.get('cases').filter.searchFor(requirementId);
  byId('p_case_filter').scrollIntoView();
}

// --- links to one case, requirement or part ---

function setUpPlaces() {
  window.addEventListener('hashchange', goToPlace);
  // A link to where one already is changes no address, and still shows it.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) goToPlace();
  });
  goToPlace();
}

function goToPlace() {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Not encoded: taken as it is.
  }
  if (id.startsWith('p_') && panels.has(id.slice(2))) {
    showPanel(id.slice(2));
  } else if (report.byId.has(id)) {
    reveal('cases', report.byId.get(id));
  } else if (report.rules.has(id)) {
    reveal('requirements', report.rules.get(id));
  }
}

function reveal(name, entry) {
  showPanel(name);
  if (entry.item.node.hidden) panels.get(name).filter.clear();
  entry.item.toggle(true);
  entry.item.node.scrollIntoView({ block: 'start' });
  entry.item.button.focus({ preventScroll: true });
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

// --- keys ---

function setUpKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.closest('input, select, textarea');
    if (event.key === 'Escape' && inField) leaveField(event.target);
    if (inField || (event.key.length === 1 && !byId('p_keys').checked)) return;
    const action = keyAction(event);
    if (!action) return;
    action();
    event.preventDefault();
  });
}

function keyAction(event) {
  const onRow = event.target.closest('.row[aria-expanded]') !== null;
  switch (event.key) {
    case '/':
      return currentPanel().filter?.focus;
    case 'j':
      return () => moveRow(1);
    case 'k':
      return () => moveRow(-1);
    case 'ArrowDown': // the arrows scroll the page unless a row has the focus
      return onRow && (() => moveRow(1));
    case 'ArrowUp':
      return onRow && (() => moveRow(-1));
    case 'n':
      return () => moveRow(1, (entry) => kAttention.includes(entry.verdict ?? entry.state));
    default:
      return undefined;
  }
}

function leaveField(field) {
  if (field.type !== 'search') return;
  const { filter } = currentPanel();
  filter?.clear();
  field.blur();
}

// To the next or previous row that is shown: cases or requirements.
function moveRow(step, wanted = () => true) {
  const { filter } = currentPanel();
  if (!filter) return;
  const rows = filter.visible();
  const focused = document.activeElement.closest('.case, .requirement');
  let at = rows.findIndex((entry) => entry.item.node === focused);
  if (at < 0 && step < 0) at = rows.length;
  do at += step;
  while (at >= 0 && at < rows.length && !wanted(rows[at]));
  const row = rows[at]?.item;
  if (!row) return;
  row.button.focus({ preventScroll: true });
  row.button.scrollIntoView({ block: 'nearest' });
}
