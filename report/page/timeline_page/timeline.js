// The timeline as a reader uses it: zoom, pan, point, choose; with a mouse, fingers or keys.

const kMostHeight = 520;
const kLeastSpan = 200; // ns in view
const kMostInList = 200;

// Returns {show(verdict), choose(place), zoom(factor), pan(share), whole(), finding(), step(by), redraw()}. `told(place)`
// is called when another operation was chosen, with -1 for none.
function makeTimeline(run, legend, told) {
  const overview = el('canvas', { id: 'p_overview', 'aria-hidden': 'true' });
  const canvas = el('canvas', {
    id: 'p_canvas',
    tabindex: '0',
    role: 'application',
    'aria-label': 'Timeline: a row for each client, a bar for each request. The arrow keys go from operation to operation' +
      ' and from client to client, n and p through those of the finding. What is in view is in a table below.',
    'aria-describedby': 'p_detail',
  });
  const tip = el('div', { class: 'tip', hidden: true });
  const box = el('div', { class: 'stage' }, overview, canvas, tip);
  byId('p_stage').append(box);
  const stage = {
    run, rows: [], view: { from: run.begin, to: run.end, top: 0 }, marked: new Map(), clients: new Set(), chosen: -1, hovered: -1,
    gutter: 80, width: 0, height: 0, colours: null,
  };
  let verdict = null;
  let density = null;
  let pending = false;
  let onlyKey = true;

  new ResizeObserver(redraw).observe(box);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  setUpPointers();
  canvas.addEventListener('keydown', onKey);
  canvas.addEventListener('focus', () => {
    if (canvas.matches(':focus-visible') && stage.chosen < 0) step(1);
  });
  byId('p_list').addEventListener('toggle', redraw);

  return { show, choose, zoom, pan, whole, finding, step, redraw, restrict };

  // --- what is shown ---

  function show(next) {
    verdict = next;
    stage.marked = new Map();
    (verdict?.witness ?? []).forEach((number, i) => {
      if (run.place.has(number)) stage.marked.set(run.place.get(number), i + 1);
    });
    rebuild();
    choose(-1);
    finding();
  }

  function restrict(only) {
    onlyKey = only;
    rebuild();
    redraw();
  }

  function rebuild() {
    const clients = [...new Set([...stage.marked.keys()].map((place) => run.client[place]))];
    stage.clients = new Set(clients);
    const one = onlyKey && verdict ? verdict.key : null;
    stage.rows = makeRows(run, (key) => one === null || key === one, clients);
    stage.view.top = 0;
  }

  function redraw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  }

  function draw() {
    const begin = performance.now();
    stage.width = box.clientWidth;
    if (stage.width === 0) return;
    stage.gutter = stage.width < 600 ? 44 : 80;
    stage.height = Math.min(kMostHeight, kAxisHeight + Math.max(1, stage.rows.length) * kRowHeight + 6);
    stage.view.top = Math.max(0, Math.min(stage.view.top, stage.rows.length * kRowHeight + kAxisHeight + 6 - stage.height));
    stage.colours = coloursOf(legend);
    const drawn = drawTimeline(canvas, stage);
    if (density?.length !== Math.ceil(stage.width / 2)) density = densityOf(run, Math.ceil(stage.width / 2));
    drawOverview(overview, stage, density);
    Object.assign(canvas.dataset, { from: stage.view.from, to: stage.view.to, drawn, ms: (performance.now() - begin).toFixed(1) });
    if (byId('p_list').open) listInView(run, stage, choose);
  }

  // --- where one looks ---

  function look(from, to) {
    const whole = run.end - run.begin;
    const span = Math.min(Math.max(to - from, Math.min(kLeastSpan, whole)), whole * 1.1);
    const middle = (from + to) / 2;
    const least = run.begin - whole * 0.05;
    stage.view.from = Math.min(Math.max(middle - span / 2, least), run.end + whole * 0.05 - span);
    stage.view.to = stage.view.from + span;
    redraw();
  }

  function whole() {
    look(run.begin - (run.end - run.begin) * 0.01, run.end + (run.end - run.begin) * 0.01);
  }

  // The finding with some room around it.
  function finding() {
    const places = [...stage.marked.keys()];
    if (places.length === 0) return whole();
    const from = Math.min(...places.map((place) => run.called[place]));
    const to = Math.max(...places.map((place) => run.ended[place]));
    const room = Math.max((to - from) * 0.2, kLeastSpan);
    stage.view.top = 0;
    look(from - room, to + room);
  }

  // `at`: the time that stays where it is.
  function zoom(factor, at = (stage.view.from + stage.view.to) / 2) {
    look(at - (at - stage.view.from) * factor, at + (stage.view.to - at) * factor);
  }

  function pan(share) {
    const by = (stage.view.to - stage.view.from) * share;
    look(stage.view.from + by, stage.view.to + by);
  }

  function timeAt(x) {
    const { view, gutter, width } = stage;
    return view.from + ((x - gutter) / (width - gutter)) * (view.to - view.from);
  }

  // --- what is chosen ---

  function choose(place, bring = true) {
    stage.chosen = place;
    told(place);
    if (place >= 0 && bring) bringIntoView(place);
    redraw();
  }

  function bringIntoView(place) {
    const { view } = stage;
    const at = run.called[place];
    const span = view.to - view.from;
    if (at < view.from || Math.min(run.ended[place], at + span) > view.to) look(at - span / 3, at + (span * 2) / 3);
    const row = stage.rows.findIndex((one) => one.client === run.client[place]);
    const room = stage.height - kAxisHeight;
    if (row * kRowHeight < view.top) view.top = row * kRowHeight;
    if ((row + 1) * kRowHeight > view.top + room) view.top = (row + 1) * kRowHeight - room;
  }

  // Through the operations of the finding.
  function step(by) {
    const places = [...stage.marked.keys()];
    if (places.length === 0) {
      if (run.count > 0 && stage.chosen < 0) choose(stage.rows[0]?.places[0] ?? -1);
      return;
    }
    const at = places.indexOf(stage.chosen);
    choose(places[at < 0 ? (by > 0 ? 0 : places.length - 1) : (at + by + places.length) % places.length]);
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!steps[event.key]) return;
    event.preventDefault();
    if (event.shiftKey && steps[event.key][0]) return pan(steps[event.key][0] * 0.2);
    if (stage.chosen < 0) return step(1);
    const [along, across] = steps[event.key];
    const at = stage.rows.findIndex((row) => row.client === run.client[stage.chosen]);
    if (along) {
      const { places } = stage.rows[at];
      const next = places[lowerBound(places, stage.chosen) + along];
      if (next !== undefined) choose(next);
      return;
    }
    // The operation of the next client that was sent about the same time.
    for (let row = at + across; stage.rows[row]; row += across) {
      const { places } = stage.rows[row];
      if (places.length === 0) continue;
      const near = lowerBound(places, run.called[stage.chosen], (place) => run.called[place]);
      return choose(places[Math.min(near, places.length - 1)]);
    }
  }

  // --- pointing ---

  function placeAt(event) {
    const area = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left, event.clientY - area.top];
    const row = stage.rows[Math.floor((y - kAxisHeight + stage.view.top) / kRowHeight)];
    if (!row || y < kAxisHeight || x < stage.gutter) return {};
    const perPixel = (stage.view.to - stage.view.from) / (stage.width - stage.gutter);
    const time = timeAt(x);
    const height = (y - kAxisHeight + stage.view.top) % kRowHeight;
    return { x, y, place: nearest(row, time, perPixel * 5, height), told: toldAt(row, time, perPixel * 5) };
  }

  function nearest(row, time, reach, height) {
    const [begin, end] = inView(run, row, time - reach * 4, time + reach);
    let best = -1;
    let least = Infinity;
    for (let at = begin; at < end; ++at) {
      const place = row.places[at];
      const marked = stage.marked.has(place);
      const bar = laneOf(run, place, 0);
      const wide = marked ? reach * 2 : run.operations.took[place] === kSilent ? reach * 4 : reach;
      const away = time < run.called[place] ? run.called[place] - time : Math.max(0, time - run.ended[place]);
      const weight = away - (marked ? reach * 10 : 0) + (height >= bar.top && height < bar.top + bar.height ? 0 : reach * 2);
      if (away <= wide && weight < least) [best, least] = [place, weight];
    }
    return best;
  }

  function toldAt(row, time, reach) {
    const told = row.told[lowerBound(row.told, time - reach, (one) => one.at)];
    return told && told.at <= time + reach ? told : null;
  }

  function point(event) {
    const { place = -1, told: note, x, y } = event ? placeAt(event) : {};
    if (place !== stage.hovered) {
      stage.hovered = place;
      redraw();
    }
    tip.hidden = place < 0 && !note;
    if (tip.hidden) return;
    tip.replaceChildren(...(place >= 0 ? tipOf(run, place) : []), ...(note ? toldNodes(run, note) : []));
    tip.style.left = `${Math.max(4, Math.min(x + 14, stage.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${kOverviewHeight + y + 18}px`;
    const beyond = tip.offsetTop + tip.offsetHeight - box.clientHeight;
    if (beyond > 0) tip.style.top = `${Math.max(0, kOverviewHeight + y - tip.offsetHeight - 12)}px`;
  }

  function setUpPointers() {
    const down = new Map(); // pointers that are down, and where
    let moved = false;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, event.clientX);
      moved = false;
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!down.has(event.pointerId)) return point(event);
      const by = event.clientX - down.get(event.pointerId);
      if (!moved && Math.abs(by) < 4) return;
      moved = true;
      canvas.classList.add('dragged');
      point(null);
      if (down.size === 1) {
        pan(-by / (stage.width - stage.gutter));
      } else {
        const other = [...down].find(([id]) => id !== event.pointerId)[1];
        const [before, after] = [Math.abs(down.get(event.pointerId) - other), Math.abs(event.clientX - other)];
        if (before > 10 && after > 10) zoom(before / after, timeAt(other - canvas.getBoundingClientRect().left));
      }
      down.set(event.pointerId, event.clientX);
    });
    const up = (event) => {
      if (down.delete(event.pointerId) && !moved && event.type === 'pointerup') choose(placeAt(event).place ?? -1, false);
      canvas.classList.remove('dragged');
    };
    canvas.addEventListener('pointerup', up);
    canvas.addEventListener('pointercancel', up);
    canvas.addEventListener('pointerleave', () => point(null));
    canvas.addEventListener('wheel', onWheel, { passive: false });
    const jump = (event) => {
      if (event.buttons === 0) return;
      const at = run.begin + (event.offsetX / stage.width) * (run.end - run.begin);
      const span = stage.view.to - stage.view.from;
      look(at - span / 2, at + span / 2);
    };
    overview.addEventListener('pointerdown', jump);
    overview.addEventListener('pointermove', jump);
  }

  // With Ctrl it zooms, sideways it pans; else it goes through the clients, and through the page at their end.
  function onWheel(event) {
    if (event.ctrlKey || event.metaKey) {
      zoom(Math.exp(event.deltaY / 300), timeAt(event.clientX - canvas.getBoundingClientRect().left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      pan((event.deltaX || event.deltaY) / stage.width);
    } else {
      const most = stage.rows.length * kRowHeight + kAxisHeight + 6 - stage.height;
      const next = Math.max(0, Math.min(stage.view.top + event.deltaY, most));
      if (next === stage.view.top) return;
      stage.view.top = next;
      redraw();
    }
    event.preventDefault();
  }
}

// --- words ---

function tipOf(run, place) {
  return [
    el('p', {}, el('b', {}, `client ${run.clients[run.client[place]]}`), `  ${timeText(run, run.called[place])} .. ${endText(run, place)}`),
    el('p', { class: 'mono' }, requestText(run, place), ' → ', replyText(run, place)),
    run.operations.version[place] >= 0 && el('p', { class: 'mono' }, `version ${run.version(run.operations.version[place])}`),
  ].filter(Boolean);
}

function toldNodes(run, note) {
  const value = note.value === undefined ? '' : ` ${quoted(note.value)}`;
  return [
    el('p', {}, el('b', {}, 'notified'), ` ${timeText(run, note.at)}${note.duplicate ? ', DUP' : ''}: ${note.operation}${value}`),
    note.version && el('p', { class: 'mono' }, `version ${note.version}`),
  ].filter(Boolean);
}

function listInView(run, stage, choose) {
  const places = [];
  for (const row of stage.rows) {
    const [begin, end] = inView(run, row, stage.view.from, stage.view.to);
    for (let at = begin; at < end && places.length < kMostInList; ++at) places.push(row.places[at]);
  }
  const body = byId('p_list_body');
  const cut = places.length >= kMostInList ? el('p', { class: 'note' }, `The first ${kMostInList}; zoom in to see others.`) : '';
  body.replaceChildren(cut, operationTable(run, places, { label: 'Operations in view', choose }));
}

// Rows of operations; `numbers`: how the finding calls them.
function operationTable(run, places, { label, choose, numbers = null, origin = run.begin }) {
  const heads = ['', 'Client', 'Called', 'Returned', 'Request', 'Reply', 'Version'];
  const rows = places.map((place) => {
    const name = numbers ? String(numbers.get(place)) : '↑';
    const words = `Operation ${numbers ? name : run.number[place]}: show it on the timeline`;
    const pick = el('button', { type: 'button', class: numbers ? 'pick' : 'link', 'aria-label': words }, name);
    const version = run.operations.version[place];
    const row = el(
      'tr',
      { 'data-place': place },
      el('td', {}, pick),
      el('th', { scope: 'row' }, `client ${run.clients[run.client[place]]}`),
      el('td', { class: 'time' }, timeText(run, run.called[place], origin)),
      el('td', { class: 'time' }, endText(run, place, origin)),
      el('td', { class: 'mono wide' }, requestText(run, place)),
      el('td', { class: 'mono wide' }, `→ ${replyText(run, place)}`),
      el('td', { class: 'mono wide version' }, version >= 0 ? run.version(version) : ''),
    );
    row.addEventListener('click', () => choose(place));
    return row;
  });
  const head = el('tr', {}, ...heads.map((text) => (text ? el('th', { scope: 'col' }, text) : el('td', {}))));
  const table = el('table', {}, el('thead', {}, head), el('tbody', {}, ...rows));
  return el('div', { class: 'witness', role: 'region', tabindex: '0', 'aria-label': label }, table);
}
