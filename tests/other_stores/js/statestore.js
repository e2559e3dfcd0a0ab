'use strict'
// The store behind the request topic.  Words in quotation marks are those of the article; "facts n"
// is a section of the facts (README.md).

const { performance } = require('perf_hooks')
const { Clocks } = require('./hlc')
const { Timer } = require('./broker')
const { StoreError, parse, bulk, array } = require('./resp')
const { isUtf8 } = require('./wire')

const UUID = 'FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'
const REQUEST = `statestore/v1/${UUID}/command/invoke`
const NOTIFY = `clients/statestore/v1/${UUID}` // notifications are below it, so responses must not be

// The error strings, facts 3.3.
const SKEW = 'is too far in the future; ensure that the client and broker system clocks are synchronized'
const ERRORS = {
  tsSkew: `the request timestamp ${SKEW}`,
  ftMissing: 'a fencing token is required for this request',
  ftSkew: `the request fencing token timestamp ${SKEW}`,
  quota: 'the quota has been exceeded',
  syntax: 'syntax error',
  command: 'unknown command',
  arity: 'wrong number of arguments',
  tsMissing: 'missing timestamp',
  malformed: 'malformed timestamp',
  keyEmpty: 'the key length is zero'
}
const PX_MAX = { u32: (1n << 32n) - 1n, i64: (1n << 63n) - 1n, u64: (1n << 64n) - 1n }
const now = () => performance.now()
const hexOf = (bytes) => Buffer.from(bytes).toString('hex').toUpperCase() // RFC 4648 section 8
const fail = (text) => { throw new StoreError(text) }

class StateStore {
  constructor (broker, ch, profile, quota) {
    Object.assign(this, { broker, ch, quota, documented: profile === 'documented' })
    this.clocks = new Clocks(ch)
    this.keys = new Map() // key in hex -> { value, version, token, deadline, timer }
    this.watchers = new Map() // key in hex -> Map of connection -> { withValue }
    this.queues = new Map() // client id -> requests that wait for their turn
    // 8a.7: "that" is what the article prints
    this.ftLower = `the request fencing token is a lower version ${this.documented ? 'that' : 'than'} the fencing token protecting the resource`
    this.notApplied = this.documented ? '-1\r\n' : ':-1\r\n' // 8a.1, 8a.2
  }

  isRequest (m) { return m.topic === REQUEST }

  // ---- the envelope ---------------------------------------------------------------------------

  // What becomes of a PUBLISH to the request topic: { act: 'run' | 'silence' | 'error' | 'refuse' | 'disconnect' }.
  admit (m) {
    const ch = this.ch
    const verdict = (how, text, code = ch('envelope.refusal-code')) => {
      if (how === 'error reply') return { act: 'error' }
      // a PUBLISH of QoS 0 has no acknowledgement that could say no
      if (how === 'refuse') return m.qos === 0 ? { act: 'silence' } : { act: 'refuse', code }
      if (how === 'disconnect') return { act: 'disconnect', code: 0x83, text }
      return { act: 'silence' }
    }
    // "If these properties aren't present or the request isn't QoS 1, the request fails."
    const qos = () => m.qos === 1 ? null : verdict(ch(`envelope.qos-${m.qos}`), 'QoS of a request')
    const properties = () => {
      const { responseTopic: topic, correlationData: data } = m.props
      if (topic === undefined) return verdict(ch('envelope.no-response-topic'), 'no response topic')
      // "Setting the response topic as <request topic> or as one that begins with <...> isn't permitted";
      // an empty one is no topic name at all (MQTT 4.7.3-1)
      if (topic === '' || topic === REQUEST || topic.startsWith(NOTIFY)) {
        const ack = ch('envelope.bad-response-topic.puback') === 'none' ? 0 : 0x90
        return { act: 'disconnect', code: ch('envelope.bad-response-topic.code'), text: 'response topic', ack }
      }
      const missing = data === undefined || (data.length === 0 && ch('envelope.empty-correlation') === 'as missing')
      return missing ? verdict(ch('envelope.no-correlation'), 'no correlation data') : null
    }
    const order = ch('envelope.order') === 'qos first' ? [qos, properties] : [properties, qos]
    for (const step of order) {
      const v = step()
      // an error can be told only where there is a topic to tell it at that is not forbidden
      if (v !== null) {
        if (v.act !== 'error' || step === properties) return v
        const p = properties()
        return p === null || p.act === 'error' ? v : p
      }
    }
    if (m.props.messageExpiryInterval === 0 && ch('envelope.expiry-0') === 'dropped') return { act: 'silence' }
    if (m.props.payloadFormatIndicator && ch('envelope.text-that-is-not') === 'refuse' && !isUtf8(m.payload)) {
      return { act: 'refuse', code: 0x99 } // MQTT 3.3.2.3.2: payload format invalid
    }
    return { act: 'run' }
  }

