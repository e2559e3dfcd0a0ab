// The messages between a case and the store, as a sequence diagram: one lifeline for each client, the store's on
// the right, time downwards. Each row is a button that opens the whole message.

const kGapMs = 100; // a pause that is worth a remark
const kKeyPrefix = /fencepost\/[0-9a-zA-Z-]+\/[0-9a-f]{8}\//; // of the keys of one case

function sequenceNode(testCase) {
  const entries = testCase.transcript;
  const lanes = [...new Set(entries.map((entry) => entry.client))].sort();
  const prefix = entries.map((entry) => kKeyPrefix.exec(entry.summary)?.[0]).find(Boolean);
  const culprit = culpritOf(testCase);
  const list = el('ol', { class: 'messages', 'aria-label': 'Messages in order' });
  let before = 0;
  entries.forEach((entry, index) => {
    if (entry.ms - before >= kGapMs)
      list.append(el('li', { class: 'pause' }, `${milliseconds(entry.ms - before)} later`));
    before = entry.ms;
    list.append(messageNode({ entry, index, testCase, lanes, prefix, isCulprit: entry === culprit }));
  });
  const out = el('div', { class: 'sequence' }, headNode(lanes), list);
  if (prefix) out.append(el('p', { class: 'hint' }, 'In this diagram …/ stands for ', el('code', {}, prefix)));
  return out;
}

// Where a lifeline stands, in percent of the width; lane number lanes.length is the store's.
function position(lane, lanes) {
  return 5 + (90 * lane) / lanes.length;
}

function headNode(lanes) {
  const names = el('div', { class: 'lanes' });
  [...lanes, 'store'].forEach((name, lane) => {
    const node = el(
      'span',
      { class: 'name' },
      lane === lanes.length ? 'store' : lanes.length < 3 ? `client ${name}` : name,
    );
    if (lane === 0) node.classList.add('first');
    else if (lane === lanes.length) node.classList.add('last');
    else node.style.left = `${position(lane, lanes)}%`;
    names.append(node);
  });
  return el('div', { class: 'heads', 'aria-hidden': 'true' }, el('span', { class: 'ms' }, 'ms'), names);
}

// The message that the verdict speaks of: the last received one whose payload is the actual one.
function culpritOf(testCase) {
  const actual = testCase.failure?.actual;
  if (!actual) return undefined;
  return testCase.transcript.findLast(
    (entry) => entry.direction === 'received' && entry.payload && actual.startsWith(entry.payload),
  );
}

function messageNode({ entry, index, testCase, lanes, prefix, isCulprit }) {
  const words = prefix ? entry.summary.replaceAll(prefix, '…/') : entry.summary;
  const picture = el('span', { class: 'lanes' });
  for (let lane = 0; lane <= lanes.length; ++lane) {
    const line = el('span', { class: 'lifeline' });
    line.style.left = `${position(lane, lanes)}%`;
    picture.append(line);
  }
  const from = position(lanes.indexOf(entry.client), lanes);
  picture.append(...(entry.direction === 'event' ? eventParts(words, from) : arrowParts(entry, words, from, lanes)));
  if (isCulprit)
    picture.append(el('span', { class: 'culprit' }, el('span', { 'aria-hidden': 'true' }, '◀ '), 'actual'));
  const summary = [
    el('span', { class: 'ms' }, entry.ms.toFixed(3)),
    el('span', { class: 'unseen' }, spokenDirection(entry)),
    picture,
  ];
  const className = `message ${entry.direction}` + (isCulprit ? ' blamed' : '');
  if (entry.direction === 'event') return el('li', { class: className }, el('div', { class: 'row' }, ...summary));
  const fill = (detail) => detail.append(messageDetail(entry, testCase));
  return disclosure({ id: `p_message_${testCase.number}_${index}`, className, heading: 'div', summary, fill }).node;
}

function spokenDirection(entry) {
  if (entry.direction === 'event') return ` client ${entry.client} `;
  return entry.direction === 'sent' ? ` client ${entry.client} to store: ` : ` store to client ${entry.client}: `;
}

