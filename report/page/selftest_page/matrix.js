// The kill matrix: a canvas as wide as the window, scrolled by what it stands in. A row is a fault, a column a case.
// How high a mark is says what it is (full: detecting, half: non-detecting, a line: inconclusive); its colour repeats it.

const kZooms = [
  ['fit', 'whole'],
  ['2', '2 pixels a case'],
  ['5', '5 pixels a case'],
  ['10', '10 pixels a case'],
];
const kHeads = 104; // height of the names of the case areas
const kColumnGap = 3; // between areas
const kRowGap = 8;
const kNamedRowGap = 20; // with the names of the case areas again, where they fit

// Returns {redraw}. `open(fault)` is called for the fault that was chosen.
function makeMatrix(data, open) {
  const body = byId('p_matrix_body');
  if (data.rows.length === 0 || data.columns.length === 0) {
    body.append(el('p', { class: 'note' }, 'Nothing ran, so there is no matrix.'));
    byId('p_heat').hidden = true;
    return;
  }
  const state = { dialect: '', zoom: 'fit', row: null, column: null };
  const readout = el('div', { id: 'p_readout', class: 'readout', role: 'status', 'aria-live': 'polite' });
  const canvas = el('canvas', {
    id: 'p_canvas',
    tabindex: '0',
    role: 'application',
    'aria-label': 'Kill matrix. The arrow keys go from fault to fault and from case to case; with Shift, to the next' +
      ' case that did not pass. Enter opens the fault. The same as a table is below.',
    'aria-describedby': 'p_readout',
  });
  const spacer = el('div', { class: 'spacer' }, canvas);
  const scroller = el('div', { class: 'scroller' }, spacer);
  const legend = legendNode(data);
  let layout = null;
  let pending = false;

  byId('p_matrix_tools').append(...toolNodes(data, state, change), legend);
  body.append(readout, scroller);
  showReadout();
  scroller.addEventListener('scroll', redraw);
  new ResizeObserver(change).observe(scroller);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  canvas.addEventListener('pointermove', (event) => point(event));
  canvas.addEventListener('pointerleave', (event) => event.pointerType === 'mouse' && point(null));
  canvas.addEventListener('click', (event) => {
    point(event);
    // A finger has not seen yet what it points at: it opens the fault by the button above.
    if (event.pointerType === 'mouse' && state.row !== null) open(data.rows[state.row]);
  });
  canvas.addEventListener('keydown', onKey);
  canvas.addEventListener('focus', () => {
    if (!canvas.matches(':focus-visible') || state.row !== null) return;
    [state.row, state.column] = [0, 0];
    moved();
  });

  function change() {
    layout = null;
    redraw();
  }

  function redraw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      if (scroller.clientWidth === 0) return;
      layout ??= makeLayout(data, state.zoom, scroller.clientWidth);
      draw();
    });
  }

  // --- drawing ---

  function draw() {
    const width = Math.min(scroller.clientWidth, layout.width);
    const scale = window.devicePixelRatio || 1;
    spacer.style.width = `${layout.width}px`;
    spacer.style.height = `${layout.height}px`;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${layout.height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(layout.height * scale);
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const colours = coloursOf(legend);
    const left = scroller.scrollLeft;
    pen.save();
    pen.beginPath();
    pen.rect(layout.gutter, 0, width - layout.gutter, layout.height);
    pen.clip();
    pen.translate(-left, 0);
    drawGround(pen, colours);
    drawCells(pen, colours, left + layout.gutter, left + width);
    drawHeads(pen, colours);
    if (layout.named) drawNamesAgain(pen, colours, left + layout.gutter, left + width);
    drawCursor(pen, colours);
    pen.restore();
    drawGutter(pen, colours);
  }

  function drawGround(pen, colours) {
    for (const rows of layout.rowGroups) {
      for (const [i, columns] of layout.columnGroups.entries()) {
        pen.fillStyle = i % 2 ? colours.odd : colours.even;
        pen.fillRect(columns.from, rows.from, columns.to - columns.from, rows.to - rows.from);
      }
    }
  }

  function drawCells(pen, colours, from, to) {
    const height = layout.rowHeight;
    const marks = [
      null,
      null,
      { colour: colours.skipped, top: height / 2, height: 1 },
      { colour: colours.inconclusive, top: height / 2 - 1, height: 2 },
      { colour: colours.bystander, top: height / 2, height: height / 2 - 0.5 },
      { colour: colours.killer, top: 0.5, height: height - 1 },
    ];
    const slots = layout.slots.filter((slot) => slot.x + slot.width >= from && slot.x <= to);
    data.rows.forEach((fault, row) => {
      let run = null; // neighbours that say the same are one mark
      const finish = () => {
        const mark = run && marks[run.code];
        if (!mark) return;
        pen.fillStyle = mark.colour;
        pen.fillRect(run.x, layout.rows[row] + mark.top, run.to - run.x, mark.height);
      };
      for (const slot of slots) {
        let code = 0;
        for (let at = slot.first; at <= slot.last; ++at) {
          code = Math.max(code, outcome(fault, data.columns[at], state.dialect));
        }
        if (run && run.code === code && Math.abs(run.to - slot.x) < 0.01 && layout.cell < 4) {
          run.to = slot.x + slot.width;
          continue;
        }
        finish();
        run = { code, x: slot.x, to: slot.x + (layout.cell < 4 ? slot.width : slot.width - 1) };
      }
      finish();
    });
  }

  // The names of the case areas stand upright; narrow areas share out the room, with a line to each.
  function drawHeads(pen, colours) {
    pen.font = layout.font;
    pen.textBaseline = 'middle';
    layout.heads.forEach(({ x, centre, name }, i) => {
      const { from, to } = layout.columnGroups[i];
      pen.strokeStyle = colours.muted;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x, kHeads - 20);
      pen.lineTo(centre, kHeads - 6);
      pen.moveTo(from, kHeads - 3);
      pen.lineTo(to, kHeads - 3);
      pen.stroke();
      pen.save();
      pen.translate(x, kHeads - 23);
      pen.rotate(-Math.PI / 2);
      pen.fillStyle = state.column !== null && data.columns[state.column].area === name ? colours.text : colours.muted;
      pen.fillText(name, 0, 0);
      pen.restore();
    });
  }

  // Who has scrolled down to a group of faults sees no more of the heads: the names stand above each group, too.
  function drawNamesAgain(pen, colours, left, right) {
    pen.fillStyle = colours.muted;
    for (const { from: top } of layout.rowGroups.slice(1)) {
      data.caseAreas.forEach(({ name }, i) => {
        const { from, to } = layout.columnGroups[i];
        const begin = Math.max(from, left) + 2;
        const room = Math.min(to, right) - begin;
        if (pen.measureText(name).width <= room) pen.fillText(name, begin, top - kNamedRowGap / 2);
      });
    }
  }

  function drawGutter(pen, colours) {
    pen.font = layout.font;
    pen.textBaseline = 'middle';
    const chosen = state.row === null ? null : data.rows[state.row];
    data.areaList.forEach((area, i) => {
      const { from, to } = layout.rowGroups[i];
      pen.fillStyle = chosen?.area === area.letters ? colours.text : colours.muted;
      const name = layout.gutter > 60 ? `${area.letters} ${area.name}` : area.letters;
      if (layout.rowHeight < 12) pen.fillText(name, 0, (from + to) / 2, layout.gutter - 6);
    });
    if (layout.rowHeight < 12) return;
    data.rows.forEach((fault, row) => {
      pen.fillStyle = fault === chosen ? colours.text : colours.muted;
      const text = layout.gutter > 60 ? `${fault.id} ${fault.name}` : fault.id;
      pen.fillText(shortened(pen, text, layout.gutter - 6), 0, layout.rows[row] + layout.rowHeight / 2);
    });
  }

  function drawCursor(pen, colours) {
    if (state.row === null) return;
    const right = layout.columnGroups.at(-1).to;
    pen.strokeStyle = colours.text;
    pen.lineWidth = 1;
    pen.strokeRect(layout.gutter + 0.5, layout.rows[state.row] - 0.5, right - layout.gutter - 1, layout.rowHeight + 1);
    if (state.column === null) return;
    const x = Math.round(layout.columns[state.column]);
    pen.strokeRect(x - 1.5, kHeads - 2.5, Math.max(Math.round(layout.cell), 1) + 2, layout.height - kHeads);
  }

  // --- pointing ---

  function point(event) {
    const before = [state.row, state.column];
    [state.row, state.column] = event ? placeOf(event) : [null, null];
    if (before[0] === state.row && before[1] === state.column) return;
    showReadout();
    redraw();
  }

  function placeOf(event) {
    if (!layout) return [null, null];
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left + scroller.scrollLeft;
    const y = event.clientY - box.top;
    const row = layout.rows.findIndex((top) => y >= top - 0.5 && y < top + layout.rowHeight + 0.5);
    if (row < 0) return [null, null];
    if (event.clientX - box.left < layout.gutter) return [row, null];
    const at = layout.slots.findIndex((one) => x >= one.x && x < one.x + one.width);
    return [row, at < 0 ? null : columnNear(row, at)];
  }

  // The weightiest case that has the place. Marks of a pixel or two are hard to hit: where there is none, the nearest.
  function columnNear(row, slot) {
    const reach = layout.cell < 4 ? 3 : 0;
    let column = layout.slots[slot].first;
    for (let away = 0; away <= reach; ++away) {
      for (const at of [slot - away, slot + away]) {
        const near = layout.slots[at];
        for (let one = near?.first ?? 1; near && one <= near.last; ++one) {
          if (codeAt(row, one) > codeAt(row, column)) column = one;
        }
      }
      if (codeAt(row, column) >= kInconclusive) break;
    }
    return column;
  }

  function codeAt(row, column) {
    return outcome(data.rows[row], data.columns[column], state.dialect);
  }

  function onKey(event) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Enter' && state.row !== null) {
      open(data.rows[state.row]);
    } else if (event.key === 'Home' || event.key === 'End') {
      state.column = event.key === 'Home' ? 0 : data.columns.length - 1;
      state.row ??= 0;
      moved();
    } else if (steps[event.key]) {
      step(steps[event.key], event.shiftKey);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  function step([rows, columns], far) {
    let row = state.row ?? 0;
    let column = state.column ?? 0;
    const inside = () => row >= 0 && row < data.rows.length && column >= 0 && column < data.columns.length;
    do {
      row += rows;
      column += columns;
    } while (far && inside() && codeAt(row, column) < kInconclusive);
    if (!inside()) return;
    [state.row, state.column] = [row, column];
    moved();
  }

  function moved() {
    showReadout();
    layout ??= makeLayout(data, state.zoom, scroller.clientWidth);
    const x = layout.columns[state.column];
    if (x < scroller.scrollLeft + layout.gutter) scroller.scrollLeft = x - layout.gutter - 20;
    if (x > scroller.scrollLeft + scroller.clientWidth - 20) scroller.scrollLeft = x - scroller.clientWidth + 40;
    const y = canvas.getBoundingClientRect().top + layout.rows[state.row];
    if (y < readout.offsetHeight + 20) window.scrollBy(0, y - readout.offsetHeight - 20);
    if (y > innerHeight - 40) window.scrollBy(0, y - innerHeight + 60);
    redraw();
  }

  function showReadout() {
    if (state.row === null) {
      readout.replaceChildren(
        el('p', {}, el('b', {}, 'Point at a mark'), ' to see which fault and which case.'),
        el('p', { class: 'note' }, 'A click opens the fault. The arrow keys work as well.'),
      );
      return;
    }
    const fault = data.rows[state.row];
    const button = el('button', { type: 'button', class: 'link' }, `Open ${fault.id}`);
    button.addEventListener('click', () => open(fault));
    const name = el('span', {}, el('b', { class: 'id' }, fault.id), ' ', fault.name);
    if (state.column === null) {
      const count = fault.killers.length === 0 ? 'caught by no case' : `caught by ${plural(fault.killers.length, 'case')}`;
      readout.replaceChildren(el('p', {}, name, ': ', count, ' ', button), el('p', { class: 'note' }, inlineCode(fault.text)));
      return;
    }
    const one = data.columns[state.column];
    const code = codeAt(state.row, state.column);
    const each = Object.keys(fault.outcomes).map((dialect) => `${dialect}: ${kOutcomes[outcome(fault, one, dialect)].name}`);
    const differ = !state.dialect && unique(Object.values(fault.outcomes).map((codes) => codes[one.number])).length > 1;
    const rules = code === kKiller ? one.requirements.filter((rule) => fault.requirements.includes(rule)).join(', ') : '';
    readout.replaceChildren(
      el(
        'p',
        {},
        el('span', { class: `swatch ${kOutcomes[code].name.replace(' ', '-')}`, 'aria-hidden': 'true' }),
        ' ',
        el('b', {}, kOutcomes[code].name),
        differ ? ` (${each.join(', ')})` : '',
        rules ? el('span', {}, ' by ', el('span', { class: 'mono' }, rules)) : '',
        ' ',
        button,
      ),
      el('p', {}, name, ': ', el('span', { class: 'note' }, inlineCode(fault.text))),
      el('p', {}, el('span', { class: 'id' }, one.id), ': ', el('span', { class: 'note' }, inlineCode(one.title))),
    );
  }
}

