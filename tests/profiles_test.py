"""Runs `fencepost certify` on stores that do what the article prints and no more, in each profile and edition: a store
that conforms to its documents fails no case, and where it is judged by others, the rules that it does not keep are named.

    profiles_test.py BUILD_BIN_DIR [unittest arguments]

The stores are in process: this needs no broker.
"""

import unittest

import harness
from harness import run

CONFORMANT, FAILED, USAGE = 0, 1, 2
# What only the deployed service shows, and these stores do not. A case names the first of them that it meets: that an
# expiry is not notified comes after a notification without VALUE in each.
DEPLOYED_ONLY = {"ENV-STATUS-1", "VER-MISS-1", "NTF-VALUE-3", "NTF-SELF-1", "SET-NOT-APPLIED-3", "KEY-BINARY-1",
                 "LIMIT-KEY-1"}
VERSIONS = {"NTF-VERSION-1", "NTF-VERSION-2"}


class ProfilesTest(unittest.TestCase):
    def certify(self, url, *arguments):
        folder = harness.temporary_folder(self.addCleanup)
        done = run("certify", "--endpoint", url, "--json", folder / "report.json", *arguments)
        report = harness.load_json(folder / "report.json") if (folder / "report.json").exists() else None
        return done, report

    @staticmethod
    def charged(report, verdict):
        return {case["failure"]["requirement"] for case in report["cases"] if case["verdict"] == verdict}

    @staticmethod
    def differences(report):
        return [(difference["requirement"], difference["verdict"]) for difference in report["differences"]]

    def judge(self, store, *arguments):
        return self.certify(f"inproc:?dialect=documented&fault={store}", *arguments)

    def expect_conformant(self, store, wording, *arguments):
        done, report = self.judge(store, *arguments)
        failed = [(case["id"], case["failure"]) for case in report["cases"] if case["verdict"] == "failed"]
        self.assertEqual(failed, [])
        self.assertEqual(done.returncode, CONFORMANT, done.stdout[-2000:])
        self.assertEqual(report["judged_by"]["dialect"], "documented")
        self.assertEqual(report["judged_by"]["wording"], wording)
        self.assertEqual(DEPLOYED_ONLY - self.charged(report, "warning"), set())
        self.assertIn(f"judged by the article alone ({wording} edition)", done.stdout)
        return report

    def test_what_the_article_prints_is_right_by_the_article(self):
        self.expect_conformant("what-the-article-prints", "ga", "--profile", "documented")

    def test_a_store_of_the_documented_dialect_is_judged_by_the_article(self):
        self.expect_conformant("what-the-article-prints", "ga")

    def test_what_the_preview_prints_is_right_by_the_preview(self):
        self.expect_conformant("what-the-preview-prints", "preview", "--profile", "documented", "--edition", "preview")

    def test_a_store_whose_notifications_have_no_version_is_judged_by_the_preview(self):
        self.expect_conformant("what-the-preview-prints", "preview", "--profile", "documented")

    def test_a_preview_is_wrong_by_the_ga_wording(self):
        done, report = self.judge("what-the-preview-prints", "--profile", "documented", "--edition", "ga")
        self.assertEqual(done.returncode, FAILED)
        self.assertEqual(self.charged(report, "failed"), VERSIONS)

    @harness.full("a process for each difference; selftest has the rule of each fault")
    def test_one_difference_is_charged_to_one_rule_and_warned_of_where_that_does_not_bind(self):
        for store, rule, wording in (("expiry-is-not-notified", "NTF-EXPIRY-1", "ga"),
                                     ("writer-is-not-notified", "NTF-SELF-1", "ga"),
                                     ("notification-without-version", "NTF-VERSION-1", "preview")):
            with self.subTest(store=store):
                done, report = self.judge(store, "--profile", "documented", "--edition", wording)
                self.assertEqual(done.returncode, CONFORMANT)
                self.assertEqual(self.differences(report), [(rule, "warning")])
                done, report = self.certify(f"inproc:?fault={store}", "--profile", "deployed")
                self.assertEqual(done.returncode, FAILED)
                self.assertEqual(self.differences(report), [(rule, "failed")])

    def test_both_are_wrong_by_the_deployed_service_and_the_rules_are_named(self):
        for store in ("what-the-article-prints", "what-the-preview-prints"):
            with self.subTest(store=store):
                done, report = self.certify(f"inproc:?dialect=deployed&fault={store}", "--profile", "deployed")
                self.assertEqual(done.returncode, FAILED)
                self.assertEqual(report["judged_by"]["dialect"], "deployed")
                self.assertEqual(DEPLOYED_ONLY - self.charged(report, "failed"), set())

    def test_a_rule_of_the_article_binds_in_every_profile(self):
        for profile in ("auto", "documented"):
            done, report = self.judge("nx-overwrites", "--profile", profile)
            self.assertEqual(done.returncode, FAILED)
            self.assertIn("SET-NX-2", self.charged(report, "failed"))

    def test_a_store_of_the_deployed_dialect_is_not_excused(self):
        done, report = self.certify("inproc:?fault=no-status")
        self.assertEqual(done.returncode, FAILED)
        self.assertEqual(self.charged(report, "failed"), {"ENV-STATUS-1"})

    def test_the_wording_is_one_of_three(self):
        done, _ = self.certify("inproc:", "--edition", "older")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn('--edition: "older" is not one of auto, preview, ga', done.stderr)

    def test_the_demands_of_a_profile_are_listed(self):
        def demands(*arguments):
            done = run("list", "requirements", *arguments)
            self.assertEqual(done.returncode, 0)
            return {line.split()[0]: line.split()[3] for line in done.stdout.splitlines()}
        deployed = demands("--profile", "deployed")
        documented = demands("--profile", "documented", "--edition", "ga")
        self.assertEqual(deployed["ENV-STATUS-1"], "binds")
        self.assertEqual(documented["ENV-STATUS-1"], "warns")
        self.assertEqual(documented["NTF-VERSION-1"], "binds")
        self.assertEqual(demands("--profile", "documented", "--edition", "preview")["NTF-VERSION-1"], "warns")
        self.assertEqual(demands("--profile", "auto")["ENV-STATUS-1"], "depends")
        self.assertEqual(documented["SET-PX-OPEN-1"], "open")


if __name__ == "__main__":
    harness.main()
