// The history as the program has written it: columns of numbers, which differ little from one operation to the next.

const kSilent = -1; // `took` of a request without reply

// Sums of differences.
function summed(differences) {
  const out = new Float64Array(differences.length);
  let last = 0;
  differences.forEach((step, i) => (out[i] = last += step));
  return out;
}

function readHistory() {
  const data = JSON.parse(byId('p_data').textContent);
  const { operations } = data;
  const called = summed(operations.called);
  const ended = called.map((at, i) => (operations.took[i] === kSilent ? at : at + operations.took[i]));
  const walls = summed(data.versions.wall);
  const run = {
    ...data,
    called,
    ended, // of requests without reply: when they were sent
    number: summed(operations.number),
    client: Uint32Array.from(operations.client),
    key: Uint32Array.from(operations.key),
    count: called.length,
    tone: new Uint8Array(called.length),
    version: (at) => versionText(data, walls, at),
    text: (at) => data.texts[at],
    place: new Map(), // number of an operation -> its place
  };
  run.number.forEach((number, i) => run.place.set(number, i));
  for (let i = 0; i < run.count; ++i) run.tone[i] = toneOf(run, i);
  run.begin = run.count ? called[0] : 0;
  run.end = run.begin + 1;
  for (const end of ended) run.end = Math.max(run.end, end);
  for (const told of data.notifications) run.end = Math.max(run.end, told.at);
  for (const verdict of data.verdicts) {
    const order = (number) => called[run.place.get(number)] ?? 0;
    verdict.witness.sort((a, b) => order(a) - order(b));
  }
  return run;
}

function versionText(data, walls, at) {
  if (at < 0) return '';
  return `${walls[at]}:${data.versions.counter[at]}:${data.nodes[data.versions.node[at]]}`;
}

// --- what an operation is ---

const kTones = ['write', 'read', 'gone', 'refused', 'silent'];
const kConditions = ['', ' NX', ' NEX'];

function actionOf(run, i) {
  return run.actions[run.operations.what[i] % run.actions.length];
}

function outcomeOf(run, i) {
  return run.outcomes[run.operations.outcome[i]];
}

function toneOf(run, i) {
  const outcome = outcomeOf(run, i);
  if (outcome === 'unknown') return 4;
  if (outcome === 'ok') return 0;
  if (outcome === 'value' || (outcome === 'missing' && actionOf(run, i) === 'GET')) return 1;
  return outcome === 'deleted' ? 2 : 3;
}

function quoted(text) {
  return text === undefined ? '' : `"${text}"`;
}

function requestText(run, i) {
  const { operations } = run;
  const more = run.more[i] ?? {};
  const action = actionOf(run, i);
  let out = action;
  if (more.expected !== undefined) out += ` from ${quoted(more.expected)} to`;
  if (operations.value[i] >= 0) out += ` ${quoted(run.text(operations.value[i]))}`;
  out += kConditions[Math.floor(operations.what[i] / run.actions.length)];
  if (more.px !== undefined) out += ` PX ${more.px}`;
  if (more.timestamp) out += ` __ts ${more.timestamp}`;
  if (more.token) out += ` __ft ${more.token}`;
  return out;
}

function replyText(run, i) {
  const outcome = outcomeOf(run, i);
  const reason = run.more[i]?.reason ? ` (${run.more[i].reason})` : '';
  if (outcome === 'value') return quoted(run.text(run.operations.read[i]));
  return (outcome === 'unknown' ? 'no reply' : outcome) + reason;
}

// A time as a text, from `origin` on. Logs of lines have no clock.
function timeText(run, time, origin = run.begin) {
  if (run.unit === 'lines') return `line ${time}`;
  return spanText(time - origin);
}

function spanText(nanoseconds) {
  const size = Math.abs(nanoseconds);
  if (size >= 1e9) return `${(nanoseconds / 1e9).toFixed(6)} s`;
  if (size >= 1e6) return `${(nanoseconds / 1e6).toFixed(3)} ms`;
  return `${(nanoseconds / 1e3).toFixed(size >= 1e4 ? 1 : 3)} µs`;
}

function endText(run, i, origin) {
  return run.operations.took[i] === kSilent ? 'never' : timeText(run, run.ended[i], origin);
}

function spanOf(run, i) {
  const took = run.operations.took[i];
  if (took === kSilent) return 'no reply';
  return run.unit === 'lines' ? plural(took, 'line') : spanText(took);
}
