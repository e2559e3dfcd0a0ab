'use strict'
// A small MQTT 5 broker: sessions, subscriptions, retained messages, wills, QoS 0 to 2 both ways.
// The store takes part through three calls: store.admit (a PUBLISH to the request topic),
// store.run (the same, once admitted) and store.forget (a connection is gone).

const net = require('net')
const crypto = require('crypto')
const { performance } = require('perf_hooks')
const { PacketError, Framer, check, parser, write, pairs } = require('./wire')
const topics = require('./topics')

const now = () => performance.now()
const NEVER = 0xffffffff // MQTT 3.1.2.11.2 "the Session does not expire"

// setTimeout for any length; a timer of more than 2^31 ms would end at once.
class Timer {
  constructor (ms, f) { this.at = now() + ms; this.f = f; this.arm() }
  arm () {
    const left = Math.max(0, Math.ceil(this.at - now()))
    this.t = setTimeout(() => now() < this.at ? this.arm() : this.f(), Math.min(left, 0x7fffffff))
    this.t.unref()
  }

  stop () { clearTimeout(this.t) }
}

// MQTT 3.3.2.3.3: a message whose expiry interval has passed before its delivery began is dropped.
const expired = (m) => m.props.messageExpiryInterval !== undefined && now() >= m.born + m.props.messageExpiryInterval * 1000

class Session {
  constructor (clientId) {
    this.clientId = clientId
    this.subscriptions = new Map() // filter -> { filter, qos, nl, rap, id }
    this.queue = [] // what waits for the receive maximum or for the client
    this.inflight = new Map() // packet identifier -> { out, sent, released }
    this.received = new Set() // identifiers of QoS 2 messages that were delivered on and not yet released
    this.lastId = 0
    this.conn = null
    this.will = null
    this.timers = {}
  }

  nextId () {
    do this.lastId = this.lastId % 65535 + 1; while (this.inflight.has(this.lastId))
    return this.lastId
  }
}

class Broker {
  constructor (ch) {
    this.ch = ch
    this.store = null
    this.sessions = new Map()
    this.retained = new Map()
    this.connections = new Set()
    this.server = net.createServer((socket) => new Connection(this, socket))
  }

  listen (port, then) { this.server.listen(port, '127.0.0.1', () => then(this.server.address().port)) }

  shutDown () {
    this.server.close()
    for (const c of this.connections) c.fail(0x8b, 'shutting down') // Server shutting down
  }

  // ---- delivery -------------------------------------------------------------------------------

  // m: { topic, payload, qos, retain, props, users, from, born }.  `to` is a session that gets the
  // message whether or not it has a subscription.  Returns whether anybody was there to get it.
  publish (m, to = null) {
    if (m.retain) { // MQTT 3.3.1.3
      if (m.payload.length === 0) this.retained.delete(m.topic)
      else this.retained.set(m.topic, m)
    }
    let any = false
    for (const s of this.sessions.values()) {
      let best = null
      const ids = []
      for (const sub of s.subscriptions.values()) {
        if (sub.nl && m.from === s.clientId) continue // MQTT 3.8.3-3
        if (!topics.matches(sub.filter, m.topic)) continue
        // MQTT 3.3.4-2, 3.3.4-3: one copy, with the greatest QoS and all subscription identifiers
        if (sub.id) ids.push(sub.id)
        best = { qos: Math.max(sub.qos, best ? best.qos : 0), rap: sub.rap || (best !== null && best.rap) }
      }
      if (best === null && s === to) best = { qos: 2, rap: false }
      if (best === null) continue
      any = true
      this.deliver(s, m, Math.min(m.qos, best.qos), m.retain && best.rap, ids)
    }
    return any
  }

  deliver (s, m, qos, retain, ids) {
    const out = { m, qos, retain, ids }
    if (qos > 0) {
      s.queue.push(out)
      this.pump(s)
    } else if (s.conn) {
      this.sendPublish(s.conn, out, 0, false)
    }
  }

