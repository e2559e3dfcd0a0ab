"""A small C++ tokenizer for code that clang-format has formatted: what the mutation operators need to know, no more.

Formatted code makes the hard questions easy: a binary operator has blanks on both sides, the `<` of a template and the
`&` and `*` of a type have none before them."""

import re

PUNCTUATION = sorted(
    "<=> <<= >>= ->* ... << >> -> ++ -- && || == != <= >= += -= *= /= %= &= |= ^= :: ## "
    "{ } ( ) [ ] < > + - * / % & | ^ ! ~ = ? : ; , . # @ \\".split(), key=len, reverse=True)

TOKEN = re.compile(
    r"""(?P<space>\s+|\\\n)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>(?:u8|[uUL])?R"(?P<raw>[^()\\\s]{0,16})\(.*?\)(?P=raw)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"[A-Za-z_]*)
      | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
      | (?P<number>\.?\d(?:'?[\w.]|[eEpP][+-])*)
      | (?P<ident>[A-Za-z_]\w*)
      | (?P<punct>""" + "|".join(re.escape(p) for p in PUNCTUATION) + ")",
    re.VERBOSE | re.DOTALL)

BINARY = {  # operator -> its precedence
    "*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<=>": 7, "<": 6, "<=": 6, ">": 6, ">=": 6,
    "==": 5, "!=": 5, "&": 4, "^": 3, "|": 2.5, "&&": 2, "||": 1,
}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="}
# What ends an operand on its left.
LEADING_WORDS = {"return", "throw", "case", "else", "do", "co_return", "co_yield", "goto"}
BLOCKS = {"control", "function", "namespace", "class", "enum"}


class Token:
    __slots__ = ("kind", "text", "start", "end", "blank_before", "blank_after", "match", "role", "parent", "skip")

    def __init__(self, kind, text, start, end, blank_before):
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.blank_before = blank_before
        self.blank_after = False
        self.match = None  # index of the other bracket
        self.role = ""  # of brackets: what they enclose; of operators: "binary", "prefix" or "postfix"
        self.parent = None  # index of the innermost bracket that is open here
        self.skip = ""  # why nothing is mutated here

    def __repr__(self):
        return f"{self.kind}:{self.text}"


def tokenize(text):
    """The tokens of `text` without blanks, comments and preprocessor lines, with their brackets matched and their roles
    and places that must be left alone marked."""
    tokens = []
    position = 0
    blank = True
    line_start = True
    while position < len(text):
        if line_start and (directive := re.compile(r"[ \t]*#(?:[^\n\\]|\\.)*", re.DOTALL).match(text, position)):
            position = directive.end()
            blank = True
            continue
        found = TOKEN.match(text, position)
        if not found:
            raise ValueError(f"no token at offset {position}: {text[position:position + 20]!r}")
        kind = found.lastgroup if found.lastgroup != "raw" else "string"
        position = found.end()
        if kind in ("space", "comment"):
            blank = True
            line_start = (line_start or "\n" in found.group()) if kind == "space" else line_start
            if tokens:
                tokens[-1].blank_after = True
            continue
        tokens.append(Token(kind, found.group(), found.start(), found.end(), blank))
        blank = False
        line_start = False
    split_angles(tokens)
    match_brackets(tokens)
    mark_operators(tokens)
    mark_untouchable(tokens)
    return tokens


def template_end(tokens, at):
    """The index of the `>` that closes the `<` at `at`, and how many of its characters close; None when it is not one."""
    depth = 0
    i = at
    while i < len(tokens):
        text = tokens[i].text
        if text in ("(", "["):
            nested = 0
            while i < len(tokens):
                nested += tokens[i].text in ("(", "[")
                nested -= tokens[i].text in (")", "]")
                if nested == 0:
                    break
                i += 1
        elif text == "<":
            depth += 1
        elif text in (">", ">>"):
            depth -= len(text)
            if depth <= 0:
                return i
        elif text in (";", "{", "}", ")", "]", "&&", "||"):
            return None
        i += 1
    return None


def split_angles(tokens):
    """Marks the angles of templates as brackets; `>>` that closes two becomes two tokens."""
    i = 0
    open_angles = 0
    while i < len(tokens):
        token = tokens[i]
        previous = tokens[i - 1] if i else None
        if token.text == "<" and previous and (
                previous.text == "template" or (previous.kind == "ident" and not token.blank_before)):
            if template_end(tokens, i) is not None:
                token.role = "angle"
                open_angles += 1
        elif token.text == ">>" and open_angles and not token.blank_before:
            first = Token("punct", ">", token.start, token.start + 1, False)
            second = Token("punct", ">", token.start + 1, token.end, False)
            second.blank_after = token.blank_after
            tokens[i:i + 1] = [first, second]
            continue
        elif token.text == ">" and open_angles and not token.blank_before:
            token.role = "angle"
            open_angles -= 1
        i += 1


