'use strict'
// The payloads: an array of bulk strings, "*" the number of items, "$" the number of bytes (facts 2).

class StoreError extends Error {}
const syntax = () => new StoreError('syntax error')

// Returns the elements of a request as Buffers, or throws a StoreError.
function parse (payload, ch) {
  let pos = 0
  const lineEnd = () => {
    if (payload[pos] === 13 && payload[pos + 1] === 10) pos += 2
    else if (payload[pos] === 10 && ch('payload.bare-lf') === 'accepted') pos += 1
    else throw syntax()
  }
  const number = (sign) => {
    if (payload[pos] !== sign.charCodeAt(0)) throw syntax()
    const from = ++pos
    let n = 0
    for (; payload[pos] >= 0x30 && payload[pos] <= 0x39; pos++) {
      n = n * 10 + payload[pos] - 0x30
      if (n > 0x7fffffff) throw syntax() // "integer overflow": no payload is that long
    }
    if (pos === from) throw syntax()
    if (payload[from] === 0x30 && pos - from > 1 && ch('payload.leading-zeros') === 'syntax error') throw syntax()
    lineEnd()
    return n
  }
  const items = []
  const count = number('*')
  for (let i = 0; i < count; i++) {
    const length = number('$')
    if (pos + length > payload.length) throw syntax()
    items.push(payload.subarray(pos, pos + length))
    pos += length
    lineEnd()
  }
  if (pos < payload.length && ch('payload.trailing-bytes') === 'syntax error') throw syntax()
  if (count === 0) throw new StoreError(ch('payload.empty-array'))
  return items
}

const CRLF = Buffer.from('\r\n')
const bulk = (bytes) => Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, CRLF])
const array = (items) => Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items.map((i) => bulk(Buffer.from(i)))])

module.exports = { StoreError, parse, bulk, array }
