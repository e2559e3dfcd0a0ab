package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"
)

// choices holds what the documents leave open. For each point the first of the
// listed values is the plainest; a seed draws one of them.
type choices struct {
	documented bool // "--profile documented": the form that the article prints
	quota      int  // "a quota of how many keys it can store"; 0: none

	// payload
	emptyArray, bareLF, leadingZeros, trailing, lowerVerb, lowerOption string
	emptyVerb, unknownOption, pxAlone, repeated, bothConditions        string
	optionOrder, nexValue, pxZero, pxLenient, pxFraction, pxOverflow   string
	pxMax                                                              uint64
	keyMax                                                             int
	notifyExtra, notifyStopExtra, notifyGet                            string
	checks                                                             []string // order of the checks of one request

	// envelope of requests
	otherQos, noResponseTopic, noCorrelation, badTopicWhen, dollarTopic, wildcardTopic string
	badTopicCode                                                                       string
	protVer, repeatedProperty, emptyTS, emptyFT                                        string
	packetMax                                                                          uint32

	// envelope of responses and notifications
	replyQos, notifyQos                                     byte
	contentType, formatIndicator, sendProtVer, sendSrcID    string
	replyExpiry, propertyOrder, sendStat                    string
	tsNotApplied, tsMismatch, tsKeyNotify, tsError, errCRLF string
	notifyErrForm                                           string

	// clock
	nodeID, hlcSpelling, emptyNode, plusSign, nodeTie  string
	counterOverflow, clockScope, clockAdvance          string
	tsElsewhere, ftElsewhere                           string
	wallMax, counterMax                                uint64
	grainMs, offsetMs                                  int64
	fenceOrder, tokenOfRefused                         string
	setKeepsExpiry, expiryNotified, expiryVersion      string
	expiryVisible                                      string
	expiryGrain                                        time.Duration
	notifySame, notifyOrder, notifyTwice, valueOnlyGet string
	service                                            string
}

type picker struct{ rng *rand.Rand } // rng nil: always the first

func (p *picker) index(n int) int {
	if p.rng == nil {
		return 0
	}
	return p.rng.Intn(n)
}

func (p *picker) of(what string, values ...string) string {
	v := values[p.index(len(values))]
	fmt.Fprintf(os.Stderr, "choice: %s = %s\n", what, v)
	return v
}

func (p *picker) bits(what string, widths ...string) uint64 {
	n, _ := strconv.Atoi(p.of(what+" (bits)", widths...))
	return ^uint64(0) >> (64 - n)
}

func (p *picker) number(what string, values ...string) int64 {
	n, _ := strconv.ParseInt(p.of(what, values...), 10, 64)
	return n
}

