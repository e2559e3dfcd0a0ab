// Times Porcupine on given histories, for ci/bench_histories. Each answer is a line of JSON.
//
//	porcupine logs FILE...     logs of a register: verdict and median of some runs
//	porcupine hot FILE LIMIT   a history of SET, GET and DEL of one key, given up after LIMIT seconds
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

const runs = 7

type registerInput struct {
	function string
	value    string
	expected string
}

type registerOutput struct {
	ok      bool
	unknown bool
	value   string
}

// A register with compare-and-set, as the logs are of.
var register = porcupine.Model{
	Init: func() interface{} { return "nil" },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		input, output := in.(registerInput), out.(registerOutput)
		switch input.function {
		case ":read":
			return output.unknown || output.value == state.(string), state
		case ":write":
			return true, input.value
		default:
			matches := state.(string) == input.expected
			if output.unknown {
				if matches {
					return true, input.value
				}
				return true, state
			}
			if matches {
				return output.ok, input.value
			}
			return !output.ok, state
		}
	},
	Hash: func(state interface{}) uint64 {
		out := uint64(14695981039346656037)
		for _, b := range []byte(state.(string)) {
			out = (out ^ uint64(b)) * 1099511628211
		}
		return out
	},
}

var line = regexp.MustCompile(`^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+(:read|:write|:cas)\s+(.*)$`)

func events(path string) []porcupine.Event {
	text, err := os.ReadFile(path)
	must(err)
	var out []porcupine.Event
	pending := map[int]int{} // process -> operation
	unanswered := map[int]int{}
	id := 0
	for _, one := range strings.Split(string(text), "\n") {
		match := line.FindStringSubmatch(strings.TrimSpace(one))
		if match == nil {
			continue
		}
		process, _ := strconv.Atoi(match[1])
		if match[2] == "invoke" {
			input := registerInput{function: match[3], value: match[4]}
			if pair := strings.Fields(strings.Trim(match[4], "[]")); match[3] == ":cas" {
				input.expected, input.value = pair[0], pair[1]
			}
			out = append(out, porcupine.Event{ClientId: process, Kind: porcupine.CallEvent, Value: input, Id: id})
			pending[process] = id
			id++
			continue
		}
		operation, there := pending[process]
		if !there {
			continue
		}
		delete(pending, process)
		timedOut := match[2] == "info" || strings.Contains(match[4], "timed-out")
		if timedOut && match[3] != ":read" {
			unanswered[operation] = process
			continue
		}
		output := registerOutput{ok: match[2] == "ok", unknown: timedOut, value: match[4]}
		out = append(out, porcupine.Event{ClientId: process, Kind: porcupine.ReturnEvent, Value: output, Id: operation})
	}
	for process, operation := range pending {
		unanswered[operation] = process
	}
	// They may happen at any later time.
	for operation, process := range unanswered {
		out = append(out, porcupine.Event{ClientId: process, Kind: porcupine.ReturnEvent,
			Value: registerOutput{unknown: true}, Id: operation})
	}
	return out
}

type hotInput struct {
	action  string
	outcome string
	version int // rank among all versions
}

type hotState struct {
	present bool
	version int
	last    int // the greatest so far
}

// A key whose versions grow.
var hotKey = porcupine.Model{
	Init: func() interface{} { return hotState{version: -1, last: -1} },
	Step: func(state, in, _ interface{}) (bool, interface{}) {
		before, input := state.(hotState), in.(hotInput)
		switch input.outcome {
		case "ok":
			return input.version > before.last, hotState{true, input.version, input.version}
		case "value":
			return before.present && before.version == input.version, before
		case "missing":
			return !before.present, before
		default:
			return before.present && before.version == input.version, hotState{false, -1, before.last}
		}
	},
	Hash: func(state interface{}) uint64 {
		one := state.(hotState)
		out := uint64(one.version+1)*1099511628211 ^ uint64(one.last+1)
		if one.present {
			out ^= 1 << 63
		}
		return out
	},
}

type record struct {
	Type    string `json:"type"`
	ID      int    `json:"id"`
	At      int64  `json:"at"`
	Client  int    `json:"client"`
	Request string `json:"request"`
	Reply   string `json:"reply"`
	Version string `json:"version"`
}

func operations(path string) []porcupine.Operation {
	file, err := os.Open(path)
	must(err)
	defer file.Close()
	var out []porcupine.Operation
	var versions []string
	calls := map[int]record{}
	scanner := bufio.NewScanner(file)
	var replies []record
	for scanner.Scan() {
		var one record
		must(json.Unmarshal(scanner.Bytes(), &one))
		switch one.Type {
		case "call":
			calls[one.ID] = one
		case "return":
			replies = append(replies, one)
			versions = append(versions, one.Version)
		}
	}
	must(scanner.Err())
	sort.Strings(versions) // padded: their bytes are in the order of the versions
	rank := map[string]int{}
	for _, version := range versions {
		if _, there := rank[version]; !there {
			rank[version] = len(rank)
		}
	}
	for _, reply := range replies {
		call := calls[reply.ID]
		input := hotInput{call.Request, reply.Reply, rank[reply.Version]}
		out = append(out, porcupine.Operation{ClientId: call.Client, Input: input, Call: call.At, Return: reply.At})
	}
	return out
}

func processor() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func median(times []float64) float64 {
	sort.Float64s(times)
	return times[len(times)/2]
}

func print(answer map[string]interface{}) {
	text, err := json.Marshal(answer)
	must(err)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func milliseconds(span time.Duration) float64 { return float64(span.Nanoseconds()) / 1e6 }

func logs(paths []string) {
	for _, path := range paths {
		history := events(path)
		var walls, processors []float64
		verdict := false
		for run := 0; run < runs; run++ {
			used, begin := processor(), time.Now()
			count := 0
			for count == 0 || time.Since(begin) < 2*time.Millisecond {
				verdict = porcupine.CheckEvents(register, history)
				count++
			}
			walls = append(walls, milliseconds(time.Since(begin))/float64(count))
			processors = append(processors, milliseconds(processor()-used)/float64(count))
		}
		print(map[string]interface{}{"name": filepath.Base(path), "verdict": map[bool]string{true: "ok", false: "violation"}[verdict],
			"ms": median(walls), "processor_ms": median(processors)})
	}
}

func hot(path string, limit time.Duration) {
	history := operations(path)
	used, begin := processor(), time.Now()
	result := porcupine.CheckOperationsTimeout(hotKey, history, limit)
	verdict := map[porcupine.CheckResult]string{porcupine.Ok: "ok", porcupine.Illegal: "violation"}[result]
	if verdict == "" {
		verdict = "given up"
	}
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	print(map[string]interface{}{"verdict": verdict, "ms": milliseconds(time.Since(begin)),
		"processor_ms": milliseconds(processor() - used), "peak_rss_mb": usage.Maxrss / 1024})
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "logs" {
		logs(os.Args[2:])
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "hot" {
		seconds, err := strconv.Atoi(os.Args[3])
		must(err)
		hot(os.Args[2], time.Duration(seconds)*time.Second)
		return
	}
	fmt.Fprintln(os.Stderr, "usage: porcupine logs FILE... | hot FILE SECONDS")
	os.Exit(2)
}
