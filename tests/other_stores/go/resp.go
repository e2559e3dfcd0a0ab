package main

import (
	"bytes"
	"strconv"
)

// The twelve error strings, in the order of the table "-ERR responses".
const (
	errSkew        = "the request timestamp is too far in the future; ensure that the client and broker system clocks are synchronized"
	errTokenNeeded = "a fencing token is required for this request"
	errTokenSkew   = "the request fencing token timestamp is too far in the future; ensure that the client and broker system clocks are synchronized"
	errTokenLower  = "the request fencing token is a lower version than the fencing token protecting the resource"
	errTokenLowerA = "the request fencing token is a lower version that the fencing token protecting the resource" // as the article prints it
	errQuota       = "the quota has been exceeded"
	errSyntax      = "syntax error"
	errUnknown     = "unknown command"
	errArguments   = "wrong number of arguments"
	errMissingTS   = "missing timestamp"
	errMalformedTS = "malformed timestamp"
	errKeyLength   = "the key length is zero"
	// "not authorized" is never sent: this store has no rules about keys.
)

// parseRequest reads "*{n}<CR><LF>" and n times "${length}<CR><LF>{bytes}<CR><LF>".
// Lengths are counted in bytes. The string is "" or the text of the error.
func (c *choices) parseRequest(p []byte) ([][]byte, string) {
	n, p, ok := c.header(p, '*')
	if !ok || n > uint64(len(p)) { // an element takes more than one byte
		return nil, errSyntax
	}
	if n == 0 {
		return nil, c.emptyArray
	}
	args := make([][]byte, 0, 8)
	for ; n > 0; n-- {
		var size uint64
		size, p, ok = c.header(p, '$')
		if !ok || size > uint64(len(p)) {
			return nil, errSyntax
		}
		args = append(args, p[:size])
		p = p[size:]
		switch {
		case bytes.HasPrefix(p, []byte("\r\n")):
			p = p[2:]
		case c.bareLF == "accepted" && len(p) > 0 && p[0] == '\n':
			p = p[1:]
		default:
			return nil, errSyntax
		}
	}
	if len(p) > 0 && c.trailing != "ignored" {
		return nil, errSyntax
	}
	return args, ""
}

// header reads one line: a type character, a decimal number and the line end.
func (c *choices) header(p []byte, kind byte) (uint64, []byte, bool) {
	end := bytes.IndexByte(p, '\n')
	if end < 2 || p[0] != kind {
		return 0, nil, false
	}
	digits, rest := p[1:end], p[end+1:]
	if digits[len(digits)-1] == '\r' {
		digits = digits[:len(digits)-1]
	} else if c.bareLF != "accepted" {
		return 0, nil, false
	}
	if len(digits) == 0 || (len(digits) > 1 && digits[0] == '0' && c.leadingZeros != "accepted") {
		return 0, nil, false
	}
	for _, d := range digits {
		if d < '0' || d > '9' { // also "-1": there is no null argument
			return 0, nil, false
		}
	}
	n, err := strconv.ParseUint(string(digits), 10, 62) // "integer overflow" is an invalid payload
	return n, rest, err == nil
}

// bulk writes "$n<CR><LF>value<CR><LF>".
func bulk(value []byte) []byte {
	out := append([]byte{'$'}, strconv.Itoa(len(value))...)
	out = append(out, "\r\n"...)
	out = append(out, value...)
	return append(out, "\r\n"...)
}
