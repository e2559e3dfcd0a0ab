#!/usr/bin/env node
// An adapter of `fencepost certify-client` around statestore.js.
//
// Commands come as JSON Lines on standard input, results go to standard output: docs/CLIENTS.md.
"use strict";

const readline = require("node:readline");
const { Client, Failure, bulk } = require("./statestore.js");

const CAPABILITIES = ["set", "get", "del", "vdel", "observe", "conditions", "expiry", "tokens", "versions", "concurrent",
  "reconnects", "error-text", "binary", "locks", "lock-waits", "lock-renewal", "lock-holder"];
const LOOK_AGAIN_MS = 100;

function say(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

function choose(payload, results) {
  const text = payload.toString("latin1");
  if (!Object.hasOwn(results, text)) throw new Failure("reply", `not a reply to this: ${text.slice(0, 100)}`);
  return results[text];
}

// Notifications that were not reported yet, and who waits for the next one.
class Notes {
  constructor() {
    this.come = [];
    this.wanted = [];
  }

  add(note) {
    const take = this.wanted.shift();
    if (take) take(note);
    else this.come.push(note);
  }

  async next(timeoutMs) {
    if (this.come.length > 0) return this.come.shift();
    return new Promise((resolve) => {
      const take = (note) => {
        clearTimeout(timer);
        resolve(note);
      };
      const timer = setTimeout(() => {
        this.wanted = this.wanted.filter((each) => each !== take);
        resolve({ none: true });
      }, timeoutMs);
      this.wanted.push(take);
    });
  }
}

let client = null;
let notes = new Notes();

// Takes the lock: its token, or null where another client holds it, or the lease ended before the answer came.
async function attempt(key, holder, leaseMs, how) {
  const ends = performance.now() + leaseMs; // it begins once the store has the request
  const { payload, version } = await client.ask(["SET", key, holder, "NEX", "PX", String(leaseMs)], how);
  if (!choose(payload, { "+OK\r\n": true, ":-1\r\n": false, "-1\r\n": false })) return null;
  if (version === null) throw new Failure("reply", "the lock has no token");
  return performance.now() < ends ? version : null;
}

// Locks that are taken again and again; by their name and holder.
const renewals = new Map();

function renew(id, period, again) {
  const renewal = { last: null };
  renewal.timer = setInterval(() => {
    renewal.last = again().then((token) => token === null && clearInterval(renewal.timer), () => {});
  }, period);
  renewals.set(id, renewal);
}

// No renewal comes behind it.
async function stopRenewal(id) {
  const renewal = renewals.get(id);
  renewals.delete(id);
  clearInterval(renewal?.timer);
  await renewal?.last;
}

const COMMANDS = {
  async connect({ host, port, client_id: name, timeout_ms: timeoutMs }) {
    await COMMANDS.disconnect();
    notes = new Notes();
    client = new Client(host, port, name);
    client.on("notification", (note) => notes.add(note));
    await client.untilReady(timeoutMs);
    return {};
  },
  async disconnect() {
    const old = client;
    client = null;
    for (const { timer } of renewals.values()) clearInterval(timer);
    renewals.clear();
    if (old) await old.close();
    return {};
  },
  async set(command, key, value, how) {
    const words = ["SET", key, value];
    if (command.condition) words.push(command.condition.toUpperCase());
    if (command.px_ms !== undefined) words.push("PX", String(command.px_ms));
    const { payload, version } = await client.ask(words, how);
    const refusals = command.condition ? { ":-1\r\n": false, "-1\r\n": false } : {};
    return { applied: choose(payload, { "+OK\r\n": true, ...refusals }), version };
  },
  async get(_command, key, _value, how) {
    const { payload, version } = await client.ask(["GET", key], how);
    const value = bulk(payload);
    if (value === null && payload.toString("latin1") !== "$-1\r\n") throw new Failure("reply", "not a reply to GET");
    return { value: value === null ? null : value.toString("hex"), version };
  },
  async del(_command, key, _value, how) {
    return { deleted: choose((await client.ask(["DEL", key], how)).payload, { ":0\r\n": 0, ":1\r\n": 1 }) };
  },
  async vdel(_command, key, value, how) {
    const counts = { ":0\r\n": 0, ":1\r\n": 1, ":-1\r\n": -1, "-1\r\n": -1 };
    return { deleted: choose((await client.ask(["VDEL", key, value], how)).payload, counts) };
  },
  async lock(command, key, _value, how) {
    const id = `${command.key} ${command.holder}`;
    await stopRenewal(id);
    const [holder, end] = [Buffer.from(command.holder, "hex"), Date.now() + command.timeout_ms];
    let token = await attempt(key, holder, command.lease_ms, how);
    while (token === null && command.wait && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      token = await attempt(key, holder, command.lease_ms, how);
    }
    if (token !== null && command.renew_ms) renew(id, command.renew_ms, () => attempt(key, holder, command.lease_ms, how));
    return { held: token !== null, token };
  },
  async unlock(command, key, _value, how) {
    await stopRenewal(`${command.key} ${command.holder}`);
    const counts = { ":0\r\n": 0, ":1\r\n": 1, ":-1\r\n": -1, "-1\r\n": -1 };
    choose((await client.ask(["VDEL", key, Buffer.from(command.holder, "hex")], how)).payload, counts);
    return {};
  },
  async holder(_command, key, _value, how) {
    return { holder: (await COMMANDS.get(null, key, null, how)).value };
  },
  async observe(_command, key, _value, how) {
    client.observed.add(key.toString("hex"));
    choose((await client.ask(["KEYNOTIFY", key], how)).payload, { "+OK\r\n": true });
    return {};
  },
  async unobserve(_command, key, _value, how) {
    choose((await client.ask(["KEYNOTIFY", key, "STOP"], how)).payload, { "+OK\r\n": true, ":0\r\n": false });
    client.observed.delete(key.toString("hex"));
    return {};
  },
  async notification({ timeout_ms: timeoutMs }) {
    return notes.next(timeoutMs);
  },
};

async function run(command) {
  const [key, value] = ["key", "value"].map((part) => Buffer.from(command[part] ?? "", "hex"));
  try {
    const how = { timeoutMs: command.timeout_ms, token: command.token };
    say({ id: command.id, ok: await COMMANDS[command.command](command, key, value, how) });
  } catch (failure) {
    if (!(failure instanceof Failure)) throw failure;
    say({ id: command.id, error: { kind: failure.kind, text: failure.message } });
  }
}

say({ fencepost_adapter: 1, name: "mqtt-js", capabilities: CAPABILITIES });
readline.createInterface({ input: process.stdin }).on("line", (line) => run(JSON.parse(line))).on("close", () => process.exit(0));
