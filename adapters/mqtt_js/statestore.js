// A small client of the state store, with MQTT.js.
//
//   const client = new Client("127.0.0.1", 1883, "me");
//   await client.ask(["SET", "key", "value"], { timeoutMs: 5000 });
"use strict";

const { randomUUID } = require("node:crypto");
const { EventEmitter } = require("node:events");
const mqtt = require("mqtt");
const { generate } = require("mqtt-packet");

const REQUESTS = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke";
const NOTIFICATIONS = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8";
const MAX_DRIFT_MS = 60_000;
const RECONNECT_MS = 1_000;
const RECEIVE_MAXIMUM = 65_535;

class Failure extends Error {
  constructor(kind, text) {
    super(text);
    this.kind = kind;
  }
}

// A hybrid logical clock: what it stamps is greater than all that it has stamped and merged.
class Clock {
  constructor(node) {
    this.node = node;
    this.wall = 0;
    this.counter = 0;
  }

  now() {
    const wall = Date.now();
    if (wall > this.wall) [this.wall, this.counter] = [wall, 0];
    else this.counter += 1;
    return `${String(this.wall).padStart(15, "0")}:${String(this.counter).padStart(5, "0")}:${this.node}`;
  }

  merge(text) {
    const parts = /^([0-9]+):([0-9]+):([^:]+)$/s.exec(text);
    if (!parts) throw new Failure("reply", `no timestamp: ${text}`);
    const [wall, counter] = [Number(parts[1]), Number(parts[2])];
    if (wall - Date.now() > MAX_DRIFT_MS) throw new Failure("reply", `a timestamp of the future: ${text}`);
    if (wall > this.wall || (wall === this.wall && counter > this.counter)) [this.wall, this.counter] = [wall, counter];
  }
}

function array(...words) {
  const parts = [Buffer.from(`*${words.length}\r\n`)];
  for (const word of words.map((each) => Buffer.from(each))) {
    parts.push(Buffer.from(`$${word.length}\r\n`), word, Buffer.from("\r\n"));
  }
  return Buffer.concat(parts);
}

// The bytes of the bulk string that `data` is; null for any other bytes.
function bulk(data) {
  const head = /^\$(0|[1-9][0-9]*)\r\n/.exec(data.subarray(0, 20).toString("latin1"));
  if (!head) return null;
  const [begin, length] = [head[0].length, Number(head[1])];
  const whole = data.length === begin + length + 2 && data.subarray(begin + length).toString("latin1") === "\r\n";
  return whole ? data.subarray(begin, begin + length) : null;
}

function timestampOf(packet) {
  const stamps = [packet.properties?.userProperties?.__ts ?? []].flat();
  return stamps.length > 0 ? stamps[stamps.length - 1] : null;
}

// Emits "notification" with {key, operation, value, version}, and "ready" when requests can be sent.
class Client extends EventEmitter {
  constructor(host, port, name) {
    super();
    this.clock = new Clock(name);
    this.waiting = new Map(); // correlation data -> what gets the reply
    this.observed = new Set(); // keys, in hexadecimal
    this.topic = `clients/${name}/services/statestore/_any_/command/invoke/response`;
    this.toldAt = `${NOTIFICATIONS}/${Buffer.from(name).toString("hex").toUpperCase()}/command/notify/`;
    this.options = { host, port, clientId: name, protocolVersion: 5, clean: true, reconnectPeriod: 0 };
    this.connect();
  }

  // A connection of its own each time: what was in flight on an older one is reported as failed, not sent again.
  connect() {
    const connection = mqtt.connect(this.options);
    this.connection = connection;
    connection.on("error", () => {});
    connection.on("message", (topic, payload, packet) => this.onMessage(topic, payload, packet));
    connection.on("connect", (connack) => this.onConnect(connection, connack));
    connection.on("close", () => this.onClose(connection));
  }

