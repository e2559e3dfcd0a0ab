'use strict'
// node store.js [--port N] [--profile deployed|documented] [--seed N] [--quota KEYS] [--choose NAME=VALUE]...

const { Broker } = require('./broker')
const { StateStore } = require('./statestore')
const { choose } = require('./choices')

function usage (text) {
  process.stderr.write(`${text}\nusage: node store.js [--port N] [--profile deployed|documented] [--seed N] [--quota KEYS] [--choose NAME=VALUE]...\n`)
  process.exit(2)
}

const args = { port: 0, profile: 'deployed', seed: null, quota: 0 }
const overrides = new Map()
const argv = process.argv.slice(2)
for (let i = 0; i < argv.length; i++) {
  const [, name, joined] = /^--([a-z]+)(?:=(.*))?$/s.exec(argv[i]) || usage(`not an option: ${argv[i]}`)
  const value = joined !== undefined ? joined : argv[++i]
  if (value === undefined) usage(`--${name} needs a value`)
  if (name === 'choose') {
    const at = value.indexOf('=')
    if (at < 0) usage('--choose NAME=VALUE')
    overrides.set(value.slice(0, at), value.slice(at + 1))
  } else if (name === 'profile') {
    if (!['deployed', 'documented'].includes(value)) usage(`no profile is named ${value}`)
    args.profile = value
  } else if (name in args) {
    if (!/^[0-9]+$/.test(value)) usage(`--${name} needs a number`)
    args[name] = name === 'seed' ? value : Number(value)
  } else {
    usage(`not an option: --${name}`)
  }
}

let ch
try {
  ch = choose(args.profile, args.seed, overrides, (line) => process.stderr.write(line + '\n'))
} catch (e) {
  usage(e.message)
}
const broker = new Broker(ch)
broker.store = new StateStore(broker, ch, args.profile, args.quota)
broker.server.on('error', (e) => { process.stderr.write(`${e.message}\n`); process.exit(1) })
process.on('SIGTERM', () => {
  broker.shutDown()
  setTimeout(() => process.exit(0), 50)
})
broker.listen(args.port, (port) => process.stdout.write(`listening on 127.0.0.1:${port}\n`))
