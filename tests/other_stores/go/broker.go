package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

const (
	requestTopic = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke"
	storePrefix  = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8"
)

// broker joins the MQTT library and the store: it takes the requests out of
// the flow of messages and publishes responses and notifications.
type broker struct {
	mqtt.HookBase
	c       *choices
	store   *store
	server  *mqtt.Server
	self    *mqtt.Client // publishes for the store
	seq     atomic.Int64
	windows sync.Map // *mqtt.Client -> *window
}

func newBroker(c *choices, s *store) *broker {
	caps := mqtt.NewDefaultServerCapabilities()
	caps.MaximumPacketSize = c.packetMax
	caps.MaximumInflight, caps.ReceiveMaximum = 65535, 65535
	caps.MaximumMessageExpiryInterval = 0 // "created" is used as a sequence number here, see OnPublish
	caps.Compatibilities.NoInheritedPropertiesOnAck = true
	b := &broker{c: c, store: s}
	b.server = mqtt.New(&mqtt.Options{
		Capabilities: caps, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		ClientNetWriteBufferSize: 1, // every packet is written at once
		SysTopicResendInterval:   86400,
	})
	b.self = b.server.NewClient(nil, mqtt.LocalListener, "$store", true)
	s.broker = b
	return b
}

func (b *broker) listen(address string) (string, error) {
	if err := b.server.AddHook(b, nil); err != nil {
		return "", err
	}
	l := listeners.NewTCP(listeners.Config{Type: listeners.TypeTCP, ID: "tcp", Address: address})
	if err := b.server.AddListener(l); err != nil {
		return "", err
	}
	return l.Address(), b.server.Serve()
}

func (b *broker) ID() string { return "state-store" }

func (b *broker) Provides(hook byte) bool {
	switch hook {
	case mqtt.OnConnectAuthenticate, mqtt.OnACLCheck, mqtt.OnConnect, mqtt.OnSessionEstablished, mqtt.OnDisconnect,
		mqtt.OnPacketRead, mqtt.OnPacketEncode, mqtt.OnPublish, mqtt.OnPublished, mqtt.OnClientExpired:
		return true
	}
	return false
}

func (b *broker) OnConnectAuthenticate(*mqtt.Client, packets.Packet) bool { return true }
func (b *broker) OnACLCheck(*mqtt.Client, string, bool) bool              { return true }

// --- requests ---

type verdict int

const (
	serve verdict = iota
	silent
	answer     // with an error
	pubackCode // PUBACK with a failure
	disconnectNow
	disconnectInvalid // because of the response topic
)

// judge looks at the properties of a request: "If these properties aren't
// present in the request or the request isn't of QoS 1, the request fails."
func (b *broker) judge(pk packets.Packet) verdict {
	topic := pk.Properties.ResponseTopic
	choose := func(choice string) verdict {
		switch choice {
		case "answered syntax error":
			return answer
		case "PUBACK 0x83":
			if pk.FixedHeader.Qos == 1 {
				return pubackCode
			}
		case "disconnect":
			return disconnectNow
		}
		return silent
	}
	switch {
	case topic == "":
		return choose(b.c.noResponseTopic)
	case topic == requestTopic, strings.HasPrefix(topic, storePrefix):
		return disconnectInvalid // "disconnects MQTT clients that use an invalid response topic"
	case strings.ContainsAny(topic, "+#"):
		if b.c.wildcardTopic == "disconnect" {
			return disconnectInvalid
		}
		return silent
	case topic[0] == '$' && b.c.dollarTopic == "disconnect":
		return disconnectInvalid
	case pk.FixedHeader.Qos != 1:
		return choose(b.c.otherQos)
	case len(pk.Properties.CorrelationData) == 0: // none, or of no bytes (which the library cannot send back)
		return choose(b.c.noCorrelation)
	}
	return serve
}