  sendPublish (conn, { m, qos, retain, ids }, messageId, dup) {
    const props = { ...m.props }
    if (props.messageExpiryInterval !== undefined) { // MQTT 3.3.2-6: what is left of it
      props.messageExpiryInterval = Math.max(0, props.messageExpiryInterval - Math.floor((now() - m.born) / 1000))
    }
    if (ids.length > 0) props.subscriptionIdentifier = ids
    if (m.users.length > 0) props.userProperties = pairs(m.users)
    return conn.send({ cmd: 'publish', topic: m.topic, payload: m.payload, qos, retain, dup, messageId, properties: props })
  }

  // Sends what the receive maximum of the client allows, MQTT 4.9; first what was under way when
  // the session was resumed, with DUP, in the order in which it was sent at first (MQTT 4.4, 4.6).
  pump (s) {
    const c = s.conn
    if (c === null || !c.ready) return
    if (c.resending) {
      for (const [id, e] of s.inflight) {
        if (e.conn === c) continue
        if (e.released) {
          c.send({ cmd: 'pubrel', messageId: id, reasonCode: 0 })
        } else {
          if (c.quota === 0) return
          if (!this.sendPublish(c, e.out, id, true)) { s.inflight.delete(id); continue }
          c.quota--
        }
        e.conn = c
      }
      c.resending = false
    }
    while (c.quota > 0 && s.queue.length > 0 && s.inflight.size < 65535) {
      const out = s.queue.shift()
      if (expired(out.m)) continue
      const id = s.nextId()
      // MQTT 3.1.2-24, -25: too large for the client: dropped, as if it had been delivered
      if (!this.sendPublish(c, out, id, false)) continue
      c.quota--
      s.inflight.set(id, { out, released: false, conn: c })
    }
  }

  // ---- sessions -------------------------------------------------------------------------------

  // A connection has ended, however; what it leaves behind.
  gone (c, withWill) {
    const s = c.session
    if (s === null || s.conn !== c) return
    s.conn = null
    this.store.forget(c) // "removes any KEYNOTIFY messages when a given client disconnects"
    if (!withWill) s.will = null // MQTT 3.14.4-3
    const expiry = c.expiry
    if (s.will !== null && expiry > 0 && s.will.delay > 0) { // MQTT 3.1.3.2.2
      s.timers.will = new Timer(Math.min(s.will.delay, expiry) * 1000, () => this.sendWill(s))
    } else {
      this.sendWill(s)
    }
    if (expiry === 0) this.endSession(s)
    else if (expiry !== NEVER) s.timers.end = new Timer(expiry * 1000, () => this.endSession(s))
  }

  sendWill (s) {
    if (s.will === null) return
    const m = { ...s.will.message, born: now() }
    s.will = null
    if (this.store.isRequest(m)) {
      const verdict = this.store.admit(m)
      if (verdict.act === 'disconnect' || verdict.act === 'refuse') return
      this.publish(m)
      this.store.run(verdict, m, null, () => {})
    } else {
      this.publish(m)
    }
  }

  endSession (s) {
    if (this.sessions.get(s.clientId) === s) this.sessions.delete(s.clientId)
    for (const t of Object.values(s.timers)) t.stop()
    this.sendWill(s) // MQTT 3.1.2-8 "... or the Session ends"
  }

  // MQTT 3.1.4: the session for a CONNECT; returns whether one was resumed.
  attach (c, clientId, clean) {
    const old = this.sessions.get(clientId)
    if (old && old.conn) old.conn.fail(0x8e, 'session taken over') // MQTT 3.1.4-3
    let s = this.sessions.get(clientId)
    if (s && clean) { this.endSession(s); s = undefined } // MQTT 3.1.2-4
    const resumed = s !== undefined
    if (!resumed) {
      s = new Session(clientId)
      this.sessions.set(clientId, s)
    }
    for (const t of Object.values(s.timers)) t.stop()
    s.timers = {}
    s.will = null // MQTT 3.1.3-9: reconnected before the will delay has passed
    s.conn = c
    c.session = s
    return resumed
  }
}