function eventParts(words, at) {
  const dot = el('span', { class: 'dot' });
  dot.style.left = `${at}%`;
  const label = el('span', { class: 'label' }, el('span', {}, words));
  // The words stand where there is room for them.
  if (at < 50) {
    label.style.marginLeft = `calc(${at}% + 0.8em)`;
  } else {
    label.style.marginRight = `calc(${100 - at}% + 0.8em)`;
    label.classList.add('before');
  }
  return [dot, label];
}

function arrowParts(entry, words, from, lanes) {
  const to = position(lanes.length, lanes);
  const arrow = el('span', { class: `arrow ${entry.direction === 'sent' ? 'rightwards' : 'leftwards'}` });
  arrow.style.left = `${from}%`;
  arrow.style.width = `${to - from}%`;
  // With many clients the arrow of the last one is short: its label then begins further left.
  const label = el('span', { class: 'label' }, el('span', { class: 'words' }, words));
  label.style.marginLeft = `calc(${Math.min(from, 45)}% + 0.6em)`;
  const properties = entry.user_properties.map(([name, value]) => `${name}=${value}`).join('  ');
  const odd = entry.direction === 'sent' && entry.qos !== 1 ? `QoS ${entry.qos}  ` : '';
  if (properties || odd) label.append(el('span', { class: 'properties' }, odd + properties));
  return [label, arrow];
}

// --- one message in full ---

function messageDetail(entry, testCase) {
  const pairs = [
    ['Topic', codeNode(entry.topic)],
    ['QoS', String(entry.qos) + (entry.retain ? ', retain' : '') + (entry.duplicate ? ', duplicate' : '')],
    ['Response topic', entry.response_topic === undefined ? '' : codeNode(entry.response_topic)],
    ['Correlation data', correlationNode(entry, testCase)],
    ['Content type', entry.content_type === undefined ? '' : codeNode(entry.content_type)],
    ['Payload format', entry.payload_format === undefined ? '' : payloadFormat(entry.payload_format)],
    ['Expires after', entry.expiry_seconds === undefined ? '' : `${entry.expiry_seconds} s`],
    ...entry.user_properties.map(([name, value]) => [
      el('span', {}, 'Property ', codeNode(name)),
      value === '' ? 'empty' : codeNode(value),
    ]),
    ['Round trip', roundTrip(entry, testCase)],
  ];
  return el('div', {}, definitions(pairs), ...payloadNodes(entry));
}

function codeNode(escaped) {
  return el('code', {}, bytesNode(tokensOf(escaped)));
}

function payloadFormat(indicator) {
  return indicator === 1 ? '1 (UTF-8 text)' : '0 (bytes)';
}

function correlationNode(entry) {
  if (entry.correlation_data === undefined) return entry.direction === 'sent' ? 'none' : '';
  return entry.correlation_data === '' ? 'empty' : el('code', {}, entry.correlation_data);
}

// How long after its request a reply came, when its correlation data tells whose it is.
function roundTrip(entry, testCase) {
  if (entry.direction !== 'received' || !entry.correlation_data) return '';
  const request = testCase.transcript.findLast(
    (other) => other.direction === 'sent' && other.correlation_data === entry.correlation_data && other.ms <= entry.ms,
  );
  return request ? `${milliseconds(entry.ms - request.ms)} after the request at ${request.ms.toFixed(3)} ms` : '';
}

function payloadNodes(entry) {
  const bytes = bytesOf(entry.payload);
  const cut = bytes.length < entry.payload_bytes ? `, of which the first ${bytes.length} are shown` : '';
  if (bytes.length === 0) return [el('p', { class: 'part' }, 'No payload')];
  return [
    el('p', { class: 'part' }, `Payload: ${plural(entry.payload_bytes, 'byte')}${cut}`),
    el(
      'pre',
      { class: 'payload', tabindex: '0', 'aria-label': 'Payload, escaped' },
      bytesNode(tokensOf(entry.payload), true),
    ),
    el('pre', { class: 'hex', tabindex: '0', 'aria-label': 'Payload in hexadecimal digits' }, hexView(bytes)),
  ];
}
