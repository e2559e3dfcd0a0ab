// The list of cases: what did not pass comes first, then area by area.

const kOpenedAtFirst = 3; // failing cases that are open when the page is; of more only the first

// The groups of a list: [{name, note, entries}]. `stateOf(entry)` is a verdict, or the state of a requirement.
function groupsOf(list, stateOf) {
  const urgent = list.filter((entry) => kAttention.includes(stateOf(entry)));
  urgent.sort(
    (a, b) => kAttention.indexOf(stateOf(a)) - kAttention.indexOf(stateOf(b)) || (a.rank ?? 0) - (b.rank ?? 0),
  );
  const groups = urgent.length > 0 ? [{ name: 'Needs attention', note: '', entries: urgent }] : [];
  for (const [area, all] of groupBy(list, (entry) => entry.area)) {
    const calm = all.filter((entry) => !kAttention.includes(stateOf(entry)));
    if (calm.length > 0) groups.push({ name: area, note: areaNote(all, stateOf), entries: calm });
  }
  return groups;
}

// "81 passed, 2 failed (above)".
function areaNote(entries, stateOf) {
  const counts = countBy(entries, stateOf);
  const parts = [];
  for (const [state, { word }] of kStates) {
    if (counts.has(state)) parts.push(`${counts.get(state)} ${word}${kAttention.includes(state) ? ' (above)' : ''}`);
  }
  return parts.join(', ');
}

function renderCases(report) {
  const groups = groupsOf(report.cases, (one) => one.verdict);
  return renderGroups(byId('p_case_list'), groups, (one) => caseItem(one, report));
}

function caseItem(testCase, report) {
  const ran = testCase.verdict !== 'skipped' && testCase.verdict !== 'not-run';
  return disclosure({
    id: `p_case_${testCase.number}`,
    className: `case ${kStates.get(testCase.verdict).tone}`,
    heading: 'h4',
    summary: [
      badge(testCase.verdict),
      el(
        'span',
        { class: 'what' },
        el('span', { class: 'id' }, testCase.id),
        ' ',
        el('span', { class: 'title' }, testCase.title),
        testCase.verdict === 'skipped' && el('span', { class: 'tag' }, needOf(testCase)),
      ),
      levelNode(testCase.level),
      el('span', { class: 'ms' }, ran ? milliseconds(testCase.duration_ms) : ''),
    ],
    fill: (detail) => fillCase(detail, testCase, report),
    opened: () => rememberPlace(testCase.id),
  });
}

// "needs quota": what the endpoint lacks; the message continues with what to do about it.
function needOf(testCase) {
  const [, name] = /^([a-z-]+): /.exec(testCase.message) ?? [];
  return name ? `needs ${name}` : testCase.message;
}

// --- the details of one case ---

function fillCase(detail, testCase, report) {
  detail.append(...verdictNodes(testCase, report));
  const columns = el('div', { class: 'columns' }, stepsNode(testCase));
  const talk = talkNode(testCase, report);
  if (talk) columns.append(el('section', { class: 'talk' }, el('h5', {}, 'Messages'), talk));
  detail.append(columns, aboutNode(testCase, report));
}

// What was sent and received; where the report does not have it, how to get it.
function talkNode(testCase, report) {
  if (!testCase.transcript) {
    const option = el('code', {}, '--transcripts all');
    const which = testCase.explained ? 'only the first cases of a root cause' : 'cases that passed';
    const not = testCase.explained ? 'Recorded for' : 'Not recorded for';
    return el('p', { class: 'hint' }, `${not} ${which}: run with `, option, ' to record them.');
  }
  unpackTranscript(testCase, report.values);
  return testCase.transcript.length > 0 && sequenceNode(testCase);
}

// Most transcripts are never looked at: their entries are put together from the values that all share when they are.
function unpackTranscript(testCase, values) {
  testCase.transcript = testCase.transcript.map(([names, ...places]) =>
    Object.fromEntries(values[names].map((name, i) => [name, values[places[i]]])),
  );
}

// Why it is not passed: the sentence that was broken, the bytes, how to see it again.
function verdictNodes(testCase, report) {
  const nodes = [];
  const failure = testCase.failure;
  if (testCase.unexpected_pass)
    nodes.push(remark('doubt', 'Unexpected pass', 'the baseline expects it to fail, and it passed'));
  if (testCase.baseline) nodes.push(remark('doubt', 'Baseline', testCase.baseline));
  if (testCase.message) nodes.push(el('p', { class: 'because' }, testCase.message));
  const first = testCase.first_attempt;
  if (first) nodes.push(remark('doubt', 'At first', `${first.verdict}: ${first.message}; then rerun in isolation`));
  const found = testCase.explained;
  const rule = failure && report.rules.get(found ? found.requirement : failure.requirement);
  if (rule) nodes.push(ruleNode(rule, brokenWord(testCase.verdict, rule)));
  if (found && found.cases[0] !== testCase.id) nodes.push(otherCaseNode(testCase, found));
  if (failure && (failure.expected || failure.actual)) nodes.push(comparisonNode(failure));
  if (testCase.alone?.verdict === 'passed')
    nodes.push(remark('doubt', 'In isolation', 'it passes; the command runs the cases that reproduce the failure'));
  nodes.push(commandNode('Reproduce', testCase.reproduce));
  return nodes;
}

