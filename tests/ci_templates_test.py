"""The action for GitHub and the template for GitLab: what they declare is what they use, and their scripts run.

Installing the package is run in a fresh root, by `ci/package`.

usage: ci_templates_test.py BUILD_BIN_DIR [unittest arguments]
"""

import os
import re

import yaml

from harness import BIN, ROOT, FolderTest, main, run_command

CERTIFY = ROOT / "ci/github/certify"
INSTALL = ROOT / "ci/github/install"


class TemplateTest(FolderTest):
    def run_script(self, *command, **variables):
        here = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "FENCEPOST_"))}
        return run_command(*command, cwd=self.folder, env=here | {"PATH": f"{BIN}:{os.environ['PATH']}"} | variables)


class Action(TemplateTest):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

    def test_what_it_declares_is_what_it_uses(self):
        steps = self.action["runs"]["steps"]
        self.assertEqual("composite", self.action["runs"]["using"])
        text = (ROOT / "action.yml").read_text(encoding="utf-8")
        self.assertEqual(set(self.action["inputs"]), set(re.findall(r"inputs\.(\w+)", text)))
        for step in steps:
            self.assertEqual("bash", step["shell"])  # a composite action has to say so
            self.assertNotIn("${{", step["run"])  # what an input holds must not become a part of a script
            script = ROOT / re.search(r"GITHUB_ACTION_PATH/(\S+?)\"", step["run"])[1]
            self.assertTrue(os.access(script, os.X_OK), script)
        used = set(re.findall(r"\$\{?([A-Z]+)\b", CERTIFY.read_text(encoding="utf-8")))
        self.assertEqual(set(steps[1]["env"]), used)

    def test_its_outputs_are_those_of_the_program(self):
        output = self.write("output", "")
        done = self.run_script(CERTIFY, GITHUB_ACTIONS="true", GITHUB_OUTPUT=str(output), ENDPOINT="inproc:?fault=S01",
                               ARGUMENTS="--run\nset.nx.*\n")
        self.assertEqual(1, done.returncode, done.stderr)
        said = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
        self.assertEqual("failed", said["verdict"])
        for declared in self.action["outputs"].values():
            self.assertIn(re.search(r"steps\.certify\.outputs\.(\w+)", declared["value"])[1], said)
        self.assertEqual({"report.json", "report.xml", "report.sarif", "report.html", "badge.json"},
                         {path.name for path in (self.folder / "state-store-conformance").iterdir()})

    def test_an_argument_is_one_word_whatever_is_in_it(self):
        self.write("a descriptor.yaml", "url: 'inproc:'\n")
        done = self.run_script(CERTIFY, DESCRIPTOR="a descriptor.yaml", REPORTS="my reports",
                               ARGUMENTS="--run\n$(touch seen) `touch seen`; touch seen")
        self.assertEqual(5, done.returncode)
        self.assertIn("$(touch seen) `touch seen`; touch seen", done.stderr)
        self.assertFalse((self.folder / "seen").exists())
        done = self.run_script(CERTIFY, DESCRIPTOR="a descriptor.yaml", REPORTS="my reports", ARGUMENTS="--run\nget.*")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue((self.folder / "my reports/report.json").exists())

    def test_a_package_that_is_not_there(self):
        done = self.run_script(INSTALL, "nowhere.deb")
        self.assertEqual(2, done.returncode)
        self.assertIn("there is no file nowhere.deb; expected a Debian package, or the URL of one", done.stderr)

    def test_a_package_that_nobody_vouches_for(self):
        for words, said in ((["http://host.example/f.deb", "0" * 64], "comes by https://"),
                            (["https://host.example/f.deb"], "the checksum of a package from the network is needed")):
            done = self.run_script(INSTALL, *words)
            self.assertEqual((2, True), (done.returncode, said in done.stderr), done.stderr)
        self.write("f.deb", "no package")
        done = self.run_script(INSTALL, "f.deb", "0" * 64)
        self.assertEqual((2, True), (done.returncode, "is not the package with the SHA-256" in done.stderr), done.stderr)


class GitLab(TemplateTest):
    def test_its_script_runs_with_its_inputs(self):
        spec, text = (ROOT / "ci/gitlab/certify.yml").read_text(encoding="utf-8").split("\n---\n")
        inputs = yaml.safe_load(spec)["spec"]["inputs"]
        self.assertEqual(set(inputs), set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", text)))
        given = {"package": "fencepost.deb", "endpoint": "inproc:?fault=S01", "arguments": "--run set.nx.*"}
        for name, described in inputs.items():
            text = text.replace(f"$[[ inputs.{name} ]]", given.get(name, described and described.get("default", "")))
        job = yaml.safe_load(text)["state-store"]
        for lines in (job["before_script"], job["script"]):
            self.assertEqual(0, run_command("bash", "-n", "-c", "\n".join(lines)).returncode)
        done = self.run_script("bash", "-e", "-c", "\n".join(job["script"]), **job["variables"])
        self.assertEqual(1, done.returncode, done.stderr)
        for path in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
            self.assertTrue((self.folder / path).exists(), path)


class IssueTemplates(TemplateTest):
    def test_each_asks_for_the_version(self):
        forms = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
        self.assertEqual(3, len(forms))
        for path in forms:
            form = yaml.safe_load(path.read_text(encoding="utf-8"))
            self.assertTrue({"name", "description", "body"} <= set(form), path)
            ids = [item["id"] for item in form["body"] if item["type"] != "markdown"]
            self.assertEqual(len(ids), len(set(ids)))
            self.assertIn("version", ids)


if __name__ == "__main__":
    main()