def match_brackets(tokens):
    closers = {")": "(", "]": "[", "}": "{"}
    stack = []
    for i, token in enumerate(tokens):
        token.parent = stack[-1] if stack else None
        if token.text in ("(", "[", "{") or (token.text == "<" and token.role == "angle"):
            if token.text == "{":
                token.role = brace_role(tokens, i)
            elif token.text == "(" and i and tokens[i - 1].text in ("if", "while", "for", "switch", "catch"):
                token.role = tokens[i - 1].text
            stack.append(i)
        elif token.text in closers or (token.text == ">" and token.role == "angle"):
            opener = stack.pop()
            expected = closers.get(token.text, "<")
            if tokens[opener].text != expected:
                raise ValueError(f"brackets do not match at offset {token.start}")
            token.match = opener
            tokens[opener].match = i
            token.role = tokens[opener].role
            token.parent = tokens[opener].parent
    if stack:
        raise ValueError(f"a bracket is left open at offset {tokens[stack[-1]].start}")


def statement_head(tokens, at):
    """The texts from the last boundary of a statement up to `at`, without what is in brackets."""
    texts = []
    i = at - 1
    while i >= 0 and tokens[i].text not in (";", "{"):
        if tokens[i].match is not None and tokens[i].match < i:
            if tokens[i].text == "}" and tokens[i].role in BLOCKS:
                break
            texts.append(tokens[i].text)
            i = tokens[i].match
            texts.append(tokens[i].text)
        else:
            texts.append(tokens[i].text)
        i -= 1
    return texts[::-1]


def brace_role(tokens, at):
    if at == 0:
        return "control"
    previous = tokens[at - 1]
    enclosing = tokens[tokens[at].parent] if tokens[at].parent is not None else None
    if previous.text in ("else", "do", "try"):
        return "control"
    if previous.text == "]":
        return "lambda"
    if previous.text in (";", "}", "{", ":") and enclosing is not None and enclosing.role in (
            "control", "function", "lambda"):
        return "control"
    head = statement_head(tokens, at)
    if "namespace" in head or "extern" in head:
        return "namespace"
    if "enum" in head:
        return "enum"
    if {"class", "struct", "union"} & set(head) and "(" not in head and "=" not in head:
        return "class"
    return role_after_parameters(tokens, at)


def role_after_parameters(tokens, at):
    """For a brace that follows `(...)`, with or without `const`, `noexcept`, `-> T` and the like between: whose body it is."""
    i = at - 1
    while i >= 0 and tokens[i].text in ("const", "noexcept", "override", "final", "mutable", "&", "&&"):
        i -= 1
    j = i
    while j >= 0 and (tokens[j].kind == "ident" or tokens[j].text in ("::", "*", "&", "<", ">")):
        j = tokens[j].match if tokens[j].text == ">" and tokens[j].match is not None else j - 1
    if j > 0 and tokens[j].text == "->" and tokens[j - 1].text in (")", "const", "mutable"):
        i = j - 1
        while tokens[i].text in ("const", "mutable"):
            i -= 1
    if i < 0 or tokens[i].text != ")" or tokens[i].match is None:
        return "init"
    before = tokens[i].match - 1
    if before >= 0 and tokens[before].text in ("if", "for", "while", "switch", "catch", "constexpr"):
        return "control"
    if before >= 0 and tokens[before].text == "]":
        return "lambda"
    return "function"


def ends_operand(token):
    return token.kind in ("number", "string", "char") or token.text in (")", "]", "}") or (
        token.kind == "ident" and token.text not in LEADING_WORDS) or (token.text == ">" and token.role == "angle")


def mark_operators(tokens):
    for i, token in enumerate(tokens):
        if token.kind != "punct" or token.role == "angle" or i == 0:
            continue
        previous = tokens[i - 1]
        if previous.text == "operator":
            token.skip = "the name of an operator"
            continue
        if token.text in BINARY and token.blank_before and token.blank_after and ends_operand(previous):
            token.role = "binary"
        elif token.text in ("++", "--"):
            token.role = "postfix" if ends_operand(previous) and not token.blank_before else "prefix"
        elif token.text == "!":
            token.role = "prefix"


def skip_range(tokens, first, last, reason):
    for token in tokens[first:last + 1]:
        token.skip = token.skip or reason


def statement_end(tokens, at):
    """The index of the `;` that ends the statement at `at`, or of its last token."""
    i = at
    while i < len(tokens) and tokens[i].text != ";":
        i = tokens[i].match if tokens[i].match is not None and tokens[i].match > i else i
        i += 1
    return min(i, len(tokens) - 1)


