"""That words_check.py finds the words that it is for, where they stand, and takes no code for a text.
python3 tests/words_check_test.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import words_check  # noqa: E402


def findings(files):
    """What words_check says of a repository that has these files (name -> text) and no others: "name:line"."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q", root], check=True)
        subprocess.run(["git", "-C", root, "add", "-A"], check=True)
        return [f"{name}:{line}" for name, line, _ in words_check.check(root)[0]]


def seen(reader, source):
    """What a reader leaves of a source, word by word."""
    text = reader(source)
    assert len(text) == len(source) and text.count("\n") == source.count("\n"), "lines and columns stay"
    return text.replace(words_check.CODE, " ").split()


class Cpp(unittest.TestCase):
    def test_a_word_is_found_in_each_kind_of_text_and_in_its_line(self):
        self.assertEqual(findings({"a.cc": '// One.\n// It is anew.\nint a;  /* two,\n anew */\nf("x anew");\n'
                                           'g(R"(one\ntwo anew)");\n'}), ["a.cc:2", "a.cc:4", "a.cc:5", "a.cc:7"])

    def test_words_over_the_end_of_a_line(self):
        self.assertEqual(findings({"a.h": "// These requests\n// meet. Not here: requests\nint meet;\n"
                                          "// they are no requests\n// that meet\n"}), ["a.h:4"])
        self.assertEqual(findings({"a.cc": 'f("two cases "\n  "at once");'}), ["a.cc:1", "a.cc:2"])  # two rules

    def test_code_is_not_checked(self):
        self.assertEqual(findings({"a.cc": 'Told told(anew);\nuse("told", "killers");\n// `told`, "told", told(), a::told\n'
                                           "//   told(anew);\n"}), [])

    def test_quotes_that_end_and_quotes_that_do_not(self):
        self.assertEqual(seen(words_check.text_of_c, r"""char q = '"'; f("a \" b", '\'', 1'000); // it's c"""),
                         ["a", "b", "it's", "c"])
        self.assertEqual(seen(words_check.text_of_c, 'f("// a b"); g("/* c d"); // e "f'),
                         ["//", "a", "b", "/*", "c", "d", "e", '"f'])
        self.assertEqual(seen(words_check.text_of_c, 'R"x(a )" b)x"; c'), ["a", ")\"", "b"])


class Others(unittest.TestCase):
    def test_python(self):
        source = '"""One anew."""\n\n\ndef f():\n    """Two\n    anew."""\n    return "three anew"  # four anew\n'
        self.assertEqual(findings({"a.py": source, "ci/b": "#!/usr/bin/env python3\n# anew\n"}),
                         ["a.py:1", "a.py:6", "a.py:7", "ci/b:2"])
        self.assertEqual(seen(words_check.text_of_python, 'x = "anew"\nf("""anew\nanew""")\n'), [])

    def test_shell_and_cmake(self):
        self.assertEqual(findings({"ci/a": "#!/bin/sh\nanew=${1#anew}  # anew\n", "CMakeLists.txt": "# anew\nadd(anew)\n"}),
                         ["CMakeLists.txt:1", "ci/a:2"])

    def test_yaml_and_schemas(self):
        self.assertEqual(findings({"a.yaml": "# anew\nanew: x\ntitle: Begins anew\nid: time.of.a.starts-anew-again\n",
                                   "a.schema.json": '{"anew": {"description": "It is anew"}}\n'}),
                         ["a.schema.json:1", "a.yaml:1", "a.yaml:3"])

    def test_javascript(self):
        self.assertEqual(findings({"a.js": "const anew = 'anew'; // anew\nf(`two anew`, `${anew} x`, 'https://x/ anew');\n"}),
                         ["a.js:1", "a.js:2"])

    def test_pages(self):
        self.assertEqual(findings({"a.html": '<p class="told anew">\nIt is anew</p>\n', "a.css": ".anew { /* anew */ }\n"}),
                         ["a.css:1", "a.html:2"])

    def test_what_others_have_written_is_not_checked(self):
        self.assertEqual(findings({"corpus/a.yaml": "# anew\n", "tests/kept_files/a.py": "# anew\n", "a.md": "anew\n"}), [])


class List(unittest.TestCase):
    def test_the_third_column_allows_a_word_in_files(self):
        self.assertEqual(findings({"suite/scenario/a.cc": "// an axis\n", "suite/judge/a.cc": "// an axis\n"}),
                         ["suite/judge/a.cc:1"])

    def test_every_word_has_a_replacement(self):
        for pattern, replacement, _ in words_check.banned():
            self.assertTrue(replacement.strip(), pattern.pattern)


if __name__ == "__main__":
    unittest.main()
