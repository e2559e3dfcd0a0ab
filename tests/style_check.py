"""Checks what clang-format and clang-tidy do not: who includes whom, types that are defined twice, line lengths, scripts,
words that have no place in the repository. Run by ctest and by ci/tidy:

    python3 tests/style_check.py [--matrix] ROOT

--matrix prints who includes whom: rows include columns, with the number of #include lines, and the level of each room."""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

# The rooms, from the bottom up: a room may use those before it. docs/ARCHITECTURE.md says what each is.
ROOMS = ("base", "codec", "hlc", "reference_store", "workload", "evidence", "endpoint", "suite", "report", "concurrency",
         "traffic", "clients", "selftest", "cli")
# A room, or a part of one (a library in a folder of its own) -> parts whose headers it may include and whose symbols it
# may need (tests/link_check.py). A part may always use itself.
LAYERS = {
    "base": set(),
    "base/text": {"base"},
    "codec": {"base"},
    "hlc": {"base"},
    "reference_store": {"base", "codec", "hlc"},
    "reference_store/variants": {"base", "codec", "hlc", "reference_store"},
    "reference_store/faults": {"base", "codec", "hlc", "reference_store", "reference_store/variants"},
    "reference_store/served": {"base", "codec", "hlc", "reference_store", "reference_store/faults", "reference_store/variants"},
    "reference_store/broker_plugin": {"base", "codec", "hlc", "reference_store", "reference_store/faults",
                                      "reference_store/variants", "reference_store/served"},
    "workload": {"base", "codec", "hlc"},
    "evidence": {"base", "codec"},
    "endpoint/wire": {"base", "codec"},
    "endpoint": {"base", "codec", "evidence", "reference_store", "endpoint/wire"},
    "suite/scenario": {"base", "base/text", "codec", "hlc", "endpoint"},
    "suite/judge": {"base", "base/text", "codec", "hlc", "reference_store", "suite/scenario"},
    "concurrency/history": {"base", "codec", "hlc", "reference_store", "workload"},
    "concurrency/stress": {"base", "codec", "hlc", "reference_store", "workload", "concurrency/history", "endpoint"},
    "clients": {"base", "codec", "hlc", "endpoint/wire"},
}
# What the others use, beside the floor that all of them stand on.
FLOOR = {"base", "base/text", "codec", "hlc", "endpoint", "suite/scenario", "suite/judge"}
STORES = {"reference_store", "reference_store/faults", "reference_store/variants"}
for part, used in {
    "suite/run": {"endpoint/wire"},
    "suite/target": STORES | {"suite/run"},
    "suite/testing": {"suite/run", "reference_store"},
    "report/page": set(),
    "report": {"evidence", "report/page", "suite/run"},
    "report/baseline": {"suite/run", "report"},
    "concurrency/histories": {"report/page", "suite/run", "report", "evidence", "concurrency/history", "concurrency/stress"},
    "concurrency": {"concurrency/histories", "concurrency/history", "concurrency/stress", "suite/run", "suite/target",
                    "reference_store"},
    # The oracle's options hold a table of the store's rules.
    "traffic/search": {"suite/run", "workload", "reference_store"},
    "traffic/replay": {"suite/run", "report"},
    "traffic/record": {"traffic/replay", "traffic/search", "suite/run", "report", "endpoint/wire", "workload",
                       "reference_store", "concurrency/history", "concurrency/stress"},
    "clients/client_run": {"clients", "report/page", "reference_store", "endpoint/wire"},
    "clients/client_report": {"clients", "report/page", "suite/run", "traffic/record", "traffic/search", "endpoint/wire"},
    "clients/serve": STORES | {"reference_store/served", "clients", "clients/client_report", "traffic/record", "report",
                              "suite/run"},
    "selftest/matrix": {"concurrency/history", "report/page", "report"},
    "selftest": STORES | {"report/page", "suite/run", "report", "concurrency/history", "concurrency/stress"},
}.items():
    LAYERS[part] = FLOOR | used
