// The requirements of the catalogue, area by area, and what this run says of each.

// What the first word of an id stands for.
const kAreas = new Map([
  ['ENV', 'MQTT envelope'],
  ['RESP', 'Payload format and RESP3 framing'],
  ['CASE', 'Upper case'],
  ['ERR', 'Errors'],
  ['KEY', 'Keys'],
  ['SET', 'SET'],
  ['GET', 'GET'],
  ['DEL', 'DEL'],
  ['VDEL', 'VDEL'],
  ['HLC', 'Hybrid logical clocks'],
  ['VER', 'Versions'],
  ['FT', 'Fencing tokens'],
  ['LOCK', 'Locks'],
  ['NTF', 'KEYNOTIFY and notifications'],
  ['LIFE', 'Disconnection and lifetime'],
  ['AUTH', 'Authorization'],
  ['QUOTA', 'Quota'],
  ['LIMIT', 'Limits'],
]);

function areaOf(requirementId) {
  const word = requirementId.split('-', 1)[0];
  return kAreas.get(word) ?? word;
}

// Adds `area`, `citing`, `outcomesSeen`, `state` and `note` to each requirement.
function judgeRequirements(report) {
  const citing = new Map(report.requirements.map((rule) => [rule.id, []]));
  for (const testCase of report.cases) {
    // A failure may be attributed to a rule that the case does not cite by itself.
    const cited = new Set([...testCase.requirements, testCase.failure?.requirement].filter(Boolean));
    for (const id of cited) citing.get(id)?.push(testCase);
  }
  for (const rule of report.requirements) {
    rule.area = areaOf(rule.id);
    rule.citing = citing.get(rule.id);
    rule.outcomesSeen = report.open_points_observed[rule.id] ?? [];
    const { state, note } = judge(rule, report);
    Object.assign(rule, { state, note });
  }
}

// What the run says of one requirement: the report has it, of those that its cases are about.
function judge(rule, report) {
  const found = report.requirementStates.get(rule.id);
  if (found && found.state !== 'open') return found;
  if (rule.open)
    return {
      state: 'open',
      note: rule.outcomesSeen.length > 0 ? `seen: ${rule.outcomesSeen.join(', ')}` : 'not observed',
    };
  return rule.untestable
    ? { state: 'untestable', note: rule.untestable }
    : { state: 'uncovered', note: 'no case of this run tests it' };
}

function renderRequirements(report) {
  const groups = groupsOf(report.requirements, (rule) => rule.state);
  return renderGroups(byId('p_requirement_list'), groups, requirementItem);
}

function requirementItem(rule) {
  return ruleEntry(rule, { note: rule.note, detail: requirementDetail });
}

function requirementDetail(rule) {
  const cases = el('ul', { class: 'plain' });
  for (const one of rule.citing) cases.append(el('li', {}, badge(one.verdict), ' ', linkTo(one.id), ' ', one.title));
  const dialects = Object.entries(rule.dialects).map(([name, form]) => el('li', {}, `${name}: `, codeNode(form)));
  return definitions([
    ['Result', `${kStates.get(rule.state).word}: ${rule.note}`],
    ['Applies to', rule.binds],
    ['Section', rule.section],
    ['Source', `${rule.source}${rule.documents.length > 0 ? ` (${rule.documents.join(', ')})` : ''}`],
    ['Dialects', dialects.length > 0 && el('ul', { class: 'plain' }, ...dialects)],
    ['How to observe it', rule.observe && inlineCode(rule.observe)],
    ['Not testable', rule.untestable],
    ['Outcomes that the rule allows', rule.outcomes.join('; ')],
    ['Outcomes seen', rule.open && (rule.outcomesSeen.join(', ') || 'none in this run')],
    ['Cases', rule.citing.length > 0 && cases],
  ]);
}
