"""What the documents leave open, and which of the allowed ways this store takes.

Each choice lists only ways that the documents allow, the plainest one first; without a
seed that one is taken.  "8b.N" is the numbered open point of the fact sheet's section 8b,
"8a.N" a row of its section 8a (article against deployed service).
"""
import itertools
import random
import uuid


class Choices:
    def __init__(self, profile, seed=None, forced=()):
        self.profile = profile
        self.documented = profile == "documented"
        self.rng = random.Random(seed)
        self.seeded = seed is not None
        self.forced = dict(forced)
        self.lines = []
        self.draw_all()
        if self.forced:
            raise SystemExit("no such choice: " + ", ".join(self.forced))

    def pick(self, name, *ways, documented=None):
        """Draw once, whatever the profile, so that the other draws of a seed stay the same."""
        if self.documented and documented is not None:
            ways = documented
        number = self.rng.random()
        value = ways[int(number * len(ways))] if self.seeded else ways[0]
        if name in self.forced:
            text = self.forced.pop(name)
            found = [way for way in ways if str(way) == text]
            if not found:
                raise SystemExit("%s: one of %s" % (name, ", ".join(map(str, ways))))
            value = found[0]
        self.lines.append("choice %s = %s" % (name, value))
        setattr(self, name.replace("-", "_"), value)

    def draw_all(self):
        pick = self.pick

        # ---- the payload of a request
        pick("resp-leading-zeros", "refused", "taken")               # 8b.16: `*03`, `$03`
        pick("resp-trailing", "syntax-error", "ignored")             # 8b.14
        pick("resp-empty-array", "syntax-error", "wrong-number")     # 8b.16: `*0`
        pick("verb-empty", "unknown-command", "syntax-error")        # 8b.11
        # 8b.11, 8a.13: the article's examples have `set`, its text asks for upper case.
        pick("verb-case", "unknown-command", "syntax-error",
             documented=("unknown-command", "syntax-error", "taken"))
        pick("option-case", "unknown", documented=("unknown", "taken"))
        pick("option-unknown", "syntax-error", "wrong-number")       # 8b.10
        pick("option-repeated", "syntax-error", "first", "last")     # 8b.1
        pick("option-nx-nex", "syntax-error", "both-hold")           # 8b.2
        pick("option-order", "any", "condition-first")               # 8b.3
        pick("nex-argument", "refused", "compared")                  # 8b.9, 8a.3
        pick("px-missing", "syntax-error", "wrong-number")           # 8b.4
        pick("px-zero", "syntax-error", "expires-at-once")           # 8b.5
        pick("px-plus", "refused", "taken")                          # 8b.5: `+5`
        pick("px-leading-zeros", "taken", "refused")                 # 8b.5: `05`
        pick("px-fraction", "refused", "rounded-down")               # 8b.5: `1500.5`, `1E+16`
        pick("px-max", 2**63 - 1, 2**64 - 1, 2**32 - 1)              # 8b.5, 8b.6
        pick("px-sum", "unbounded", "int64")                         # 8b.6: now + PX
        pick("set-without-px", "clears", "keeps")                    # 8b.7
        pick("keynotify-option", "syntax-error", "wrong-number")     # 8b.12: `KEYNOTIFY k FOO`
        pick("keynotify-extra", "wrong-number", "syntax-error")      # 8b.12: `KEYNOTIFY k STOP x`
        # 8b.13: in which order several errors of one request are found.
        pick("check-order", *["/".join(order) for order in itertools.permutations(
            ("arguments", "key", "ts", "ft"))])

        # ---- the envelope of a request
        pick("qos-refused", "silence", "error-reply", "failure-code", "disconnect")      # 8b.21
        pick("correlation-missing", "silence", "error-reply", "failure-code", "disconnect")
        pick("correlation-empty", "served", "as-missing")            # 8b.22
        pick("response-topic-missing", "silence", "failure-code", "disconnect")          # 8b.23
        pick("failure-code", 0x83, 0x80)
        pick("invalid-topic-code", 0x90, 0x82, 0x83, 0x87)           # 8b.23: code not stated
        pick("invalid-topic-ack", "none", "failure")
        pick("payload-format", "ignored", "checked")                 # 8b.27, MQTT 5 3.3.2.3.2
        pick("protocol-version", "ignored", "505", documented=("ignored",))              # 8b.27
        pick("property-repeated", "first", "last")                   # 8b.29
        pick("property-empty", "malformed", "missing")               # 8b.29, 8b.49

        # ---- timestamps and tokens
        pick("hlc-node-empty", "taken", "refused")                   # 8b.40, facts 5.1
        pick("hlc-plus", "refused", "taken")                         # facts 5.1: `+1:0:n`
        pick("hlc-blank", "refused", "taken")                        # facts 5.1: ` 1:0:n`
        pick("hlc-wall-max", 2**63 - 1, 2**64 - 1)                   # facts 5.1
        pick("hlc-counter-max", 2**64 - 1, 2**31 - 1)                # 8b.39, facts 5.1
        pick("hlc-counter-full", "next-millisecond", "malformed")    # 8b.39
        pick("hlc-form", "padded", "plain")                          # 8b.41
        pick("ts-elsewhere", "ignored", "checked")                   # 8b.35
        pick("ft-elsewhere", "ignored", "checked")                   # 8b.43: GET and KEYNOTIFY
        pick("node-id", "StateStore", str(uuid.UUID(int=self.rng.getrandbits(128), version=4)),
             "store-0", "0", "~node~")
        pick("clock-grain-ms", 1, 10, 16)
        pick("clock-offset-ms", 0, 5000, -5000)                      # within the minute
        pick("clock-scope", "store", "key")                          # 8b.37
        pick("refused-set-moves-clock", False, True)                 # 8b.38
        pick("fence-order", "token-first", "condition-first")        # 8b.45
        pick("refused-set-token", "not-stored", "stored")            # 8b.46
        pick("token-tie", "node-id", "equal")                        # 8b.48

        # ---- replies
        pick("response-qos", 1, 0)                                   # 8b.28
        pick("response-expiry", "none", "of-the-request", "60s")
        pick("response-content-type", True, False)
        pick("response-format", "absent", "0")
        pick("response-protver", True, False)
        pick("response-srcid", False, True)
        pick("property-order", "stat-first", "ts-first", "shuffled")
        pick("stat", "sent", documented=("sent", "absent"))          # 8a.9
        pick("ts-not-applied", "stored", documented=("stored", "absent"))                # 8a.11
        pick("ts-vdel-differs", "absent", "stored")                  # facts 6: unknown
        pick("ts-keynotify", "absent", "clock")                      # facts 6: unknown
        pick("ts-error", "absent", "clock")                          # facts 6: unknown
        # 8a.8: printed as `-ERR syntax error`, without CRLF, and for KEYNOTIFY `-ERR: text` CRLF.
        pick("error-crlf", True, documented=(False, True))
        pick("keynotify-error", "plain", documented=("colon", "colon-but-payload"))
        pick("puback", "before-response", "after-response")
        pick("service-time-ms", 0, 1, 5)

        # ---- notifications
        pick("keynotify-again", "+OK", ":0", documented=("+OK",))    # 8b.50
        pick("keynotify-get", "refused", "taken", documented=("taken",))                 # 8a.6
        pick("notify-value", "always", documented=("always", "if-GET"))                  # 8a.6
        pick("notify-same-value", True, False)                       # 8b.52
        pick("notify-order", "before-response", "after-response")    # 8b.53
        pick("notify-qos", 1, 0)                                     # 8b.56
        pick("notify-others", "routed", "not-routed", documented=("routed",))
        pick("notify-expiry", True, documented=(False, True))        # 8a.5
        pick("notify-expiry-ts", "version", "time")                  # 8b.42
        # 8b.58; facts 4: at the latest about 2 s after the expiry.
        pick("expiry-noticed", "timer", "sweep-100", "sweep-500", "sweep-1000",
             documented=("timer", "sweep-100", "sweep-1000", "on-access"))

        # ---- the broker
        pick("puback-form", "short", "code", "full")                 # MQTT 5 3.4.2.1
        pick("no-subscribers", 0x00, 0x10)                           # MQTT 5 3.4.2.1, not requests
        pick("maximum-packet", 64 << 20, 4 << 20, 16 << 20, 256 << 20)   # facts 7: memory profiles
        pick("receive-maximum", 65535, 1024, 64)
        pick("topic-alias-maximum", 0, 16)
        pick("subscription-ids", True, False)
