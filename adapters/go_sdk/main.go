// An adapter of `fencepost certify-client` around the state store client of the Go SDK.
//
// Commands come as JSON Lines on standard input, results go to standard output: docs/CLIENTS.md. The SDK names the holders of
// its locks itself, by the client id.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/Azure/iot-operations-sdks/go/mqtt"
	"github.com/Azure/iot-operations-sdks/go/protocol"
	"github.com/Azure/iot-operations-sdks/go/protocol/hlc"
	"github.com/Azure/iot-operations-sdks/go/services/leasedlock"
	"github.com/Azure/iot-operations-sdks/go/services/statestore"
)

const longestLine = 16 << 20

var capabilities = []string{
	"set", "get", "del", "vdel", "observe", "conditions", "expiry", "tokens", "versions", "concurrent", "reconnects",
	"error-text", "binary", "locks", "lock-waits", "lock-renewal",
}

type command struct {
	ID        json.RawMessage `json:"id"`
	Command   string          `json:"command"`
	Host      string          `json:"host"`
	Port      uint16          `json:"port"`
	ClientID  string          `json:"client_id"`
	Key       string          `json:"key"`
	Value     string          `json:"value"`
	Condition string          `json:"condition"`
	PxMs      *int64          `json:"px_ms"`
	Token     string          `json:"token"`
	LeaseMs   int64           `json:"lease_ms"`
	RenewMs   int64           `json:"renew_ms"`
	Wait      bool            `json:"wait"`
	TimeoutMs int64           `json:"timeout_ms"`
}

type result map[string]any

type sdk struct {
	mqtt   *mqtt.SessionClient
	client *statestore.Client[string, string]
	notes  chan result

	mutex    sync.Mutex
	observed map[string]func()
	locks    map[string]leasedlock.Lock[string, string]
}

func connect(ctx context.Context, c command) (*sdk, error) {
	app, err := protocol.NewApplication()
	if err != nil {
		return nil, err
	}
	session, err := mqtt.NewSessionClient(c.ClientID, mqtt.TCPConnection(c.Host, c.Port))
	if err != nil {
		return nil, err
	}
	client, err := statestore.New[string, string](app, session)
	if err != nil {
		return nil, err
	}
	s := &sdk{
		mqtt: session, client: client, notes: make(chan result, 10_000),
		observed: map[string]func(){}, locks: map[string]leasedlock.Lock[string, string]{},
	}
	if err := session.Start(); err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *sdk) close() {
	s.client.Close()
	_ = s.mqtt.Stop()
}

func version(v hlc.HybridLogicalClock) any {
	if v.IsZero() {
		return nil
	}
	return v.String()
}