// OnPublish sees a message before it is acknowledged. A request is not passed
// on to other subscribers and is never retained.
func (b *broker) OnPublish(cl *mqtt.Client, pk packets.Packet) (packets.Packet, error) {
	if cl.Net.Inline || pk.TopicName != requestTopic {
		pk.Created = b.seq.Add(1) // the library keeps its queues in the order of "created", in seconds
		return pk, nil
	}
	switch v := b.judge(pk); v {
	case pubackCode:
		if cl.Properties.ProtocolVersion == 5 { // an older PUBACK has no reason code
			return pk, packets.ErrImplementationSpecificError
		}
	case disconnectNow:
		b.disconnect(cl, packets.ErrImplementationSpecificError)
	case disconnectInvalid:
		if b.c.badTopicWhen == "after PUBACK" && pk.FixedHeader.Qos == 1 {
			_ = cl.WritePacket(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Puback}, PacketID: pk.PacketID})
		}
		codes := map[string]packets.Code{"0x90": packets.ErrTopicNameInvalid, "0x82": packets.ErrProtocolViolation,
			"0x83": packets.ErrImplementationSpecificError, "0x87": packets.ErrNotAuthorized}
		b.disconnect(cl, codes[b.c.badTopicCode])
	}
	return pk, packets.CodeSuccessIgnore
}

func (b *broker) disconnect(cl *mqtt.Client, code packets.Code) {
	if cl.Properties.ProtocolVersion < 5 {
		cl.Stop(code)
		return
	}
	_ = b.server.DisconnectClient(cl, code)
}

// OnPublished sees a message after its PUBACK: "The state store processes the
// request asynchronously".
func (b *broker) OnPublished(cl *mqtt.Client, pk packets.Packet) {
	if cl.Net.Inline || pk.TopicName != requestTopic {
		return
	}
	if v := b.judge(pk); v == serve || v == answer {
		b.store.jobs <- job{client: cl, pk: pk, due: time.Now().Add(b.c.serviceTime()), refuse: v == answer}
	}
}

// --- responses and notifications ---

func (b *broker) respond(request packets.Packet, payload []byte, props []packets.UserProperty) {
	var expiry uint32
	switch b.c.replyExpiry {
	case "as the request's":
		expiry = request.Properties.MessageExpiryInterval
	case "60 s":
		expiry = 60
	}
	b.publish(request.Properties.ResponseTopic, payload, b.c.replyQos, packets.Properties{
		CorrelationData: request.Properties.CorrelationData, User: props, MessageExpiryInterval: expiry})
}

// notify sends a notification. "The clientId is an upper-case hex encoded
// representation of the MQTT ClientId"; the key likewise, by RFC 4648.
func (b *broker) notify(cl *mqtt.Client, key string, payload []byte, props []packets.UserProperty) {
	topic := storePrefix + "/" + upperHex(cl.ID) + "/command/notify/" + upperHex(key)
	if current, ok := b.server.Clients.Get(cl.ID); !ok || current != cl || cl.Closed() || len(topic) > 65535 {
		return
	}
	// Deployed: a notification reaches the client whether or not it has a
	// matching subscription. Documented: by its own subscription.
	if !b.c.documented {
		if _, has := b.server.Topics.Subscribers(topic).Subscriptions[cl.ID]; !has {
			b.server.Topics.Subscribe(cl.ID, packets.Subscription{Filter: topic, Qos: 1})
			defer func() {
				if _, own := cl.State.Subscriptions.Get(topic); !own {
					b.server.Topics.Unsubscribe(topic, cl.ID)
				}
			}()
		}
	}
	b.publish(topic, payload, b.c.notifyQos, packets.Properties{User: props})
}

func upperHex(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }

func (b *broker) publish(topic string, payload []byte, qos byte, props packets.Properties) {
	props.ContentType = b.c.contentType
	props.PayloadFormatFlag = b.c.formatIndicator == "0"
	_ = b.server.InjectPacket(b.self, packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: qos},
		TopicName:   topic, Payload: payload, Properties: props, PacketID: uint16(qos),
	})
}

// --- what the library needs to keep to MQTT 5 ---

// window holds back what a client's Receive Maximum does not admit. (The
// library has this, too, but forgets to give quota back, loses the order and
// can lock itself up; it is switched off below.)
type window struct {
	sync.Mutex
	size int
	out  map[uint16]bool
	held []packets.Packet
}

