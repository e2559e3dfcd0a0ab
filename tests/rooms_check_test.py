"""That style_check.py and link_check.py see what they are for: a room that uses one above it, circles, types that are defined
twice. python3 tests/rooms_check_test.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import link_check  # noqa: E402
import style_check  # noqa: E402

LOWER = "suite/judge"
UPPER = "suite/run"


def complaints_about(files):
    """What style_check says of a repository that has these files (path -> text) and no others."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = pathlib.Path(root) / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q", root], check=True)
        subprocess.run(["git", "-C", root, "add", "-A"], check=True)
        return style_check.check(root)[0]


def source(path, includes=(), code=""):
    room = style_check.room_of(path).split("/")[-1]
    lines = "".join(f'#include "{name}"\n' for name in includes)
    return f"{lines}namespace fencepost::{room} {{\n{code}\n}}\n"


class Includes(unittest.TestCase):
    def test_a_room_may_include_one_below_it_and_none_above(self):
        upper, lower = f"{UPPER}/verdicts.h", f"{LOWER}/answers.h"
        self.assertEqual(complaints_about({lower: source(lower), upper: source(upper, [lower])}), [])
        reversed_edge = complaints_about({lower: source(lower, [upper]), upper: source(upper)})
        self.assertEqual(reversed_edge, [f"{lower}:1: {LOWER}/ may not include {UPPER}/"])

    def test_tests_may_include_what_they_like_and_are_included_by_nobody(self):
        test, fixture, header = f"{LOWER}/answers_test.cc", f"{LOWER}/answers_fixture.h", f"{LOWER}/answers.h"
        above = f"{UPPER}/verdicts.h"
        self.assertEqual(complaints_about({test: source(test, [fixture, above]), fixture: source(fixture, [above]),
                                           above: source(above)}), [])
        found = complaints_about({header: source(header, [fixture]), fixture: source(fixture)})
        self.assertEqual(found, [f"{header}:1: {fixture} is for tests"])

    def test_circles_of_headers_are_seen_within_a_room_too(self):
        a, b, c = (f"{LOWER}/{name}.h" for name in "abc")
        found = complaints_about({a: source(a, [b]), b: source(b, [c]), c: source(c, [a])})
        self.assertEqual(found, [f"{a}: a circle of includes: {a}, {b}, {c}"])

    def test_a_room_that_nobody_knows_is_one_complaint(self):
        path = "suite/attic/box.h"
        self.assertEqual(complaints_about({path: source(path)}),
                         [f"{path}: suite/attic/ is not in the table of rooms (LAYERS in tests/style_check.py)"])

    def test_the_output_of_a_run_has_no_place_in_the_repository(self):
        found = complaints_about({"stress-3.jsonl": "x" * (style_check.MAX_FILE_BYTES + 1)})
        self.assertEqual(len(found), 1)
        self.assertIn("is it the output of a run?", found[0])

    def test_a_room_is_described(self):
        path = f"{LOWER}/a.h"
        self.assertEqual(complaints_about({path: source(path), "docs/ARCHITECTURE.md": "| `suite/run/` | |\n"}),
                         [f"docs/ARCHITECTURE.md: says nothing of {LOWER}/"])

    def test_libraries_are_for_the_rooms_that_need_them(self):
        path = f"{LOWER}/answers.cc"
        found = complaints_about({path: source(path).replace("namespace", "#include <nlohmann/json.hpp>\nnamespace", 1)})
        self.assertEqual(len(found), 1)
        self.assertIn("may include <nlohmann/json.hpp>", found[0])

    def test_the_table_has_no_circle_and_gives_levels(self):
        self.assertEqual(style_check.wrong_rows(), [])
        text = style_check.matrix_text({"base": {"base": 1}, "codec": {"base": 2, "codec": 1}})
        self.assertIn("2 rooms on 2 levels, 1 arrows", text)


class Types(unittest.TestCase):
    def check(self, code, other):
        a, b = f"{LOWER}/a.h", f"{LOWER}/b.cc"
        return complaints_about({a: source(a, code=code), b: source(b, code=other)})

    def test_no_type_is_defined_in_two_files(self):
        for code in ("struct Choice {};", "class Choice final : public Base {};", "enum class Choice : int { kA };"):
            with self.subTest(code):
                self.assertEqual(self.check("struct Choice { int a; };", code),
                                 [f"{LOWER}/a.h:2: fencepost::judge::Choice is defined in {LOWER}/b.cc:2, too"])

    def test_what_is_apart_is_not_the_same(self):
        for code in ("namespace { struct Choice {}; }", "struct Other { struct Choice {}; };", "struct Choice;",
                     "void f() { struct Choice {}; }", "// struct Choice {};", 'auto text = R"(struct Choice {)";',
                     "struct Other::Choice {};", "template <class Choice> struct Other {};",
                     "namespace inner { struct Choice {}; }"):
            with self.subTest(code):
                self.assertEqual(self.check("struct Choice { int a; };", code), [])

    def test_a_room_has_the_namespace_of_its_folder(self):
        path = f"{LOWER}/a.h"
        self.assertEqual(complaints_about({path: "namespace fencepost::conformance {\n}\n"}),
                         [f"{path}: {LOWER}/ is namespace fencepost::judge, not conformance"])


def unit(room, name, symbols):
    """nm's lines of one unit: {"f": "T", "g": "U"}."""
    library = f"{room}/libfencepost_{room.split('/')[-1]}.a"
    return "".join(f"{library}[{name}.cc.o]: {symbol} {kind} 0 0\n" for symbol, kind in symbols.items())


class Links(unittest.TestCase):
    def check(self, *units):
        return link_check.check(link_check.read_units("".join(units)), style_check.LAYERS)[0]

    def test_a_unit_may_need_what_is_below_it_and_nothing_above(self):
        self.assertEqual(self.check(unit(UPPER, "runner", {"f": "T", "g": "U"}), unit(LOWER, "judge", {"g": "T"})), [])
        found = self.check(unit(UPPER, "runner", {"f": "T"}), unit(LOWER, "judge", {"g": "T", "f": "U"}))
        self.assertEqual(found, [f"{LOWER}/judge.cc.o: {LOWER}/ may not need f, which {UPPER}/runner.cc.o defines"])

    def test_an_inline_function_is_of_every_unit_that_has_it(self):
        found = self.check(unit(UPPER, "runner", {"f": "W"}), unit(LOWER, "judge", {"f": "U"}),
                           unit(LOWER, "clock", {"f": "W"}))
        self.assertEqual(found, [])

    def test_what_no_library_of_ours_defines_is_somebody_elses(self):
        self.assertEqual(self.check(unit(LOWER, "judge", {"malloc": "U"})), [])

    def test_a_circle_of_units_across_rooms_is_named(self):
        found = self.check(unit(UPPER, "runner", {"f": "T", "g": "U"}), unit(LOWER, "judge", {"g": "T", "f": "U"}))
        self.assertEqual(len(found), 2)
        self.assertIn("a circle of units across rooms", found[1])
        inside = self.check(unit(LOWER, "clock", {"f": "T", "g": "U"}), unit(LOWER, "judge", {"g": "T", "f": "U"}))
        self.assertEqual(inside, [])

    def test_an_empty_build_folder_is_no_proof(self):
        with tempfile.TemporaryDirectory() as empty:
            script = pathlib.Path(link_check.__file__)
            done = subprocess.run([sys.executable, script, empty], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no libraries", done.stdout)


if __name__ == "__main__":
    unittest.main()
