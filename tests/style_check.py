"""Checks what clang-format and clang-tidy do not: who includes whom, line lengths, scripts, words that have no place
in the repository. Run by ctest and by ci/tidy: python3 tests/style_check.py ROOT"""

import pathlib
import re
import subprocess
import sys

# Folder -> folders whose headers it may include. A folder may always include itself.
LAYERS = {
    "base": set(),
    "codec": {"base"},
    "hlc": {"base"},
    "reference_store": {"base", "codec", "hlc"},
    "reference_store/faults": {"base", "codec", "hlc", "reference_store"},
    "reference_store/broker_plugin": {"base", "codec", "hlc", "reference_store", "reference_store/faults"},
    "workload": {"base", "codec", "hlc"},
    "endpoint": {"base", "codec", "reference_store"},
    "conformance": {"base", "codec", "hlc", "reference_store", "reference_store/faults", "workload", "endpoint"},
    "cli": {"base", "codec", "hlc", "reference_store", "reference_store/faults", "workload", "endpoint", "conformance"},
    # Nobody includes what only fuzzing needs.
    "fuzz": {"base", "codec", "hlc", "reference_store", "reference_store/faults", "workload", "endpoint", "conformance"},
}
# Third-party headers that only some folders may include.
RESTRICTED = {
    r"^mqtt/": {"endpoint"},
    r"^mosquitto": {"reference_store/broker_plugin"},
    r"^yaml-cpp/": {"conformance"},
    r"^CLI/": {"cli"},
    r"^pugixml": {"conformance"},
    r"^fmt/": {"conformance", "cli"},
    r"^openssl/": {"conformance"},
}
TEST_FILE = re.compile(r"_(test|prop|bench)\.cc$")
MAX_FILE_LINES = 1000
MAX_LINE = 128
LEFT_OPEN = re.compile(r"\b(FIXME|XXX|HACK)\b|\bTODO\b(?!\([a-z0-9-]+\))")


def folder_of(path):
    parts = path.as_posix().split("/")
    if parts[0] == "reference_store" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def check_includes(path, lines, complaints):
    folder = folder_of(path)
    if folder not in LAYERS or TEST_FILE.search(path.name):
        return
    for number, line in enumerate(lines, 1):
        ours = re.match(r'#include "([^"]+)"', line)
        if ours:
            target = folder_of(pathlib.Path(ours.group(1)))
            if target != folder and target not in LAYERS[folder]:
                complaints.append(f"{path}:{number}: {folder}/ may not include {target}/")
            if "/" not in ours.group(1):
                complaints.append(f"{path}:{number}: includes are paths from the root of the repository")
        theirs = re.match(r"#include <([^>]+)>", line)
        for pattern, allowed in RESTRICTED.items():
            if theirs and re.search(pattern, theirs.group(1)) and folder not in allowed:
                complaints.append(f"{path}:{number}: only {', '.join(sorted(allowed))} may include <{theirs.group(1)}>")


def check_lines(path, lines, complaints):
    if len(lines) > MAX_FILE_LINES and path.suffix in (".cc", ".h"):
        complaints.append(f"{path}: {len(lines)} lines; split it (limit {MAX_FILE_LINES})")
    limit = 100 if path.suffix in (".cc", ".h") else MAX_LINE
    for number, line in enumerate(lines, 1):
        if len(line) > limit and path.suffix in (".cc", ".h", ".py", ".cmake"):
            complaints.append(f"{path}:{number}: {len(line)} characters (limit {limit})")
        if LEFT_OPEN.search(line) and path.name != "style_check.py":
            complaints.append(f"{path}:{number}: something is left open here")
        if line.rstrip() != line and path.suffix != ".md":
            complaints.append(f"{path}:{number}: blanks at the end of the line")


def main(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout
    complaints = []
    checked = 0
    for name in listed.decode().split("\0"):
        path = pathlib.Path(name)
        full = pathlib.Path(root) / path
        if not name or not full.is_file() or full.stat().st_size > 1_000_000:
            continue
        if path.parts[0] == "corpus":
            continue
        try:
            lines = full.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            complaints.append(f"{path}: not UTF-8")
            continue
        checked += 1
        if path.suffix in (".cc", ".h"):
            check_includes(path, lines, complaints)
        check_lines(path, lines, complaints)
        script = path.parts[0] in ("ci", ".ci") and path.suffix in ("", ".sh", ".py") and path.name != "Dockerfile"
        if script and full.stat().st_mode & 0o111 == 0:
            complaints.append(f"{path}: scripts are executable")
    for complaint in complaints:
        print(complaint)
    print(f"style: {checked} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
