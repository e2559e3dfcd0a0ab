"""Checks that comments and texts in the sources use the words of the field: tests/words/banned.txt has the words that they do
not use, and ci/prose checks the documents by the same list. Run by ctest and by ci/tidy:

    python3 tests/words_check.py ROOT

It checks comments and string literals of C++, JavaScript, Go and Rust, comments of CSS, shell and CMake files, comments and
docstrings of Python, and the texts of HTML, YAML and JSON schemas. It does not check code: names, strings without a blank
(keys, ids), and what stands in `backticks`. Other strings of Python are not checked: they compare and search output.
Exit codes: 0 nothing found, 1 findings."""

import fnmatch
import io
import pathlib
import re
import subprocess
import sys
import tokenize

LIST = pathlib.Path(__file__).resolve().parent / "words/banned.txt"
# Written by others, or by programs, or kept as they were.
NOT_CHECKED = ("corpus/*", "fuzz/traces/*", "tests/kept_files/*", "tests/histories/*", "tests/other_stores/*",
               "tests/other_clients/*", "*package-lock.json")
# Stands for code: neither a blank nor a part of a word.
CODE = "\x01"

C_TOKENS = re.compile(r"""
    (?P<raw>R"(?P<end>[^()\s\\]*)\((?P<inside>.*?)\)(?P=end)")
  | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<number>\b\d[\w'.]*)
  | (?P<character>'(?:\\.|[^'\\\n])+')
""", re.X | re.S)
JS_TOKENS = re.compile(r"""
    (?P<comment>(?<![:\\])//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)
""", re.X | re.S)
YAML_KEY = re.compile(r"""[\w.-]+:(?=\s|$)|"[\w.-]+":""", re.M)
MARKS = re.compile(r"^\s*(///?|/\*+|\*/|\*(?=\s)|#+!?)|\*/\Z", re.M)
# A line of code in a header's comment (CommentPragmas in .clang-format).
EXAMPLE = re.compile(r"^//   .*(?:[;{})]|->)\s*(?://.*)?$", re.M)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.M)


def banned(flags=re.I):
    """(pattern, replacement, globs of files where it is allowed) of each line of the list."""
    for number, line in enumerate(LIST.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            sys.exit(f"tests/words/banned.txt:{number}: two or three columns, separated by tabs")
        # A line may end between two words.
        yield re.compile(columns[0].replace(" ", r"\s+"), flags), columns[1], columns[2].split() if len(columns) == 3 else []


def code(text):
    """What is not checked, in the same lines and columns."""
    return re.sub(r"\S", CODE, text)


def blank(text):
    return re.sub(r"\S", " ", text)


def comment(text):
    """A comment without its marks and without code. The marks are blanks, so that sentences continue in the next line."""
    return without_code(MARKS.sub(lambda found: blank(found[0]), EXAMPLE.sub(lambda found: code(found[0]), text)))


# Within comments and texts: `code`, "name", Type::member, call(), $placeholder, --option, ids such as `set.nx.refuses`.
NAMES = re.compile(r'''`[^`\n]+`|\\?"[^"\s]+"|\w+(?:::\w+)+|\w+\(\)|\$\{[^}]*\}|\$\w+|(?<!\w)--[\w-]+|\w+(?:[.-]\w+){2,}''')


def without_code(text):
    return NAMES.sub(lambda found: code(found[0]), text)


def literal(text):
    """A string literal with its quotes; without a blank it is a key, an id or a path."""
    if not re.search(r"\s", text[1:-1].strip()):
        return code(text)
    inside = without_code(text[1:-1])
    return " " + re.sub(r"\\.", lambda found: "\n" in found[0] and " \n" or "  ", inside, flags=re.S) + " "


def with_code_around(source, texts):
    """`texts`, (begin, text) in their order, in the places where they are in the source; the rest is CODE."""
    out, at = [], 0
    for begin, text in texts:
        out += [code(source[at:begin]), text]
        at = begin + len(text)
    return "".join(out) + code(source[at:])


def texts_of_tokens(tokens, source):
    for found in tokens.finditer(source):
        if found.lastgroup == "comment":
            yield found.start(), comment(found[0])
        elif found.lastgroup == "string":
            yield found.start(), literal(found[0])
        elif found.lastgroup == "raw":
            yield found.start("inside") - 1, literal(f"({found['inside']})")


def text_of_c(source):
    return with_code_around(source, texts_of_tokens(C_TOKENS, source))


def text_of_js(source):
    return with_code_around(source, texts_of_tokens(JS_TOKENS, source))


def texts_of_python(source):
    begins = [0]
    for line in source.split("\n"):
        begins.append(begins[-1] + len(line) + 1)
    before = None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin = begins[token.start[0] - 1] + token.start[1]
        if token.type == tokenize.COMMENT:
            yield begin, comment(token.string)
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, None):
            yield begin, without_code(token.string)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def text_of_python(source):
    return with_code_around(source, texts_of_python(source))


