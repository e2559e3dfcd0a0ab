package main

import (
	"bytes"
	"container/heap"
	"math"
	"strconv"
	"strings"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// entry is a key-value pair with its version, its fencing token ("associated
// with a given key-value pair", so it ends with the pair) and its expiry.
type entry struct {
	key      string
	value    []byte
	version  hlc
	token    *hlc
	expires  bool
	deadline time.Time // monotonic, never early
	slot     int       // place in the heap of expiries, -1: none
}

// observer is one KEYNOTIFY. It belongs to a connection: "the state store
// internally removes any KEYNOTIFY messages when a given client disconnects".
type observer struct{ withValue bool }

// store is used by one goroutine only: requests are carried out one at a time,
// those of one client in their order.
type store struct {
	c         *choices
	broker    *broker
	keys      map[string]*entry
	expiries  expiryHeap
	clock     hlc
	clocks    map[string]hlc // clock for each key; outlives the key
	observers map[string]map[*mqtt.Client]observer
	observed  map[*mqtt.Client]map[string]bool
	jobs      chan job
	deferred  []func() // notifications that follow the response
}

// job is a request, or the end of a connection (gone).
type job struct {
	client *mqtt.Client
	pk     packets.Packet
	due    time.Time
	gone   bool
	refuse bool // the envelope is bad, to be answered with an error
}

// reply is what a request is answered with.
type reply struct {
	payload string
	ts      *hlc
	isError bool
}

func newStore(c *choices) *store {
	return &store{c: c, keys: map[string]*entry{}, clock: hlc{node: c.nodeID}, clocks: map[string]hlc{},
		observers: map[string]map[*mqtt.Client]observer{}, observed: map[*mqtt.Client]map[string]bool{},
		jobs: make(chan job, 1<<16)}
}

func (s *store) run() {
	timer := time.NewTimer(time.Hour)
	for {
		if wait := s.untilSweep(time.Now()); wait >= 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
			s.sweep(time.Now())
		case j := <-s.jobs:
			if j.gone {
				s.forget(j.client)
				continue
			}
			time.Sleep(time.Until(j.due))
			s.serve(j)
		}
	}
}

func (s *store) serve(j job) {
	now := time.Now()
	if wait := s.untilSweep(now); wait == 0 {
		s.sweep(now)
	}
	r := reply{payload: errSyntax, isError: true}
	var verb string
	if !j.refuse {
		if s.otherVersion(j.pk.Properties.User) {
			s.broker.respond(j.pk, nil, []packets.UserProperty{{Key: "__stat", Val: "505"},
				{Key: "__stMsg", Val: "unsupported protocol version"}, {Key: "__supProtMajVer", Val: "1"}})
			return
		}
		r, verb = s.execute(j, now)
	}
	if r.isError {
		r = s.errorReply(verb, r.payload)
	}
	props := s.properties(r.ts)
	if s.c.sendStat != "no" { // "always send __stat = 200, also with -ERR payloads"
		stat := packets.UserProperty{Key: "__stat", Val: "200"}
		if s.c.propertyOrder == "__stat first" {
			props = append([]packets.UserProperty{stat}, props...)
		} else {
			props = append(props, stat)
		}
	}
	s.broker.respond(j.pk, []byte(r.payload), props)
	for _, notify := range s.deferred {
		notify()
	}
	s.deferred = s.deferred[:0]
}

// otherVersion: an mRPC executor may refuse a __protVer of another major
// version; the state store may as well not look at it.
func (s *store) otherVersion(props []packets.UserProperty) bool {
	if s.c.protVer != "__stat 505" {
		return false
	}
	v, ok := s.property(props, "__protVer")
	major, minor, dot := strings.Cut(v, ".")
	_, err := strconv.ParseUint(minor, 10, 16)
	return ok && v != "" && (major != "1" || !dot || err != nil)
}

// property finds a user property. Names are compared as they are, "__TS" is
// another one; unknown properties and their order do not matter.
func (s *store) property(props []packets.UserProperty, name string) (string, bool) {
	value, found := "", false
	for _, p := range props {
		if p.Key == name && (!found || s.c.repeatedProperty == "last counts") {
			value, found = p.Val, true
		}
	}
	return value, found
}