func drawChoices(documented bool, quota int, seed *int64) *choices {
	p := &picker{}
	if seed != nil {
		p.rng = rand.New(rand.NewSource(*seed))
	}
	c := &choices{documented: documented, quota: quota}
	// only draws a value that is right in one of the two profiles only
	only := func(inDocumented bool, what string, values ...string) string {
		if inDocumented != documented {
			p.index(len(values)) // keep the other draws of this seed the same
			return ""
		}
		return p.of(what, values...)
	}

	c.emptyArray = p.of("array of no elements", errSyntax, errArguments, errUnknown)
	c.bareLF = p.of("LF without CR in a request", "refused", "accepted")
	c.leadingZeros = p.of("leading zeros in a length", "refused", "accepted")
	c.trailing = p.of("bytes behind the array", "refused", "ignored")
	c.lowerVerb = p.of("verb in lower case", errUnknown, errSyntax, "accepted")
	c.lowerOption = p.of("option in lower case", "refused", "accepted")
	c.emptyVerb = p.of("empty verb", errUnknown, errSyntax)
	c.unknownOption = p.of("unknown SET option", errSyntax, errArguments)
	c.pxAlone = p.of("PX without a number", errSyntax, errArguments)
	c.repeated = p.of("repeated SET option", errSyntax, "first counts", "last counts")
	c.bothConditions = p.of("NX together with NEX", errSyntax, "both must hold")
	c.optionOrder = p.of("order of SET options", "any", "condition before PX")
	c.nexValue = p.of("NEX with a value of its own", "refused", "accepted")
	c.pxZero = p.of("PX 0", errSyntax, "expires at once")
	c.pxLenient = p.of("PX with plus sign or leading zeros", "refused", "accepted")
	c.pxFraction = p.of("PX with a decimal fraction", "refused", "rounded up")
	c.pxMax = p.bits("width of PX", "63", "64", "32")
	c.pxOverflow = p.of("now + PX beyond 63 bits", "never expires", errSyntax)
	c.keyMax = int(p.number("longest key, longer: syntax error (0: no limit)", "0", "65535"))
	c.notifyExtra = p.of("KEYNOTIFY with an unknown option", errSyntax, errArguments)
	c.notifyStopExtra = p.of("KEYNOTIFY STOP with more behind it", errArguments, errSyntax)
	c.notifyGet = p.of("KEYNOTIFY with the old option GET", "refused", "accepted")
	c.checks = []string{"key", "options", "ts", "ft"}
	if p.rng != nil {
		p.rng.Shuffle(len(c.checks), func(i, j int) { c.checks[i], c.checks[j] = c.checks[j], c.checks[i] })
	}
	p.of("order in which errors are found", "verb, arity, "+strings.Join(c.checks, ", "))

	c.otherQos = p.of("request with QoS 0 or 2 (not carried out)", "no answer", "answered syntax error", "disconnect")
	c.noResponseTopic = p.of("request without response topic (not carried out)", "no answer", "PUBACK 0x83", "disconnect")
	c.noCorrelation = p.of("request without correlation data (not carried out)", "no answer", "PUBACK 0x83", "answered syntax error")
	c.badTopicWhen = p.of("disconnect for an invalid response topic", "without PUBACK", "after PUBACK")
	c.badTopicCode = p.of("reason of that DISCONNECT", "0x90", "0x82", "0x83", "0x87")
	c.wildcardTopic = p.of("response topic with a wildcard (not carried out)", "disconnect", "no answer")
	c.dollarTopic = p.of("response topic that begins with $", "served", "disconnect")
	c.protVer = only(false, "__protVer of another major version", "ignored", "__stat 505")
	c.repeatedProperty = p.of("repeated __ts or __ft", "first counts", "last counts")
	c.emptyTS = p.of("empty __ts", errMalformedTS, errMissingTS)
	c.emptyFT = p.of("empty __ft", errMalformedTS, "as absent")
	c.packetMax = uint32(p.number("maximum packet size (0: no limit)", "0", "4194304", "16777216"))

	c.replyQos = byte(p.number("QoS of responses", "1", "0"))
	c.notifyQos = byte(p.number("QoS of notifications", "1", "0"))
	c.contentType = p.of("content type sent", "application/octet-stream", "")
	c.formatIndicator = p.of("payload format indicator sent", "none", "0")
	c.sendProtVer = p.of("__protVer sent", "1.0", "")
	c.sendSrcID = p.of("__srcId sent", "", "state-store")
	c.replyExpiry = p.of("message expiry of responses", "none", "as the request's", "60 s")
	c.propertyOrder = p.of("order of user properties", "__stat first", "__ts first")
	c.sendStat = only(true, "__stat sent", "no", "yes")
	c.tsNotApplied = only(true, "__ts of a SET that was not applied", "absent", "stored version")
	c.tsMismatch = p.of("__ts of a VDEL with another value", "absent", "stored version")
	c.tsKeyNotify = p.of("__ts of KEYNOTIFY responses", "absent", "clock of the store")
	c.tsError = p.of("__ts of error responses", "absent", "clock of the store")
	c.errCRLF = only(true, "CRLF behind -ERR syntax error", "yes", "no")
	c.notifyErrForm = only(true, "error of KEYNOTIFY", "-ERR: text", "-ERR text")

	c.nodeID = p.of("node id of the store", "StateStore", "store-0", "5b1c3f6e-8a40-4f8e-9a5d-0d9e6a1f7c22", "Node_B.7")
	c.hlcSpelling = p.of("spelling of versions", "padded 15/5", "not padded")
	c.emptyNode = p.of("empty node id in a timestamp", "refused", "accepted")
	c.plusSign = p.of("plus sign in a timestamp", "refused", "accepted")
	c.nodeTie = p.of("node id in a tie of fencing tokens", "decides", "ignored")
	c.wallMax = p.bits("width of the wall clock", "64", "63")
	c.counterMax = p.bits("width of the counter", "64", "63", "32", "31")
	c.counterOverflow = p.of("greatest counter that cannot be counted on", errMalformedTS, "carried into the wall clock")
	c.clockScope = p.of("clock", "one for all keys", "one for each key, kept when deleted")
	c.clockAdvance = p.of("clock for all keys moves with", "applied SET", "every SET that is no error", "every request with a legal __ts")
	c.tsElsewhere = p.of("__ts on other verbs than SET", "ignored", "checked")
	c.ftElsewhere = p.of("__ft on GET and KEYNOTIFY", "ignored", "checked")
	c.grainMs = p.number("clock grain, ms", "1", "10", "16")
	c.offsetMs = p.number("clock of the store against the machine's, ms", "0", "2000", "-3000")
	c.fenceOrder = p.of("SET: fencing token against NX or NEX", "token first", "condition first")
	c.tokenOfRefused = p.of("newer __ft of a SET that was not applied", "dropped", "stored")
	c.setKeepsExpiry = p.of("SET without PX on a key that expires", "no longer expires", "keeps its expiry")
	c.expiryNotified = "yes"
	if v := only(true, "expiry is notified", "no", "yes"); v != "" {
		c.expiryNotified = v
	}
	c.expiryVersion = p.of("__ts of the notification of an expiry", "deleted version", "clock of the store")
	c.expiryVisible = p.of("an expired key is gone", "at once", "with the next sweep")
	c.expiryGrain = time.Duration(p.number("sweep for expired keys, ms (0: to the point)", "0", "20", "100", "250")) * time.Millisecond
	c.notifySame = p.of("SET of the value that a key has", "notified", "not notified")
	c.notifyOrder = p.of("notification against the writer's response", "notification first", "response first")
	c.notifyTwice = "+OK"
	if v := only(false, "KEYNOTIFY again", "+OK", ":0"); v != "" {
		c.notifyTwice = v
	}
	c.valueOnlyGet = only(true, "VALUE in notifications", "always", "if KEYNOTIFY had the option GET")
	if c.valueOnlyGet == "if KEYNOTIFY had the option GET" && c.notifyGet != "accepted" {
		c.notifyGet = "accepted"
		fmt.Fprintln(os.Stderr, "choice: KEYNOTIFY with the old option GET = accepted (follows)")
	}
	c.service = p.of("service time", "none", "2 ms", "5 ms", "0 to 5 ms")
	return c
}

func (c *choices) serviceTime() time.Duration {
	switch c.service {
	case "2 ms":
		return 2 * time.Millisecond
	case "5 ms":
		return 5 * time.Millisecond
	case "0 to 5 ms":
		return time.Duration(rand.Int63n(int64(5 * time.Millisecond)))
	}
	return 0
}

// wallClock is "the state store's local clock".
func (c *choices) wallClock() uint64 {
	ms := time.Now().UnixMilli() + c.offsetMs
	return uint64(ms - ms%c.grainMs)
}