func bytesOf(text string) string {
	out, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func inHex(text string) string { return hex.EncodeToString([]byte(text)) }

func (s *sdk) set(ctx context.Context, c command, within statestore.WithTimeout) (result, error) {
	options := []statestore.SetOption{within}
	switch c.Condition {
	case "nx":
		options = append(options, statestore.NotExists)
	case "nex":
		options = append(options, statestore.NotExistsOrEqual)
	}
	if c.PxMs != nil {
		options = append(options, statestore.WithExpiry(time.Duration(*c.PxMs)*time.Millisecond))
	}
	if c.Token != "" {
		token, err := hlc.New().Parse("token", c.Token)
		if err != nil {
			return nil, err
		}
		options = append(options, statestore.WithFencingToken(token))
	}
	reply, err := s.client.Set(ctx, bytesOf(c.Key), bytesOf(c.Value), options...)
	if err != nil {
		return nil, err
	}
	return result{"applied": reply.Value, "version": version(reply.Version)}, nil
}

func (s *sdk) delete(ctx context.Context, c command, within statestore.WithTimeout) (result, error) {
	var fence statestore.WithFencingToken
	if c.Token != "" {
		token, err := hlc.New().Parse("token", c.Token)
		if err != nil {
			return nil, err
		}
		fence = statestore.WithFencingToken(token)
	}
	var reply *statestore.Response[int]
	var err error
	if c.Command == "del" {
		reply, err = s.client.Del(ctx, bytesOf(c.Key), within, fence)
	} else {
		reply, err = s.client.VDel(ctx, bytesOf(c.Key), bytesOf(c.Value), within, fence)
	}
	if err != nil {
		return nil, err
	}
	return result{"deleted": reply.Value}, nil
}

func (s *sdk) passOn(notes <-chan statestore.Notify[string, string]) {
	for each := range notes {
		out := result{"key": inHex(each.Key), "operation": "delete", "value": nil, "version": version(each.Version)}
		if each.Operation == "SET" {
			out["operation"], out["value"] = "set", inHex(each.Value)
		}
		s.notes <- out
	}
}

func (s *sdk) observe(ctx context.Context, key string, within statestore.WithTimeout) (result, error) {
	s.mutex.Lock()
	_, observed := s.observed[key]
	if !observed {
		notes, done := s.client.Notify(key)
		s.observed[key] = done
		go s.passOn(notes)
	}
	s.mutex.Unlock()
	return result{}, s.client.KeyNotify(ctx, key, within)
}

func (s *sdk) unobserve(ctx context.Context, key string, within statestore.WithTimeout) (result, error) {
	if err := s.client.KeyNotifyStop(ctx, key, within); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if done, observed := s.observed[key]; observed {
		done()
		delete(s.observed, key)
	}
	return result{}, nil
}

func (s *sdk) lockOf(name string) leasedlock.Lock[string, string] {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	lock, made := s.locks[name]
	if !made {
		lock = leasedlock.NewLock(s.client, name)
		s.locks[name] = lock
	}
	return lock
}

func (s *sdk) lock(ctx context.Context, c command) (result, error) {
	within := time.Duration(c.TimeoutMs) * time.Millisecond
	options := []leasedlock.Option{leasedlock.WithTimeout(within)}
	if c.RenewMs > 0 {
		options = append(options, leasedlock.WithRenew(time.Duration(c.RenewMs)*time.Millisecond))
	}
	lock, lease := s.lockOf(bytesOf(c.Key)), time.Duration(c.LeaseMs)*time.Millisecond
	if c.Wait {
		err := lock.Lock(ctx, lease, options...)
		if errors.Is(err, context.DeadlineExceeded) {
			return result{"held": false}, nil
		}
		if err != nil {
			return nil, err
		}
	} else if held, err := lock.Acquire(ctx, lease, options...); err != nil || !held {
		return result{"held": false}, err
	}
	token, err := lock.Token(ctx)
	if err != nil {
		return nil, err
	}
	return result{"held": true, "token": token.String()}, nil
}

func (s *sdk) perform(ctx context.Context, c command) (result, error) {
	duration := time.Duration(c.TimeoutMs) * time.Millisecond
	within := statestore.WithTimeout(duration)
	switch c.Command {
	case "set":
		return s.set(ctx, c, within)
	case "get":
		reply, err := s.client.Get(ctx, bytesOf(c.Key), within)
		if err != nil {
			return nil, err
		}
		if reply.Version.IsZero() {
			return result{"value": nil, "version": nil}, nil
		}
		return result{"value": inHex(reply.Value), "version": version(reply.Version)}, nil
	case "del", "vdel":
		return s.delete(ctx, c, within)
	case "observe":
		return s.observe(ctx, bytesOf(c.Key), within)
	case "unobserve":
		return s.unobserve(ctx, bytesOf(c.Key), within)
	case "lock":
		return s.lock(ctx, c)
	case "unlock":
		return result{}, s.lockOf(bytesOf(c.Key)).Unlock(ctx, leasedlock.WithTimeout(duration))
	case "holder":
		holder, held, err := s.lockOf(bytesOf(c.Key)).Holder(ctx, leasedlock.WithTimeout(duration))
		if err != nil {
			return nil, err
		}
		if !held {
			return result{"holder": nil}, nil
		}
		return result{"holder": inHex(holder)}, nil
	case "notification":
		select {
		case note := <-s.notes:
			return note, nil
		case <-ctx.Done():
			return result{"none": true}, nil
		}
	}
	return nil, fmt.Errorf("there is no command %q", c.Command)
}

var output sync.Mutex

func say(id json.RawMessage, ok result, err error) {
	line := map[string]any{"id": id}
	var service statestore.ServiceError
	switch {
	case errors.As(err, &service):
		line["error"] = result{"kind": "service", "text": string(service)}
	case err != nil:
		line["error"] = result{"kind": "error", "text": err.Error()}
	default:
		line["ok"] = ok
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(string(text))
}

func main() {
	greeting, _ := json.Marshal(result{"fencepost_adapter": 1, "name": "go-sdk", "capabilities": capabilities})
	fmt.Println(string(greeting))
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	var current *sdk
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.TimeoutMs)*time.Millisecond)
		if c.Command == "connect" || c.Command == "disconnect" {
			if current != nil {
				current.close()
				current = nil
			}
			var err error
			if c.Command == "connect" {
				current, err = connect(ctx, c)
			}
			cancel()
			say(c.ID, result{}, err)
			continue
		}
		go func(s *sdk) {
			defer cancel()
			if s == nil {
				say(c.ID, nil, errors.New("not connected"))
				return
			}
			ok, err := s.perform(ctx, c)
			say(c.ID, ok, err)
		}(current)
	}
	os.Exit(0)
}
