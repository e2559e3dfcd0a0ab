"""The mutation operators: from the text of a source file to its mutants, and to one text (a schema) that holds them all
and chooses between them when it runs."""

import re

import tokens as cpp

RELATIONAL = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&"}
COMPOUND = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "*=", "<<=": ">>=", ">>=": "<<=", "&=": "|=",
            "|=": "&="}
STATEMENT_WORDS = {"if", "for", "while", "switch", "do", "else", "case", "default", "try", "catch", "public", "private",
                   "protected"}
DECLARATION_WORDS = {"const", "constexpr", "auto", "static", "using", "typedef", "struct", "class", "enum", "friend",
                     "template", "typename", "static_assert", "namespace", "extern", "inline", "constinit", "goto"}
PLAIN_NUMBER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[\d']+)[uUlLzZ]*$")


class Mutant:
    """One change. `id` is given by the caller of `find`; `line` is the source line it stands in, and with `what` (and
    `ordinal`, among equals) it names the mutant in a way that outlives changes elsewhere in the file."""

    def __init__(self, operator, what, text, line_number, line):
        self.operator = operator
        self.what = what
        self.text = text  # of the alternative; None where the site says it all
        self.line_number = line_number
        self.line = line
        self.ordinal = 1
        self.id = 0
        self.file = ""

    def key(self):
        which = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.file} [{self.operator} {self.what}{which}] {self.line}"


class Site:
    """Source text that is replaced: offsets, how, and the mutants to choose from."""

    def __init__(self, kind, start, end, rank):
        self.kind = kind  # "expression", "condition", "declared", "statement", "flip" or "constant" (no mutants)
        self.start = start
        self.end = end
        self.rank = rank  # the outer of two sites with the same extent has the lower
        self.mutants = []
        self.name = ""