func (b *broker) OnConnect(cl *mqtt.Client, pk packets.Packet) error {
	cl.State.Inflight.ResetSendQuota(0)
	cl.Properties.Props.TopicAliasMaximum = 0 // no aliases towards clients: one could get lost with its message
	// A session that ends with its connection is removed by the old connection, some time after it has ended: by
	// client id, so that it would take the subscriptions of a new one with it.
	for old, ok := b.server.Clients.Get(cl.ID); ok && endsWithItsConnection(old); old, ok = b.server.Clients.Get(cl.ID) {
		if !old.Closed() {
			_ = b.server.DisconnectClient(old, packets.ErrSessionTakenOver)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

func endsWithItsConnection(cl *mqtt.Client) bool {
	return cl.Properties.ProtocolVersion == 5 && cl.Properties.Props.SessionExpiryInterval == 0
}

func (b *broker) OnSessionEstablished(cl *mqtt.Client, pk packets.Packet) {
	cl.State.Inflight.ResetSendQuota(0)
	if size := int(cl.Properties.Props.ReceiveMaximum); size > 0 && size < 65535 {
		b.windows.Store(cl, &window{size: size, out: map[uint16]bool{}})
	}
}

func (b *broker) OnDisconnect(cl *mqtt.Client, err error, expire bool) {
	b.windows.Delete(cl)
	b.store.jobs <- job{client: cl, gone: true}
}

func (b *broker) OnClientExpired(cl *mqtt.Client) { b.server.UnsubscribeClient(cl) }

// OnPacketRead: packet identifiers of the two directions are independent, but
// the library keeps them in one table. Those of the client are negated inside.
func (b *broker) OnPacketRead(cl *mqtt.Client, pk packets.Packet) (packets.Packet, error) {
	switch pk.FixedHeader.Type {
	case packets.Publish, packets.Pubrel, packets.Subscribe, packets.Unsubscribe:
		pk.PacketID = -pk.PacketID
	case packets.Pubrec:
		if pk.ReasonCode >= 0x80 {
			b.release(cl, pk.PacketID)
		}
	case packets.Puback, packets.Pubcomp:
		b.release(cl, pk.PacketID)
	}
	return pk, nil
}

func (b *broker) release(cl *mqtt.Client, id uint16) {
	v, ok := b.windows.Load(cl)
	if !ok {
		return
	}
	w := v.(*window)
	w.Lock()
	delete(w.out, id)
	var next []packets.Packet
	for len(w.held) > 0 && len(w.out) < w.size {
		next = append(next, w.held[0])
		w.out[w.held[0].PacketID] = true
		w.held = w.held[1:]
	}
	w.Unlock()
	for _, pk := range next {
		_ = cl.WritePacket(pk)
	}
}

func (b *broker) OnPacketEncode(cl *mqtt.Client, pk packets.Packet) packets.Packet {
	switch pk.FixedHeader.Type {
	case packets.Puback, packets.Pubrec, packets.Pubcomp, packets.Suback, packets.Unsuback:
		pk.PacketID = -pk.PacketID
		if pk.FixedHeader.Type == packets.Puback && pk.ReasonCode < 0x80 {
			pk.ReasonCode = 0
		}
	case packets.Connack:
		pk.Properties.MaximumPacketSize = b.c.packetMax
	case packets.Publish:
		// User properties of a PUBLISH are neither problem information nor to be
		// left out of one that is too large: that one is not sent at all.
		pk.Mods.DisallowProblemInfo = false
		if limit := pk.Mods.MaxSize; limit > 0 {
			pk.Mods.MaxSize = 0
			var buf bytes.Buffer
			if _ = pk.PublishEncode(&buf); uint32(buf.Len()) > limit {
				cl.State.Inflight.Delete(pk.PacketID)
				pk.Mods.MaxSize = 1 // makes the library drop it
				return pk
			}
		}
		if v, ok := b.windows.Load(cl); ok && pk.FixedHeader.Qos > 0 {
			w := v.(*window)
			w.Lock()
			defer w.Unlock()
			if !w.out[pk.PacketID] {
				if len(w.out) >= w.size || len(w.held) > 0 {
					w.held = append(w.held, pk)
					pk.Mods.MaxSize = 1
					return pk
				}
				w.out[pk.PacketID] = true
			}
		}
	}
	return pk
}