function remark(tone, label, text) {
  return el('p', { class: `remark ${tone}` }, el('b', {}, `${label}: `), text);
}

function brokenWord(verdict, rule) {
  if (verdict === 'inconclusive') return 'The rule in question';
  return rule.level === 'may' ? 'Unspecified; the answer is not one of the allowed outcomes' : 'The broken rule';
}

// For a case that fails like another: where to look, and whether it comes to what it is about.
function otherCaseNode(testCase, found) {
  const blocked = found.blocked.includes(testCase.id);
  return el(
    'p',
    { class: 'remark' },
    el('b', {}, `1 of ${plural(found.cases.length, 'failure')} of ${found.id}: `),
    'see ',
    linkTo(found.cases[0]),
    blocked ? '. This case stopped before the step it tests: it says nothing about its own rules.' : '.',
  );
}

function ruleNode(rule, label) {
  const source = rule.source === 'deployed' ? 'the deployed service' : 'the published article';
  return el(
    'figure',
    { class: 'rule' },
    el('p', { class: 'label' }, label),
    el('blockquote', {}, inlineCode(rule.text)),
    el(
      'figcaption',
      {},
      linkTo(rule.id),
      ' ',
      levelNode(rule.level),
      ` applies to the ${rule.binds}. Source: ${source}, “${rule.section}”`,
      rule.documents.length > 0 ? ` (${rule.documents.join(', ')})` : '',
    ),
  );
}

// --- expected against actual ---

// A reply may have several right forms, and words after its bytes, as in `:-1\r\n (not applied)`.
const kAlternatives = '  or  ';
const kBytesWithRemark = /^(.*\\n)( \([^()]*\)| for key ".*")$/su;

function comparisonNode(failure) {
  const actual = splitRemark(failure.actual);
  const forms = failure.expected.split(kAlternatives).map(splitRemark);
  // The actual is marked against the form that is nearest to it.
  const compared = forms.map((form) => difference(tokensOf(form.bytes), tokensOf(actual.bytes)));
  const nearest = compared.reduce((best, parts, i) => (differing(parts) < differing(compared[best]) ? i : best), 0);
  const rows = el('dl', { class: 'comparison' });
  forms.forEach((form, i) => {
    const marked =
      i === nearest ? markedNode(compared[i], 'a') : el('code', { class: 'bytes' }, bytesNode(tokensOf(form.bytes)));
    rows.append(
      el('dt', {}, i === 0 ? 'Expected' : 'or'),
      el('dd', {}, marked, form.remark && el('span', { class: 'note' }, form.remark)),
    );
  });
  rows.append(
    el('dt', {}, 'Actual'),
    el(
      'dd',
      { class: 'actual' },
      markedNode(compared[nearest], 'b'),
      actual.remark && el('span', { class: 'note' }, actual.remark),
    ),
  );
  const out = el('div', {}, rows);
  const place = firstDifference(forms[nearest], actual, compared[nearest]);
  if (place) out.append(el('p', { class: 'hint' }, place));
  return out;
}

function splitRemark(text) {
  const match = kBytesWithRemark.exec(text);
  return match ? { bytes: match[1], remark: match[2] } : { bytes: text, remark: '' };
}

function differing(parts) {
  return parts.filter((part) => !part.equal).reduce((sum, part) => sum + part.a.length + part.b.length, 0);
}

// In words, where both are bytes of a payload: other texts have no byte positions.
function firstDifference(expected, actual, parts) {
  const isPayload = (text) => /^[-+:$*].*\\r\\n/su.test(text);
  if (!isPayload(expected.bytes) || !isPayload(actual.bytes)) return '';
  let at = 0;
  for (const part of parts) {
    if (!part.equal)
      return `The first difference is at byte ${at}: expected ${oneByte(part.a)}, actual ${oneByte(part.b)}.`;
    at += part.a.length;
  }
  return '';
}

function oneByte(tokens) {
  if (tokens.length === 0) return 'nothing';
  const [byte] = bytesOf(tokens[0]);
  return `${tokens[0]} (0x${byte.toString(16).padStart(2, '0')})`;
}

// --- the steps ---