def text_of_hash_comments(source):
    return with_code_around(source, ((found.start(), comment(found[0])) for found in HASH_COMMENT.finditer(source)))


def text_of_yaml(source):
    """Everything but keys: values of more than one word are texts."""
    return re.sub(r"^\s*#+", lambda found: blank(found[0]),
                  re.sub(YAML_KEY, lambda found: code(found[0]), without_code(source)), flags=re.M)


def text_of_html(source):
    """Everything but tags; comments count."""
    return re.sub(r"<(?!!--)[^>]*>", lambda found: code(found[0]), without_code(source))


def text_of_json(source):
    return re.sub(r'"(?:\\.|[^"\\])*"\s*:?', lambda found: (code if found[0].endswith(":") else literal)(found[0]), source)


def reader_of(name, first_line):
    """Which of the above reads a file; None: it is not checked."""
    path = pathlib.PurePath(name)
    readers = {".cc": text_of_c, ".h": text_of_c, ".rs": text_of_c, ".js": text_of_js, ".go": text_of_js, ".css": text_of_js,
               ".html": text_of_html, ".py": text_of_python, ".yaml": text_of_yaml, ".yml": text_of_yaml,
               ".sh": text_of_hash_comments, ".cmake": text_of_hash_comments}
    if path.suffix in readers:
        return readers[path.suffix]
    if name.endswith(".schema.json"):
        return text_of_json
    if path.name == "CMakeLists.txt":
        return text_of_hash_comments
    if first_line.startswith("#!"):
        return text_of_python if "python" in first_line else text_of_hash_comments
    return None


def dense(text):
    """The same words in the same lines, in small letters and with less between them: patterns are quick on that."""
    return re.sub(r"  +", " ", re.sub(f"{CODE}[{CODE} ]*", CODE, text)).lower()


def findings(name, text, words):
    """(file, line, what to write) for each word of the list in a text without code. `words`: banned(0)."""
    text = dense(text)
    for pattern, replacement, allowed in words:
        for found in pattern.finditer(text):
            if not any(fnmatch.fnmatch(name, one) for one in allowed):
                line = text.count("\n", 0, found.start()) + 1
                yield name, line, f"\"{' '.join(found[0].split())}\": write \"{replacement}\""


def check(root):
    """(findings, number of files)"""
    words = list(banned(0))
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True, text=True).stdout
    found, checked = [], 0
    for name in listed.split("\0"):
        path = pathlib.Path(root) / name
        if not name or any(fnmatch.fnmatch(name, one) for one in NOT_CHECKED) or not path.is_file():
            continue
        source = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        reader = reader_of(name, source.partition("\n")[0])
        if reader is not None:
            checked += 1
            found += findings(name, reader(source), words)
    return sorted(set(found)), checked


def main():
    found, checked = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, line, text in found:
        print(f"{name}:{line}: {text}")
    print(f"words: {checked} files, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