  // Carries out what admit() decided on.  `ack(code)` sends the PUBACK; it may be called twice.
  run (verdict, m, conn, ack) {
    if (verdict.act === 'silence') { ack(0); return }
    if (this.ch('reply.puback') === 'at once') ack(0)
    if (!this.queues.has(m.from)) this.queues.set(m.from, [])
    const queue = this.queues.get(m.from)
    queue.push({ m, conn, ack, act: verdict.act })
    if (queue.length === 1) this.serve(queue, m.from)
  }

  // One request of a client after the other, each after the service time (8b.33).
  serve (queue, clientId) {
    while (queue.length > 0) {
      const delay = { none: 0, '1 ms': 1, '0 to 5 ms': this.ch.random() % 6 }[this.ch('reply.service-time')]
      if (delay > 0 && !queue[0].waited) {
        queue[0].waited = true
        setTimeout(() => this.serve(queue, clientId), delay)
        return
      }
      try { this.answer(queue[0]) } finally { queue.shift() }
    }
    this.queues.delete(clientId)
  }

  answer ({ m, conn, ack, act }) {
    const told = [] // notifications
    const result = act === 'error' ? { error: ERRORS.syntax } : this.execute(m, conn, told)
    const when = this.ch('reply.puback')
    const notify = () => { for (const f of told) f() }
    if (when === 'before the reply') ack(0)
    if (this.ch('notify.order') === 'before the reply') notify()
    this.reply(m, result)
    if (this.ch('notify.order') === 'after the reply') notify()
    ack(0)
  }

  // "responds on the response topic that the client initially provided", "it includes the
  // correlation data of the initial request".
  reply (m, { payload, error, ts, verb, unsupported }) {
    const ch = this.ch
    if (error !== undefined) {
      // 8a.8: KEYNOTIFY errors are printed as "-ERR: <DESCRIPTION OF ERROR><CR><LF>"
      if (this.documented && verb === 'KEYNOTIFY') payload = `-ERR: ${error}\r\n`
      else payload = `-ERR ${error}${ch('reply.error-end') === 'CRLF' ? '\r\n' : ''}`
    }
    let users = []
    // facts 1.4: "always send __stat = 200, also with -ERR payloads"
    if (ch('reply.stat') === 'sent') users.push(['__stat', unsupported ? '505' : '200'])
    if (ts) users.push(['__ts', this.clocks.format(ts)])
    if (unsupported) { // facts 1.5
      users.push(['__stMsg', 'unsupported protocol version'], ['__supProtMajVer', '1'], ['__requestProtVer', unsupported])
      payload = ''
    }
    users.push(...this.commonUsers())
    if (ch('reply.property-order') === 'ts first') users.reverse()
    if (ch('reply.property-order') === 'shuffled') users = users.map((u) => [ch.random(), u]).sort((a, b) => a[0] - b[0]).map((x) => x[1])
    const props = this.commonProps()
    if (m.props.correlationData !== undefined) props.correlationData = m.props.correlationData
    if (ch('reply.expiry') === 'that of the request' && m.props.messageExpiryInterval > 0) props.messageExpiryInterval = m.props.messageExpiryInterval
    this.send({ topic: m.props.responseTopic, payload: Buffer.from(payload), qos: ch('reply.qos'), props, users })
  }