# The program, and what only fuzzing needs: nobody includes them.
LAYERS["cli"] = set(LAYERS) - {"reference_store/broker_plugin", "suite/testing"}
LAYERS["fuzz"] = set(LAYERS) - {"reference_store/broker_plugin", "cli"}
PRODUCTS = ("suite", "report", "concurrency/histories", "traffic", "clients/", "selftest")
# Third-party headers that only some parts may include.
SUITE = {part for part in LAYERS if part.startswith(PRODUCTS)} | {"base/text", "concurrency", "cli"}
RESTRICTED = {
    r"^mqtt/": {"endpoint"},
    r"^mosquitto": {"reference_store/broker_plugin"},
    r"^yaml-cpp/": {"suite/scenario"},
    r"^CLI/": {"cli"},
    r"^pugixml": {"base/text"},
    r"^fmt/": SUITE,
    r"^openssl/": {"base", "report/page", "endpoint"},
    # JSON is read by the reference store (authorization) and its plugin (traffic log); base/json_reader and
    # codec/message_json are libraries of their own.
    r"^nlohmann/": {"base", "codec", "fuzz", "reference_store", "reference_store/broker_plugin", "reference_store/served",
                    "suite/target", "report", "report/page", "concurrency/history", "concurrency/histories",
                    "traffic/search", "traffic/replay", "traffic/record", "clients/client_run", "clients/client_report",
                    "selftest", "selftest/matrix", "cli"},
    r"^rapidcheck": {"traffic/search"},
    r"^tl/": {"base"},
    r"^(gtest|gmock|benchmark)/": {"suite/testing"},
    r"^zlib": {"evidence"},
    r"^hiredis/": {"fuzz"},
}
TEST_FILE = re.compile(r"_(test|prop|bench)\.cc$|_(fixture|sample)\.h$")
MAX_FILE_LINES = 1000
MAX_FILE_BYTES = 1_000_000
MAX_LINE = 128
LEFT_OPEN = re.compile(r"\b(FIXME|XXX|HACK)\b|\bTODO\b(?!\([a-z0-9-]+\))")


def room_of(path):
    """The part that a file is in, or the room; given as a path from the root of the repository."""
    parts = pathlib.PurePath(path).parts
    part = "/".join(parts[:2])
    # If a room has only parts, another folder is one that the table does not have.
    only_parts = parts[0] in ROOMS and parts[0] not in LAYERS
    return part if len(parts) > 2 and (part in LAYERS or only_parts) else parts[0]


def is_test(path):
    return bool(TEST_FILE.search(pathlib.PurePath(path).name)) or "testing" in pathlib.PurePath(path).parts[:-1]


def included(lines):
    """(number, path, is ours) of each #include."""
    for number, line in enumerate(lines, 1):
        match = re.match(r'#include (?:"([^"]+)"|<([^>]+)>)', line)
        if match:
            yield number, match[1] or match[2], bool(match[1])


def check_includes(path, lines, complaints):
    room = room_of(path)
    if room not in LAYERS:
        if room.split("/")[0] in ROOMS:
            complaints.append(f"{path}: {room}/ is not in the table of rooms (LAYERS in tests/style_check.py)")
        return
    if is_test(path):
        return
    for number, target, ours in included(lines):
        if ours:
            used = room_of(target)
            if used != room and used not in LAYERS[room]:
                complaints.append(f"{path}:{number}: {room}/ may not include {used}/")
            elif is_test(target) and room != "fuzz":
                complaints.append(f"{path}:{number}: {target} is for tests")
            if "/" not in target:
                complaints.append(f"{path}:{number}: includes are paths from the root of the repository")
            continue
        for pattern, allowed in RESTRICTED.items():
            if re.search(pattern, target) and room not in allowed:
                complaints.append(f"{path}:{number}: only {', '.join(sorted(allowed))} may include <{target}>")


def check_namespace(path, text, complaints):
    """A part has the namespace of its folder; the first rooms are older than that."""
    room = room_of(path)
    if room.split("/")[0] not in ROOMS[ROOMS.index("workload"):] and room != "base/text":
        return
    # `fencepost::testing` would hide GoogleTest's `testing`.
    wanted = "test" if room == "suite/testing" else room.split("/")[-1]
    opened = re.findall(r"^namespace fencepost::(\w+)", text, re.M)
    if opened and wanted not in opened:
        complaints.append(f"{path}: {room}/ is namespace fencepost::{wanted}, not {opened[0]}")