func (s *store) properties(ts *hlc) []packets.UserProperty {
	var props []packets.UserProperty
	if ts != nil {
		props = append(props, packets.UserProperty{Key: "__ts", Val: s.c.formatHLC(*ts)})
	}
	if s.c.sendProtVer != "" {
		props = append(props, packets.UserProperty{Key: "__protVer", Val: s.c.sendProtVer})
	}
	if s.c.sendSrcID != "" {
		props = append(props, packets.UserProperty{Key: "__srcId", Val: s.c.sendSrcID})
	}
	return props
}

func (s *store) errorReply(verb, text string) reply {
	form, end := "-ERR ", "\r\n"
	if s.c.documented {
		if text == errTokenLower {
			text = errTokenLowerA
		}
		if verb == "KEYNOTIFY" { // "-ERR: <DESCRIPTION OF ERROR><CR><LF>"
			form, _ = strings.CutSuffix(s.c.notifyErrForm, "text")
		} else if s.c.errCRLF == "no" { // the example "-ERR syntax error" shows none
			end = ""
		}
	}
	r := reply{payload: form + text + end}
	if s.c.tsError != "absent" {
		r.ts = s.now("")
	}
	return r
}

// now is the clock of the store, advanced; of one key if it has its own.
func (s *store) now(key string) *hlc {
	if s.c.clockScope == "one for all keys" {
		s.clock, _ = s.c.mergeHLC(s.clock, hlc{}, s.c.wallClock())
		v := s.clock
		return &v
	}
	v := hlc{wall: s.c.wallClock(), node: s.c.nodeID}
	if key != "" {
		v, _ = s.c.mergeHLC(s.clocks[key], hlc{}, s.c.wallClock())
		s.clocks[key] = v
	}
	return &v
}

// version merges the clock with the __ts of a request.
func (s *store) version(key string, ts hlc) (hlc, bool) {
	local := &s.clock
	own := s.clocks[key]
	if s.c.clockScope != "one for all keys" {
		local = &own
	}
	v, ok := s.c.mergeHLC(*local, ts, s.c.wallClock())
	if !ok {
		return v, false
	}
	if *local = v; local == &own {
		s.clocks[key] = v
	}
	return v, true
}

// observeTS moves the clock for all keys with a request that writes nothing.
func (s *store) observeTS(ts *hlc, isSet bool) {
	if ts == nil || s.c.clockScope != "one for all keys" {
		return
	}
	if s.c.clockAdvance == "every request with a legal __ts" || (isSet && s.c.clockAdvance == "every SET that is no error") {
		if v, ok := s.c.mergeHLC(s.clock, *ts, s.c.wallClock()); ok {
			s.clock = v
		}
	}
}

// timestamp reads __ts or __ft: its value, and "" or the text of an error.
func (s *store) timestamp(props []packets.UserProperty, name, tooFar string) (*hlc, string) {
	text, ok := s.property(props, name)
	if !ok || (name == "__ft" && text == "" && s.c.emptyFT == "as absent") {
		return nil, ""
	}
	if name == "__ts" && text == "" && s.c.emptyTS == errMissingTS {
		return nil, errMissingTS
	}
	h, ok := s.c.parseHLC(text)
	if !ok {
		return nil, errMalformedTS // "The timestamp in the __ts or the fencing token isn't legal."
	}
	if w := s.c.wallClock(); h.wall > w && h.wall-w > maxSkewMs { // exactly a minute is not more than one
		return nil, tooFar
	}
	return &h, ""
}

// setOptions are what follows key and value of a SET.
type setOptions struct {
	nx, nex   bool
	compare   []byte // NEX: the value that the key may have
	hasPX, at bool   // at: expires at once (PX 0)
	px        uint64
}

