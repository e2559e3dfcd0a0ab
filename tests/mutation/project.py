"""What ci/mutate knows of this repository: the sources of each module and the programs that test it."""

import fnmatch

MODULES = {
    "codec": {
        "sources": ["codec/*"],
        "unit": ["codec_test", "codec_vectors_test", "codec_exhaustive_test"],
        "property": ["codec_prop"],
        "above": ["service_test", "store_test", "plugin_options_test"],
    },
    "hlc": {
        "sources": ["hlc/*"],
        "unit": ["hlc_test"],
        "property": ["hlc_prop"],
        "above": ["store_test", "service_test", "store_prop"],
    },
    "reference_store": {
        "sources": ["reference_store/*"],
        "unit": ["store_test", "service_test", "authorization_test"],
        "property": ["store_prop"],
        "above": ["plugin_options_test"],
    },
}
# No mutants in tests and their helpers, and in what needs a broker or is broken on purpose.
EXCLUDED = ["*_test.cc", "*_prop.cc", "*_bench.cc", "*/testing/*", "*/store_fixture.h", "*/broker_plugin/*",
            "*/faults/*", "*/variants/*"]
# The program against the store in the same process, once for each dialect.
CERTIFY = ["certify", "-q", "--no-github", "--seed", "1"]
PROGRAM = {
    "suite": CERTIFY,
    "cases": [*CERTIFY, "--depth", "0", "--stress", "none"],
    "enumeration": ["explore", "-q", "--exhaustive", "2"],
}
LAYERS = ["unit", "property", "above", "suite"]
# What the suite consists of, for a comparison: not by default.
ALL_LAYERS = [*LAYERS, "cases", "enumeration"]


def module_of(path):
    """The module whose source `path` (from the root) is, or nothing when it has no mutants."""
    if not path.endswith((".cc", ".h")) or any(fnmatch.fnmatch(path, pattern) for pattern in EXCLUDED):
        return None
    for name, module in MODULES.items():
        if any(fnmatch.fnmatch(path, pattern) for pattern in module["sources"]):
            return name
    return None


def programs(module, layers):
    """(layer, name, arguments) of all that tests a module, in the order in which it runs."""
    found = []
    for layer in layers:
        if layer in PROGRAM:
            found += [(layer, f"{layer} {dialect}", ["fencepost", *PROGRAM[layer], "--profile", dialect,
                                                     "--endpoint", f"inproc:?dialect={dialect}"])
                      for dialect in ("deployed", "documented")]
        else:
            found += [(layer, name, [name, "--gtest_fail_fast", "--gtest_brief=1"])
                      for name in MODULES[module][layer]]
    return found


def targets(modules, layers):
    return sorted({arguments[0] for module in modules for _, _, arguments in programs(module, layers)})
