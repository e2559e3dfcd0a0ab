"""Runs the whole selftest, which must be proved, and demands of its diagnosis what was reached before: it may not fall.

    selftest_gate.py FENCEPOST
"""

import json
import pathlib
import subprocess
import sys
import tempfile

# For the faults that were caught, by fault and dialect: how many the report names first by a rule that they break; and of
# the failures that came to the rule of their root cause, how many are attributed to such a rule.
# Measured: 0.967 and 0.959. What some concurrent faults show depends on the machine, so there is some room.
MIN_NAMED = 0.95
MIN_CHARGED = 0.94
MAX_MEDIAN = 1  # root causes that one fault is reported as
MAX_MOST = 5


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "selftest.json")
        code = subprocess.run([sys.argv[1], "selftest", "--json", file], check=False).returncode
        diagnosis = json.loads(file.read_text(encoding="utf-8"))["diagnosis"]
    for name, of, least in (("right", "total", MIN_NAMED), ("charged", "failures", MIN_CHARGED)):
        share = diagnosis[name] / diagnosis[of]
        print(f"diagnosis: {name} {share:.3f}, at least {least}")
        code = code or share < least
    # A rule that no failure of a fault is attributed to needs a fault, or cites at the step that shows it.
    never = diagnosis["rules_never_charged"]
    print(f"rules never charged: {never or 'none'}; differences of one fault: {diagnosis['differences_most']} at most")
    code = code or never or diagnosis["differences_most"] > MAX_MOST
    return int(bool(code) or diagnosis["differences_median"] > MAX_MEDIAN)


if __name__ == "__main__":
    sys.exit(main())
