// Escaped bytes, as the report holds them: printable ASCII as it is, \r \n \t \\ \" and \xNN for the rest.

// One token for each byte: "\x00" is one, not four.
function tokensOf(escaped) {
  return escaped.match(/\\x[0-9a-fA-F]{2}|\\.|./gsu) ?? [];
}

const kOneLetterEscapes = { r: 13, n: 10, t: 9, 0: 0, '\\': 92, '"': 34 };

// The bytes that an escaped text stands for.
function bytesOf(escaped) {
  const bytes = [];
  for (const token of tokensOf(escaped)) {
    if (token.length === 4 && token.startsWith('\\x')) {
      bytes.push(parseInt(token.slice(2), 16));
    } else if (token.length === 2 && token[0] === '\\' && token[1] in kOneLetterEscapes) {
      bytes.push(kOneLetterEscapes[token[1]]);
    } else {
      bytes.push(...new TextEncoder().encode(token));
    }
  }
  return bytes;
}

// "00000000  2a 31 0d 0a ...  *1..": sixteen bytes a line.
function hexView(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = bytes.slice(at, at + 16);
    const hex = row.map((byte, i) => (i === 8 ? ' ' : '') + byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(4, '0')}  ${hex.padEnd(48)}  ${text}`);
  }
  return lines.join('\n');
}

// --- what differs ---

const kMaxCompared = 400; // tokens a side beyond which only the common ends are looked for
const kMinIsland = 3; // a run of equal tokens between two differences that is shorter is no comfort to the eye

// For each token of a and of b: is it part of a longest common subsequence?
function commonSubsequence(a, b) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) ++i;
    else ++j;
  }
  return pairs;
}

// Two texts of tokens, cut into parts that are equal and parts that differ:
// [{equal: true, a: [...], b: [...]}, {equal: false, a: [...], b: [...]}, ...].
function difference(a, b) {
  let front = 0;
  while (front < a.length && front < b.length && a[front] === b[front]) ++front;
  let back = 0;
  while (back < a.length - front && back < b.length - front && a.at(-1 - back) === b.at(-1 - back)) ++back;
  const middleA = a.slice(front, a.length - back);
  const middleB = b.slice(front, b.length - back);
  const parts = [];
  add(true, a.slice(0, front), b.slice(0, front));
  for (const part of middleParts(middleA, middleB)) add(part.equal, part.a, part.b);
  add(true, a.slice(a.length - back), b.slice(b.length - back));
  return parts;

  function add(equal, partA, partB) {
    if (partA.length + partB.length === 0) return;
    const last = parts.at(-1);
    if (last && last.equal === equal) {
      last.a.push(...partA);
      last.b.push(...partB);
    } else {
      parts.push({ equal, a: [...partA], b: [...partB] });
    }
  }
}

// What stands between the common ends: islands of equal tokens in a sea of differing ones.
function middleParts(a, b) {
  if (Math.max(a.length, b.length) > kMaxCompared) return [{ equal: false, a, b }];
  const parts = [];
  let atA = 0;
  let atB = 0;
  const pairs = commonSubsequence(a, b);
  for (let i = 0; i < pairs.length;) {
    let end = i + 1;
    while (end < pairs.length && pairs[end][0] === pairs[end - 1][0] + 1 && pairs[end][1] === pairs[end - 1][1] + 1)
      ++end;
    const length = end - i;
    if (length >= kMinIsland) {
      const [startA, startB] = pairs[i];
      parts.push({ equal: false, a: a.slice(atA, startA), b: b.slice(atB, startB) });
      parts.push({ equal: true, a: a.slice(startA, startA + length), b: b.slice(startB, startB + length) });
      atA = startA + length;
      atB = startB + length;
    }
    i = end;
  }
  parts.push({ equal: false, a: a.slice(atA), b: b.slice(atB) });
  return parts;
}

// --- on the page ---

// Bytes as they are written: escapes are set apart from what is printable. A line may break after \n.
function bytesNode(tokens, breakLines = false) {
  const out = document.createDocumentFragment();
  let plain = '';
  const flush = () => {
    if (plain) out.append(plain);
    plain = '';
  };
  for (const token of tokens) {
    if (token.length < 2 || token[0] !== '\\') {
      plain += token;
      continue;
    }
    flush();
    out.append(el('span', { class: 'escape' }, token));
    if (breakLines && token === '\\n') out.append('\n');
  }
  flush();
  return out;
}

// Expected (side "a") or actual (side "b") with what differs marked.
function markedNode(parts, side) {
  const out = el('code', { class: 'bytes' });
  for (const part of parts) {
    if (part.equal) out.append(bytesNode(part[side]));
    else if (part[side].length > 0) out.append(el('mark', {}, bytesNode(part[side])));
    else out.append(el('mark', { class: 'gap', title: 'bytes are missing here' }));
  }
  return out;
}
