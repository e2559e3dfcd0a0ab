"""The action for GitHub, the template for GitLab and the release: what they declare is what they use, and their scripts run.

Installing the package is run in a fresh root, by `ci/package`.

usage: ci_templates_test.py BUILD_BIN_DIR [unittest arguments]
"""

import hashlib
import json
import os
import re
import shutil

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


class Release(TemplateTest):
    page = (ROOT / "docs/RELEASING.md").read_text(encoding="utf-8")

    def setUp(self):
        super().setUp()
        self.root = self.folder / "a copy"
        for name in ("ci/release", "ci/paths.sh", "CMakeLists.txt", "CHANGELOG.md"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.root / name)
        (self.root / "packaging").mkdir()
        self.packages = self.root / "build/release/packages"
        self.packages.mkdir(parents=True)
        for name in ("fencepost_0_amd64.deb", "fencepost-0.whl"):
            (self.packages / name).write_text(name, encoding="utf-8")

    def release(self, *words, **variables):
        return self.run_script(self.root / "ci/release", *words, **variables)

    def commands(self, start):
        """The block of commands of the page that begins so."""
        return re.search(rf"^    {re.escape(start)}.*\n(?:    .*\n)*", self.page, re.MULTILINE)[0]

    def sign(self):
        """As the page says for a throw-away key."""
        return self.run_script("bash", "-e", "-c", f"cd {str(self.root)!r}\n{self.commands('ssh-keygen -q -t')}")

    def verify(self):
        """As the page says for users, with the files in one folder."""
        shutil.copy2(self.root / "packaging/release_signers", self.packages)
        return self.run_script("bash", "-e", "-c", f"cd {str(self.packages)!r}\n{self.commands('ssh-keygen -Y verify')}")

    def test_its_workflow_calls_what_there_is(self):
        jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
        called = set()
        for job in jobs.values():
            self.assertIn(job.get("needs", "build"), jobs)
            rows = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
            for script in (step["run"] for step in job["steps"] if "run" in step):
                plain = re.sub(r"\$\{\{.*?\}\}", "x", script)
                self.assertEqual(0, run_command("bash", "-n", "-c", plain).returncode, script)
                for row in rows:
                    text = re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda name, row=row: row[name[1]], script)
                    called |= set(re.findall(r"ci/(?:package|release) --[a-z0-9-]+", text))
        self.assertEqual({"ci/release --check", "ci/release --sign", "ci/release --notes", "ci/package --only-build",
                          "ci/package --reproduce", "ci/package --arm64", "ci/package --prove",
                          "ci/package --prove-static"}, called)
        for script, option in (words.split() for words in called):
            self.assertRegex((ROOT / script).read_text(encoding="utf-8"), rf"(?m)^  {option}\) ")
        # What it needs of the owner is in the owner's list.
        text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
        owner = self.page.split("## What only the owner can do")[1]
        environments = [job["environment"] for job in jobs.values() if "environment" in job]
        for name in re.findall(r"(?:vars|secrets)\.(\w+)", text) + environments:
            self.assertIn(f"`{name}`", owner)

    def test_a_tag_is_that_of_the_version(self):
        version = re.search(r"project\(fencepost VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        dated = self.root / "CHANGELOG.md"
        dated.write_text(f"# Changes\n\n## {version} (2026-12-01)\n\n* New.\n\n## 0.0.9 (2026-01-01)\n\n* Old.\n",
                         encoding="utf-8")
        for tag, said in ((f"v{version}", ""), (version, f"its tag is v{version}"), ("v9.9.9", f"its tag is v{version}")):
            done = self.release("--check", tag)
            self.assertEqual((bool(said), True), (bool(done.returncode), said in done.stderr), done.stderr)
        self.assertIn("no FENCEPOST_CONTACT", self.release("--check", f"v{version}", GITHUB_ACTIONS="true").stderr)
        self.assertEqual("* New.", self.release("--notes").stdout.strip())
        dated.write_text(f"## {version} (not yet released)\n", encoding="utf-8")
        self.assertIn("no heading", self.release("--check", f"v{version}").stderr)

    def test_users_verify_what_was_signed(self):
        done = self.sign()
        self.assertEqual(0, done.returncode, done.stderr)
        done = self.verify()
        self.assertEqual((0, 2), (done.returncode, done.stdout.count(": OK")), done.stdout + done.stderr)
        (self.packages / "fencepost-0.whl").write_text("another", encoding="utf-8")
        self.assertNotEqual(0, self.verify().returncode)

    def test_a_list_that_another_key_has_signed_is_none(self):
        self.assertEqual(0, self.sign().returncode)
        signed = (self.packages / "SHA256SUMS.sig").read_bytes()
        (self.root / "throw-away").unlink()
        self.assertEqual(0, self.sign().returncode)
        (self.packages / "SHA256SUMS.sig").write_bytes(signed)
        self.assertNotEqual(0, self.verify().returncode)

    def test_without_a_key_it_says_what_is_missing(self):
        self.assertIn("no private key in FENCEPOST_RELEASE_KEY", self.release("--sign", "build/release/packages").stderr)
        done = self.release("--sign", "build/release/packages", FENCEPOST_RELEASE_KEY="no key")
        self.assertIn("no packaging/release_signers", done.stderr)
        self.assertEqual(0, self.sign().returncode)
        done = self.release("--sign", "build/release/packages", FENCEPOST_RELEASE_KEY="no key")
        self.assertEqual((1, True), (done.returncode, "is not a private key" in done.stderr), done.stderr)
        (self.root / "packaging/release_signers").write_text("fencepost-release ssh-ed25519 AAAA\n", encoding="utf-8")
        key = (self.root / "throw-away").read_text(encoding="utf-8")
        done = self.release("--sign", "build/release/packages", FENCEPOST_RELEASE_KEY=key)
        self.assertEqual((1, True), (done.returncode, "is not one of packaging/release_signers" in done.stderr), done.stderr)
        self.assertFalse((self.packages / "SHA256SUMS.sig").exists())


class Sbom(TemplateTest):
    """What is said of a small program with a static library, one of headers, and one that is named and not used."""

    def build(self, options="", linked=""):
        self.write("main.cc", "#include <fmt/format.h>\n#include <zlib.h>\nint main() { return *zlibVersion() == 0; }\n")
        self.write("build.ninja", f"rule compile\n  command = c++ {options} -MD -MF $out.d -c $in -o $out\n"
                                  "  depfile = $out.d\n  deps = gcc\n"
                                  f"rule link\n  command = c++ -static $in {linked} -o $out -l:libz.a -l:libyaml-cpp.a\n"
                                  "build main.o: compile main.cc\nbuild bin/main: link main.o\n")
        done = run_command("ninja", "-C", self.folder, "bin/main")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def describe(self, name):
        words = (self.folder, self.folder, "main-1", "1", "2026-12-01T00:00:00Z", self.folder / name)
        done = run_command("python3", ROOT / "packaging/sbom.py", *words)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def check_rules(self, made):
        """The rules of SPDX 2.3 for the fields that are used."""
        fixed = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT"}
        self.assertEqual(fixed, {name: made[name] for name in fixed})
        self.assertRegex(made["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(made["creationInfo"]["creators"][0], r"^Tool: \S+$")
        self.assertRegex(made["documentNamespace"], r"^https://[^#\s]+$")
        identifiers = [made["SPDXID"], *(package["SPDXID"] for package in made["packages"])]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for package in made["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            for field in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText",
                          "supplier"):
                self.assertTrue(package[field], (package["name"], field))
            self.assertIs(False, package["filesAnalyzed"])
            self.assertIn(package["primaryPackagePurpose"], ("APPLICATION", "LIBRARY"))
            for reference in package.get("externalRefs", []):
                self.assertRegex(reference["referenceLocator"], r"^pkg:deb/debian/[a-z0-9.%A-Z-]+@[^@\s+:]+\?arch=\w+$")
        for relation in made["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, set(identifiers))

    def test_it_says_what_a_program_contains(self):
        self.build()
        made = self.describe("one.json")
        self.check_rules(made)
        kinds = {relation["relatedSpdxElement"]: relation["relationshipType"] for relation in made["relationships"]}
        self.assertEqual("STATIC_LINK", kinds["SPDXRef-zlib1g-dev"])
        self.assertEqual("STATIC_LINK", kinds["SPDXRef-libc6-dev"])
        self.assertEqual("CONTAINS", kinds["SPDXRef-libfmt-dev"])
        self.assertNotIn("SPDXRef-libyaml-cpp-dev", kinds)
        packages = {package["name"]: package for package in made["packages"]}
        self.assertEqual("Zlib", packages["zlib1g-dev"]["licenseDeclared"])
        digest = hashlib.sha256((self.folder / "bin/main").read_bytes()).hexdigest()
        self.assertEqual(digest, packages["main"]["checksums"][0]["checksumValue"])
        self.describe("two.json")
        self.assertEqual((self.folder / "one.json").read_bytes(), (self.folder / "two.json").read_bytes())

    def test_packages_of_another_machine_are_those_of_its_root(self):
        root = self.folder / "its root"
        self.write("its root/usr/include/zlib.h", "inline const char* zlibVersion() { return nullptr; }\n")
        self.write("its root/var/lib/dpkg/status", "Package: zlib-of-arm\nStatus: install ok installed\nArchitecture: arm64\n"
                                                   "Version: 7\nMaintainer: x\nDescription: x\n")
        self.write("its root/var/lib/dpkg/info/zlib-of-arm.list", "/usr/include/zlib.h\n/usr/lib/z.o\n")
        self.write("its root/usr/lib/z.cc", "")
        self.assertEqual(0, run_command("c++", "-c", root / "usr/lib/z.cc", "-o", root / "usr/lib/z.o").returncode)
        self.write("CMakeCache.txt", f"CMAKE_SYSROOT:UNINITIALIZED={root}\n")
        self.build(f"-isystem '{root}/usr/include'", f"'{root}/usr/lib/z.o'")
        made = self.describe("one.json")
        self.check_rules(made)
        packages = {package["name"]: package for package in made["packages"]}
        reference = packages["zlib-of-arm"]["externalRefs"][0]["referenceLocator"]
        self.assertEqual("pkg:deb/debian/zlib-of-arm@7?arch=arm64", reference)
        kinds = {relation["relatedSpdxElement"]: relation["relationshipType"] for relation in made["relationships"]}
        self.assertEqual("STATIC_LINK", kinds["SPDXRef-zlib-of-arm"])
        self.assertNotIn("zlib1g-dev", packages)
        self.assertIn("libfmt-dev", packages)


if __name__ == "__main__":
    main()