// --- parts ---

function toolNodes(data, state, changed) {
  const select = (label, values, key) => {
    const node = el('select', {}, ...values.map(([value, text]) => el('option', { value }, text)));
    node.addEventListener('change', () => {
      state[key] = node.value;
      changed();
    });
    return el('label', {}, `${label} `, node);
  };
  const dialects = data.dialects.map((name) => [name, name]);
  const both = data.dialects.length > 1 ? [['', 'any']] : [];
  return [select('Dialect', [...both, ...dialects], 'dialect'), select('Scale', kZooms, 'zoom')];
}

function legendNode(data) {
  const kinds = [kKiller, kBystander, kInconclusive, kSkipped, kPassed].map((code) => kOutcomes[code]);
  return el(
    'ul',
    { class: 'legend', 'aria-label': 'Legend' },
    ...kinds.map(({ name, meaning }) =>
      el('li', { title: meaning }, el('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), ' ',
        name === 'passed' && data.over_the_wire ? 'passed, or not run' : name),
    ),
    el('li', { class: 'ground even', hidden: true }),
    el('li', { class: 'ground odd', hidden: true }),
  );
}

// Colours as the style sheet says for this theme.
function coloursOf(legend) {
  const colour = (selector) => getComputedStyle(legend.querySelector(selector)).color;
  return {
    killer: colour('.detecting'),
    bystander: colour('.non-detecting'),
    inconclusive: colour('.inconclusive'),
    skipped: colour('.skipped'),
    even: colour('.even'),
    odd: colour('.odd'),
    text: getComputedStyle(document.body).color,
    muted: getComputedStyle(legend).color,
  };
}

// Where everything stands, in CSS pixels from the top left of the whole matrix.
function makeLayout(data, zoom, room) {
  const narrow = room < 700;
  const gutter = narrow ? 34 : zoom === 'fit' ? 150 : 230;
  const gaps = (data.caseAreas.length - 1) * kColumnGap;
  const fits = (room - gutter - gaps - 2) / data.columns.length;
  const cell = zoom === 'fit' ? Math.min(fits, 14) : Number(zoom);
  const rowHeight = zoom === 'fit' && data.rows.length > 40 ? 8 : 14;
  const named = zoom !== 'fit';
  const out = { gutter, cell, rowHeight, named, columns: [], rows: [], columnGroups: [], rowGroups: [], slots: [] };
  let x = gutter;
  for (const area of data.caseAreas) {
    const from = x;
    for (let i = 0; i < area.cases.length; ++i) {
      out.columns.push(x);
      x += cell;
    }
    out.columnGroups.push({ from, to: x });
    x += kColumnGap;
  }
  let y = kHeads;
  for (const area of data.areaList) {
    const from = y;
    for (let i = 0; i < area.faults.length; ++i) {
      out.rows.push(y);
      y += rowHeight;
    }
    out.rowGroups.push({ from, to: y });
    y += named ? kNamedRowGap : kRowGap;
  }
  out.width = Math.ceil(x);
  out.height = Math.ceil(y);
  out.slots = slotsOf(out, data);
  out.font = getComputedStyle(document.body).font.replace(/[\d.]+px(\/[\d.]+(px)?)?/, '11px');
  out.heads = headsOf(out, data);
  return out;
}

// Cases that stand within one pixel are drawn as one; never those of two areas.
function slotsOf(layout, data) {
  const out = [];
  layout.columns.forEach((x, at) => {
    const last = out.at(-1);
    const place = layout.cell < 1 ? Math.floor(x) : x;
    if (last && last.x === place && data.columns[last.first].area === data.columns[at].area) {
      last.last = at;
      return;
    }
    out.push({ x: place, width: Math.max(layout.cell, 1), first: at, last: at });
  });
  return out;
}

// Names that would overlap are moved apart, and back from the right edge.
function headsOf(layout, data) {
  const kApart = 13;
  const heads = data.caseAreas.map(({ name }, i) => {
    const { from, to } = layout.columnGroups[i];
    return { name, centre: (from + to) / 2, x: (from + to) / 2 };
  });
  heads.forEach((head, i) => (head.x = Math.max(head.x, i ? heads[i - 1].x + kApart : layout.gutter + 6)));
  let limit = layout.width - 6;
  for (const head of [...heads].reverse()) {
    head.x = Math.min(head.x, limit);
    limit = head.x - kApart;
  }
  return heads;
}

function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let out = text;
  while (out.length > 4 && pen.measureText(out + '…').width > room) out = out.slice(0, -1);
  return out + '…';
}