# What has no braces that count: comments, strings, characters.
NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|
    R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""", re.S | re.X)
SCOPE = re.compile(r"""(?P<namespace>\b(?:inline\s+)?namespace(?:\s+(?P<scope>[\w:]+))?\s*\{)
    |(?P<type>\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[[^\]]*\]\]\s*)?(?P<name>\w+)
        \s*(?:final\s*)?(?::(?!:)[^;{]*)?\{)
    |(?P<open>\{)|(?P<close>\})""", re.X)


def defined_types(text):
    """(qualified name, line) of each type that is defined at the scope of a namespace that has a name."""
    code = NO_CODE.sub(lambda match: "\n" * match[0].count("\n"), text)
    scopes = []
    for match in SCOPE.finditer(code):
        if match["close"]:
            if scopes:
                scopes.pop()
        elif match["namespace"]:
            scopes.append(match["scope"] or None)
        else:
            if match["type"] and all(scopes):
                yield "::".join([*scopes, match["name"]]), code.count("\n", 0, match.start()) + 1
            scopes.append(None)  # of a function, a type, an initializer


def check_types(sources, complaints):
    """No type is defined in two files: they would be one to the linker, regardless of what is in them."""
    places = collections.defaultdict(list)
    for path, text in sources.items():
        for name, line in defined_types(text):
            places[name].append(f"{path}:{line}")
    for name, where in sorted(places.items()):
        if len(where) > 1 and name.startswith("fencepost"):
            complaints.append(f"{where[0]}: {name} is defined in {where[1]}, too")


def circles(graph):
    """The strongly connected components of more than one node (Tarjan), each sorted. `graph`: node -> nodes."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in graph:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            node, rest = work[-1]
            for used in rest:
                if used not in index:
                    index[used] = low[used] = len(index)
                    stack.append(used)
                    on_stack.add(used)
                    work.append((used, iter(sorted(graph.get(used, ())))))
                    break
                if used in on_stack:
                    low[node] = min(low[node], index[used])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                        if component[-1] == node:
                            break
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def check_circles(sources, complaints):
    files = {str(path): {target for _, target, ours in included(text.splitlines()) if ours}
             for path, text in sources.items()}
    for circle in circles(files):
        complaints.append(f"{circle[0]}: a circle of includes: {', '.join(circle)}")
    complaints.extend(wrong_rows())


def wrong_rows():
    """Errors about the tables: circles, and parts that use a room above their own."""
    out = [f"tests/style_check.py: the table of rooms has a circle: {', '.join(circle)}" for circle in circles(LAYERS)]
    for part, below in LAYERS.items():
        own = part.split("/")[0]
        out.extend(f"tests/style_check.py: {part}/ uses {used}/, which stands above it"
                   for used in sorted(below) if own in ROOMS and ROOMS.index(used.split("/")[0]) > ROOMS.index(own))
    return out


def include_matrix(sources):
    """room -> room -> number of #include lines, tests apart."""
    matrix = collections.defaultdict(collections.Counter)
    for path, text in sources.items():
        if path.parts[0] in ROOMS and not is_test(path):
            for _, target, ours in included(text.splitlines()):
                if ours:
                    matrix[path.parts[0]][pathlib.PurePath(target).parts[0]] += 1
    return matrix


def matrix_text(matrix):
    """The matrix, the rooms from the bottom up, with their levels."""
    rooms = set(matrix).union(*matrix.values())
    matrix = {room: collections.Counter(matrix.get(room, {})) for room in rooms}
    levels = {}

    def level(room, above=()):
        if room in above:
            return 0  # a circle, which circles() reports
        if room not in levels:
            levels[room] = 1 + max((level(used, (*above, room)) for used in matrix[room] if used != room), default=0)
        return levels[room]

    rooms = sorted(rooms, key=lambda room: (level(room), room))
    wide = max(map(len, rooms))
    lines = [f"{'level':>5}  {'room':{wide}}  " + " ".join(f"{number:>3}" for number in range(1, len(rooms) + 1))]
    for number, room in enumerate(rooms, 1):
        cells = " ".join(f"{matrix[room][used] or '.':>3}" for used in rooms)
        lines.append(f"{levels[room]:>5}  {room:{wide}}  {cells}  {number}")
    arrows = sum(1 for room in rooms for used in matrix[room] if used != room)
    lines.append(f"{len(rooms)} rooms on {max(levels.values())} levels, {arrows} arrows")
    return "\n".join(lines)


def check_lines(path, lines, complaints):
    # The stores of others are kept as they were written.
    others = "other_stores" in path.parts
    if len(lines) > MAX_FILE_LINES and path.suffix in (".cc", ".h") and not others:
        complaints.append(f"{path}: {len(lines)} lines; split it (limit {MAX_FILE_LINES})")
    limit = 100 if path.suffix in (".cc", ".h") else MAX_LINE
    for number, line in enumerate(lines, 1):
        if len(line) > limit and path.suffix in (".cc", ".h", ".py", ".cmake"):
            complaints.append(f"{path}:{number}: {len(line)} characters (limit {limit})")
        if LEFT_OPEN.search(line) and path.name != "style_check.py":
            complaints.append(f"{path}:{number}: something is left open here")
        if line.rstrip() != line and path.suffix != ".md":
            complaints.append(f"{path}:{number}: blanks at the end of the line")


# What goes out, comes in or is written in one way only, and where that is: pattern, what to use instead, who may.
ONE_WAY = [
    (re.compile(r"\bfmt::print|\bstd::(cout|cerr|printf|puts|fprintf|fputs|fputc|fwrite)\b|\bstd::println?\("),
     "text::print(), which escapes what a terminal or a CI takes for a command",
     {"base/text/output.cc", "base/check.cc", "base/files.cc", "suite/scenario/scenario_compiler.cc"}),
    (re.compile(r"\bjson::(parse|accept|sax_parse)\("), "read_json(), which has limits",
     {"base/json_reader.cc", "report/report_read.cc"}),
    (re.compile(r"\bstd::ofstream\b|\bO_TRUNC\b|\bstd::fopen\b"),
     "write_new_file() or open_new_file(), which follow no link",
     {"suite/scenario/scenario_compiler.cc", "report/github.cc"}),
]


def check_one_way(path, lines, complaints):
    if room_of(path) not in LAYERS or room_of(path) == "fuzz" or is_test(path):
        return
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0]
        for pattern, instead, allowed in ONE_WAY:
            if str(path) not in allowed and pattern.search(code):
                complaints.append(f"{path}:{number}: use {instead}")