class Finder:
    def __init__(self, text, enumerators=None):
        self.text = text
        self.tokens = cpp.tokenize(text)
        self.enumerators = enumerators or {}
        self.sites = []
        self.skipped = {}  # reason -> count
        self.lines = text.split("\n")
        self.line_starts = [0]
        for line in self.lines:
            self.line_starts.append(self.line_starts[-1] + len(line) + 1)

    def line_of(self, offset):
        low, high = 0, len(self.line_starts) - 1
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (middle, high) if self.line_starts[middle] <= offset else (low, middle)
        return low + 1

    def mutant(self, operator, what, text, offset):
        number = self.line_of(offset)
        return Mutant(operator, what, text, number, self.lines[number - 1].strip())

    def raw(self, first, last):
        """The text of the tokens [first, last) in one line, without comments."""
        out = ""
        for i in range(first, last):
            token = self.tokens[i]
            if i > first and (token.blank_before or self.tokens[i - 1].blank_after):
                out += " "
            out += token.text
        return out

    def site(self, kind, first, last, rank):
        site = Site(kind, self.tokens[first].start, self.tokens[last - 1].end, rank)
        self.sites.append(site)
        return site

    def skip(self, token):
        self.skipped[token.skip] = self.skipped.get(token.skip, 0) + 1

    def in_code(self, i):
        """Is the token within the body of a function (and not only in a declaration or an initialiser outside)?"""
        parent = self.tokens[i].parent
        while parent is not None:
            if self.tokens[parent].role in ("function", "lambda", "control"):
                return True
            parent = self.tokens[parent].parent
        return False

    def find(self):
        conditions = self.conditions()
        for i, token in enumerate(self.tokens):
            candidate = (token.role in ("binary", "prefix", "postfix") or token.text in COMPOUND or
                         token.kind in ("number", "char", "string") or token.text in ("true", "false"))
            if token.skip:
                if candidate and token.skip != "the name of an operator":
                    self.skip(token)
                continue
            if token.role == "binary":
                self.binary(i, conditions)
            elif token.role in ("prefix", "postfix"):
                self.unary(i, conditions)
            elif token.text in COMPOUND:
                self.compound(i)
            elif token.kind in ("number", "char", "string") or token.text in ("true", "false"):
                self.literal(i)
            elif token.text == "::":
                self.enumerator(i)
            elif token.text == "?":
                first = cpp.left_end(self.tokens, i, 0)
                self.negate(first, i)
            elif token.role == "constant":
                self.constant(i)
        self.statements()
        self.number_equals()
        return self.sites

    def conditions(self):
        """Negates the conditions of if, while and for; returns the extents of all conditions, (first, last)."""
        extents = set()
        for i, token in enumerate(self.tokens):
            if token.text == "?" and not token.skip:
                extents.add((cpp.left_end(self.tokens, i, 0), i))
            if token.text != "(" or token.role not in ("if", "while", "for") or token.skip:
                continue
            first, last = i + 1, token.match
            semicolons = [j for j in range(first, last)
                          if self.tokens[j].text == ";" and self.tokens[j].parent == i]
            if token.role == "for":
                if len(semicolons) != 2:
                    continue
                first, last = semicolons[0] + 1, semicolons[1]
            elif semicolons:
                first = semicolons[0] + 1
            assignment = next((j for j in range(first, last)
                               if self.tokens[j].text == "=" and self.tokens[j].parent == i), None)
            if first >= last:
                continue
            extents.add((first, last))
            if assignment is None:
                self.negate(first, last)
            else:
                site = Site("declared", self.tokens[last].start, self.tokens[last].start, 0)
                site.name = self.tokens[assignment - 1].text
                site.mutants.append(self.mutant("condition", "negated", None, self.tokens[first].start))
                self.sites.append(site)
        return extents

    def negate(self, first, last):
        site = self.site("condition", first, last, 1)
        site.mutants.append(self.mutant("condition", "negated", None, self.tokens[first].start))

    def binary(self, i, conditions):
        token = self.tokens[i]
        strength = cpp.BINARY[token.text]
        first = cpp.left_end(self.tokens, i, strength)
        last = cpp.right_end(self.tokens, i, strength)
        left, right = self.raw(first, i), self.raw(i + 1, last)
        site = Site("expression", self.tokens[first].start, self.tokens[last - 1].end, 2 + strength)
        if token.text in RELATIONAL:
            for other in RELATIONAL[token.text]:
                # As a whole condition, its opposite is there already: the condition negated.
                if other != NEGATED[token.text] or (first, last) not in conditions:
                    site.mutants.append(
                        self.mutant("relational", f"{token.text} -> {other}", f"{left} {other} {right}", token.start))
        elif token.text in ("&&", "||"):
            other = "||" if token.text == "&&" else "&&"
            for what, text in ((other, f"({left}) {other} ({right})"), ("left", f"static_cast<bool>({left})"),
                               ("right", f"static_cast<bool>({right})")):
                site.mutants.append(self.mutant("logical", f"{token.text} -> {what}", text, token.start))
        elif token.text in ARITHMETIC:
            other = ARITHMETIC[token.text]
            site.mutants.append(self.mutant("arithmetic", f"{token.text} -> {other}", f"({left}) {other} ({right})",
                                            token.start))
        if site.mutants:
            self.sites.append(site)

    def unary(self, i, conditions):
        token = self.tokens[i]
        if token.text == "!":
            last = cpp.unary_end(self.tokens, i)
            if (i, last) not in conditions:
                site = self.site("condition", i, last, 20)
                site.mutants.append(self.mutant("logical", "! dropped", None, token.start))
            return
        other = "--" if token.text == "++" else "++"
        if token.role == "prefix":
            first, last = i, cpp.unary_end(self.tokens, i)
            text = other + self.raw(i + 1, last)
        else:
            first, last = cpp.postfix_start(self.tokens, i), i + 1
            text = self.raw(first, i) + other
        site = self.site("expression", first, last, 20)
        site.mutants.append(self.mutant("arithmetic", f"{token.text} -> {other}", text, token.start))

    def compound(self, i):
        token = self.tokens[i]
        first = cpp.left_end(self.tokens, i, 0)
        last = cpp.right_end(self.tokens, i, 0)
        other = COMPOUND[token.text]
        site = self.site("expression", first, last, 1)
        text = f"{self.raw(first, i)} {other} {self.raw(i + 1, last)}"
        site.mutants.append(self.mutant("arithmetic", f"{token.text} -> {other}", text, token.start))

    def literal(self, i):
        token = self.tokens[i]
        if token.text in ("true", "false"):
            site = self.site("flip", i, i + 1, 30)
            other = "false" if token.text == "true" else "true"
            site.mutants.append(self.mutant("constant", f"{token.text} -> {other}", other, token.start))
        elif token.kind == "char":
            site = self.site("expression", i, i + 1, 30)
            site.mutants.append(self.mutant("constant", f"{token.text} -> +1", f"static_cast<char>({token.text} + 1)",
                                            token.start))
        elif token.kind == "string":
            self.string(i)
        elif PLAIN_NUMBER.match(token.text):
            site = self.site("expression", i, i + 1, 30)
            for step in ("+ 1", "- 1"):
                site.mutants.append(self.mutant("constant", f"{token.text} -> {step.replace(' ', '')}",
                                                f"{token.text} {step}", token.start))

    def string(self, i):
        """Empties a string; adjacent literals are one."""
        if i and self.tokens[i - 1].kind == "string":
            return
        last = i + 1
        while last < len(self.tokens) and self.tokens[last].kind == "string":
            last += 1
        if self.tokens[i].text in ('""', 'u8""') or 'R"' in self.tokens[i].text[:4]:
            return
        site = self.site("expression", i, last, 30)
        site.mutants.append(self.mutant("constant", "string -> empty", '""', self.tokens[i].start))

    def enumerator(self, i):
        """`Enum::kOne` becomes its neighbour in the declaration of the enumeration."""
        if i == 0 or i + 1 >= len(self.tokens) or not self.in_code(i):
            return
        names = self.enumerators.get(self.tokens[i - 1].text)
        name = self.tokens[i + 1].text
        if not names or name not in names or len(names) < 2:
            return
        first = i - 1
        while first >= 2 and self.tokens[first - 1].text == "::" and self.tokens[first - 2].kind == "ident":
            first -= 2
        other = names[(names.index(name) + 1) % len(names)]
        site = self.site("expression", first, i + 2, 30)
        site.mutants.append(self.mutant("constant", f"{name} -> {other}", self.raw(first, i + 1) + other,
                                        self.tokens[i].start))

    def constant(self, i):
        """The declaration of a constant, which is an ordinary one as long as there are mutants in it."""
        last = cpp.statement_end(self.tokens, i)
        site = self.site("constant", i, last + 1, 0)
        parent = self.tokens[i].parent
        site.name = "const"
        if parent is not None and self.tokens[parent].role == "class":
            site.name = "inline const"

    def statements(self):
        for i, token in enumerate(self.tokens):
            if token.skip or not self.starts_statement(i) or self.tokens[i].text in STATEMENT_WORDS:
                continue
            if token.kind == "punct" and token.text not in ("++", "--", "*", "(", "::"):
                continue
            if self.is_declaration(i):
                continue
            end = cpp.statement_end(self.tokens, i)
            if self.tokens[end].text != ";" or self.ends_function(i, end):
                continue
            site = self.site("statement", i, end + 1, 0)
            site.mutants.append(self.mutant("statement", "deleted", None, token.start))

    def starts_statement(self, i):
        parent = self.tokens[i].parent
        if parent is None or self.tokens[parent].role not in ("function", "lambda", "control") or i == 0:
            return False
        if self.tokens[parent].text != "{":
            return False
        previous = self.tokens[i - 1]
        if i - 1 == parent or previous.text in (";", "else", "do"):
            return True
        if previous.text == "}":
            return previous.role == "control"
        if previous.text == ")":
            return previous.role in ("if", "while", "for", "switch") and self.tokens[i].text not in ("{", ";")
        return previous.text == ":" and self.is_label_end(i - 1)

    def is_label_end(self, i):
        return self.tokens[i].skip == "a case label" or self.tokens[i - 1].text == "default"

    def is_declaration(self, i):
        if self.tokens[i].text in DECLARATION_WORDS:
            return True
        if self.tokens[i].text in cpp.LEADING_WORDS | {"delete", "new", "break", "continue"}:
            return False
        j = i
        names = 0  # one after the other, not joined by `::`
        while j < len(self.tokens):
            token = self.tokens[j]
            if token.kind == "ident":
                names += 1
                j += 1
            elif token.text == "::":
                names -= 1 if names else 0
                j += 1
            elif token.text == "<" and token.role == "angle":
                j = token.match + 1
            elif token.text in ("&", "*", "&&") and names and not token.blank_before:
                j += 1
            else:
                break
        return names >= 2

    def ends_function(self, i, end):
        """A `return` with nothing but closing braces between it and the end of the function: without it there is no value
        to return (compilers take that for impossible), or nothing changes."""
        if self.tokens[i].text != "return":
            return False
        at = end + 1
        while at < len(self.tokens) and self.tokens[at].text == "}" and self.tokens[at].role == "control":
            at += 1
        return at < len(self.tokens) and self.tokens[at].text == "}" and self.tokens[at].role in ("function", "lambda")

    def number_equals(self):
        seen = {}
        self.sites.sort(key=lambda site: (site.start, -site.end, site.rank))
        for site in self.sites:
            for mutant in site.mutants:
                key = (mutant.operator, mutant.what, mutant.line)
                seen[key] = seen.get(key, 0) + 1
                mutant.ordinal = seen[key]


