// The smaller parts: dialect forms, unspecified points, latency.

function tableNode(caption, heads, rows) {
  const head = el('tr', {}, ...heads.map((text) => el('th', { scope: 'col' }, text)));
  const body = rows.map((cells) =>
    el('tr', {}, ...cells.map((cell, i) => el(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row' } : {}, cell))),
  );
  const table = el('table', {}, el('caption', {}, caption), el('thead', {}, head), el('tbody', {}, ...body));
  return el('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': caption }, table);
}

// --- dialect and unspecified points ---

const kMostLinks = 3; // to cases that saw an outcome

function renderObserved(report) {
  const panel = byId('p_observed');
  panel.append(
    el(
      'p',
      { class: 'lead' },
      `Observed dialect: “${report.dialect_observed}”. Profile of this run: “${report.profile}”.`,
    ),
  );
  const forms = Object.entries(report.forms_observed);
  if (forms.length > 0) panel.append(formsTable(report, forms));
  else panel.append(el('p', {}, 'No reply of this run distinguishes the dialects.'));
  const points = report.requirements.filter((rule) => rule.open && rule.outcomesSeen.length > 0);
  if (points.length > 0) panel.append(pointsTable(report, points));
  else panel.append(el('p', {}, 'No unspecified behaviour was observed in this run.'));
  if (report.parts) panel.append(partsTable(report.parts));
}

// A report that was merged says what it was made of.
function partsTable(parts) {
  const rows = parts.map((part) => [
    part.file,
    String(part.shard),
    part.started,
    milliseconds(part.duration_ms),
    part.stopped_because ? `${part.exit_code}: ${part.stopped_because}` : String(part.exit_code),
  ]);
  return tableNode(
    'The merged reports',
    ['File', 'Shard', 'Started', 'Duration', 'Exit code'],
    rows,
  );
}

function formsTable(report, forms) {
  const rows = forms.map(([name, dialects]) => {
    const seenIn = (dialect) => report.cases.filter((one) => one.forms_observed[name]?.includes(dialect));
    const mixed = dialects.length > 1;
    const form = mixed ? `${dialects.join(' and ')} (mixed: a failure)` : dialects[0];
    const cases = dialects.map((dialect) => `${seenIn(dialect).length}${mixed ? ` ${dialect}` : ''}`).join(', ');
    return [el('code', {}, name), form, cases];
  });
  return tableNode('Where the dialects differ', ['Place', 'Form seen', 'Cases that saw it'], rows);
}

function pointsTable(report, points) {
  const rows = points.map((rule) => {
    const outcomes = el('ul', { class: 'plain' });
    for (const outcome of rule.outcomesSeen) {
      const seen = report.cases.filter((one) => one.open_points_observed[rule.id]?.includes(outcome));
      outcomes.append(el('li', {}, el('b', {}, outcome), ' in ', ...fewOf(seen.map((one) => linkTo(one.id)))));
    }
    return [linkTo(rule.id), inlineCode(rule.text), outcomes];
  });
  const node = tableNode(
    'Unspecified behaviour: what the documents leave unspecified, and what was seen',
    ['Requirement', 'What is unspecified', 'Seen'],
    rows,
  );
  node.classList.add('points');
  return node;
}

// The first ones, and the rest behind a button of its own.
function fewOf(nodes) {
  const few = listOf(nodes.slice(0, kMostLinks));
  if (nodes.length <= kMostLinks) return few;
  const rest = nodes.slice(kMostLinks);
  return [...few, el('details', {}, el('summary', {}, `and ${rest.length} more`), ...listOf(rest))];
}

function listOf(nodes) {
  return nodes.flatMap((node, i) => (i === 0 ? [node] : [', ', node]));
}

// --- latency ---

// Bounds of buckets that grow as 1, 2, 5, 10, 20, 50...: each is in milliseconds, and begins a bucket.
function bucketBounds(smallest, largest) {
  const bounds = [];
  const first = Math.floor(Math.log10(Math.max(smallest, 0.001)));
  for (let power = first; ; ++power) {
    for (const step of [1, 2, 5]) {
      const bound = Number((step * 10 ** power).toPrecision(1));
      if (bounds.length > 0 && bounds.at(-1) > largest) return bounds;
      bounds.push(bound);
    }
  }
}

// [{from, to, count}], without empty ones at the ends.
function histogram(values) {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return values.length > 0 ? [{ from: 0, to: 0.001, count: values.length }] : [];
  const smallest = positive.reduce((a, b) => Math.min(a, b));
  const largest = positive.reduce((a, b) => Math.max(a, b));
  const bounds = bucketBounds(smallest, largest);
  const buckets = bounds.slice(0, -1).map((from, i) => ({ from, to: bounds[i + 1], count: 0 }));
  for (const value of positive) buckets.findLast((bucket) => value >= bucket.from).count++;
  while (buckets[0].count === 0) buckets.shift();
  while (buckets.at(-1).count === 0) buckets.pop();
  if (positive.length < values.length) buckets.unshift({ from: 0, to: 0.001, count: values.length - positive.length });
  return buckets;
}

function renderLatency(report) {
  const panel = byId('p_latency');
  const { p50, p99, round_trips: count, unloaded_p50: idleP50, unloaded_p99: idleP99 } = report.latency_ms;
  panel.append(
    tableNode(
      'Round trips: from a request to its reply',
      ['', 'Median (p50)', 'p99', 'Requests'],
      [
        ['During the run', milliseconds(p50), milliseconds(p99), String(count)],
        ['Before it, unloaded', milliseconds(idleP50), milliseconds(idleP99), 'GETs of the preflight'],
      ],
    ),
  );
  if (report.endpoint.startsWith('inproc')) {
    panel.append(
      el('p', { class: 'hint' }, 'These times are simulated: in process, the clock is stepped.'),
    );
  }
  const buckets = histogram(report.cases.flatMap((one) => one.round_trips_ms));
  if (buckets.length > 0) panel.append(histogramNode(buckets, { p50, p99 }), slowestNode(report.cases));
  else panel.append(el('p', {}, 'No request was answered in this run.'));
  if (report.clock_offset_ms !== 0) {
    const { low, high } = report.clock_offset_bounds_ms;
    const direction = report.clock_offset_ms < 0 ? 'behind' : 'ahead of';
    const distance = `${Math.abs(report.clock_offset_ms)} ms ${direction} the suite's`;
    panel.append(el('p', {}, `The store's clock is ${distance} (its offset is between ${low} ms and ${high} ms).`));
  }
}

function histogramNode(buckets, marks) {
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const most = buckets.reduce((max, bucket) => Math.max(max, bucket.count), 0);
  const rows = buckets.map((bucket) => {
    const fill = el('span', { class: 'fill' });
    fill.style.width = `${(100 * bucket.count) / most}%`;
    const names = Object.keys(marks).filter((name) => marks[name] >= bucket.from && marks[name] < bucket.to);
    const bar = el(
      'span',
      { class: 'track' },
      fill,
      names.length > 0 && el('span', { class: 'mark' }, `◀ ${names.join(', ')}`),
    );
    return [rangeText(bucket), bar, String(bucket.count), `${((100 * bucket.count) / total).toFixed(1)} %`];
  });
  const node = tableNode('How long they took (buckets grow as 1, 2, 5)', ['From – to', 'Share', 'Requests', ''], rows);
  node.classList.add('histogram');
  return node;
}

function rangeText({ from, to }) {
  return to > 1000 ? `${from / 1000} – ${to / 1000} s` : `${from} – ${to} ms`;
}

function slowestNode(cases) {
  const slowest = cases
    .filter((one) => one.round_trips_ms.length > 0)
    .map((one) => ({ one, ms: one.round_trips_ms.reduce((a, b) => Math.max(a, b)) }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, 5);
  const rows = slowest.map(({ one, ms }) => [
    linkTo(one.id),
    el('span', { class: 'number' }, milliseconds(ms)),
    one.title,
  ]);
  const node = tableNode('The slowest replies', ['Case', 'Slowest', 'Title'], rows);
  node.classList.add('slowest');
  return node;
}
