'use strict'
// Everything that the documents leave open, as a table: the name of the choice and what may be
// chosen, the plainest first.  Without a seed the plainest is taken; with one each choice is drawn
// by a generator of its own, made of the seed and the name, so that a new row changes no other.
// "8b.n" is a point of section 8b of the facts (README.md), "8a.n" a row of 8a, "MQTT n" a section of MQTT 5.

const { createHash, randomBytes } = require('crypto')

const BOTH = ['deployed', 'documented']
const table = [
  // --- the broker: free by MQTT 5 ---------------------------------------------------------------
  ['broker.receive-maximum', BOTH, [65535, 1000, 64]],                      // MQTT 3.2.2.3.3
  ['broker.maximum-packet-size', BOTH, [0, 4194304, 16777216]],             // MQTT 3.2.2.3.6; facts 7 (4 MB, 16 MB); 0: none
  ['broker.maximum-qos', BOTH, [2, 1]],                                     // MQTT 3.2.2.3.4; facts 1.2 "QoS 2 ... not supported in GA"
  ['broker.topic-alias-maximum', BOTH, [0, 16]],                            // MQTT 3.2.2.3.8
  ['broker.subscription-identifiers', BOTH, ['available', 'unavailable']],  // MQTT 3.2.2.3.12
  ['broker.no-matching-subscribers', BOTH, [0x00, 0x10]],                   // MQTT 3.4.2.1, not for requests (facts 1.2)
  ['broker.bad-connect', BOTH, ['connack', 'close']],                       // MQTT 4.13.2 "MAY send a CONNACK"
  ['broker.bad-topic-name', BOTH, [0x90, 0x82, 0x81]],                      // MQTT 3.3.2-2, 3.3.2-14: no code is named
  // --- the envelope of a request ----------------------------------------------------------------
  ['envelope.order', BOTH, ['qos first', 'properties first']],              // 8b.13 in the same spirit
  ['envelope.qos-0', BOTH, ['silence', 'error reply', 'disconnect']],       // 8b.21
  ['envelope.qos-2', BOTH, ['silence', 'error reply', 'refuse', 'disconnect']], // 8b.21
  ['envelope.no-correlation', BOTH, ['silence', 'refuse', 'error reply', 'disconnect']], // 8b.22
  ['envelope.empty-correlation', BOTH, ['served', 'as missing']],           // 8b.22
  ['envelope.no-response-topic', BOTH, ['silence', 'refuse', 'disconnect']], // 8b.23
  ['envelope.refusal-code', BOTH, [0x83, 0x80]],                            // MQTT 3.4.2.1
  ['envelope.bad-response-topic.code', BOTH, [0x90, 0x82, 0x83, 0x87]],     // 8b.23 "DISCONNECT reason code"
  ['envelope.bad-response-topic.puback', BOTH, ['none', 'failure first']],  // 8b.23
  ['envelope.expiry-0', BOTH, ['run', 'dropped']],                          // 8b.26
  ['envelope.text-that-is-not', BOTH, ['ignored', 'refuse']],               // 8b.27, MQTT 3.3.2.3.2 (0x99)
  ['envelope.unknown-protocol-version', { deployed: ['ignored', '505'], documented: ['ignored'] }], // 8b.27
  ['envelope.repeated-stamp', BOTH, ['last', 'first', 'malformed']],        // 8b.29
  // --- the reply --------------------------------------------------------------------------------
  ['reply.service-time', BOTH, ['none', '1 ms', '0 to 5 ms']],
  ['reply.puback', BOTH, ['before the reply', 'at once', 'after the reply']],
  ['reply.qos', BOTH, [1, 0]],                                              // 8b.28
  ['reply.content-type', BOTH, ['application/octet-stream', 'none']],       // facts 1.4
  ['reply.format-indicator', BOTH, ['none', '0']],                          // 8b.28
  ['reply.expiry', BOTH, ['none', 'that of the request']],                  // 8b.28
  ['reply.protocol-version', BOTH, ['1.0', 'none']],                        // facts 1.4 "missing => 1.0"
  ['reply.source-id', BOTH, ['none', 'sent']],                              // 8b.28
  ['reply.property-order', BOTH, ['stat first', 'ts first', 'shuffled']],   // facts 1.1 "must ignore ... order"
  ['reply.stat', { deployed: ['sent'], documented: ['sent', 'none'] }],     // 8a.9
  ['reply.ts-of-not-applied', { deployed: ['stored version'], documented: ['stored version', 'none'] }], // 8a.11
  ['reply.ts-of-vdel-mismatch', BOTH, ['none', 'stored version']],          // facts 6 "unknown"
  ['reply.error-end', { deployed: ['CRLF'], documented: ['CRLF', 'none'] }], // 8a.8, facts 3.1 "no CRLF shown"
  // --- the payload of a request -----------------------------------------------------------------
  ['payload.trailing-bytes', BOTH, ['syntax error', 'ignored']],            // 8b.14
  ['payload.bare-lf', BOTH, ['syntax error', 'accepted']],                  // 8b.16
  ['payload.leading-zeros', BOTH, ['syntax error', 'accepted']],            // 8b.16
  ['payload.empty-array', BOTH, ['syntax error', 'wrong number of arguments', 'unknown command']], // 8b.16
  ['payload.empty-verb', BOTH, ['unknown command', 'syntax error']],        // 8b.11
  ['payload.lower-case-verb', BOTH, ['unknown command', 'syntax error', 'accepted']], // 8b.11, 8a.13
  ['payload.lower-case-option', BOTH, ['syntax error', 'wrong number of arguments', 'accepted']], // audit 2.2
  ['payload.unknown-option', BOTH, ['syntax error', 'wrong number of arguments']], // 8b.10
  ['payload.repeated-option', BOTH, ['syntax error', 'last', 'first']],     // 8b.1
  ['payload.nx-and-nex', BOTH, ['syntax error', 'both must hold']],         // 8b.2
  ['payload.px-before-condition', BOTH, ['accepted', 'syntax error']],      // 8b.3
  ['payload.nex-value', BOTH, ['as an unknown option', 'compared']],        // 8b.9, 8a.3
  ['payload.keynotify-option', BOTH, ['syntax error', 'wrong number of arguments']], // 8b.12
  ['payload.keynotify-get', BOTH, ['as an unknown option', 'accepted']],    // 8a.6
  ['payload.longest-key', BOTH, [0, 65535]],                                // 8b.19; 0: no limit
  ['order.parts-of-a-set', BOTH, ['key, options', 'options, key']],         // 8b.13
  ['order.payload-and-stamps', BOTH, ['payload first', 'stamps first']],    // 8b.13
  ['order.stamps', BOTH, ['__ts first', '__ft first']],                     // 8b.45
  // --- PX ---------------------------------------------------------------------------------------
  ['px.missing', BOTH, ['syntax error', 'wrong number of arguments']],      // 8b.4
  ['px.zero', BOTH, ['syntax error', 'expires at once']],                   // 8b.5
  ['px.plus-sign', BOTH, ['syntax error', 'accepted']],                     // 8b.5
  ['px.leading-zeros', BOTH, ['accepted', 'syntax error']],                 // 8b.5
  ['px.fraction', BOTH, ['syntax error', 'truncated']],                     // 8b.5 (.NET can send 1500.5)
  ['px.width', BOTH, ['i64', 'u64', 'u32']],                                // 8b.5, 8b.6
  ['px.set-without', BOTH, ['clears the expiry', 'keeps the expiry']],      // 8b.7
  ['expiry.grid-ms', BOTH, [1, 20, 100]],                                   // 8b.58
  ['expiry.notice-lag-ms', BOTH, [0, 50, 150]],                             // 8b.58
  // --- clock and versions -----------------------------------------------------------------------
  ['clock.scope', BOTH, ['the store', 'each key']],                         // 8b.37
  ['clock.grain-ms', BOTH, [1, 5, 16]],
  ['clock.offset-ms', BOTH, [0, 1500, -1500]],                              // [A] client "within one minute"
  ['clock.advanced-by', BOTH, ['applied SETs', 'every request with a __ts']], // 8b.38
  ['hlc.format', BOTH, ['plain', 'padded']],                                // 8b.41, 8a.17
  ['hlc.node', BOTH, ['StateStore', 'uuid', 'store-0', '$store']],          // 8b.41
  ['hlc.empty-node', BOTH, ['malformed', 'accepted']],                      // 8b.40
  ['hlc.colon-in-node', BOTH, ['malformed', 'accepted']],                   // 8b.40
  ['hlc.wall-width', BOTH, ['u64', 'i64']],                                 // 8b.39, facts 5.1
  ['hlc.counter-width', BOTH, ['u64', 'u32', 'i32']],                       // 8b.39, facts 5.1
  ['hlc.counter-overflow', BOTH, ['next millisecond', 'malformed']],        // 8b.39
  ['stamp.ts-on-others', BOTH, ['ignored', 'validated']],                   // 8b.35
  ['stamp.empty-ts', BOTH, ['malformed', 'as missing']],                    // 8b.29
  ['stamp.empty-ft', BOTH, ['malformed', 'as missing']],                    // 8b.49
  // --- fencing ----------------------------------------------------------------------------------
  ['fence.on-reads', BOTH, ['ignored', 'validated']],                       // 8b.43
  ['fence.set', BOTH, ['token before condition', 'condition before token']], // 8b.45
  ['fence.vdel', BOTH, ['token before value', 'value before token']],       // 8b.45
  ['fence.not-applied-set', BOTH, ['leaves the token', 'updates the token']], // 8b.46
  ['fence.tie', BOTH, ['node decides', 'node ignored']],                    // 8b.48
  // --- notifications ----------------------------------------------------------------------------
  ['notify.qos', BOTH, [1, 0]],                                             // 8b.56
  ['notify.order', BOTH, ['before the reply', 'after the reply']],          // 8b.53
  ['notify.same-value', BOTH, ['told', 'not told']],                        // 8b.52
  ['notify.repeated-keynotify', { deployed: ['+OK', ':0'], documented: ['+OK'] }], // 8b.50
  ['notify.key-too-long-for-a-topic', BOTH, ['+OK', 'syntax error']],       // 8b.19, facts 4
  ['notify.version-of-an-expiry', BOTH, ['that of the value', 'a new one']], // 8b.42
  ['notify.expiry', { deployed: ['told'], documented: ['not told', 'told'] }], // 8a.5
  ['notify.value', { deployed: ['always'], documented: ['always', 'if GET was given'] }], // 8a.6
  ['notify.delivery', { deployed: ['into the session'], documented: ['by subscription', 'into the session'] }] // 8a.12
]

