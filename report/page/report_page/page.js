// Puts the report on the page. The parts: dom.js (helpers), theme.js, bytes.js (escaped bytes, differences), filter.js
// (lists and their filters), panels.js (tabs, links, keys), cases.js, sequence.js (the diagram), requirements.js,
// figures.js (dialect, unspecified points, latency). They are joined to one script when Fencepost is built, this one last.

const report = readReport();
start();

function start() {
  byId('p_main').hidden = false;
  judgeRequirements(report);
  drawBar();
  addCommandButton();
  setUpTheme();
  setUpTabs();
  renderBroken(report, showCasesOf);
  openFirstFailures(report.cases);
  setUpKeys();
  setUpPlaces(placeOf);
  window.addEventListener('beforeprint', () => (byId('p_run').open = true));
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
  out.requirementStates = new Map(data.report.requirements.map((one) => [one.id, one]));
  out.requirements.forEach((rule, i) => Object.assign(rule, { number: i }));
  out.rules = new Map(out.requirements.map((rule) => [rule.id, rule]));
  out.byId = new Map(out.cases.map((one) => [one.id, one]));
  // Cases stand in the order of the root causes, each of which begins with what shows it best.
  let rank = 0;
  (out.differences ?? []).forEach((found, i) => {
    found.key = `difference-${i + 1}.`;
    for (const id of found.cases) Object.assign(out.byId.get(id), { rank: rank++, difference: found.key, explained: found });
  });
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

function setUpTabs() {
  setUpPanels({
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
  });
  countInTab('cases', report.cases.length);
  countInTab('requirements', report.requirements.length);
}

function caseText(one) {
  const rules = one.requirements.map((id) => `${id} ${report.rules.get(id)?.text ?? ''}`);
  return `${one.id} ${one.title} ${one.message} ${one.failure?.requirement ?? ''} ${one.difference ?? ''} ${rules.join(' ')}`;
}

function showCasesOf(difference) {
  showPanel('cases');
  panels.get('cases').filter.searchFor(difference.key);
  byId('p_case_filter').scrollIntoView();
}

// What has this id: a case or a requirement.
function placeOf(id) {
  if (report.byId.has(id)) return { name: 'cases', entry: report.byId.get(id) };
  return report.rules.has(id) ? { name: 'requirements', entry: report.rules.get(id) } : undefined;
}
