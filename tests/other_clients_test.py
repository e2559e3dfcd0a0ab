"""`fencepost serve --judge-clients` on clients of another author, who has read the documents and not this project's code.

    other_clients_test.py BUILD_BIN_DIR [unittest arguments]

other_clients/faulty.py has clients that are each wrong in one way, conforming.py some that are right and unusual, on the
client of bytes in mq.py. Grade C of a wrong one: certain; O: the documents leave open what a store does with it, or advise
against it.
"""

import pathlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor

CLIENTS = pathlib.Path(__file__).resolve().parent / "other_clients"
sys.path.insert(0, str(CLIENTS))
import conforming
import faulty
from harness import FolderTest, full, main, run

AT_ONCE = 3
ADVICE = "a rule of level should, which is told and breaks nothing"
UNDECIDED = "a conforming client may do the same, and the summary counts it"
OPEN = "no sentence that binds clients is broken for certain"

# Faulty ones that are not reported, and why not.
NOT_BROKEN = {
    **dict.fromkeys(("payload-keynotify-wild", "ts-echo", "ft-refused-nx", "ft-refused-nex", "ft-lost", "ft-expired",
                     "ft-released", "notify-no-resubscribe", "notify-before-suback", "notify-never-subscribed"), ADVICE),
    **dict.fromkeys(("resend-pid-reused", "resend-pid-reused-all", "ts-back", "ts-back-counter", "ts-counter-digits",
                     "ts-back-reconnect", "ts-behind", "ts-behind-day", "ts-not-merged", "ts-not-merged-set",
                     "ts-not-merged-notify", "ts-start-of-process"), UNDECIDED),
    **dict.fromkeys(("mqtt-311-no-request", "topic-other-guid", "topic-v2", "topic-services", "payload-px-0",
                     "payload-px-fraction", "ts-twice", "ts-node-each", "ts-get-malformed", "ft-older", "ft-foreign",
                     "ft-missing-told", "notify-no-repeat", "will-request", "resend-acked-resumed",
                     "correlation-across-reconnect"), OPEN),
    "puback-twice": "a PUBACK may be sent again",
    "pubrel-twice": "as a PUBACK",
    "resend-lost-dup": "the broker, and not the client, has lost the session",
    "resend-pid-reused-sub": "a client that was started anew has forgotten what waits",
    "no-pingreq-idle-once": "a second of silence more than the half that brokers add may be the machine's",
}
# By the millisecond at which it came, this token is another version that a client has received.
MAY_BE_RIGHT = {"ft-counter-0"}


def judge(client):
    return client, run("serve", "--port", 0, "--judge-clients", *client["opts"], "--", sys.executable, "-B",
                       CLIENTS / "play.py", client["name"])


@full("minutes of clients; clients/judge_test.cc has each kind")
class OtherClients(FolderTest):
    def play(self, table):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            played = list(pool.map(judge, table.values()))
        for client, result in played:
            self.assertIn("ended with exit code 0\n", result.stdout, client["name"] + ": " + result.stdout + result.stderr)
        return played

    def test_right_ones_are_accused_of_nothing(self):
        self.assertGreaterEqual(len(conforming.TABLE), 100)
        for client, result in self.play(conforming.TABLE):
            nothing_asked = client["name"] == "connect-only"
            self.assertEqual(5 if nothing_asked else 0, result.returncode, client["name"] + ": " + result.stdout)

    def test_wrong_ones_are_found(self):
        self.assertGreaterEqual(len(faulty.TABLE), 400)
        silent, found = [], 0
        for client, result in self.play(faulty.TABLE):
            name, reason = client["name"], NOT_BROKEN.get(client["name"])
            self.assertIn(result.returncode, (0, 1), name + ": " + result.stdout + result.stderr)
            found += result.returncode
            if result.returncode == 0 and reason is None and name not in MAY_BE_RIGHT:
                silent.append(f"{name}: {client['sentence']} ({client['source']})")
            if result.returncode == 0 and reason == ADVICE:
                self.assertRegex(result.stdout, r"\(should\), \d+ finding", name)
            if result.returncode == 0 and reason == UNDECIDED:
                self.assertTrue(re.search(" is undecided ", result.stdout), name + ": " + result.stdout)
        print(f"{found} of {len(faulty.TABLE)} wrong clients break a rule, {len(NOT_BROKEN)} are named with the reason why not")
        self.assertEqual([], silent)


if __name__ == "__main__":
    main()