// The lines of the case in its file, with the step that failed marked.
function stepsNode(testCase) {
  const lines = testCase.source.replace(/\n+$/, '').split('\n');
  const failed = (testCase.failure?.step ?? 0) > 0 ? testCase.failure.line - testCase.line : -1;
  const last = failed >= 0 ? endOfStep(lines, failed) : -1;
  const code = el('ol', { class: 'source', tabindex: '0', 'aria-label': 'The case in its scenario file' });
  code.style.setProperty('--first', testCase.line - 1);
  lines.forEach((line, i) => {
    const inStep = failed >= 0 && i >= failed && i <= last;
    const node = el(
      'li',
      { class: inStep ? (i === failed ? 'failing first' : 'failing') : null },
      el('code', {}, line || ' '),
    );
    if (i === failed) node.prepend(el('span', { class: 'unseen' }, 'The step that failed: '));
    code.append(node);
  });
  const place = `${testCase.file}:${failed >= 0 ? testCase.failure.line : testCase.line}`;
  const title = failed >= 0 ? ` step ${testCase.failure.step} ${stepWord(testCase.verdict)}, at ${place}` : ` ${place}`;
  return el('section', { class: 'steps' }, el('h5', {}, 'Steps', el('span', { class: 'note' }, title)), code);
}

function stepWord(verdict) {
  return verdict === 'inconclusive' ? 'was inconclusive' : 'failed';
}

// A step is a list item: it ends before the next line that is not indented deeper than its dash.
function endOfStep(lines, first) {
  const indent = lines[first]?.search(/\S/) ?? 0;
  let last = first;
  while (last + 1 < lines.length && (lines[last + 1].trim() === '' || lines[last + 1].search(/\S/) > indent)) ++last;
  while (last > first && lines[last].trim() === '') --last;
  return last;
}

// --- what else there is to know ---

function aboutNode(testCase, report) {
  const rules = el('ul', { class: 'plain' });
  for (const id of testCase.requirements) {
    const rule = report.rules.get(id);
    rules.append(el('li', {}, linkTo(id), ' ', rule && levelNode(rule.level), ' ', rule && inlineCode(rule.text)));
  }
  const seen = Object.entries(testCase.open_points_observed).map(([id, outcomes]) => `${id}: ${outcomes.join(', ')}`);
  const forms = Object.entries(testCase.forms_observed).map(([name, dialects]) => `${name}: ${dialects.join(', ')}`);
  const axes = Object.entries(testCase.axes ?? {}).map(([axis, value]) => `${axis}: ${value}`);
  const slowest = Math.max(0, ...testCase.round_trips_ms);
  return definitions(
    [
      ['Checks', rules],
      ['Member of its family', axes.join(', ')],
      ['Unspecified behaviour seen', seen.join('; ')],
      ['Dialect forms seen', forms.join('; ')],
      [
        'Round trips',
        testCase.round_trips_ms.length > 0 && `${testCase.round_trips_ms.length}, the slowest ${milliseconds(slowest)}`,
      ],
    ],
    'pairs about',
  );
}

// --- what broke, at a glance ---

const kMostDifferences = 5; // that are shown without a click
const kMostCommands = 3; // of the first root causes whose command stands beside them

// What the store does otherwise, once each: many cases often fail for one reason.
function renderBroken(report, showCases) {
  // What a baseline knows is nothing new.
  const found = (report.differences ?? []).filter((one) => one.verdict !== 'expected-failure');
  if (found.length === 0) return;
  const list = el('ul', { class: 'plain' });
  const rest = el('ul', { class: 'plain' });
  for (const one of found) {
    const to = list.children.length < kMostDifferences ? list : rest;
    const rule = report.rules.get(one.requirement);
    const button = el('button', { type: 'button', class: 'link' }, plural(one.cases.length, 'case'));
    button.setAttribute('aria-label', `Show the ${plural(one.cases.length, 'case')} that break ${one.requirement}`);
    button.addEventListener('click', () => showCases(one));
    const blocked = one.blocked.length > 0 ? ` (${one.blocked.length} stopped before the step they test)` : '';
    const first = to === list && list.children.length < kMostCommands;
    to.append(
      el(
        'li',
        {},
        button,
        linkTo(one.requirement),
        rule && levelNode(rule.level),
        rule && el('span', {}, inlineCode(rule.text)),
        el('div', { class: 'note' }, el('b', {}, one.causes[0]), one.where ? `, only where ${one.where}` : '', '; see ', linkTo(one.cases[0]), blocked),
        first && commandNode('Reproduce', report.byId.get(one.cases[0]).reproduce),
      ),
    );
  }
  const heading = el('h2', { class: 'group' }, differencesSentence(found));
  const more = rest.children.length > 0 && el('details', {}, el('summary', {}, `${rest.children.length} more`), rest);
  byId('p_broken').append(el('section', { class: 'broken' }, heading, list, more));
}

function differencesSentence(found) {
  const cases = found.reduce((sum, one) => sum + one.cases.length, 0);
  return `${plural(found.length, 'root cause')} ${found.length === 1 ? 'explains' : 'explain'} ${plural(cases, 'failure')}`;
}

function openFirstFailures(cases) {
  // As they stand on the page: first what shows the first root cause best.
  const failing = cases.filter((one) => one.verdict === 'failed').sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  for (const one of failing.slice(0, failing.length > kOpenedAtFirst ? 1 : kOpenedAtFirst)) one.item.toggle(true);
}
