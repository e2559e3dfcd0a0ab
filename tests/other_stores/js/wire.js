'use strict'
// Packets on the wire.  mqtt-packet reads and writes them, but it is laxer than MQTT 5: it lets
// through strings that are not UTF-8, NUL, properties that a packet may not have, properties given
// twice, remaining bytes, packet identifiers of 0 and more, and it loses the order of user
// properties.  So each frame is first walked here, byte by byte; mqtt-packet sees it only after that.

const mqtt = require('mqtt-packet')
mqtt.writeToStream.cacheNumbers = false

class PacketError extends Error {
  constructor (code, text) { super(text); this.code = code }
}
const malformed = (text) => new PacketError(0x81, text)
const protocol = (text) => new PacketError(0x82, text)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const isUtf8 = (bytes) => {
  try { utf8.decode(bytes); return true } catch { return false }
}

class Reader {
  constructor (buf) { this.buf = buf; this.pos = 0; this.end = buf.length }
  need (n) { if (this.pos + n > this.end) throw malformed('packet too short') }
  u8 () { this.need(1); return this.buf[this.pos++] }
  u16 () { this.need(2); this.pos += 2; return this.buf.readUInt16BE(this.pos - 2) }
  u32 () { this.need(4); this.pos += 4; return this.buf.readUInt32BE(this.pos - 4) }
  bin () { const n = this.u16(); this.need(n); this.pos += n; return this.buf.subarray(this.pos - n, this.pos) }
  str () {
    // MQTT 1.5.4-1 "MUST NOT include encodings of code points between U+D800 and U+DFFF" and
    // well-formed UTF-8; 1.5.4-2 "MUST NOT include an encoding of the null character".
    const bytes = this.bin()
    if (bytes.includes(0)) throw malformed('null character in a string')
    try { return utf8.decode(bytes) } catch { throw malformed('string is not UTF-8') }
  }

  varint () {
    // MQTT 1.5.5-1 "The encoded value MUST use the minimum number of bytes".
    let value = 0
    for (let i = 0; i < 4; i++) {
      const b = this.u8()
      value += (b & 0x7f) * 2 ** (7 * i)
      if (b < 0x80) {
        if (b === 0 && i > 0) throw malformed('variable byte integer is not minimal')
        return value
      }
    }
    throw malformed('variable byte integer too long')
  }
}

// MQTT 2.2.2.2: identifier, type and packets of each property that a client may send.
const PROPERTIES = {
  1: ['bool', 'publish', 'will'],
  2: ['u32', 'publish', 'will'],
  3: ['str', 'publish', 'will'],
  8: ['str', 'publish', 'will'],
  9: ['bin', 'publish', 'will'],
  11: ['varint', 'subscribe'], // never in a PUBLISH to the server, MQTT 3.3.4-6
  17: ['u32', 'connect', 'disconnect'],
  21: ['str', 'connect', 'auth'],
  22: ['bin', 'connect', 'auth'],
  23: ['bool', 'connect'],
  24: ['u32', 'will'],
  25: ['bool', 'connect'],
  31: ['str', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'disconnect', 'auth'],
  33: ['u16', 'connect'],
  34: ['u16', 'connect'],
  35: ['u16', 'publish'],
  38: ['pair', 'connect', 'will', 'publish', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'subscribe', 'unsubscribe', 'disconnect', 'auth'],
  39: ['u32', 'connect']
}
const NOT_ZERO = [11, 33, 39] // MQTT 3.8.2.1.2, 3.1.2.11.3, 3.1.2.11.4

// Reads the properties of a packet; returns their values by identifier and the user properties in order.
function properties (r, kind) {
  const length = r.varint()
  r.need(length)
  const end = r.pos + length
  const found = { users: [] }
  const outer = r.end
  r.end = end
  while (r.pos < end) {
    const id = r.u8() // all identifiers of MQTT 5 fit one byte
    const known = PROPERTIES[id]
    if (!known) throw malformed(`unknown property ${id}`)
    if (!known.includes(kind, 1)) throw protocol(`property ${id} in ${kind}`)
    if (known[0] === 'pair') { found.users.push([r.str(), r.str()]); continue }
    if (found[id] !== undefined) throw protocol(`property ${id} twice`)
    found[id] = known[0] === 'bool' ? r.u8() : r[known[0]]()
    if (known[0] === 'bool' && found[id] > 1) throw protocol(`property ${id} is neither 0 nor 1`)
    if (found[id] === 0 && NOT_ZERO.includes(id)) throw protocol(`property ${id} is 0`)
  }
  r.end = outer
  return found
}

const TYPES = ['reserved', 'connect', 'connack', 'publish', 'puback', 'pubrec', 'pubrel', 'pubcomp',
  'subscribe', 'suback', 'unsubscribe', 'unsuback', 'pingreq', 'pingresp', 'disconnect', 'auth']
const REASONS = {
  puback: [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99],
  pubrec: [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99],
  pubrel: [0x00, 0x92],
  pubcomp: [0x00, 0x92],
  // MQTT 3.14.2.1: those that a client may send
  disconnect: [0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99]
}

function packetId (r) {
  const id = r.u16()
  if (id === 0) throw protocol('packet identifier 0') // MQTT 2.2.1-3, 2.2.1-4
  return id
}