class Schema:
    """The text that holds all mutants of a file except the dropped ones, and where in it each of them stands."""

    def __init__(self, text, sites, dropped, header):
        self.source = text
        self.dropped = dropped
        self.parts = []
        self.size = 0
        self.constants = []  # the mutants of each constant that is now an ordinary variable
        self.spans = []  # (start, end, mutant ids): the innermost span of an error says whom to drop
        self.emit(f'#include "{header}"\n' if header else "")
        self.sites = sorted(sites, key=lambda site: (site.start, -site.end, site.rank))
        self.render(0, len(text), 0)
        self.text = "".join(self.parts)

    def emit(self, text):
        self.parts.append(text)
        self.size += len(text)

    def live(self, site):
        return [mutant for mutant in site.mutants if mutant.id not in self.dropped]

    def render(self, start, end, at):
        """Writes the source text [start, end) with its sites from index `at` on; returns the index behind them."""
        position = start
        while at < len(self.sites) and self.sites[at].start < end:
            site = self.sites[at]
            if site.start == site.end == end and site.kind != "declared":
                break
            self.emit(self.source[position:site.start])
            at = self.render_site(site, at)
            position = site.end
        self.emit(self.source[position:end])
        return at

    def inside(self, site, at):
        return self.render(site.start, site.end, at + 1)

    def render_site(self, site, at):
        begin = self.size
        if site.kind == "constant":
            at = self.render_constant(site, at)
        elif not self.live(site):
            return self.inside(site, at)
        else:
            at = getattr(self, "render_" + site.kind)(site, self.live(site), at)
        if site.mutants:
            self.spans.append((begin, self.size, [mutant.id for mutant in site.mutants]))
        return at

    def render_expression(self, site, mutants, at):
        self.emit("(")
        for mutant in mutants:
            self.emit(f"fencepost_mutant({mutant.id}) ? ")
            begin = self.size
            self.emit(f"({mutant.text})")
            self.spans.append((begin, self.size, [mutant.id]))
            self.emit(" : ")
        self.emit("(")
        at = self.inside(site, at)
        self.emit("))")
        return at

    def render_condition(self, site, mutants, at):
        self.emit(f"(fencepost_mutant({mutants[0].id}) != static_cast<bool>(")
        at = self.inside(site, at)
        self.emit("))")
        return at

    def render_declared(self, site, mutants, at):
        self.emit(f"; fencepost_mutant({mutants[0].id}) != static_cast<bool>({site.name})")
        return at + 1

    def render_statement(self, site, mutants, at):
        self.emit(f"{{ if (!fencepost_mutant({mutants[0].id})) ")
        at = self.inside(site, at)
        self.emit(" }")
        return at

    def render_flip(self, site, mutants, at):
        true = self.source[site.start:site.end] == "true"
        self.emit(f"({'!' if true else ''}fencepost_mutant({mutants[0].id}))")
        return at + 1

    def render_constant(self, site, at):
        inner = [mutant.id for other in self.sites[at + 1:] if site.start <= other.start and other.end <= site.end
                 for mutant in self.live(other)]
        begin = self.size
        if not inner:
            return self.inside(site, at)
        mark = len(self.parts)
        at = self.inside(site, at)
        constexpr = self.parts[mark]
        if not constexpr.startswith("constexpr"):
            raise ValueError(f"a constant does not begin with constexpr: {constexpr!r}")
        replacement = site.name + constexpr[len("constexpr"):]
        self.parts[mark] = replacement
        shift = len(replacement) - len(constexpr)
        self.size += shift
        self.spans = [(a + shift, b + shift, ids) if a > begin else (a, b, ids) for a, b, ids in self.spans]
        self.spans.append((begin, self.size, inner))
        self.constants.append(inner)
        return at

    def blames_constant(self, culprits):
        return culprits in self.constants

    def culprits(self, line, column):
        """The mutants that an error at this place of the text (counted from 1) is about;
        none when it is in text of the source."""
        lines = self.text.split("\n")
        offset = sum(len(text) + 1 for text in lines[:line - 1]) + column - 1
        inside = [(end - start, ids) for start, end, ids in self.spans if start <= offset < end]
        return min(inside, key=lambda span: span[0])[1] if inside else []


def enumerations(texts):
    """Enumeration -> its enumerators, of all `enum class` in the texts."""
    found = {}
    for text in texts:
        for match in re.finditer(r"enum class (\w+)[^{;]*\{(.*?)\}", text, re.DOTALL):
            body = re.sub(r"//[^\n]*", "", match.group(2))
            found[match.group(1)] = [name.split("=")[0].strip() for name in body.split(",") if name.strip()]
    return found