  commonUsers () {
    const users = []
    if (this.ch('reply.protocol-version') === '1.0') users.push(['__protVer', '1.0'])
    if (this.ch('reply.source-id') === 'sent') users.push(['__srcId', 'StateStore'])
    return users
  }

  commonProps () {
    const props = {}
    if (this.ch('reply.content-type') !== 'none') props.contentType = this.ch('reply.content-type')
    if (this.ch('reply.format-indicator') === '0') props.payloadFormatIndicator = false
    return props
  }

  send (m, to = null) { this.broker.publish({ ...m, retain: false, from: null, born: now() }, to) }

  // ---- commands -------------------------------------------------------------------------------

  execute (m, conn, told) {
    let verb = null
    try {
      const version = (m.users.find(([name]) => name === '__protVer') || [])[1]
      if (version && !/^1\.[0-9]+$/.test(version) && this.ch('envelope.unknown-protocol-version') === '505') return { unsupported: version }
      const args = parse(m.payload, this.ch)
      verb = this.verb(args[0])
      const request = { m, conn, told, args, key: args[1], id: args.length > 1 ? hexOf(args[1]) : '' }
      return { verb, ...this[verb](request) }
    } catch (e) {
      if (!(e instanceof StoreError)) throw e
      return { error: e.message, verb }
    }
  }

  // "The client must send both the verbs and the options in upper case."
  verb (bytes) {
    const known = ['SET', 'GET', 'DEL', 'VDEL', 'KEYNOTIFY']
    const text = bytes.toString('latin1')
    if (known.includes(text)) return text
    if (text === '') fail(this.ch('payload.empty-verb'))
    if (!known.includes(text.toUpperCase())) fail(ERRORS.command)
    if (this.ch('payload.lower-case-verb') !== 'accepted') fail(this.ch('payload.lower-case-verb'))
    return text.toUpperCase()
  }

  option (bytes) {
    const known = ['NX', 'NEX', 'PX', 'STOP', 'GET']
    const text = bytes.toString('latin1')
    if (known.includes(text) || !known.includes(text.toUpperCase())) return text
    return this.ch('payload.lower-case-option') === 'accepted' ? text.toUpperCase() : fail(this.ch('payload.lower-case-option'))
  }

  // "Keys can't be zero length in state store."
  checkKey ({ key }) {
    if (key.length === 0) fail(ERRORS.keyEmpty)
    if (this.ch('payload.longest-key') > 0 && key.length > this.ch('payload.longest-key')) fail(ERRORS.syntax)
  }

  // The value of a user property as an HLC, or null if there is none.
  stamp ({ m }, name, ifEmpty, skew) {
    let found = m.users.filter((u) => u[0] === name).map((u) => u[1])
    if (found.length === 0) return null
    if (found.length > 1) {
      const which = this.ch('envelope.repeated-stamp')
      if (which === 'malformed') fail(ERRORS.malformed)
      found = which === 'first' ? found : found.reverse()
    }
    if (found[0] === '' && this.ch(ifEmpty) === 'as missing') return null
    const hlc = this.clocks.parse(found[0])
    if (hlc === null) fail(ERRORS.malformed) // "The timestamp in the __ts or the fencing token isn't legal."
    if (this.clocks.tooFarAhead(hlc)) fail(skew)
    return hlc
  }

  ts (r) { return this.stamp(r, '__ts', 'stamp.empty-ts', ERRORS.tsSkew) }
  ft (r) { return this.stamp(r, '__ft', 'stamp.empty-ft', ERRORS.ftSkew) }

  // What the documents leave open of the stamps of requests other than SET (8b.35, 8b.38, 8b.43).
  otherStamps (r, withToken) {
    const validated = () => { if (this.ch('stamp.ts-on-others') === 'validated') this.ts(r) }
    const token = () => withToken || this.ch('fence.on-reads') === 'validated' ? this.ft(r) : null
    const first = this.ch('order.stamps') === '__ts first'
    if (first) validated()
    const ft = token()
    if (!first) validated()
    if (this.ch('clock.advanced-by') === 'every request with a __ts') {
      let ts = null
      try { ts = this.ts(r) } catch { /* not a timestamp that the clock should take over */ }
      if (ts !== null) this.clocks.update(r.id, ts)
    }
    return ft
  }