class Connection {
  constructor (broker, socket) {
    Object.assign(this, { broker, socket, ch: broker.ch, session: null, ready: false, closed: false, resending: false })
    this.framer = new Framer()
    this.framer.limit = this.ch('broker.maximum-packet-size')
    this.parse = parser()
    this.maxOut = Infinity
    this.aliases = new Map()
    this.acks = [] // QoS 1 publications in the order in which they came, MQTT 4.6.0-2
    this.inbound = new Set() // identifiers that count towards the receive maximum of the server
    broker.connections.add(this)
    socket.setNoDelay(true)
    this.idle = setTimeout(() => this.close(true), 10000) // MQTT 3.1.4: a "reasonable amount of time" for the CONNECT
    socket.on('data', (chunk) => this.onData(chunk))
    socket.on('error', () => {})
    socket.on('close', () => this.close(true))
  }

  send (packet) {
    let bytes
    try { bytes = write(packet) } catch { return false }
    if (bytes.length > this.maxOut) return false // MQTT 3.1.2-24
    if (!this.closed) this.socket.write(bytes)
    return true
  }

  // Ends the connection for a reason; MQTT 4.13, 3.14.  No DISCONNECT before the CONNACK (MQTT 3.14.0-1).
  fail (code, text) {
    if (this.closed) return
    const packet = { cmd: 'disconnect', reasonCode: code }
    if (this.ready) this.send({ ...packet, properties: { reasonString: text } }) || this.send(packet)
    this.close(true)
  }

  close (withWill) {
    if (this.closed) return
    this.closed = true
    clearTimeout(this.idle)
    this.broker.connections.delete(this)
    this.socket.end()
    setTimeout(() => this.socket.destroy(), 500).unref()
    this.broker.gone(this, withWill)
  }

  onData (chunk) {
    if (this.closed) return
    this.framer.push(chunk)
    try {
      let frame
      while (!this.closed && (frame = this.framer.next()) !== null) this.onFrame(frame)
    } catch (e) {
      const code = e instanceof PacketError ? e.code : 0x80
      if (!(e instanceof PacketError)) process.stderr.write(`unexpected: ${e.stack}\n`)
      if (!this.ready) this.refuse(code)
      this.fail(code, e.message)
    }
  }

  refuse (code) { // MQTT 4.13.2: a CONNACK may tell why, then the connection is closed
    if (this.session !== null || this.ch('broker.bad-connect') === 'close') return
    if (this.legacy) this.socket.write(Buffer.from([0x20, 2, 0, 1])) // MQTT 3.1.1: unacceptable protocol version
    else if (this.first) this.send({ cmd: 'connack', reasonCode: code, sessionPresent: false })
  }

  onFrame (frame) {
    if (!this.ready) {
      if (frame[0] >> 4 !== 1) { this.close(false); return } // MQTT 3.1.0-1
      this.first = true
      this.legacy = /^.{2,5}\0(\x04MQTT[\x03\x04]|\x06MQIsdp\x03)/s.test(frame.subarray(0, 16).toString('latin1'))
    }
    const known = check(frame)
    const packet = this.parse(frame)
    packet.properties = packet.properties || {}
    if (this.ready) this.idle.refresh?.()
    if (known.kind === 'connect') {
      if (this.ready) throw new PacketError(0x82, 'second CONNECT') // MQTT 3.1.0-2
      this.onConnect(packet, known)
    } else {
      this[known.kind](packet, known)
    }
  }