// execute carries a request out and returns its verb, for the form of errors.
func (s *store) execute(j job, now time.Time) (reply, string) {
	fail := func(text string) reply { return reply{payload: text, isError: true} }
	args, text := s.c.parseRequest(j.pk.Payload)
	if text != "" {
		return fail(text), ""
	}
	verb := string(args[0])
	known := func(v string) bool {
		return v == "SET" || v == "GET" || v == "DEL" || v == "VDEL" || v == "KEYNOTIFY"
	}
	if !known(verb) { // "The client must send both the verbs and the options in upper case."
		upper := strings.ToUpper(verb)
		switch {
		case verb == "":
			return fail(s.c.emptyVerb), ""
		case known(upper) && s.c.lowerVerb == "accepted":
			verb = upper
		case known(upper):
			return fail(s.c.lowerVerb), ""
		default:
			return fail(errUnknown), ""
		}
	}
	args = args[1:]
	switch {
	case verb == "SET" && len(args) < 2,
		(verb == "GET" || verb == "DEL") && len(args) != 1,
		verb == "VDEL" && len(args) != 2,
		verb == "KEYNOTIFY" && len(args) < 1:
		return fail(errArguments), verb
	}

	var opt setOptions
	var ts, ft *hlc
	stop, get := false, false
	props := j.pk.Properties.User
	for _, check := range s.c.checks {
		text = ""
		switch {
		case check == "key" && len(args[0]) == 0:
			text = errKeyLength // "Keys can't be zero length in state store."
		case check == "key" && s.c.keyMax > 0 && len(args[0]) > s.c.keyMax:
			text = errSyntax
		case check == "options" && verb == "SET":
			opt, text = s.setOptions(args[1], args[2:])
		case check == "options" && verb == "KEYNOTIFY":
			stop, get, text = s.notifyOptions(args[1:])
		case check == "ts" && verb == "SET":
			ts, text = s.timestamp(props, "__ts", errSkew)
			if ts == nil && text == "" {
				text = errMissingTS
			}
		case check == "ts": // other verbs need none; SDKs send it all the same
			ts, text = s.timestamp(props, "__ts", errSkew)
			if s.c.tsElsewhere == "ignored" {
				text = ""
			}
		case check == "ft" && (verb == "GET" || verb == "KEYNOTIFY"):
			if s.c.ftElsewhere == "checked" {
				_, text = s.timestamp(props, "__ft", errTokenSkew)
			}
		case check == "ft":
			ft, text = s.timestamp(props, "__ft", errTokenSkew)
		}
		if text != "" {
			return fail(text), verb
		}
	}

	key := string(args[0])
	e := s.lookup(key, now)
	r := reply{}
	switch verb {
	case "SET":
		r = s.set(key, args[1], e, opt, *ts, ft, now)
	case "GET":
		r.payload = "$-1\r\n"
		if e != nil {
			r = reply{payload: string(bulk(e.value)), ts: version(e)}
		}
	case "DEL", "VDEL":
		r = s.delete(verb, args, e, ft)
	case "KEYNOTIFY":
		r = s.keyNotify(j.client, key, stop, get)
	}
	if !r.isError && verb != "SET" {
		s.observeTS(ts, false)
	}
	return r, verb
}

func version(e *entry) *hlc {
	v := e.version
	return &v
}

func (s *store) setOptions(value []byte, args [][]byte) (o setOptions, text string) {
	name := func(b []byte) string {
		t := string(b)
		if u := strings.ToUpper(t); s.c.lowerOption == "accepted" {
			t = u
		}
		if t == "NX" || t == "NEX" || t == "PX" {
			return t
		}
		return ""
	}
	seen := map[string]bool{}
	for i := 0; i < len(args); i++ {
		opt := name(args[i])
		if opt == "" {
			return o, s.c.unknownOption
		}
		if seen[opt] && s.c.repeated == errSyntax {
			return o, errSyntax
		}
		if opt != "PX" && seen["PX"] && s.c.optionOrder != "any" {
			return o, errSyntax
		}
		counts := !seen[opt] || s.c.repeated == "last counts"
		seen[opt] = true
		switch opt {
		case "NX":
			o.nx = true
		case "NEX": // "SET LockName Client1 NEX PX 10000": compares with the value to be set
			compare := value
			if s.c.nexValue == "accepted" && i+1 < len(args) && name(args[i+1]) == "" {
				i++
				compare = args[i] // "NEX <value>", as the list of options prints it
			}
			if counts {
				o.nex, o.compare = true, compare
			}
		case "PX":
			if i++; i == len(args) {
				return o, s.c.pxAlone
			}
			ms, ok := s.pxNumber(string(args[i]))
			if !ok || (ms == 0 && s.c.pxZero == errSyntax) {
				return o, errSyntax
			}
			if counts {
				o.hasPX, o.px = true, ms
			}
		}
	}
	if o.nx && o.nex && s.c.bothConditions == errSyntax {
		return o, errSyntax
	}
	return o, ""
}