  onConnect(connection, connack) {
    this.room = connack.properties?.receiveMaximum ?? RECEIVE_MAXIMUM;
    this.largestPacket = connack.properties?.maximumPacketSize;
    this.queue = [];
    connection.subscribe([this.topic, this.toldAt + "+"], { qos: 1 }, (error) => {
      if (error || connection !== this.connection) return;
      this.ready = true;
      // The store forgets registrations with the connection.
      for (const key of this.observed) this.publish(array("KEYNOTIFY", Buffer.from(key, "hex")), randomUUID());
      this.emit("ready");
    });
  }

  onClose(connection) {
    if (connection !== this.connection) return;
    this.ready = false;
    for (const answer of this.waiting.values()) answer(new Failure("connection", "the connection has ended"));
    this.waiting.clear();
    if (!this.closed) this.retry = setTimeout(() => this.connect(), RECONNECT_MS);
  }

  close() {
    this.closed = true;
    clearTimeout(this.retry);
    return new Promise((resolve) => this.connection.end(false, {}, resolve));
  }

  onMessage(topic, payload, packet) {
    if (topic.startsWith(this.toldAt)) return this.onNotification(topic, payload, timestampOf(packet));
    const correlation = packet.properties?.correlationData?.toString("latin1");
    const answer = this.waiting.get(correlation);
    this.waiting.delete(correlation);
    if (answer) answer({ payload, version: timestampOf(packet) });
  }

  onNotification(topic, payload, version) {
    const key = topic.slice(this.toldAt.length).toLowerCase();
    try {
      this.clock.merge(version ?? "");
    } catch {
      return; // of no use to anybody
    }
    const prefix = Buffer.from("*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n");
    const hasPrefix = payload.subarray(0, prefix.length).equals(prefix);
    const value = hasPrefix ? bulk(payload.subarray(prefix.length)) : null;
    const isDeletion = ["DELETE", "DEL"].some((word) => payload.equals(array("NOTIFY", word)));
    if (!this.observed.has(key) || (!isDeletion && value === null)) return;
    const operation = isDeletion ? "delete" : "set";
    this.emit("notification", { key, operation, value: value === null ? null : value.toString("hex"), version });
  }

  publish(payload, correlation, token) {
    const userProperties = { __ts: this.clock.now(), ...(token ? { __ft: token } : {}) };
    const properties = { responseTopic: this.topic, correlationData: Buffer.from(correlation), userProperties };
    const packet = { cmd: "publish", topic: REQUESTS, payload, qos: 1, messageId: 1, properties };
    const size = generate(packet, { protocolVersion: 5 }).length;
    if (this.largestPacket && size > this.largestPacket) {
      throw new Failure("argument", `the broker takes ${this.largestPacket} bytes`);
    }
    const [connection, queue] = [this.connection, this.queue];
    const send = () => {
      this.room -= 1;
      connection.publish(REQUESTS, payload, { qos: 1, properties }, () => {
        if (connection !== this.connection) return;
        this.room += 1;
        queue.shift()?.();
      });
    };
    // No more may be in flight than the broker takes.
    if (this.room > 0) send();
    else queue.push(send);
  }

  async untilReady(timeoutMs) {
    if (this.ready) return;
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Failure("connection", "not connected")), timeoutMs);
      this.once("ready", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  // {payload, version} of the reply; an error of the store, and what is no reply, is a Failure.
  async ask(words, { timeoutMs, token }) {
    const end = Date.now() + timeoutMs;
    if (words[1].length === 0) throw new Failure("argument", "a key has at least one byte");
    await this.untilReady(timeoutMs);
    const correlation = randomUUID();
    const reply = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(correlation);
        reject(new Failure("timeout", "no reply"));
      }, Math.max(0, end - Date.now()));
      this.waiting.set(correlation, (answer) => {
        clearTimeout(timer);
        if (answer instanceof Failure) reject(answer);
        else resolve(answer);
      });
      try {
        this.publish(array(...words), correlation, token);
      } catch (failure) {
        clearTimeout(timer);
        this.waiting.delete(correlation);
        reject(failure);
      }
    });
    if (reply.version !== null) this.clock.merge(reply.version);
    const error = /^-ERR:? ([^\r\n]*)\r\n$/.exec(reply.payload.toString());
    if (error) throw new Failure("service", error[1].replace(/^: /, ""));
    return reply;
  }
}

module.exports = { Client, Failure, bulk };
