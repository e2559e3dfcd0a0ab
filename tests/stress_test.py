"""`fencepost stress` as its users meet it: screens, exit codes, reports, signals, simulated runs.

    stress_test.py BUILD_BIN_DIR [unittest arguments]
"""

import json
import re
import signal
import subprocess
import time
from xml.etree import ElementTree

import harness
from schema_checks import complaints

STRESS = harness.load_schema("stress")


class Stress(harness.FolderTest):
    def run_it(self, *arguments, code):
        done = harness.run("stress", *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def document(self, *arguments, code):
        document = json.loads(self.run_it(*arguments, "--json", "-", code=code).stdout)
        self.assertEqual(complaints(STRESS, document), [])
        self.assertEqual(document["exit_code"], code)
        return document

    def test_a_right_store_breaks_no_rule_and_leaves_no_file(self):
        document = self.document("--duration", "1s", "--seed", "4", code=0)
        self.assertGreater(document["replies"], 50)
        self.assertEqual(document["keys"]["violations"] + document["keys"]["unknown"], 0)
        self.assertEqual(document["operations"], document["requests"])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_file_that_is_there_stays(self):
        (self.folder / "stress-6.jsonl").write_text("mine")
        done = self.run_it("--endpoint", "inproc:", "--seed", "6", "--duration", "100ms", code=0)
        self.assertNotIn("stress-6", done.stdout)
        done = self.run_it("--endpoint", "inproc:?fault=L13", "--workload", "hot-key", "--seed", "6", "--no-shrink",
                           "--duration", "500ms", code=1)
        self.assertIn("fencepost check stress-6-2.jsonl", done.stdout)
        self.assertEqual({"stress-6.jsonl", "stress-6-2.jsonl"}, {file.name for file in self.folder.iterdir()})
        self.assertEqual("mine", (self.folder / "stress-6.jsonl").read_text())

    def test_a_wrong_store_is_told_on_one_screen(self):
        done = self.run_it("--endpoint", "inproc:?fault=L13", "--duration", "1s", "--workload", "hot-key", "--seed", "6",
                           "--html", "page.html", "--junit", "verdicts.xml", "--json", "run.json", code=1)
        document = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(complaints(STRESS, document), [])
        enough = document["enough"]
        for word in ("VIOLATION", "rule ", "seen ", "smallest", "fencepost check stress-6.jsonl", "--seed 6",
                     f"enough    {len(enough['requests'])} of {enough['of']} requests for one key"):
            self.assertIn(word, done.stdout)
        self.assertIn("VIOLATION", harness.run("check", "stress-6.jsonl", cwd=self.folder).stdout)
        self.assertIn("stress-6.jsonl", (self.folder / "page.html").read_text())
        suite = ElementTree.parse(self.folder / "verdicts.xml").getroot().find("testsuite")
        self.assertGreater(int(suite.get("failures")), 0)

    def test_what_the_documents_do_not_promise_is_no_violation_of_a_documented_store(self):
        forgets = "inproc:?dialect=documented&variant=version-clock:of-the-key,clocks-of-deleted-keys:forgotten"
        self.document("--endpoint", forgets, "--profile", "documented", "--duration", "1s", "--seed", "1",
                      "--history", "run.jsonl", code=0)
        self.assertEqual(harness.run("check", "run.jsonl", cwd=self.folder).returncode, 0)
        found = self.document("--endpoint", "inproc:?dialect=documented&fault=L13", "--profile", "documented", "--duration",
                              "1s", "--seed", "1", "--no-shrink", code=1)
        self.assertEqual([each["requirement"] for each in found["findings"]], ["SET-WRITE-2"])

    def test_ctrl_c_ends_it_with_what_there_is(self):
        process = subprocess.Popen([harness.FENCEPOST, "stress", "--duration", "10m", "--history", "run.jsonl"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        history = self.folder / "run.jsonl"
        harness.wait_until(lambda: history.exists() and history.stat().st_size > 20_000)
        process.send_signal(signal.SIGINT)
        out, complaints = process.communicate(timeout=harness.HANG)
        self.assertEqual(process.returncode, 130, out + complaints)
        self.assertIn("interrupted", out)
        self.assertEqual(harness.run("check", history).returncode, 0)

    def test_what_was_killed_has_left_its_history(self):
        process = subprocess.Popen([harness.FENCEPOST, "stress", "--duration", "10m", "--history", "run.jsonl"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL)
        history = self.folder / "run.jsonl"
        harness.wait_until(lambda: history.exists() and history.stat().st_size > 50_000)
        process.kill()
        process.wait()
        checked = json.loads(harness.run("check", history, "--json", "-").stdout)["histories"][0]
        self.assertGreater(checked["operations"], 50)
        self.assertEqual(checked["violations"], 0)

    def test_what_cannot_be_meant_is_said(self):
        self.assertIn("duration", self.run_it("--duration", "fast", code=2).stderr)
        self.assertIn("hot-key", self.run_it("--workload", "no-such", code=2).stderr)
        self.run_it("--clients", "0", code=2)
        self.assertIn("cannot write", self.run_it("--json", "none/x", code=2).stderr)
        self.assertIn("cannot write", self.run_it("--history", "none/x", "--duration", "1s", code=2).stderr)
        self.assertIn("embedded", self.run_it("--endpoint", "inproc:?clock-offset=5s", code=2).stderr)
        self.assertIn("cannot connect", self.run_it("--endpoint", "mqtt://127.0.0.1:1", code=3).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_store_that_says_nothing_is_not_there(self):
        done = self.run_it("--endpoint", "embedded?fault=silent", "--duration", "1s", "--timeout-scale", "0.1", code=3)
        self.assertIn("a broker, but no state store", done.stderr)

    def test_a_store_that_refuses_everything_is_not_decided(self):
        done = self.run_it("--endpoint", "inproc:?fault=always-error", "--duration", "200ms", code=4)
        self.assertIn("every request was refused", done.stdout)

    def test_faults_of_the_network_are_no_violation(self):
        document = self.document("--disturb", "all", "--disturb-every", "100ms", "--duration", "5s", "--seed", "1", "--history",
                                 "run.jsonl", code=0)
        kinds = STRESS["properties"]["disturbances"]["propertyNames"]["enum"]
        self.assertEqual(set(document["disturbances"]), set(kinds) - {"restart", "kill", "partition", "failover"})
        self.assertGreater(document["reconnected"], 0)
        self.assertIn("--disturb all", document["commands"]["again"])
        lines = [json.loads(line) for line in (self.folder / "run.jsonl").read_text().splitlines()]
        done = [line for line in lines if line["type"] == "disturbance"]
        self.assertEqual(len(done), sum(document["disturbances"].values()))
        history_line = harness.load_schema("history")
        self.assertEqual([complaints(history_line, line) for line in done], [[] for _ in done])
        self.assertEqual(harness.run("check", self.folder / "run.jsonl").returncode, 0)

    def test_a_faulty_store_is_found_under_faults_of_the_network(self):
        """A fault of sequential requests: how often requests overlap depends on the machine's load."""
        done = self.run_it("--endpoint", "embedded?fault=F01", "--disturb", "all", "--duration", "2m", "--no-shrink", code=1)
        self.assertIn("VIOLATION", done.stdout)

    def test_with_tls_the_certificate_is_that_of_the_original_host(self):
        """It is not for 127.0.0.1, where the proxy is."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "ca.pem"],
                       cwd=self.folder, check=True, capture_output=True)
        server = subprocess.Popen([harness.FENCEPOST, "serve", "--port", "0", "--ready-file", "ready", "--certificate",
                                   "ca.pem", "--key", "key.pem"],
                                  cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        ready = self.folder / "ready"
        port = harness.wait_until(lambda: ready.exists() and ready.read_text()).split(":")[-1]
        (self.folder / "tls.yaml").write_text(f"url: mqtts://localhost:{port.strip()}\ntls: {{ca: ca.pem}}\n")
        done = self.run_it("--descriptor", "tls.yaml", "--disturb", "reset,half-open,cut-packet", "--duration", "3s", code=0)
        self.assertIn("not available with TLS: cut-packet", done.stdout)
        self.assertRegex(done.stdout, r"disturbances  \d+: half-open \d+, reset \d+; \d+ reconnection")
        self.assertIn("not available with TLS",
                      self.run_it("--descriptor", "tls.yaml", "--disturb", "cut-packet", code=2).stderr)

    def kill_embedded(self, duration, every):
        return self.document("--endpoint", f"embedded?database={self.folder / 'a store.db'}", "--disturb", "kill",
                             "--disturb-every", every, "--duration", duration, "--history", "run.jsonl", code=0)

    @harness.full("a kill takes as long as a broker takes to start, which on a busy machine is long")
    def test_what_was_acknowledged_outlives_kills(self):
        document = self.kill_embedded("5s", "700ms")
        kills = document["disturbances"]["kill"]
        self.assertGreater(kills, 2)
        self.assertEqual({"declared": "kill", "kept": document["durability"]["kept"], "lost": 0}, document["durability"])
        self.assertGreater(document["durability"]["kept"], kills / 2)
        lines = [json.loads(line) for line in (self.folder / "run.jsonl").read_text().splitlines()]
        self.assertEqual(kills, sum(line.get("kind") == "kill" for line in lines))

    @harness.full("200 kills")
    def test_what_was_acknowledged_outlives_200_kills(self):
        kills = 0
        while kills < 200:
            kills += self.kill_embedded("60s", "600ms")["disturbances"]["kill"]

    def test_what_a_store_does_not_declare_to_keep_is_reported_only(self):
        done = self.run_it("--disturb", "kill,restart", "--disturb-every", "500ms", "--duration", "2s", code=0)
        self.assertRegex(done.stdout, r"  durability    not declared; .* there 0 times, and gone \d+ times?")

    def test_a_store_that_loses_what_it_declares_to_keep_fails(self):
        port = harness.free_port()
        plugin = harness.FENCEPOST.parent / "fencepost_statestore.so"
        config = self.write("mosquitto.conf", harness.mosquitto_config(
            port, "persistence false", "allow_anonymous true", "set_tcp_nodelay true", f"pid_file {self.folder}/pid",
            f"plugin {plugin}"))
        self.write("start.sh", f"mosquitto -d -c {config}\n"
                   f"until [ -s pid ] && mosquitto_pub -p {port} -t x -m x; do sleep 0.1; done\n")
        self.write("kill.sh", f"set -- $(cat pid)\nkill -9 $1\nwhile {harness.STILL_RUNS}; do sleep 0.01; done\n"
                   "rm pid\n. ./start.sh\n")
        harness.must("sh", "start.sh", cwd=self.folder)
        self.addCleanup(lambda: harness.run_command("sh", "-c", "kill -9 $(cat pid)", cwd=self.folder))
        self.write("d.yaml", f"url: mqtt://127.0.0.1:{port}\nhooks: {{kill: . ./kill.sh}}\ndurability: kill\n")
        document = self.document("--descriptor", "d.yaml", "--disturb", "kill", "--duration", "2m", "--no-shrink", code=1)
        self.assertEqual("kill", document["durability"]["declared"])
        self.assertGreater(document["durability"]["lost"] + len(document["findings"]), 0)
        self.write("d.yaml", f"url: mqtt://127.0.0.1:{port}\n")
        self.assertIn("--disturb kill needs a command that does it, in a descriptor (hooks: {kill: COMMAND})",
                      self.run_it("--descriptor", "d.yaml", "--disturb", "kill", code=2).stderr)

    def test_what_cannot_be_disturbed_is_said(self):
        self.assertIn("withhold-response", self.run_it("--disturb", "explode", code=2).stderr)
        self.assertIn("--disturb-every", self.run_it("--disturb", "reset", "--disturb-every", "0s", code=2).stderr)
        self.assertIn("needs connections", self.run_it("--endpoint", "inproc:", "--disturb", "all", code=2).stderr)


REPORT = harness.load_schema("report")


class AtTheEndOfCertify(harness.FolderTest):
    def certify(self, *arguments, code, endpoint="inproc:"):
        path = self.folder / "report.json"
        done = harness.run("certify", "--endpoint", endpoint, "--seed", "5", "--json", path, *arguments, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        document = json.loads(path.read_text())
        self.assertEqual(complaints(REPORT, document), [])
        self.assertEqual(document["exit_code"], code)
        return done.stdout, document.get("stress")

    def test_a_run_of_all_cases_ends_with_it(self):
        said, stress = self.certify(code=0)
        self.assertIn("16 concurrent clients (everything): ", said)
        self.assertEqual((stress["clients"], stress["findings"], stress["simulated"]), (16, [], True))
        self.assertGreater(stress["replies"], 10_000)

    def test_cases_that_are_selected_are_all_that_runs(self):
        for arguments in (["--run", "set.nx.*"], ["--shard", "2/9"], ["--run", "set.nx.*", "--stress", "none"]):
            said, stress = self.certify(*arguments, code=0)
            self.assertNotIn("concurrent clients (", said)
            self.assertIsNone(stress)
        self.assertIsNotNone(self.certify("--run", "set.nx.*", "--stress", "short", code=0)[1])

    def test_a_store_that_the_cases_pass_fails_and_is_shown(self):
        """Over the network the fault is one of sequential requests: how often requests overlap depends on the load."""
        for endpoint in ("inproc:?fault=T01", "embedded?fault=F01"):
            said, stress = self.certify("--run", "set.plain.*", "--stress", "2m", code=1, endpoint=endpoint)
            finding = stress["findings"][0]
            self.assertEqual(finding["verdict"], "failed")
            self.assertIn(f"FAILED {finding['requirement']}  16 concurrent clients", said)
            self.assertLessEqual(len(finding["operations"]), 8)
            self.assertIn("NOT conformant", said)
        again = [line.split("reproduce ", 1)[1] for line in said.splitlines() if "reproduce " in line][-1]
        self.assertEqual(again, stress["command"])  # the next test runs one

    def test_the_command_that_repeats_it_has_what_was_in_force(self):
        """Without the offset of its clock a store that is ten minutes behind refuses each request."""
        given = {"inproc:?fault=T01": (["--profile", "documented"], [" --profile documented"]),
                 "embedded?fault=F01&clock-offset=-10m": (
                     ["--profile", "deployed", "--timeout-scale", "1.5", "--driver", "paho"],
                     [" --profile deployed", " --timeout-scale 1.5", " --driver paho", " --network-delay "])}
        for endpoint, (arguments, wanted) in given.items():
            _, stress = self.certify("--run", "set.plain.*", "--stress", "2m", *arguments, code=1, endpoint=endpoint)
            again = stress["command"]
            for word in wanted:
                self.assertIn(word, again)
            if "clock-offset" in endpoint:
                offset = re.search(r" --clock-offset (-?\d+)ms", again)
                self.assertAlmostEqual(int(offset.group(1)), -600_000, delta=30_000)
            done = harness.run_command("sh", "-c", again + " --no-shrink", cwd=self.folder)
            self.assertEqual(done.returncode, 1, again + done.stdout + done.stderr)
            self.assertIn("VIOLATION", done.stdout)

    def test_times_are_durations(self):
        for arguments in (["--clock-offset", "soon"], ["--network-delay", "soon"], ["--profile", "mine"]):
            self.assertEqual(harness.run("stress", "--endpoint", "inproc:", *arguments).returncode, 2)

    def test_a_store_that_refuses_too_much_does_not_fail(self):
        server = self.serve("--quota", "40")
        _, stress = self.certify("--run", "set.plain.*", "--stress", "1s", code=0, endpoint=server.url)
        self.assertEqual(stress["findings"], [])
        self.assertGreater(stress["refused"], 0)

    def test_a_duration_is_one(self):
        for wrong in ("0s", "soon", "-1s"):
            done = harness.run("certify", "--endpoint", "inproc:", f"--stress={wrong}")
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected none, short or a duration", done.stderr)


if __name__ == "__main__":
    harness.main()