func (s *store) pxNumber(t string) (uint64, bool) {
	up := uint64(0)
	if whole, part, dot := strings.Cut(t, "."); dot && s.c.pxFraction != "refused" && digits(whole) && digits(part) {
		if t = whole; strings.Trim(part, "0") != "" {
			up = 1 // rounded up: a key never expires early
		}
	}
	if s.c.pxLenient == "accepted" {
		t = strings.TrimPrefix(t, "+")
	} else if len(t) > 1 && t[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(t, 10, 64) // refuses signs, blanks and what is wider
	if !digits(t) || err != nil || n > s.c.pxMax-up {
		return 0, false // "integer overflow" is an invalid payload
	}
	n += up
	if n > math.MaxInt64-s.c.wallClock() && s.c.pxOverflow == errSyntax {
		return 0, false
	}
	return n, true
}

func digits(t string) bool {
	return t != "" && strings.Trim(t, "0123456789") == ""
}

// set: NX "only if it doesn't already exist"; NEX "only if it doesn't exist or
// if the key's value is already set to <value>".
func (s *store) set(key string, value []byte, e *entry, o setOptions, ts hlc, ft *hlc, now time.Time) reply {
	applies := e == nil || (!o.nx && !(o.nex && !bytes.Equal(e.value, o.compare)))
	fenced := s.fence(e, ft)
	if fenced != "" && (applies || s.c.fenceOrder == "token first") {
		return reply{payload: fenced, isError: true}
	}
	if !applies {
		if fenced == "" && s.c.tokenOfRefused == "stored" {
			s.keepToken(e, ft)
		}
		s.observeTS(&ts, true)
		r := reply{payload: s.minusOne()}
		if s.c.tsNotApplied != "absent" {
			r.ts = version(e)
		}
		return r
	}
	if e == nil && s.c.quota > 0 && len(s.keys) >= s.c.quota {
		return reply{payload: errQuota, isError: true}
	}
	v, ok := s.version(key, ts)
	if !ok {
		return reply{payload: errMalformedTS, isError: true}
	}
	same := e != nil && bytes.Equal(e.value, value)
	if e == nil {
		e = &entry{key: key, slot: -1}
		s.keys[key] = e
	}
	e.value, e.version = value, v
	s.keepToken(e, ft)
	if o.hasPX || s.c.setKeepsExpiry == "no longer expires" {
		s.setExpiry(e, o, now)
	}
	if !same || s.c.notifySame == "notified" {
		s.notify(key, "SET", value, v)
	}
	return reply{payload: "+OK\r\n", ts: &v}
}

func (s *store) delete(verb string, args [][]byte, e *entry, ft *hlc) reply {
	if e == nil { // "a nonexistent key isn't considered an error", nor does it need a token
		return reply{payload: ":0\r\n"}
	}
	if text := s.fence(e, ft); text != "" {
		return reply{payload: text, isError: true}
	}
	if verb == "VDEL" && !bytes.Equal(e.value, args[1]) {
		r := reply{payload: s.minusOne()}
		if s.c.tsMismatch != "absent" {
			r.ts = version(e)
		}
		return r
	}
	s.remove(e)
	s.notify(e.key, s.deleteName(), nil, e.version)
	return reply{payload: ":1\r\n", ts: version(e)} // "This version is also returned on successful GET, DEL, and VDEL"
}

func (s *store) minusOne() string {
	if s.c.documented {
		return "-1\r\n"
	}
	return ":-1\r\n"
}

func (s *store) deleteName() string {
	if s.c.documented {
		return "DEL"
	}
	return "DELETE"
}

// fence is the fencing token algorithm: a key with a token needs one in the
// request that is equal or newer.
func (s *store) fence(e *entry, ft *hlc) string {
	switch {
	case e == nil || e.token == nil:
		return ""
	case ft == nil:
		return errTokenNeeded
	case s.c.older(*ft, *e.token):
		return errTokenLower
	}
	return ""
}

func (s *store) keepToken(e *entry, ft *hlc) {
	if ft != nil && (e.token == nil || s.c.older(*e.token, *ft)) {
		e.token = ft
	}
}

// --- KEYNOTIFY ---

func (s *store) notifyOptions(args [][]byte) (stop, get bool, text string) {
	if len(args) == 0 {
		return
	}
	name := string(args[0])
	if s.c.lowerOption == "accepted" {
		name = strings.ToUpper(name)
	}
	stop, get = name == "STOP", name == "GET" && s.c.notifyGet == "accepted"
	if !stop && !get {
		return false, false, s.c.notifyExtra
	}
	if len(args) > 1 {
		return false, false, s.c.notifyStopExtra
	}
	return stop, get, ""
}

func (s *store) keyNotify(cl *mqtt.Client, key string, stop, get bool) reply {
	r := reply{payload: "+OK\r\n"} // "the same as a successful SET"
	if s.c.tsKeyNotify != "absent" {
		r.ts = s.now("")
	}
	_, was := s.observers[key][cl]
	if stop {
		if !was {
			r.payload = ":0\r\n"
			return r
		}
		delete(s.observed[cl], key)
		s.unobserve(cl, key)
		return r
	}
	if cl.Closed() {
		return r // the connection is gone, and its registrations with it
	}
	if was {
		r.payload = s.c.notifyTwice + "\r\n"
	}
	if s.observers[key] == nil {
		s.observers[key] = map[*mqtt.Client]observer{}
	}
	if s.observed[cl] == nil {
		s.observed[cl] = map[string]bool{}
	}
	s.observers[key][cl] = observer{withValue: get || s.c.valueOnlyGet != "if KEYNOTIFY had the option GET"}
	s.observed[cl][key] = true
	return r
}

func (s *store) unobserve(cl *mqtt.Client, key string) {
	delete(s.observers[key], cl)
	if len(s.observers[key]) == 0 {
		delete(s.observers, key)
	}
}

func (s *store) forget(cl *mqtt.Client) {
	for key := range s.observed[cl] {
		s.unobserve(cl, key)
	}
	delete(s.observed, cl)
}

// notify tells the observers of a key, the writer included if it is one.
func (s *store) notify(key, operation string, value []byte, v hlc) {
	for cl, o := range s.observers[key] {
		fields := [][]byte{[]byte("NOTIFY"), []byte(operation)}
		if operation == "SET" && o.withValue {
			fields = append(fields, []byte("VALUE"), value)
		}
		payload := []byte("*" + strconv.Itoa(len(fields)) + "\r\n")
		for _, f := range fields {
			payload = append(payload, bulk(f)...)
		}
		send := func() { s.broker.notify(cl, key, payload, s.properties(&v)) }
		if s.c.notifyOrder == "response first" {
			s.deferred = append(s.deferred, send)
		} else {
			send()
		}
	}
}

// --- expiry ---

func (s *store) setExpiry(e *entry, o setOptions, now time.Time) {
	if e.slot >= 0 {
		heap.Remove(&s.expiries, e.slot)
	}
	e.expires = o.hasPX && o.px < 100*365*86400*1000 // what is longer does not come to pass
	if e.expires {
		e.deadline = now.Add(time.Duration(o.px) * time.Millisecond)
		heap.Push(&s.expiries, e)
	}
}

func (s *store) lookup(key string, now time.Time) *entry {
	e := s.keys[key]
	if e != nil && e.expires && !now.Before(e.deadline) && s.c.expiryVisible == "at once" {
		s.expire(e)
		return nil
	}
	return e
}

// untilSweep is the time until the next expiry is noticed, negative if none is due.
func (s *store) untilSweep(now time.Time) time.Duration {
	if len(s.expiries) == 0 {
		return -1
	}
	at := s.expiries[0].deadline
	if g := s.c.expiryGrain; g > 0 { // the first sweep at or after the deadline
		since := at.Sub(started)
		at = started.Add((since + g - 1) / g * g)
	}
	return max(0, at.Sub(now))
}

var started = time.Now()

func (s *store) sweep(now time.Time) {
	for len(s.expiries) > 0 && !now.Before(s.expiries[0].deadline) {
		s.expire(s.expiries[0])
	}
	for _, notify := range s.deferred {
		notify()
	}
	s.deferred = s.deferred[:0]
}

func (s *store) expire(e *entry) {
	s.remove(e)
	if s.c.expiryNotified != "yes" {
		return
	}
	v := e.version
	if s.c.expiryVersion != "deleted version" {
		v = *s.now(e.key)
	}
	s.notify(e.key, s.deleteName(), nil, v)
}

// remove takes the key away, its token with it.
func (s *store) remove(e *entry) {
	if e.slot >= 0 {
		heap.Remove(&s.expiries, e.slot)
	}
	delete(s.keys, e.key)
}

type expiryHeap []*entry

func (h expiryHeap) Len() int           { return len(h) }
func (h expiryHeap) Less(i, j int) bool { return h[i].deadline.Before(h[j].deadline) }
func (h expiryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}
func (h *expiryHeap) Push(x any) {
	e := x.(*entry)
	e.slot = len(*h)
	*h = append(*h, e)
}
func (h *expiryHeap) Pop() any {
	e := (*h)[len(*h)-1]
	e.slot = -1
	*h = (*h)[:len(*h)-1]
	return e
}