# What comes from others comes by what nobody can move: a commit, or a lock file with checksums.
USES = re.compile(r"^\s*(?:- )?uses:\s*(\S+)")
COMMIT = re.compile(r"@[0-9a-f]{40}$")
MOVING = re.compile(r"--no-package-lock|git clone .*--branch|curl .*http://")


def check_supply(path, lines, complaints):
    for number, line in enumerate(lines, 1):
        uses = USES.match(line)
        if path.suffix in (".yml", ".yaml") and uses and not uses[1].startswith("./") and not COMMIT.search(uses[1]):
            complaints.append(f"{path}:{number}: {uses[1]}: an action is used by its commit, with the version in a comment")
        if path.name != "style_check.py" and path.parts[0] in ("ci", "tests", "adapters", ".github") and MOVING.search(line):
            complaints.append(f"{path}:{number}: what is fetched is fixed by a commit, a lock file or a checksum")


# What a report that is kept says of the machine that made it: where the program stood, and its system.
OF_A_MACHINE = re.compile(rb'"(?:command|reproduce)": ?"/|"system": ?"Linux')


def check_kept_reports(path, content, complaints):
    if path.parts[0] == "corpus" and OF_A_MACHINE.search(content):
        complaints.append(f"{path}: names a folder or the system of a machine")


def check_rooms_are_described(root, sources, complaints):
    page = pathlib.Path(root) / "docs/ARCHITECTURE.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else None
    for room in sorted({room_of(path) for path in sources} & set(LAYERS)):
        if text is not None and f"`{room}/`" not in text:
            complaints.append(f"docs/ARCHITECTURE.md: says nothing of {room}/")


def check(root):
    """(errors, number of files, C++ sources by path)"""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True).stdout
    complaints = []
    checked = 0
    sources = {}
    for name in listed.decode().split("\0"):
        path = pathlib.Path(name)
        full = pathlib.Path(root) / path
        if not name or not full.is_file():
            continue
        if full.stat().st_size > MAX_FILE_BYTES:
            complaints.append(f"{path}: {full.stat().st_size} bytes (limit {MAX_FILE_BYTES}); is it the output of a run?")
            continue
        if path.parts[0] == "corpus":
            check_kept_reports(path, full.read_bytes(), complaints)
            continue
        try:
            text = full.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            complaints.append(f"{path}: not UTF-8")
            continue
        lines = text.splitlines()
        checked += 1
        if path.suffix in (".cc", ".h"):
            sources[path] = text
            check_includes(path, lines, complaints)
            check_namespace(path, text, complaints)
            check_one_way(path, lines, complaints)
        check_lines(path, lines, complaints)
        check_supply(path, lines, complaints)
        script = path.parts[0] in ("ci", ".ci") and path.suffix in ("", ".sh", ".py") and path.name != "Dockerfile"
        if script and full.stat().st_mode & 0o111 == 0:
            complaints.append(f"{path}: scripts are executable")
    check_types(sources, complaints)
    check_circles(sources, complaints)
    check_rooms_are_described(root, sources, complaints)
    return complaints, checked, sources


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--matrix", action="store_true", help="print who includes whom")
    parser.add_argument("root")
    arguments = parser.parse_args()
    complaints, checked, sources = check(arguments.root)
    if arguments.matrix:
        print(matrix_text(include_matrix(sources)))
    for complaint in complaints:
        print(complaint)
    print(f"style: {checked} files, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
