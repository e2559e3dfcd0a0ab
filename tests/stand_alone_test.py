"""A case stands alone: its verdict depends on no other case, be it before it, beside it or left out.

usage: stand_alone_test.py BUILD_BIN_DIR [unittest arguments]
Runs the whole suite in process, then cases by themselves, both halves, and all in random orders, on the conforming store and on
faulty ones, and compares the verdicts. FENCEPOST_ALONE: how many cases of each store run by themselves (default 40;
8 in the gate, of one store), drawn with the printed seed; all of them with a number that is great enough.
FENCEPOST_ORDERS: how many random orders (default 2).
"""

import concurrent.futures
import itertools
import os
import random

import harness
from harness import run

ORDERS = int(os.environ.get("FENCEPOST_ORDERS", "1" if harness.IN_GATE else "2"))
CASES = int(os.environ.get("FENCEPOST_ALONE", "8" if harness.IN_GATE else "40"))
# One of each kind: a condition, a version, a token, a notification, an expiry, a reply that never comes.
STORES = ["inproc:", "inproc:?variant=7", *(f"inproc:?fault={fault}&seed=1" for fault in ("S04", "H14", "F08", "N13", "X08"))]


class StandAlone(harness.FolderTest):
    def setUp(self):
        super().setUp()
        self.files = itertools.count()

    def verdicts(self, endpoint, *arguments, seed=5):
        report = self.folder / f"{next(self.files)}.json"
        done = run("certify", "--endpoint", endpoint, "--seed", seed, "--quiet", "--json", report, *arguments)
        self.assertIn(done.returncode, (0, 1, 5), done.stderr)  # 5: a case that needs a transport is skipped
        return {case["id"]: case["verdict"] for case in harness.load_json(report)["cases"]}

    def check(self, whole, parts, endpoint, what):
        differences = {case: (whole[case], verdict) for case, verdict in parts.items() if verdict != whole[case]}
        self.assertEqual({}, differences, f"{endpoint}, in the whole run and {what}")

    def test_verdicts_do_not_depend_on_other_cases(self):
        seed = random.randrange(1_000_000)
        drawn = random.Random(seed)
        for endpoint in STORES[3:4] if harness.IN_GATE else STORES:
            whole = self.verdicts(endpoint)
            alone = drawn.sample(sorted(whole), min(CASES, len(whole)))
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                runs = list(pool.map(lambda case: self.verdicts(endpoint, "--run", case), alone))
            self.assertEqual(sorted(alone), sorted(case for ran in runs for case in ran))
            self.check(whole, {case: verdict for ran in runs for case, verdict in ran.items()}, endpoint, "alone")
            for half in ("1/2", "2/2"):
                self.check(whole, self.verdicts(endpoint, "--shard", half), endpoint, f"in half {half}")
            for order in range(ORDERS):
                jobs = ("--jobs", "1" if order % 2 == 0 else "8")
                shuffled = self.verdicts(endpoint, "--shuffle", *jobs, seed=seed + order)
                self.check(self.verdicts(endpoint, seed=seed + order), shuffled, endpoint,
                           f"in the order of seed {seed + order}, {jobs[1]} at once")
            failed = sum(verdict == "failed" for verdict in whole.values())
            print(f"\n{endpoint}: {failed} of {len(whole)} cases fail, {len(alone)} alone, both halves and {ORDERS} orders "
                  f"the same (seed {seed})", end="", flush=True)


if __name__ == "__main__":
    harness.main()
