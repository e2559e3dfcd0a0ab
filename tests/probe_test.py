"""`fencepost probe` and descriptors as their users meet them: what is found, what is written, and that it is of use.

usage: probe_test.py BUILD_BIN_DIR [unittest arguments]
Starts brokers on free loopback ports and ends only the processes that it has started.
"""

import json
import os
import shlex
import signal
import subprocess
import unittest

import yaml

import cli_test
import harness
import hostile_broker
from harness import MOSQUITTO, PLUGIN, PRELOAD, SLOW, children_of, free_port, listening, must, run, wait_until

RESTART_CASES = ["--run", "lifecycle.restart.*"]
# Cases that go to what a descriptor says, and none that a slow machine could leave undecided.
DESCRIBED_CASES = ["--run", "limit.*", "--run", "quota.*", "--run", "authorization.*", "--run", "set.nx.*",
                   "--run", "binary.large.1048576-bytes", "--skip", "quota.keys.expired-key", *harness.WITHOUT_HASTE]


class ProbeTest(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "found.yaml"

    def probe(self, *arguments, **options):
        return run("probe", "--out", self.out, *SLOW, *arguments, **options)

    def probed(self, *arguments, **options):
        """The descriptor that was written, as data and as text."""
        result = self.probe(*arguments, **options)
        self.assertEqual(0, result.returncode, result.stdout[-3000:] + result.stderr)
        self.summary = result.stdout
        text = self.out.read_text()
        return yaml.safe_load(text), text

    def start_store(self, *lines):
        """A mosquitto with the store, which is nobody's child but this test's; its port."""
        options = [line for line in lines if line.startswith("plugin_opt_")]
        return self.start_mosquitto(*[line for line in lines if line not in options], f"plugin {PLUGIN}", *options).port

    def rules_below_team_f(self, principals):
        """What an endpoint has to know for cases of the role, as the probe prints it."""
        rules = run("probe", "--endpoint", f"mqtt://127.0.0.1:{self.start_store('allow_anonymous true')}",
                    "--descriptor", self.write("prefix.yaml", "url: mqtt://x\nkey_prefix: team/f\n"), *SLOW).stdout
        begin = rules.index('# {"policies"')
        policy = json.loads("\n".join(line[2:] for line in rules[begin:].split("\n\n")[0].splitlines()))
        policy["policies"][0]["principals"] = principals
        return self.write("rules.json", json.dumps(policy))

    def restricted_store(self, *lines):
        """The same with users me and sensor, who may not touch all keys below team/f."""
        rules = self.rules_below_team_f({"usernames": ["sensor"]})
        passwords = self.password_file(me="of-me", sensor="of-sensor")
        return self.start_store("allow_anonymous false", f"password_file {passwords}",
                                f"plugin_opt_authorization {rules}", *lines)

    def certify_what_was_written(self, **options):
        result = self.certify("--descriptor", self.out, *DESCRIBED_CASES, **options)
        self.assertEqual(0, result.returncode, result.stdout[-4000:] + result.stderr)
        return {case["id"]: case for case in self.load_report()["cases"]}


class Found(ProbeTest):
    def test_embedded(self):
        found, text = self.probed("--quota-up-to", 50)
        self.assertEqual({"url": "embedded", "profile": "deployed"}, found)
        self.assertIn("# Quota: 20 keys were stored", text)
        self.assertIn("LIMIT-PACKET-OPEN-1", text)
        self.assertRegex(self.summary, r"restricted logs in; (\d+) of \1 cases of its rights passed")
        missing = [line.split(":")[0].split(maxsplit=1)[1] for line in self.summary.splitlines() if line.startswith("missing ")]
        self.assertEqual(["failover", "durable-restart, durable-kill, durable-failover"], missing, "it has no database")
        self.assertLess(len(self.summary.splitlines()), 20)
        cases = self.certify_what_was_written()
        skipped = [name for name, case in cases.items() if case["verdict"] == "skipped"]
        self.assertEqual([], [name for name in skipped if not name.startswith("lifecycle.durable.")])

    def test_an_endpoint_that_answers_too_late(self):
        """It ends in time whatever the endpoint does, and says so."""
        for mode in (hostile_broker.later(2),
                     hostile_broker.replies(lambda request: request.reply() if request.id % 7 else [])):
            with hostile_broker.Hostile(mode) as broker:
                done = run("probe", "--max-time", "2s", "--endpoint", f"mqtt://127.0.0.1:{broker.port}", timeout=harness.SOON)
            self.assertIn(done.returncode, (3, 4), done.stderr)
            self.assertEqual("", done.stdout)

    def test_in_process(self):
        for dialect in ("documented", "deployed"):
            found, text = self.probed("--endpoint", f"inproc:?dialect={dialect}")
            self.assertEqual({"url": f"inproc:?dialect={dialect}", "profile": dialect}, found)
            self.assertIn("missing        transport: ", self.summary)
            self.certify_what_was_written()

    @harness.full("probes and certifies four stores in real time")
    def test_a_served_store_of_each_dialect_and_quota(self):
        for dialect, quota in (("documented", 200), ("deployed", 333)):
            url = self.serve("--dialect", dialect, "--quota", quota).url
            found, text = self.probed("--endpoint", url, "--quota-up-to", 1000)
            self.assertEqual({"url": url, "profile": dialect, "capabilities": {"quota": quota}}, found)
            # All that the probe wrote is gone: as many keys fit again.
            again, _ = self.probed("--endpoint", url, "--quota-up-to", 1000)
            self.assertEqual(found, again)
            cases = self.certify_what_was_written()
            self.assertEqual("passed", cases["quota.keys.new-key-beyond-the-quota-is-refused"]["verdict"])

    def test_a_quota_is_not_looked_for_unasked_nor_beyond_what_was_allowed(self):
        url = self.serve("--quota", 1000).url
        found, _ = self.probed("--endpoint", url)
        self.assertNotIn("capabilities", found)
        self.assertIn("not measured", self.summary)
        found, _ = self.probed("--endpoint", url, "--quota-up-to", 10)
        self.assertNotIn("capabilities", found)
        self.assertIn("more than 10 keys", self.summary)

    def test_roles_and_an_announced_packet_limit(self):
        port = self.restricted_store("max_packet_size 200000")
        secrets = dict(os.environ, FENCEPOST_PASSWORD="of-me", SENSOR="of-sensor")
        known = self.write("known.yaml", f"url: mqtt://127.0.0.1:{port}\nkey_prefix: team/f\nroles:\n"
                                         "  default: {user: me, password: of-me}\n"
                                         "  restricted: {user: sensor, password_env: SENSOR}\n")
        found, text = self.probed("--descriptor", known, env=secrets)
        self.assertEqual({"user": "me", "password_env": "FENCEPOST_PASSWORD"}, found["roles"]["default"])
        self.assertEqual({"user": "sensor", "password_env": "SENSOR"}, found["roles"]["restricted"])
        self.assertEqual("team/f", found["key_prefix"])
        self.assertNotIn("of-me", text)
        self.assertNotIn("of-sensor", text)
        self.assertRegex(self.summary, r"restricted logs in; (\d+) of \1 cases of its rights passed")
        self.assertIn("200000 bytes, announced by the broker", self.summary)
        cases = self.certify_what_was_written(env=secrets)
        skipped = {case for case, what in cases.items() if what["verdict"] == "skipped"}
        # A mebibyte does not fit into a packet; quota and restarts were not described.
        self.assertIn("binary.large.1048576-bytes", skipped)
        self.assertFalse([case for case in skipped if case.startswith(("limit.", "authorization."))])
        result = self.certify("--descriptor", self.out)
        self.assertEqual(2, result.returncode)
        self.assertIn("there is no environment variable", result.stderr)

    def test_a_role_that_is_a_client_id(self):
        rules = self.rules_below_team_f({"clientIds": ["Sensor-1"]})
        port = self.start_store("allow_anonymous true", f"plugin_opt_authorization {rules}")
        known = self.write("known.yaml", f"url: mqtt://127.0.0.1:{port}\nkey_prefix: team/f\n"
                                         "roles: {restricted: {client_id: Sensor-1}}\n")
        found, _ = self.probed("--descriptor", known)
        self.assertEqual({"restricted": {"client_id": "Sensor-1"}}, found["roles"])
        self.assertRegex(self.summary, r"restricted logs in; (\d+) of \1 cases of its rights passed")
        cases = self.certify_what_was_written()
        self.assertFalse([case for case, what in cases.items()
                          if what["verdict"] == "skipped" and case.startswith("authorization.")])

    def test_the_descriptor_goes_to_standard_output_by_itself(self):
        result = run("probe", "--endpoint", "inproc:", *SLOW)
        self.assertEqual(0, result.returncode)
        self.assertEqual({"url": "inproc:", "profile": "deployed"}, yaml.safe_load(result.stdout))
        self.assertIn("dialect        deployed", result.stderr)


class NotFound(ProbeTest):
    def expect(self, code, words, *arguments):
        result = self.probe(*arguments)
        self.assertEqual(code, result.returncode, result.stdout + result.stderr)
        self.assertIn(words, result.stderr)
        self.assertFalse(self.out.exists())

    def test_broker_without_store(self):
        broker = self.start_mosquitto("allow_anonymous true")
        self.expect(3, "a broker, but no state store", "--endpoint", broker.url)

    def test_closed_port(self):
        self.expect(3, "no broker at", "--endpoint", harness.NOBODY)

    def test_wrong_password(self):
        port = self.restricted_store()
        self.expect(3, "not allowed", "--endpoint", f"mqtt://me:wrong@127.0.0.1:{port}")

    def test_usage(self):
        self.expect(2, "is not an endpoint", "--endpoint", "http://x")
        self.expect(2, "cannot read", "--descriptor", "/no/such/file")
        self.expect(2, "needs the key \"url\"", "--descriptor", self.write("d.yaml", "note: x\n"))
        self.expect(2, "--quota-up-to", "--quota-up-to", "0")
        self.out = "/no/such/folder/found.yaml"
        result = self.probe("--endpoint", "inproc:")
        self.assertEqual(2, result.returncode)
        self.assertIn("cannot write", result.stderr)

    def test_interrupt(self):
        process = self.start_program("probe", "--out", self.out, "-j", 1)
        wait_until(lambda: children_of(process.pid))
        code, said = self.stop(process, signal.SIGINT)
        self.assertEqual(130, code, said)
        self.assertFalse(self.out.exists())


class Described(ProbeTest):
    """What a descriptor says is held against what is seen."""

    def test_another_packet_size_than_the_announced_one(self):
        port = self.start_store("allow_anonymous true", "max_packet_size 200000")
        known = self.write("d.yaml", f"url: mqtt://127.0.0.1:{port}\ncapabilities: {{max_packet_size: 4096}}\n")
        result = self.certify("--descriptor", known)
        self.assertEqual(2, result.returncode, result.stderr)
        self.assertIn("max_packet_size: 4096, but the broker announces 200000", result.stderr)
        self.assertIn("announces 200000", self.load_report()["stopped_because"])

    def test_the_profile_is_that_of_the_descriptor_unless_another_is_given(self):
        known = self.write("d.yaml", "url: 'inproc:?dialect=documented'\nprofile: deployed\n")
        self.assertEqual(1, self.certify("--descriptor", known).returncode)
        self.assertEqual("deployed", self.load_report()["profile"])
        self.assertEqual(0, self.certify("--descriptor", known, "--profile", "auto").returncode)
        self.assertEqual("auto", self.load_report()["profile"])

    def test_the_keys_are_below_the_prefix(self):
        known = self.write("d.yaml", "url: 'inproc:'\nkey_prefix: team/f\n")
        self.assertEqual(0, self.certify("--descriptor", known, "--run", "set.nx.*").returncode)
        self.assertTrue(all("fencepost/" not in payload for payload in self.payloads()))
        self.assertIn("team/f/", self.report.read_text())


class Restarted(ProbeTest):
    def test_a_hook_restarts_the_broker(self):
        port = free_port()
        pid_file = self.folder / "pid"
        config = self.write("broker.conf", harness.mosquitto_config(port, "allow_anonymous true", f"plugin {PLUGIN}",
                                                                    f"pid_file {pid_file}"))
        preload = f"LD_PRELOAD={shlex.quote(PRELOAD)} " if PRELOAD else ""
        script = self.write("restart", "#!/bin/sh\nset -e\nif [ -e pid ]; then set -- $(cat pid); kill $1\n"
                                       f"while {harness.STILL_RUNS}; do sleep 0.01; done; fi\n"
                                       f"{preload}{MOSQUITTO} -c {shlex.quote(str(config))} -d\necho again >> log\n")
        script.chmod(0o700)

        def end():
            if pid_file.exists():
                os.kill(int(pid_file.read_text()), signal.SIGKILL)

        must(script, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, capture_output=False)
        self.addCleanup(end)
        wait_until(lambda: listening(port) and pid_file.exists())
        known = self.write("d.yaml", f"url: mqtt://127.0.0.1:{port}\nhooks: {{restart: ./restart, timeout: 20s}}\n")
        result = self.certify("--descriptor", known, *RESTART_CASES)
        self.assertEqual(0, result.returncode, result.stdout[-3000:] + result.stderr)
        passed = self.load_report()["summary"]["passed"]
        self.assertGreaterEqual(passed, 2)
        self.assertEqual(passed + 1, len((self.folder / "log").read_text().splitlines()))
        # A probe restarts nothing.
        found, _ = self.probed("--descriptor", known)
        self.assertEqual({"restart": "./restart", "timeout": "20000ms"}, found["hooks"])
        self.assertEqual(passed + 1, len((self.folder / "log").read_text().splitlines()))

    def test_a_hook_that_fails_says_nothing_of_the_store(self):
        known = self.write("d.yaml", f"url: {self.serve().url}\nhooks: {{restart: echo sorry; exit 7}}\n")
        result = self.certify("--descriptor", known, *RESTART_CASES)
        self.assertEqual(4, result.returncode, result.stdout + result.stderr)
        self.assertIn("ended with exit code 7; it wrote: sorry", result.stdout)

    def test_the_embedded_broker_restarts_itself(self):
        result = self.certify(*RESTART_CASES)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)
        self.assertEqual(0, self.load_report()["summary"]["skipped"])


class Capabilities(unittest.TestCase):
    def test_are_listed_with_how_to_provide_them(self):
        rows = json.loads(run("list", "capabilities", "--json").stdout)
        needed = {name for case in json.loads(run("list", "cases", "--json").stdout) for name in case["requires"]}
        self.assertEqual(needed, {row["name"] for row in rows})
        text = run("list", "capabilities").stdout
        for row in rows:
            self.assertIn(row["meaning"], text)
            self.assertIn(row["provide"], text)


if __name__ == "__main__":
    harness.main()