// A small generator of 32 random bits (xorshift), seeded by a hash of a text.
function generator (text) {
  let x = createHash('sha256').update(text).digest().readUInt32LE(0) || 1
  return () => {
    x ^= x << 13; x ^= x >>> 17; x ^= x << 5
    return x >>> 0
  }
}

// Returns a function from names to what was chosen; `overrides` (NAME=VALUE) go before the seed.
function choose (profile, seed, overrides, print) {
  const chosen = new Map()
  for (const [name, where, list] of table) {
    const values = Array.isArray(where) ? list : where[profile]
    let value = values[0]
    if (seed !== null) value = values[generator(seed + '/' + name)() % values.length]
    if (overrides.has(name)) {
      value = values.find((v) => String(v) === overrides.get(name))
      if (value === undefined) throw new Error(`${name}: one of ${values.join(' | ')}`)
    }
    chosen.set(name, value)
    print(`choice ${name} = ${value}`)
  }
  for (const name of overrides.keys()) if (!chosen.has(name)) throw new Error(`no choice is named ${name}`)
  const ch = (name) => {
    if (!chosen.has(name)) throw new Error(`no choice is named ${name}`)
    return chosen.get(name)
  }
  ch.random = generator(seed === null ? randomBytes(8).toString('hex') : seed + '/run')
  return ch
}

module.exports = { choose, table }