  // In the order that was chosen: what is wrong with the payload, what is wrong with the stamps.
  checks (payload, stamps) {
    const steps = this.ch('order.payload-and-stamps') === 'payload first' ? [payload, stamps] : [stamps, payload]
    for (const f of steps) f()
  }

  // "If a key-value pair has a fencing token ... If a SET request didn't specify __ft, reject ...
  // older than the fencing token: reject ... equal or newer: accept."  For DEL and VDEL "the
  // algorithm is identical".
  fence (entry, ft) {
    if (!entry || entry.token === null) return
    if (ft === null) fail(ERRORS.ftMissing)
    if (this.clocks.compare(ft, entry.token) < 0) fail(this.ftLower)
  }

  // "stores the __ft associated with the key-value pair", "updates ... if it's newer".
  newerToken (old, ft) { return ft !== null && (old === null || this.clocks.compare(ft, old) > 0) ? ft : old }

  SET (r) {
    const { args, id, key } = r
    let ts = null
    let ft = null
    let o = null
    this.checks(() => {
      if (args.length < 3) fail(ERRORS.arity)
      const steps = [() => this.checkKey(r), () => { o = this.setOptions(args) }]
      if (this.ch('order.parts-of-a-set') === 'options, key') steps.reverse()
      for (const f of steps) f()
    }, () => {
      const tsStep = () => { ts = this.ts(r); if (ts === null) fail(ERRORS.tsMissing) }
      const ftStep = () => { ft = this.ft(r) }
      const steps = this.ch('order.stamps') === '__ts first' ? [tsStep, ftStep] : [ftStep, tsStep]
      for (const f of steps) f()
    })
    this.sweep(id)
    const entry = this.keys.get(id)
    // NX "only if it doesn't already exist"; NEX "only if the key doesn't exist or if the key's
    // value is already set to <value>"
    const applies = !entry || (!o.nx && (!o.nex || entry.value.equals(o.nexValue || args[2])))
    const tokenFirst = this.ch('fence.set') === 'token before condition'
    if (tokenFirst || applies) this.fence(entry, ft)
    if (!applies) {
      if (tokenFirst && this.ch('fence.not-applied-set') === 'updates the token') entry.token = this.newerToken(entry.token, ft)
      if (this.ch('clock.advanced-by') === 'every request with a __ts') this.clocks.update(id, ts)
      return { payload: this.notApplied, ts: this.ch('reply.ts-of-not-applied') === 'none' ? null : entry.version }
    }
    if (!entry && this.quota > 0) {
      for (const other of this.keys.keys()) this.sweep(other)
      if (this.keys.size >= this.quota) fail(ERRORS.quota) // "a quota of how many keys it can store"
    }
    const version = this.clocks.update(id, ts)
    if (version === null) fail(ERRORS.malformed)
    const fresh = { key: Buffer.from(key), value: Buffer.from(args[2]), version, token: this.newerToken(entry ? entry.token : null, ft), deadline: Infinity, timer: null }
    if (entry && entry.timer) entry.timer.stop()
    this.keys.set(id, fresh)
    const keeps = o.px === null && entry && this.ch('px.set-without') === 'keeps the expiry'
    if (keeps) fresh.deadline = entry.deadline
    if (o.px !== null) fresh.deadline = this.deadline(o.px)
    this.watch(id, fresh)
    if (!entry || this.ch('notify.same-value') === 'told' || !entry.value.equals(fresh.value)) this.notify(r.told, id, fresh.value, version)
    return { payload: '+OK\r\n', ts: version }
  }