  onConnect (p, { willUsers }) {
    const pr = p.properties
    let will = null
    if (p.will) {
      const wp = { ...(p.will.properties || {}) }
      if (!topics.isName(p.will.topic) || (wp.responseTopic !== undefined && /[+#]/.test(wp.responseTopic))) throw new PacketError(0x90, 'will topic')
      if (p.will.qos > this.ch('broker.maximum-qos')) throw new PacketError(0x9b, 'will QoS') // MQTT 3.2.2-12
      const delay = wp.willDelayInterval || 0
      delete wp.willDelayInterval
      delete wp.userProperties
      will = { delay, message: { topic: p.will.topic, payload: Buffer.from(p.will.payload), qos: p.will.qos, retain: p.will.retain, props: wp, users: willUsers } }
    }
    this.maxOut = pr.maximumPacketSize || Infinity
    this.quota = this.receiveMaximum = pr.receiveMaximum || 65535
    this.expiry = this.asked = pr.sessionExpiryInterval || 0
    const out = {}
    let clientId = p.clientId
    if (clientId === '') clientId = out.assignedClientIdentifier = 'auto-' + crypto.randomUUID() // MQTT 3.1.3-7
    if (this.ch('broker.receive-maximum') < 65535) out.receiveMaximum = this.ch('broker.receive-maximum')
    if (this.ch('broker.maximum-packet-size') > 0) out.maximumPacketSize = this.ch('broker.maximum-packet-size')
    if (this.ch('broker.maximum-qos') < 2) out.maximumQoS = this.ch('broker.maximum-qos')
    if (this.ch('broker.topic-alias-maximum') > 0) out.topicAliasMaximum = this.ch('broker.topic-alias-maximum')
    if (this.ch('broker.subscription-identifiers') === 'unavailable') out.subscriptionIdentifiersAvailable = false
    out.sharedSubscriptionAvailable = false
    const sessionPresent = this.broker.attach(this, clientId, p.clean)
    this.session.will = will
    if (will) will.message.from = clientId
    clearTimeout(this.idle)
    if (p.keepalive > 0) this.idle = setTimeout(() => this.fail(0x8d, 'keep alive'), p.keepalive * 1500) // MQTT 3.1.2-22
    else this.idle = { refresh () {} }
    if (!this.send({ cmd: 'connack', reasonCode: 0, sessionPresent, properties: out })) { this.close(true); return }
    this.ready = true
    this.resending = sessionPresent
    this.broker.pump(this.session)
  }

  // ---- publications of the client -------------------------------------------------------------

  publish (p, { users }) {
    const ch = this.ch
    const props = { ...p.properties }
    delete props.userProperties
    if (p.qos > ch('broker.maximum-qos')) throw new PacketError(0x9b, 'QoS not supported') // MQTT 3.2.2-11
    if (props.topicAlias !== undefined) { // MQTT 3.3.2.3.4
      const alias = props.topicAlias
      delete props.topicAlias
      if (alias === 0 || alias > ch('broker.topic-alias-maximum')) throw new PacketError(0x94, 'topic alias')
      if (p.topic === '') p.topic = this.aliases.get(alias) || ''
      else this.aliases.set(alias, p.topic)
    }
    if (p.topic === '') throw new PacketError(0x82, 'no topic')
    if (!topics.isName(p.topic)) throw new PacketError(ch('broker.bad-topic-name'), 'wildcard in a topic name')
    if (props.responseTopic !== undefined && /[+#]/.test(props.responseTopic)) throw new PacketError(ch('broker.bad-topic-name'), 'wildcard in a response topic')
    if (p.qos > 0 && this.inbound.size >= ch('broker.receive-maximum') && !this.inbound.has(p.messageId)) {
      throw new PacketError(0x93, 'receive maximum exceeded') // MQTT 3.3.4-8
    }
    if (p.qos === 2 && this.session.received.has(p.messageId)) { // MQTT 4.3.3-10: the same message again
      this.send({ cmd: 'pubrec', messageId: p.messageId, reasonCode: 0 })
      return
    }
    const m = { topic: p.topic, payload: Buffer.from(p.payload), qos: p.qos, retain: p.retain, props, users, from: this.session.clientId, born: now() }
    if (!this.broker.store.isRequest(m)) {
      const any = this.broker.publish(m)
      this.acknowledge(p, any ? 0 : ch('broker.no-matching-subscribers'))
      return
    }
    const verdict = this.broker.store.admit(m)
    if (verdict.act === 'disconnect') { // "The state store disconnects MQTT clients that use an invalid response topic."
      if (verdict.ack) this.acknowledge(p, verdict.ack)
      this.fail(verdict.code, verdict.text)
    } else if (verdict.act === 'refuse') {
      this.acknowledge(p, verdict.code)
    } else {
      const ack = p.qos === 1 ? this.slot(p.messageId) : () => {}
      if (p.qos === 2) this.acknowledge(p, 0)
      this.broker.publish(m)
      this.broker.store.run(verdict, m, this, ack)
    }
  }

  // PUBACK and PUBREC.  Those of QoS 1 leave in the order in which the PUBLISH packets came.
  acknowledge (p, code) {
    if (p.qos === 1) this.slot(p.messageId)(code)
    if (p.qos !== 2) return
    if (code < 0x80) { // MQTT 4.3.3-9: a failure ends the exchange
      this.session.received.add(p.messageId)
      this.inbound.add(p.messageId)
    }
    this.send({ cmd: 'pubrec', messageId: p.messageId, reasonCode: code })
  }

  slot (messageId) {
    const entry = { messageId, code: null }
    this.acks.push(entry)
    this.inbound.add(messageId)
    return (code) => {
      if (entry.code !== null) return
      entry.code = code
      while (this.acks.length > 0 && this.acks[0].code !== null) {
        const a = this.acks.shift()
        this.inbound.delete(a.messageId)
        this.send({ cmd: 'puback', messageId: a.messageId, reasonCode: a.code })
      }
    }
  }

  pubrel (p) {
    const known = this.session.received.delete(p.messageId)
    this.inbound.delete(p.messageId)
    this.send({ cmd: 'pubcomp', messageId: p.messageId, reasonCode: known ? 0 : 0x92 })
  }

  // ---- acknowledgements of the client ---------------------------------------------------------

  settle (id) {
    this.session.inflight.delete(id)
    if (this.quota < this.receiveMaximum) this.quota++ // MQTT 4.9
    this.broker.pump(this.session)
  }

  puback (p) {
    const e = this.session.inflight.get(p.messageId)
    if (e && e.out.qos === 1) this.settle(p.messageId)
  }

  pubrec (p) {
    const e = this.session.inflight.get(p.messageId)
    if (e && e.out.qos === 2 && p.reasonCode >= 0x80) { this.settle(p.messageId); return }
    if (e && e.out.qos === 2) e.released = true // MQTT 4.3.3-4: the message itself is not sent again
    this.send({ cmd: 'pubrel', messageId: p.messageId, reasonCode: e ? 0 : 0x92 })
  }

  pubcomp (p) {
    const e = this.session.inflight.get(p.messageId)
    if (e && e.released) this.settle(p.messageId)
  }

  // ---- the rest -------------------------------------------------------------------------------

  subscribe (p) {
    const id = p.properties.subscriptionIdentifier
    if (id !== undefined && this.ch('broker.subscription-identifiers') === 'unavailable') throw new PacketError(0xa1, 'subscription identifiers') // MQTT 3.2.2.3.12
    for (const { topic } of p.subscriptions) {
      if (topic.startsWith('$share/')) throw new PacketError(0x9e, 'shared subscriptions') // MQTT 3.2.2.3.13
      if (!topics.isFilter(topic)) throw new PacketError(0x8f, 'topic filter') // MQTT 4.7.1-1, -2
    }
    const granted = []
    const retained = []
    for (const sub of p.subscriptions) {
      const fresh = !this.session.subscriptions.has(sub.topic)
      const kept = { filter: sub.topic, qos: Math.min(sub.qos, this.ch('broker.maximum-qos')), nl: sub.nl, rap: sub.rap, id }
      this.session.subscriptions.set(sub.topic, kept) // MQTT 3.8.4-3
      granted.push(kept.qos)
      if (sub.rh === 0 || (sub.rh === 1 && fresh)) retained.push(kept) // MQTT 3.3.1-9 to -11
    }
    this.send({ cmd: 'suback', messageId: p.messageId, granted })
    for (const sub of retained) {
      for (const [topic, m] of this.broker.retained) {
        if (expired(m)) this.broker.retained.delete(topic)
        else if (topics.matches(sub.filter, topic)) this.broker.deliver(this.session, m, Math.min(m.qos, sub.qos), true, id ? [id] : [])
      }
    }
  }

  unsubscribe (p) {
    const granted = p.unsubscriptions.map((f) => this.session.subscriptions.delete(f) ? 0 : 0x11)
    this.send({ cmd: 'unsuback', messageId: p.messageId, granted })
  }

  pingreq () { this.send({ cmd: 'pingresp' }) }

  disconnect (p) {
    const expiry = p.properties.sessionExpiryInterval
    if (expiry !== undefined) {
      if (this.asked === 0 && expiry > 0) throw new PacketError(0x82, 'session expiry in DISCONNECT') // MQTT 3.14.2.2.2
      this.expiry = expiry
    }
    this.close(p.reasonCode !== 0) // MQTT 3.14.4-3
  }
}

module.exports = { Broker, Timer }