def mark_untouchable(tokens):
    for i, token in enumerate(tokens):
        if token.text == "<" and token.role == "angle":
            skip_range(tokens, i, token.match, "a template argument")
        elif token.text == "case":
            end = i
            while tokens[end].text != ":":
                end += 1
            skip_range(tokens, i, end, "a case label")
        elif token.text == "{" and token.role == "enum":
            skip_range(tokens, i, token.match, "the value of an enumerator")
        elif token.text == "static_assert":
            skip_range(tokens, i, statement_end(tokens, i), "a static assertion")
        elif token.text in ("using", "typedef", "friend", "template") and token.kind == "ident":
            end = tokens[i + 1].match if token.text == "template" else statement_end(tokens, i)
            skip_range(tokens, i, end or i, "a declaration without code")
        elif token.text in ("decltype", "noexcept", "alignas", "sizeof") and tokens[i + 1].text == "(":
            skip_range(tokens, i, tokens[i + 1].match, "an operand that is not evaluated")
        elif token.text == "[" and tokens[i + 1].text == "[":
            skip_range(tokens, i, token.match, "an attribute")
        elif token.text in ("constexpr", "consteval"):
            mark_constant(tokens, i)


def mark_constant(tokens, at):
    """What follows `constexpr`: a function runs when the program is compiled, too, and is left alone; the declaration of
    a constant can be made an ordinary one."""
    if at and tokens[at - 1].text == "if":
        skip_range(tokens, at, tokens[at + 1].match, "a condition of `if constexpr`")
        return
    i = at
    while i < len(tokens) and tokens[i].text not in (";", "=", "{"):
        if tokens[i].text == "(":
            after = tokens[tokens[i].match + 1]
            body = next((j for j in range(tokens[i].match, len(tokens)) if tokens[j].text in ("{", ";")), None)
            if after.text in ("{", "const", "noexcept", "->") and body is not None and tokens[body].text == "{":
                skip_range(tokens, at, tokens[body].match, "a constexpr function")
            return
        i = tokens[i].match + 1 if tokens[i].match is not None and tokens[i].match > i else i + 1
    if tokens[at].text == "constexpr":
        tokens[at].role = "constant"


def left_end(tokens, at, strength):
    """The index of the first token of the left operand of the operator at `at`."""
    i = at - 1
    while i >= 0:
        token = tokens[i]
        if token.match is not None and token.match < i:
            if token.role in BLOCKS or token.role in ("if", "while", "for", "switch", "catch"):
                break
            i = token.match - 1
            continue
        if token.match is not None or token.text in (",", ";", "?", ":") or token.text in ASSIGNMENTS:
            break
        if token.kind == "ident" and token.text in LEADING_WORDS:
            break
        if token.role == "binary" and BINARY[token.text] < strength:
            break
        i -= 1
    return i + 1


def right_end(tokens, at, strength):
    """The index behind the last token of the right operand of the operator at `at`. Strength 0 takes whole
    conditional expressions."""
    i = at + 1
    conditionals = 0
    while i < len(tokens):
        token = tokens[i]
        if token.match is not None:
            if token.match < i:
                break
            i = token.match + 1
            continue
        if token.text in (",", ";"):
            break
        if token.text == "?":
            if strength:
                break
            conditionals += 1
        elif token.text == ":":
            if not conditionals:
                break
            conditionals -= 1
        if token.role == "binary" and BINARY[token.text] <= strength:
            break
        i += 1
    return i


def unary_end(tokens, at):
    """The index behind the operand of the prefix operator at `at`."""
    i = at + 1
    while tokens[i].text in ("!", "-", "*", "&", "~", "++", "--", "+"):
        i += 1
    while i < len(tokens):
        if tokens[i].match is not None and tokens[i].match > i:
            i = tokens[i].match + 1
        elif tokens[i].kind in ("ident", "number", "string", "char"):
            i += 1
        else:
            break
        while i < len(tokens) and tokens[i].match is not None and tokens[i].match > i and not (
                tokens[i].text == "{" and tokens[i].role != "init"):
            i = tokens[i].match + 1
        if i < len(tokens) and tokens[i].text in (".", "->", "::"):
            i += 1
        else:
            break
    return i


def postfix_start(tokens, at):
    """The index of the first token of the operand of the postfix operator at `at`."""
    i = at - 1
    while i >= 0:
        while tokens[i].match is not None and tokens[i].match < i:
            i = tokens[i].match - 1
        if i >= 1 and tokens[i - 1].text in (".", "->", "::"):
            i -= 2
        else:
            break
    return i