// Walks a whole frame and throws a PacketError where MQTT 5 is not kept.
// Returns { kind, users, willUsers }.
function check (frame) {
  const r = new Reader(frame)
  const first = r.u8()
  r.varint()
  const kind = TYPES[first >> 4]
  const flags = first & 15
  const out = { kind, users: [], willUsers: [] }
  if (kind === 'reserved') throw malformed('packet type 0')
  // MQTT 2.1.3-1: "If a flag bit is marked as Reserved ... MUST be set to the value listed"
  if (kind !== 'publish' && flags !== (['pubrel', 'subscribe', 'unsubscribe'].includes(kind) ? 2 : 0)) throw malformed('reserved flags')
  if (['connack', 'suback', 'unsuback', 'pingresp'].includes(kind)) throw protocol(`${kind} from a client`)

  switch (kind) {
    case 'connect': {
      if (r.bin().toString('latin1') !== 'MQTT' || r.u8() !== 5) throw new PacketError(0x84, 'not MQTT 5') // MQTT 3.1.2.1, 3.1.2.2
      const f = r.u8()
      if (f & 1) throw malformed('reserved connect flag') // MQTT 3.1.2-3
      const willQos = (f >> 3) & 3
      if (willQos === 3) throw malformed('will QoS 3') // MQTT 3.1.2-12
      if (!(f & 4) && (f & 0x38)) throw malformed('will flags without a will') // MQTT 3.1.2-11, -13
      r.u16()
      const p = properties(r, 'connect')
      if (p[22] !== undefined && p[21] === undefined) throw protocol('authentication data without a method') // MQTT 3.1.2.11.10
      if (p[21] !== undefined) throw new PacketError(0x8c, 'no authentication method is supported') // MQTT 4.12-1
      r.str()
      if (f & 4) {
        out.willUsers = properties(r, 'will').users
        r.str()
        r.bin()
      }
      if (f & 0x80) r.str()
      if (f & 0x40) r.bin()
      break
    }
    case 'publish': {
      const qos = (flags >> 1) & 3
      if (qos === 3) throw malformed('QoS 3') // MQTT 3.3.1-4
      if (qos === 0 && (flags & 8)) throw malformed('DUP with QoS 0') // MQTT 3.3.1-2
      r.str()
      if (qos > 0) packetId(r)
      out.users = properties(r, 'publish').users
      r.pos = r.end // the payload
      break
    }
    case 'puback': case 'pubrec': case 'pubrel': case 'pubcomp':
      packetId(r)
      if (r.pos < r.end && !REASONS[kind].includes(r.u8())) throw malformed('reason code') // MQTT 3.4.2.1: may be left out
      if (r.pos < r.end) properties(r, kind)
      break
    case 'subscribe': case 'unsubscribe':
      packetId(r)
      properties(r, kind)
      if (r.pos === r.end) throw protocol('no topic filter') // MQTT 3.8.3-2, 3.10.3-2
      while (r.pos < r.end) {
        const filter = r.str()
        if (kind === 'unsubscribe') continue
        const o = r.u8()
        if (o & 0xc0) throw malformed('reserved subscription options') // MQTT 3.8.3-5
        if ((o & 3) === 3) throw protocol('QoS 3') // MQTT 3.8.3.1
        if ((o & 0x30) === 0x30) throw protocol('retain handling 3') // MQTT 3.8.3.1
        if ((o & 4) && filter.startsWith('$share/')) throw protocol('no local on a shared subscription') // MQTT 3.8.3-4
      }
      break
    case 'disconnect':
      if (r.pos < r.end) {
        const code = r.u8()
        if (!REASONS.disconnect.includes(code)) throw protocol('reason code')
      }
      if (r.pos < r.end) properties(r, 'disconnect')
      break
    case 'auth':
      throw protocol('AUTH without an authentication method') // MQTT 4.12-6
  }
  if (r.pos !== r.end) throw malformed('bytes left over')
  return out
}

// Cuts a stream of bytes into frames (fixed header and all that it announces), MQTT 2.1.
class Framer {
  constructor () { this.chunks = []; this.size = 0; this.limit = 0 }
  push (chunk) { this.chunks.push(chunk); this.size += chunk.length }
  join () { if (this.chunks.length > 1) this.chunks = [Buffer.concat(this.chunks, this.size)]; return this.chunks[0] }
  next () {
    if (this.size < 2) return null
    const head = this.chunks[0].length < 5 ? this.join() : this.chunks[0]
    let length = 0
    let i = 1
    for (; ; i++) {
      if (i > 4) throw malformed('remaining length too long')
      if (i >= head.length) return null
      length += (head[i] & 0x7f) * 2 ** (7 * (i - 1))
      if (head[i] < 0x80) break
    }
    if (head[i] === 0 && i > 1) throw malformed('remaining length is not minimal')
    const total = i + 1 + length
    if (this.limit > 0 && total > this.limit) throw new PacketError(0x95, 'packet too large') // MQTT 3.2.2.3.6
    if (this.size < total) return null
    const all = this.join()
    this.size -= total
    this.chunks = this.size > 0 ? [all.subarray(total)] : []
    return all.subarray(0, total)
  }
}

// One per connection: mqtt-packet remembers the version that the CONNECT names.
function parser () {
  const p = mqtt.parser({ protocolVersion: 5 })
  let got = null
  let bad = null
  p.on('packet', (packet) => { got = packet })
  p.on('error', (e) => { bad = e })
  return (frame) => {
    got = bad = null
    p.parse(frame)
    if (bad || !got) throw malformed(bad ? bad.message : 'not a packet')
    return got
  }
}

const write = (packet) => mqtt.generate(packet, { protocolVersion: 5 })

// User properties for mqtt-packet: an array of single pairs keeps their order (MQTT 3.3.2-18).
const pairs = (users) => users.map(([name, value]) => {
  const o = Object.create(null)
  o[name] = value
  return o
})

module.exports = { PacketError, Framer, check, parser, write, pairs, isUtf8 }
