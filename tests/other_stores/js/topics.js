'use strict'
// Topic Names and Topic Filters, MQTT 4.7.

// MQTT 4.7.3-1 "at least one character long"; 3.3.2-2 "MUST NOT contain wildcard characters".
const isName = (topic) => topic.length > 0 && !/[+#]/.test(topic)

// MQTT 4.7.1-1 (# last, alone in its level) and 4.7.1-2 (+ alone in its level).
function isFilter (filter) {
  if (filter.length === 0) return false
  const levels = filter.split('/')
  return levels.every((l, i) => l === '+' || (l === '#' && i === levels.length - 1) || !/[+#]/.test(l))
}

function matches (filter, topic) {
  // MQTT 4.7.2-1: a filter that starts with a wildcard does not match a topic that starts with $.
  if (topic[0] === '$' && (filter[0] === '+' || filter[0] === '#')) return false
  if (filter === topic) return true
  const f = filter.split('/')
  const t = topic.split('/')
  for (let i = 0; i < f.length; i++) {
    if (f[i] === '#') return true // MQTT 4.7.1.2: also the parent level
    if (i >= t.length || (f[i] !== '+' && f[i] !== t[i])) return false
  }
  return f.length === t.length
}

module.exports = { isName, isFilter, matches }
