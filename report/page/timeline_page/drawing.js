// The canvas: only what is in view is drawn, and what would stand on a pixel that is taken is left out.

const kRowHeight = 26;
const kAxisHeight = 30; // with room for the number of what stands in the first row
const kBarHeight = 16;
const kLeastMark = 7; // width of an operation of the finding
const kOverviewHeight = 36;

// Colours as the style sheet says for this theme.
function coloursOf(legend) {
  const colour = (selector) => getComputedStyle(legend.querySelector(selector)).color;
  const root = getComputedStyle(document.body);
  return {
    tones: kTones.map((tone) => colour(`.${tone}`)),
    finding: colour('.finding-mark'),
    told: getComputedStyle(legend.querySelector('.told')).borderTopColor,
    text: root.color,
    page: root.backgroundColor,
    muted: getComputedStyle(legend).color,
  };
}

function penOf(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// `stage`: {run, rows, view: {from, to, top}, marked: place -> its number in the finding, chosen, gutter, width,
// height, colours}. Returns how many operations it drew.
function drawTimeline(canvas, stage) {
  const pen = penOf(canvas, stage.width, stage.height);
  pen.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
  pen.textBaseline = 'middle';
  const x = (time) => stage.gutter + ((time - stage.view.from) / (stage.view.to - stage.view.from)) * (stage.width - stage.gutter);
  drawAxis(pen, stage, x);
  let drawn = 0;
  const first = Math.floor(stage.view.top / kRowHeight);
  const last = Math.min(stage.rows.length, Math.ceil((stage.view.top + stage.height - kAxisHeight) / kRowHeight));
  for (let at = first; at < last; ++at) {
    const y = kAxisHeight + at * kRowHeight - stage.view.top;
    pen.save();
    pen.beginPath();
    pen.rect(0, kAxisHeight - 7, stage.width, stage.height);
    pen.clip();
    drawName(pen, stage, stage.rows[at], y);
    pen.beginPath();
    pen.rect(stage.gutter, kAxisHeight - 7, stage.width - stage.gutter, stage.height);
    pen.clip();
    drawn += drawRow(pen, stage, stage.rows[at], y, x);
    pen.restore();
  }
  drawMarks(pen, stage, x);
  drawScrolled(pen, stage);
  return drawn;
}

function drawAxis(pen, stage, x) {
  const { run, view, colours } = stage;
  const origin = run.unit === 'lines' ? 0 : run.begin;
  const step = tickStep(view.to - view.from, Math.max(2, (stage.width - stage.gutter) / 110));
  pen.strokeStyle = colours.muted;
  pen.fillStyle = colours.muted;
  pen.lineWidth = 1;
  for (let time = Math.ceil((view.from - origin) / step) * step; time + origin <= view.to; time += step) {
    const at = Math.round(x(time + origin)) + 0.5;
    pen.globalAlpha = 0.25;
    pen.beginPath();
    pen.moveTo(at, kAxisHeight - 6);
    pen.lineTo(at, stage.height);
    pen.stroke();
    pen.globalAlpha = 1;
    const text = tickText(run, time, step, view.to - origin);
    if (at + 3 + pen.measureText(text).width < stage.width) pen.fillText(text, at + 3, kAxisHeight / 2 - 3);
  }
}

function drawName(pen, stage, row, y) {
  const named = stage.clients.has(row.client);
  pen.fillStyle = named ? stage.colours.text : stage.colours.muted;
  const name = stage.run.clients[row.client];
  pen.fillText(stage.gutter < 70 ? `${name}` : `client ${name}`, 6, y + kRowHeight / 2, stage.gutter - 10);
  pen.globalAlpha = 0.25;
  pen.fillStyle = stage.colours.muted;
  pen.fillRect(0, y + kRowHeight - 0.5, stage.width, 0.5);
  pen.globalAlpha = 1;
}

// What stands where its neighbour has been drawn already is left out, except what is marked or chosen; that is drawn last.
function drawRow(pen, stage, row, y, x) {
  const { run, view } = stage;
  const [begin, end] = inView(run, row, view.from, view.to);
  const taken = new Float64Array(kMostLanes).fill(-Infinity);
  const above = [];
  let drawn = 0;
  for (let at = begin; at < end; ++at) {
    const place = row.places[at];
    if (stage.marked.has(place) || place === stage.chosen || place === stage.hovered) {
      above.push(place);
      continue;
    }
    const from = x(run.called[place]);
    const to = Math.max(x(run.ended[place]), from + 1);
    const lane = run.lane[place];
    if (to < taken[lane] + 0.5) continue;
    taken[lane] = to;
    drawBar(pen, stage, place, { y, from, to });
    ++drawn;
  }
  drawTold(pen, stage, row, y, x);
  for (const place of above) {
    const from = x(run.called[place]);
    const to = Math.max(x(run.ended[place]), from + (stage.marked.has(place) ? kLeastMark : 2));
    drawBar(pen, stage, place, { y, from, to });
    drawFrame(pen, stage, place, { y, from, to });
    ++drawn;
  }
  return drawn;
}

function laneOf(run, place, y) {
  const height = kBarHeight / run.lanes[place];
  return { top: y + (kRowHeight - kBarHeight) / 2 + run.lane[place] * height, height };
}

function drawBar(pen, stage, place, { y, from, to }) {
  const { run, colours } = stage;
  const { top, height } = laneOf(stage.run, place, y);
  const tone = kTones[run.tone[place]];
  const width = to - from;
  pen.fillStyle = pen.strokeStyle = colours.tones[run.tone[place]];
  if (tone === 'silent') {
    // It may take effect at any later time.
    const far = Math.max(to, from + 26);
    pen.setLineDash([4, 3]);
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(far, top + 1);
    pen.lineTo(from + 1, top + 1);
    pen.lineTo(from + 1, top + height - 1);
    pen.lineTo(far, top + height - 1);
    pen.stroke();
    pen.setLineDash([]);
  } else if (tone === 'refused' && width > 5) {
    pen.lineWidth = 2;
    pen.strokeRect(from + 1, top + 1, width - 2, height - 2);
  } else {
    pen.fillRect(from, top, width, Math.max(1, height - (run.lanes[place] > 1 ? 0.5 : 0)));
  }
  if (width < 16 || height < 12) return;
  const text = `${requestText(run, place)} → ${replyText(run, place)}`;
  const begin = Math.max(from, stage.gutter);
  const fits = Math.floor((to - begin - 8) / 6.7);
  if (fits < 1) return;
  pen.fillStyle = tone === 'refused' || tone === 'silent' ? colours.text : colours.page;
  pen.fillText(text.length <= fits ? text : text.slice(0, Math.max(1, fits - 1)) + (fits > 3 ? '…' : ''), begin + 4, top + height / 2 + 0.5);
}

// Around what belongs to the finding, with its number, and around what is chosen.
function drawFrame(pen, stage, place, { y, from, to }) {
  const { top, height } = laneOf(stage.run, place, y);
  const number = stage.marked.get(place);
  const chosen = place === stage.chosen || place === stage.hovered;
  pen.strokeStyle = number === undefined ? stage.colours.text : stage.colours.finding;
  pen.lineWidth = number === undefined ? 2 : 3;
  pen.strokeRect(from - 1.5, top - 1.5, to - from + 3, height + 3);
  if (chosen && number !== undefined) {
    pen.strokeStyle = stage.colours.text;
    pen.lineWidth = 1;
    pen.strokeRect(from - 4, top - 4, to - from + 8, height + 8);
  }
  if (number === undefined) return;
  pen.fillStyle = stage.colours.finding;
  pen.beginPath();
  pen.arc(Math.max(from, stage.gutter + 7), top, 7, 0, 2 * Math.PI);
  pen.fill();
  pen.fillStyle = stage.colours.page;
  pen.textAlign = 'center';
  pen.font = 'bold 11px system-ui, sans-serif';
  pen.fillText(String(number), Math.max(from, stage.gutter + 7), top + 0.5);
  pen.textAlign = 'left';
  pen.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
}

// Notifications: a triangle where one arrived. Connections: a bar across the row.
function drawTold(pen, stage, row, y, x) {
  const { view, colours } = stage;
  pen.fillStyle = colours.told;
  let taken = -Infinity;
  const end = lowerBound(row.told, view.to, (told) => told.at);
  for (let at = lowerBound(row.told, view.from, (told) => told.at); at < end; ++at) {
    const middle = x(row.told[at].at);
    if (middle < taken + 2) continue;
    taken = middle;
    pen.beginPath();
    pen.moveTo(middle - 5, y + 1);
    pen.lineTo(middle + 5, y + 1);
    pen.lineTo(middle, y + 10);
    pen.fill();
  }
  for (const link of row.links) {
    if (link.at < view.from || link.at > view.to) continue;
    pen.fillStyle = link.link === 'lost' ? colours.finding : colours.muted;
    pen.fillRect(x(link.at) - 1, y, 2, kRowHeight);
    if (link.fault) pen.fillText(link.fault, x(link.at) + 3, y + kRowHeight - 3);
  }
}

// What the broker did is for all clients.
function drawMarks(pen, stage, x) {
  pen.fillStyle = stage.colours.finding;
  for (const { at, fault } of stage.run.marks) {
    if (at < stage.view.from || at > stage.view.to) continue;
    pen.fillRect(x(at) - 1, 0, 2, stage.height);
    pen.fillText(fault, x(at) + 4, kAxisHeight / 2 - 3);
  }
}

// That there are more clients than are in view.
function drawScrolled(pen, stage) {
  const room = stage.height - kAxisHeight;
  const all = stage.rows.length * kRowHeight;
  if (all <= room) return;
  pen.globalAlpha = 0.5;
  pen.fillStyle = stage.colours.muted;
  pen.fillRect(stage.width - 6, kAxisHeight + (stage.view.top / all) * room, 5, Math.max(12, (room / all) * room));
  pen.globalAlpha = 1;
}

// How much happened when, over the whole history; where the finding is; what is in view.
function drawOverview(canvas, stage, density) {
  const pen = penOf(canvas, stage.width, kOverviewHeight);
  const { run, view, colours } = stage;
  const x = (time) => ((time - run.begin) / (run.end - run.begin)) * stage.width;
  const most = Math.max(1, ...density);
  pen.fillStyle = colours.muted;
  pen.globalAlpha = 0.6;
  density.forEach((count, i) => {
    if (count === 0) return;
    const height = 2 + (count / most) * (kOverviewHeight - 8);
    pen.fillRect((i / density.length) * stage.width, kOverviewHeight - height, stage.width / density.length, height);
  });
  pen.globalAlpha = 1;
  pen.fillStyle = colours.finding;
  for (const place of stage.marked.keys()) pen.fillRect(Math.min(x(run.called[place]), stage.width - 3), 0, 3, kOverviewHeight);
  const from = Math.max(0, x(view.from));
  const width = Math.max(3, Math.min(stage.width, x(view.to)) - from);
  pen.strokeStyle = colours.text;
  pen.lineWidth = 2;
  pen.strokeRect(from + 1, 1, Math.max(1, width - 2), kOverviewHeight - 2);
}

// The number of operations sent in each of `bins` equal times.
function densityOf(run, bins) {
  const out = new Uint32Array(bins);
  const scale = bins / (run.end - run.begin);
  for (const at of run.called) ++out[Math.min(bins - 1, Math.floor((at - run.begin) * scale))];
  return out;
}
