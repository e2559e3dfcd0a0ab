package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// hlc is a hybrid logical clock value, "{wallClock}:{counter}:{node-Id}".
// "The wallClock is the number of milliseconds since the Unix epoch."
type hlc struct {
	wall, counter uint64
	node          string
}

// maxSkewMs: "The state store rejects a __ts (and also a __ft) that is more
// than a minute ahead of the state store's local clock."
const maxSkewMs = 60_000

// parseHLC reads a __ts or __ft. Padding is only a spelling: the numbers are
// compared, so "1:1:X" is "000000000000001:00001:X".
func (c *choices) parseHLC(s string) (hlc, bool) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return hlc{}, false // a node id has no colon: no SDK reads one
	}
	wall, ok1 := c.clockNumber(parts[0], c.wallMax)
	counter, ok2 := c.clockNumber(parts[1], c.counterMax)
	if !ok1 || !ok2 || (parts[2] == "" && c.emptyNode != "accepted") {
		return hlc{}, false
	}
	return hlc{wall, counter, parts[2]}, true
}

func (c *choices) clockNumber(s string, max uint64) (uint64, bool) {
	if c.plusSign == "accepted" && len(s) > 1 && s[0] == '+' {
		s = s[1:]
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, 64) // also refuses the empty string
	return n, err == nil && n <= max
}

func (c *choices) formatHLC(h hlc) string {
	if c.hlcSpelling == "padded 15/5" {
		return fmt.Sprintf("%015d:%05d:%s", h.wall, h.counter, h.node)
	}
	return fmt.Sprintf("%d:%d:%s", h.wall, h.counter, h.node)
}

// older orders two values by wall clock, counter and, in a tie, node id.
func (c *choices) older(a, b hlc) bool {
	if a.wall != b.wall {
		return a.wall < b.wall
	}
	if a.counter != b.counter {
		return a.counter < b.counter
	}
	return c.nodeTie == "decides" && a.node < b.node
}

// mergeHLC is the HLC update of the local clock with another one at the wall
// clock w. The result is greater than both: "The returned HLC is always
// greater than the HLC of the initial request." (This holds also for a request
// that carries the node id of the store itself, so there is no exception here.)
// ok is false if the other clock's own counter cannot be counted on.
func (c *choices) mergeHLC(local, other hlc, w uint64) (_ hlc, ok bool) {
	next := hlc{node: c.nodeID}
	var from uint64
	switch {
	case w > local.wall && w > other.wall:
		next.wall = w // "sets the version of the key to its local clock because it's greater"
		return next, true
	case local.wall == other.wall:
		next.wall, from = local.wall, max(local.counter, other.counter)
	case local.wall > other.wall:
		next.wall, from = local.wall, local.counter
	default:
		next.wall, from = other.wall, other.counter
	}
	if from < c.counterMax {
		next.counter = from + 1
		return next, true
	}
	if c.counterOverflow == "malformed timestamp" && other.counter == c.counterMax && other.wall == next.wall {
		return hlc{}, false
	}
	if next.wall == math.MaxUint64 {
		return hlc{}, false
	}
	next.wall, next.counter = next.wall+1, 0 // carried over: still greater
	return next, true
}
