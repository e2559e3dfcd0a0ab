'use strict'
// Hybrid logical clocks: {wallClock}:{counter}:{node-Id}, "wallClock is the number of milliseconds
// since the Unix epoch".  Both numbers are BigInt, for they may have 64 bits.

const WIDTH = { u64: (1n << 64n) - 1n, i64: (1n << 63n) - 1n, u32: (1n << 32n) - 1n, i32: (1n << 31n) - 1n }

class Clocks {
  constructor (ch) {
    this.ch = ch
    this.wallMax = WIDTH[ch('hlc.wall-width')]
    this.counterMax = WIDTH[ch('hlc.counter-width')]
    const r = ch.random
    const hex = (n) => Array.from({ length: n }, () => (r() & 15).toString(16)).join('')
    const node = ch('hlc.node')
    this.node = node === 'uuid' ? `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}` : node
    this.last = new Map() // of the store, or of each key, and then also of keys that are deleted
  }

  // The local clock of the store, in milliseconds.
  wall () { return BigInt(Date.now() + this.ch('clock.offset-ms')) }

  // Returns null if the text is not a legal HLC (facts 5.1).
  parse (text) {
    const m = /^([0-9]+):([0-9]+):(.*)$/s.exec(text)
    if (m === null) return null
    const hlc = { wall: BigInt(m[1]), counter: BigInt(m[2]), node: m[3] }
    if (hlc.wall > this.wallMax || hlc.counter > this.counterMax) return null
    if (hlc.node === '' && this.ch('hlc.empty-node') === 'malformed') return null
    if (hlc.node.includes(':') && this.ch('hlc.colon-in-node') === 'malformed') return null
    return hlc
  }

  format ({ wall, counter, node }) {
    const padded = this.ch('hlc.format') === 'padded' // facts 5.1: %015d:%05d
    return `${String(wall).padStart(padded ? 15 : 0, '0')}:${String(counter).padStart(padded ? 5 : 0, '0')}:${node}`
  }

  // "rejects a __ts (and also a __ft) that is more than a minute ahead": 60000 ms are not more (8b.34).
  tooFarAhead (hlc) { return hlc.wall - this.wall() > 60000n }

  // Facts 5.2: by wall clock, counter and node, as numbers and bytes.
  compare (a, b) {
    if (a.wall !== b.wall) return a.wall < b.wall ? -1 : 1
    if (a.counter !== b.counter) return a.counter < b.counter ? -1 : 1
    return this.ch('fence.tie') === 'node ignored' ? 0 : Buffer.compare(Buffer.from(a.node), Buffer.from(b.node))
  }

  // Facts 5.3, the update rules, for a request of that timestamp (or none).  The result is greater
  // than the last version and than the request ("The returned HLC is always greater than the HLC of
  // the initial request").  Returns null on an overflow that is refused.
  update (id, request) {
    const slot = this.ch('clock.scope') === 'the store' ? '' : id
    const l = this.last.get(slot) || { wall: -1n, counter: 0n }
    const o = request || { wall: -1n, counter: 0n }
    const grain = BigInt(this.ch('clock.grain-ms'))
    const w = this.wall() / grain * grain
    let wall = l.wall > o.wall ? l.wall : o.wall
    let counter
    if (w > wall) {
      wall = w
      counter = 0n
    } else {
      counter = 1n + (l.wall === o.wall ? (l.counter > o.counter ? l.counter : o.counter) : (l.wall > o.wall ? l.counter : o.counter))
      if (counter > this.counterMax) { // 8b.39
        if (request && o.counter === this.counterMax && this.ch('hlc.counter-overflow') === 'malformed') return null
        wall += 1n
        counter = 0n
      }
    }
    const next = { wall, counter, node: this.node }
    this.last.set(slot, next)
    return next
  }
}

module.exports = { Clocks }