  // NX, NEX and PX <milliseconds>, after the value.
  setOptions (args) {
    const o = { nx: false, nex: false, nexValue: null, px: null }
    const repeated = () => { if (this.ch('payload.repeated-option') === 'syntax error') fail(ERRORS.syntax) }
    const condition = (which) => {
      if (o[which]) repeated()
      o[which] = true
      if (o.px !== null && this.ch('payload.px-before-condition') === 'syntax error') fail(ERRORS.syntax)
    }
    for (let i = 3; i < args.length; i++) {
      const name = this.option(args[i])
      if (name === 'NX') {
        condition('nx')
      } else if (name === 'NEX') {
        condition('nex')
        // 8a.3: the list prints "NEX <value>", the example "SET LockName Client1 NEX PX 10000" has none
        if (i + 1 < args.length && this.ch('payload.nex-value') === 'compared' && !['NX', 'NEX', 'PX'].includes(args[i + 1].toString('latin1'))) {
          const value = args[++i]
          if (o.nexValue === null || this.ch('payload.repeated-option') === 'last') o.nexValue = value
        }
      } else if (name === 'PX') {
        if (o.px !== null) repeated()
        if (++i === args.length) fail(this.ch('px.missing'))
        const px = this.milliseconds(args[i].toString('latin1'))
        if (o.px === null || this.ch('payload.repeated-option') === 'last') o.px = px
      } else {
        fail(this.ch('payload.unknown-option'))
      }
    }
    if (o.nx && o.nex && this.ch('payload.nx-and-nex') === 'syntax error') fail(ERRORS.syntax)
    return o
  }

  milliseconds (text) {
    const m = /^(\+?)([0-9]+)(\.[0-9]+)?$/.exec(text)
    if (m === null) fail(ERRORS.syntax)
    if (m[1] !== '' && this.ch('px.plus-sign') === 'syntax error') fail(ERRORS.syntax)
    if (/^0[0-9]/.test(m[2]) && this.ch('px.leading-zeros') === 'syntax error') fail(ERRORS.syntax)
    if (m[3] !== undefined && this.ch('px.fraction') === 'syntax error') fail(ERRORS.syntax)
    const px = BigInt(m[2])
    if (px > PX_MAX[this.ch('px.width')]) fail(ERRORS.syntax) // "integer overflow" is an invalid payload
    if (px === 0n && this.ch('px.zero') === 'syntax error') fail(ERRORS.syntax)
    return px
  }

  GET (r) {
    this.checks(() => {
      if (r.args.length !== 2) fail(ERRORS.arity)
      this.checkKey(r)
    }, () => this.otherStamps(r, false))
    const entry = this.live(r.id)
    if (!entry) return { payload: '$-1\r\n' } // without __ts, facts 3.1
    return { payload: bulk(entry.value), ts: entry.version }
  }

  DEL (r) { return this.remove(r, 2) }

  VDEL (r) { return this.remove(r, 3) }

  remove (r, arity) {
    let ft = null
    this.checks(() => {
      if (r.args.length !== arity) fail(ERRORS.arity)
      this.checkKey(r)
    }, () => { ft = this.otherStamps(r, true) })
    this.sweep(r.id)
    const entry = this.keys.get(r.id)
    if (!entry) return { payload: ':0\r\n' } // "on a nonexistent key isn't considered an error"
    const differs = arity === 3 && !entry.value.equals(r.args[2])
    if (!(differs && this.ch('fence.vdel') === 'value before token')) this.fence(entry, ft)
    if (differs) return { payload: this.notApplied, ts: this.ch('reply.ts-of-vdel-mismatch') === 'none' ? null : entry.version }
    this.drop(r.id, entry)
    this.notify(r.told, r.id, null, entry.version)
    return { payload: ':1\r\n', ts: entry.version } // "This version is also returned on successful GET, DEL, and VDEL"
  }

