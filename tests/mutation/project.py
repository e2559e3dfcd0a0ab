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
# The suite against the store in the same process, once for each dialect.
SUITE = {
    "suite deployed": ["certify", "--endpoint", "inproc:", "--profile", "deployed", "-q", "--no-github", "--seed", "1"],
    "suite documented": ["certify", "--endpoint", "inproc:?dialect=documented", "--profile", "documented", "-q",
                         "--no-github", "--seed", "1"],
}
LAYERS = ["unit", "property", "above", "suite"]


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
        if layer == "suite":
            found += [(layer, name, ["fencepost", *arguments]) for name, arguments in SUITE.items()]
        else:
            found += [(layer, name, [name, "--gtest_fail_fast", "--gtest_brief=1"])
                      for name in MODULES[module][layer]]
    return found


def targets(modules, layers):
    return sorted({arguments[0] for module in modules for _, _, arguments in programs(module, layers)})
