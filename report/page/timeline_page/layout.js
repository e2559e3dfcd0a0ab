// Which operations stand in which row, and which of them are in view. A row is a client.

const kMostLanes = 4; // in a row, for requests of one client that are in flight together

// Rows of the operations that `wanted` names, those of `first` above the others. Each: {client, places, latest, `told`,
// links}, `places` in the order of the calls, latest[i] the last end among places[0..i]. Sets run.lane and run.lanes.
function makeRows(run, wanted, first) {
  const rows = new Map();
  const rowOf = (client) => {
    if (!rows.has(client)) rows.set(client, { client, places: [], latest: [], group: [], told: [], links: [] });
    return rows.get(client);
  };
  run.lane ??= new Uint8Array(run.count);
  run.lanes ??= new Uint8Array(run.count);
  for (let i = 0; i < run.count; ++i) {
    if (!wanted(run.key[i])) continue;
    const row = rowOf(run.client[i]);
    if (run.called[i] >= row.latest.at(-1)) share(run, row);
    row.places.push(i);
    row.group.push(i);
    row.latest.push(Math.max(row.latest.at(-1) ?? -Infinity, run.ended[i]));
  }
  for (const row of rows.values()) share(run, row);
  for (const told of run.notifications) if (wanted(told.key)) rowOf(told.client).told.push(told);
  for (const link of run.connections) rows.get(link.client)?.links.push(link);
  const rank = new Map(first.map((client, i) => [client, i]));
  const order = (row) => rank.get(row.client) ?? rank.size;
  return [...rows.values()].sort((a, b) => order(a) - order(b) || run.clients[a.client] - run.clients[b.client]);
}

// Those of one client that were in flight together share its row.
function share(run, row) {
  const ends = [];
  for (const i of row.group) {
    const free = ends.findIndex((end) => end <= run.called[i]);
    run.lane[i] = free < 0 ? Math.min(ends.length, kMostLanes - 1) : free;
    ends[run.lane[i]] = run.ended[i];
  }
  for (const i of row.group) run.lanes[i] = ends.length;
  row.group = [];
}

// The first place in the sorted numbers at which `number` is reached.
function lowerBound(numbers, number, valueOf = (one) => one) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (valueOf(numbers[middle]) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

// [begin, end) in row.places of what may be seen from `from` to `to`.
function inView(run, row, from, to) {
  return [lowerBound(row.latest, from), lowerBound(row.places, to, (place) => run.called[place])];
}

// How far apart the marks of the axis are: 1, 2 or 5 times a power of ten.
function tickStep(span, most) {
  const least = span / most;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
}

// A mark of the axis, in the unit for times up to `latest`, with as many digits as it takes to tell it from the next.
function tickText(run, time, step, latest) {
  if (run.unit === 'lines') return String(Math.round(time));
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3]].find(([, ns]) => latest >= ns) ?? ['ns', 1];
  return `${(time / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
}
