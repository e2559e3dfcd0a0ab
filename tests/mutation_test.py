"""What each mutation operator makes of small pieces of code, and what is left alone: python3 tests/mutation_test.py"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "mutation"))
sys.dont_write_bytecode = True

import build  # noqa: E402
import mutate  # noqa: E402
import operators  # noqa: E402
import project  # noqa: E402
import tokens  # noqa: E402


def body(code):
    return "int f() {\n" + code + "\nreturn g; }\n"


def mutants(code, enumerators=None):
    """(operator, what, text) of all mutants of a piece of code."""
    sites = operators.Finder(code, enumerators).find()
    return [(mutant.operator, mutant.what, mutant.text) for site in sites for mutant in site.mutants]


def whats(code, enumerators=None):
    return sorted(f"{operator} {what}" for operator, what, _ in mutants(code, enumerators))


def schema(code, dropped=(), enumerators=None):
    finder = operators.Finder(code, enumerators)
    finder.find()
    for number, mutant in enumerate((mutant for site in finder.sites for mutant in site.mutants), 1):
        mutant.id = number
    return operators.Schema(code, finder.sites, set(dropped), "")


class Operators(unittest.TestCase):
    def test_relations_move_their_bound_and_turn_around(self):
        self.assertEqual(mutants(body("const bool x = a.b < c + d;"))[:2],
                         [("relational", "< -> <=", "a.b <= c + d"), ("relational", "< -> >=", "a.b >= c + d")])
        self.assertEqual(whats("bool x = a == b;"), ["relational == -> !="])

    def test_conditions_are_negated_once(self):
        self.assertEqual(whats(body("if (a == b) c = d;")), ["condition negated", "statement deleted"])
        self.assertEqual(whats(body("if (a < b) c = d;")),
                         ["condition negated", "relational < -> <=", "statement deleted"])
        self.assertEqual(whats(body("if (!a) c = d;")), ["condition negated", "statement deleted"])
        self.assertEqual(whats(body("c = !a;")), ["logical ! dropped", "statement deleted"])
        self.assertEqual(whats(body("while (a) b(c);")), ["condition negated", "statement deleted"])
        self.assertEqual(whats("auto x = a ? b : c;"), ["condition negated"])

    def test_a_declaration_in_a_condition_keeps_its_name(self):
        self.assertIn("if (const auto x = f(y); fencepost_mutant(1) != static_cast<bool>(x))",
                      schema(body("if (const auto x = f(y)) g(x);")).text)

    def test_logical_operators_change_and_lose_an_operand(self):
        self.assertEqual(mutants("bool x = a && b || c;"), [
            ("logical", "|| -> &&", "(a && b) && (c)"), ("logical", "|| -> left", "static_cast<bool>(a && b)"),
            ("logical", "|| -> right", "static_cast<bool>(c)"), ("logical", "&& -> ||", "(a) || (b)"),
            ("logical", "&& -> left", "static_cast<bool>(a)"), ("logical", "&& -> right", "static_cast<bool>(b)")])

    def test_arithmetic_binds_as_it_did(self):
        self.assertEqual(mutants("int x = a * b - c(d, e)[f];"), [
            ("arithmetic", "- -> +", "(a * b) + (c(d, e)[f])"), ("arithmetic", "* -> /", "(a) / (b)")])
        self.assertEqual(mutants("int x = a - b - c;")[0], ("arithmetic", "- -> +", "(a - b) + (c)"))
        self.assertEqual(whats(body("a += b ? c : d;")),
                         ["arithmetic += -> -=", "condition negated", "statement deleted"])
        self.assertEqual(mutants(body("++a.b[c];"))[1], ("arithmetic", "++ -> --", "--a.b[c]"))
        self.assertEqual(mutants(body("f(a->b++);"))[1], ("arithmetic", "++ -> --", "a->b--"))

    def test_constants_move_by_one(self):
        self.assertEqual([text for _, _, text in mutants("int x = 60'000U;")], ["60'000U + 1", "60'000U - 1"])
        self.assertEqual(mutants("char x = '9';"), [("constant", "'9' -> +1", "static_cast<char>('9' + 1)")])
        self.assertEqual(mutants("bool x = true;"), [("constant", "true -> false", "false")])
        self.assertEqual(mutants('auto x = f("a"\n"b", "");'), [("constant", "string -> empty", '""')])
        self.assertEqual(mutants("auto x = 5ms + 1.5;")[1:], [])

    def test_enumerators_become_their_neighbours(self):
        enumerators = operators.enumerations(["enum class E {\n  kA,  // one, two\n  kB = 3,\n  kC\n};"])
        self.assertEqual(enumerators, {"E": ["kA", "kB", "kC"]})
        self.assertIn(("constant", "kC -> kA", "n::E::kA"), mutants(body("f(n::E::kC);"), enumerators))
        self.assertEqual(mutants("E x = E::kA;", enumerators), [])

    def test_statements_are_deleted_and_declarations_are_not(self):
        self.assertIn("{ if (!fencepost_mutant(1)) a.b(c); }", schema(body("a.b(c);")).text)
        for statement in ("a = b;", "a(b);", "break;", "continue;", "return a;", "*a = b;", "a::b(c);", "a[b] = c;"):
            self.assertIn("statement deleted", whats(body(statement)), statement)
        for declaration in ("A a;", "A a = b;", "n::A<B, C>& a = b;", "const auto [a, b] = c;", "unsigned char a(b);",
                            "using a = b;", "A* a{b};", "static_assert(a);"):
            self.assertNotIn("statement deleted", whats(body(declaration)), declaration)

    def test_the_last_return_of_a_function_stays(self):
        self.assertEqual(whats("int f() { return a; }"), [])
        self.assertEqual(whats("int f() { switch (a) { case b: return c; default: return d; } }"),
                         ["statement deleted"])
        self.assertEqual(whats("int f() { if (a) { return b; } return c; }"),
                         ["condition negated", "statement deleted"])

    def test_equal_mutants_of_equal_lines_are_counted(self):
        sites = operators.Finder(body("f(1, 1);\nf(1, 1);")).find()
        keys = [mutant.key() for site in sites for mutant in site.mutants]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertIn(" [constant 1 -> +1 #4] f(1, 1);", keys)


class LeftAlone(unittest.TestCase):
    def test_comments_strings_and_the_preprocessor(self):
        self.assertEqual(mutants('#include <a/b.h>\n#define A(b) \\\n  ((b) < 2)\n// a < b\n/* 1 + 1 */\n'), [])
        self.assertEqual(len(mutants('auto x = "a < b && 1 // c";')), 1)
        self.assertEqual(mutants('auto x = R"(a" < 1)";'), [])

    def test_templates_references_and_pointers(self):
        for code in ("std::map<int, std::vector<A<5>>> a;", "template <int N = 3> struct A;", "void f(A&& a, B& b, C* c);",
                     "auto x = static_cast<int>(a);", "std::array<char, N + 1> a;", "auto x = &a;", "auto x = *a;",
                     "auto x = a->b;", "A operator<(B);", "auto operator<=>(const A&) const = default;"):
            self.assertEqual(mutants(code), [], code)
        self.assertEqual(whats(body("const auto x = [&](const A& a) { return a.b < c; };")),
                         ["relational < -> <=", "relational < -> >="])

    def test_what_only_compilers_read(self):
        finder = operators.Finder("enum class A { kB = 1 };\nstatic_assert(a < 2);\nconstexpr int f() { return 1 + 1; }\n")
        self.assertEqual([mutant for site in finder.find() for mutant in site.mutants], [])
        self.assertEqual(finder.skipped, {"the value of an enumerator": 1, "a static assertion": 2,
                                          "a constexpr function": 3})
        self.assertEqual(whats("void f() { switch (a) { case 'b': case 3: return; } }"), [])


class Schemata(unittest.TestCase):
    def test_mutants_nest_in_the_original_only(self):
        self.assertEqual(schema("bool x = a < 1;").text,
                         "bool x = (fencepost_mutant(1) ? (a <= 1) : fencepost_mutant(2) ? (a >= 1) : "
                         "(a < (fencepost_mutant(3) ? (1 + 1) : fencepost_mutant(4) ? (1 - 1) : (1))));")

    def test_dropped_mutants_are_not_in_the_text(self):
        code = "int f() {\n  if (a && b) c += 1;\n  return d;\n}\n"
        count = len(mutants(code))
        self.assertEqual(schema(code, range(1, count + 1)).text, code)
        self.assertEqual(schema("bool x = a < b;", {1}).text, "bool x = (fencepost_mutant(2) ? (a >= b) : (a < b));")

    def test_constants_are_ordinary_while_there_are_mutants_in_them(self):
        self.assertTrue(schema("constexpr int kA = 5;").text.startswith("const int kA = (fencepost_mutant(1)"))
        self.assertEqual(schema("constexpr int kA = 5;", {1, 2}).text, "constexpr int kA = 5;")
        self.assertIn("static inline const int kA", schema("struct S {\n  static constexpr int kA = 5;\n};").text)

    def test_errors_lead_to_their_mutants(self):
        found = schema("int a;\nauto x = b + 5;")
        line = found.text.split("\n")[1]
        for text, culprits in (("(b) - (5)", [1]), ("5 + 1", [2]), ("5 - 1", [3]), ("b + (fence", [1])):
            self.assertEqual(found.culprits(2, line.index(text) + 1), culprits, text)
        self.assertEqual(found.culprits(1, 5), [])


class Lists(unittest.TestCase):
    def test_equivalents_share_reasons(self):
        self.assertEqual(mutate.read_equivalents("# c\n\na [x] b;\nc [y] d;\n    One\n    two.\ne [z] f;\n    Three.\n"),
                         {"a [x] b;": "One two.", "c [y] d;": "One two.", "e [z] f;": "Three."})

    def test_equivalents_need_a_reason_and_are_listed_once(self):
        for text in ("a [x] b;\n", "    Why.\n", "a [x] b;\n  Why.\na [x] b;\n  Why.\n"):
            with self.assertRaises(build.Failure):
                mutate.read_equivalents(text)

    def test_every_listed_mutant_exists(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = build.Tree(mutate.ROOT, folder)
        keys = {mutant.key() for mutant in tree.mutants.values()}
        self.assertEqual(len(keys), len(tree.mutants))
        listed = mutate.read_equivalents((mutate.ROOT / mutate.EQUIVALENT).read_text(encoding="utf-8"))
        self.assertEqual(sorted(set(listed) - keys), [])

    def test_tests_and_deliberate_faults_are_no_sources(self):
        self.assertEqual(project.module_of("codec/resp3.cc"), "codec")
        for path in ("codec/codec_test.cc", "reference_store/faults/fault.h", "cli/main.cc", "codec/CMakeLists.txt"):
            self.assertIsNone(project.module_of(path), path)


class Tokens(unittest.TestCase):
    def test_braces_know_what_they_enclose(self):
        code = ("namespace n { class A { int f() const { if (a) { b(); } return [&] { return c; }(); } }; "
                "A::A() : d_{1}, e_(2) { g = {3}; } auto f() -> B<C> { h([](int i) { return i; }); } }")
        roles = [token.role for token in tokens.tokenize(code) if token.text == "{"]
        self.assertEqual(roles, ["namespace", "class", "function", "control", "lambda", "init", "function", "init",
                                 "function", "lambda"])

    def test_brackets_that_do_not_match_are_named(self):
        with self.assertRaises(ValueError):
            tokens.tokenize("int f( {")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"] if len(sys.argv) == 1 else None)