  KEYNOTIFY (r) {
    const { args, id, conn } = r
    let stop = false
    let get = false
    this.checks(() => {
      if (args.length < 2 || args.length > 3) fail(ERRORS.arity)
      this.checkKey(r)
      if (args.length === 2) return
      const name = this.option(args[2])
      stop = name === 'STOP'
      get = name === 'GET' && (this.ch('payload.keynotify-get') === 'accepted' || this.ch('notify.value') === 'if GET was given')
      if (!stop && !get) fail(this.ch('payload.keynotify-option'))
    }, () => this.otherStamps(r, false))
    this.sweep(id)
    const set = this.watchers.get(id)
    if (stop) { // "removes" or, if it does not monitor that key, "the same as trying to delete a key that doesn't exist"
      if (!set || !set.delete(conn)) return { payload: ':0\r\n' }
      if (set.size === 0) this.watchers.delete(id)
      return { payload: '+OK\r\n' }
    }
    const again = set !== undefined && set.has(conn)
    if (!again && conn !== null && Buffer.byteLength(this.topic(conn, id)) > 65535 && this.ch('notify.key-too-long-for-a-topic') === 'syntax error') fail(ERRORS.syntax)
    // who has disconnected while the request waited is not told of anything any more
    if (conn !== null && !conn.closed) {
      if (!set) this.watchers.set(id, new Map())
      this.watchers.get(id).set(conn, { withValue: get || this.ch('notify.value') === 'always' })
    }
    return { payload: again ? this.ch('notify.repeated-keynotify') + '\r\n' : '+OK\r\n' }
  }

  // ---- notifications --------------------------------------------------------------------------

  // "{clientId} is an upper-case hex encoded representation of the MQTT ClientId ... {keyName} is
  // a hex encoded representation of the key that changed"
  topic (conn, id) { return `${NOTIFY}/${hexOf(conn.session.clientId)}/command/notify/${id}` }

  // Adds to `told` what is to be sent about a key to everybody who watches it; value null: deleted.
  notify (told, id, value, version) {
    for (const [conn, { withValue }] of this.watchers.get(id) || []) {
      const topic = this.topic(conn, id)
      if (Buffer.byteLength(topic) > 65535) continue
      let payload
      if (value === null) payload = array(['NOTIFY', this.documented ? 'DEL' : 'DELETE']) // 8a.4
      else payload = array(withValue ? ['NOTIFY', 'SET', 'VALUE', value] : ['NOTIFY', 'SET'])
      // "contains the timestamp of the value", facts 4
      const users = [['__ts', this.clocks.format(version)], ...this.commonUsers()]
      const message = { topic, payload, qos: this.ch('notify.qos'), props: this.commonProps(), users }
      // facts 4: delivered without a subscription, too
      const to = this.ch('notify.delivery') === 'into the session' ? conn.session : null
      told.push(() => this.send(message, to))
    }
  }

  // "the state store internally removes any KEYNOTIFY messages when a given client disconnects"
  forget (conn) {
    for (const [id, set] of this.watchers) {
      if (set.delete(conn) && set.size === 0) this.watchers.delete(id)
    }
  }

  // ---- expiry ---------------------------------------------------------------------------------

  // Never before the time is up; after it within the grid that was chosen (8b.58).
  deadline (px) {
    if (px === 0n) return now()
    const grid = this.ch('expiry.grid-ms')
    return Math.ceil((now() + Number(px)) / grid) * grid
  }

  // The entry of a key unless its time is up.
  live (id) {
    const entry = this.keys.get(id)
    return entry && now() < entry.deadline ? entry : undefined
  }

  watch (id, entry) {
    if (entry.deadline === Infinity) return
    // a hundredth of a millisecond more, so that no rounding makes the timer end before the deadline
    entry.timer = new Timer(entry.deadline - now() + 0.01 + this.ch('expiry.notice-lag-ms'), () => this.sweep(id))
  }

  // Removes a key whose time is up and tells of it: by its timer, or before the key is touched
  // again, so that the notification of the end comes before that of a new beginning.
  sweep (id) {
    const entry = this.keys.get(id)
    if (!entry || now() < entry.deadline) return
    this.drop(id, entry)
    if (this.ch('notify.expiry') !== 'told' || !this.watchers.has(id)) return
    const told = []
    const version = this.ch('notify.version-of-an-expiry') === 'a new one' ? this.clocks.update(id, null) : entry.version
    this.notify(told, id, null, version)
    for (const f of told) f()
  }

  drop (id, entry) {
    if (entry.timer) entry.timer.stop()
    this.keys.delete(id) // and with it the fencing token
  }
}

module.exports = { StateStore }
