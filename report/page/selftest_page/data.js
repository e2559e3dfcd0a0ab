// What the file holds, in the order in which the page shows it: faults by area, cases by area, and for each fault and
// dialect what every case said.

// What a case says of a fault, by weight: where several share a place, the last of them is shown. Words and shapes
// tell them apart; colours repeat it.
const kOutcomes = [
  { name: 'not run', meaning: 'the case was not run with this fault' },
  { name: 'passed', meaning: 'the case does not detect the fault' },
  { name: 'skipped', meaning: 'the case needs what this endpoint lacks' },
  { name: 'inconclusive', meaning: 'the case was inconclusive' },
  { name: 'non-detecting', meaning: 'fails, but cites no rule that the fault breaks' },
  { name: 'detecting', meaning: 'fails, and cites a rule that the fault breaks' },
];
const kPassed = 1;
const kSkipped = 2;
const kInconclusive = 3;
const kBystander = 4;
const kKiller = 5;

const kFaultStates = new Map([
  ['survived', { sign: '✗', word: 'survived', tone: 'bad' }],
  ['concurrency', { sign: '○', word: 'needs concurrency', tone: 'doubt' }],
  ['caught', { sign: '✓', word: 'caught', tone: 'good' }],
]);

function readSelftest() {
  const data = JSON.parse(byId('p_data').textContent);
  data.cases.forEach((one, i) => Object.assign(one, { number: i, kills: [] }));
  data.faults.forEach((fault, i) => describeFault(data, fault, i));
  data.dialects = unique(data.faults.flatMap((fault) => Object.keys(fault.dialects)));
  data.byId = new Map(data.faults.map((fault) => [fault.id, fault]));
  data.caseById = new Map(data.cases.map((one) => [one.id, one]));
  data.areaList = Object.entries(data.areas).map(([letters, area]) => ({
    letters,
    ...area,
    faults: data.faults.filter((fault) => fault.area === letters),
  }));
  data.rows = data.areaList.flatMap((area) => area.faults);
  data.caseAreas = unique(data.cases.map((one) => one.area)).map((name) => ({
    name,
    cases: data.cases.filter((one) => one.area === name),
  }));
  data.columns = data.caseAreas.flatMap((area) => area.cases);
  return data;
}

const unique = (values) => [...new Set(values)];
const number = (value) => value.toLocaleString('en');

function describeFault(data, fault, i) {
  fault.number = i;
  fault.outcomes = {};
  for (const [dialect, run] of Object.entries(fault.dialects)) {
    fault.outcomes[dialect] = outcomesOf(run, fault, data.cases);
  }
  fault.weightiest = data.cases.map((_, at) => Math.max(0, ...Object.values(fault.outcomes).map((codes) => codes[at])));
  const runs = Object.values(fault.dialects);
  fault.killers = unique(runs.flatMap((run) => run.killers));
  fault.killers.forEach((at) => data.cases[at].kills.push(fault));
  fault.bystanders = unique(runs.flatMap((run) => run.bystanders));
  fault.failed = runs.some((run) => run.error);
  fault.state = fault.as_it_should_be ? 'caught' : 'survived';
  const survivors = data.survivors.filter((one) => one.id === fault.id);
  if (survivors.length > 0 && survivors.every((one) => one.excused)) fault.state = 'concurrency';
  fault.slowest = Math.max(0, ...runs.map((run) => run.time_to_kill_ms ?? 0));
}

// One number for each case.
function outcomesOf(run, fault, cases) {
  const ran = (one) => !run.error && (!run.only_citing || one.requirements.some((id) => fault.requirements.includes(id)));
  const out = Uint8Array.from(cases, (one) => (ran(one) ? kPassed : 0));
  for (const at of run.skipped) out[at] = kSkipped;
  for (const at of run.inconclusive) out[at] = kInconclusive;
  for (const at of run.bystanders) out[at] = kBystander;
  for (const at of run.killers) out[at] = kKiller;
  return out;
}

// In one dialect, or the weightiest of all.
function outcome(fault, test_case, dialect) {
  const codes = dialect ? fault.outcomes[dialect] : fault.weightiest;
  return codes?.[test_case.number] ?? 0;
}

function stateNode(state) {
  const { sign, word, tone } = kFaultStates.get(state);
  return el('span', { class: `badge ${tone}` }, el('span', { class: 'sign', 'aria-hidden': 'true' }, sign), ' ', word);
}
