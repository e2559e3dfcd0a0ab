"""Checks the scenario files against the JSON Schema that editors use: scenarios/scenario.schema.json.

    scenario_schema_test.py SOURCE_DIRECTORY

Every scenario file must satisfy it, and each of the malformed samples below must not. The loader of the suite is the
judge of what a scenario is; this keeps the schema from refusing what the loader takes, and from waving all through.
"""

import json
import pathlib
import sys

import jsonschema
import yaml

GOOD = """
area: sample
cases:
  - id: sample-1
    title: A sample
    requirements: [SET-NX-1]
    clients: {a: {}, b: {observes: true}}
    recorded: {by: explore, when: '2026-01-01T00:00:00Z', endpoint: embedded, seed: 7, signature: s, message: m}
    steps:
      - set: {key: k, value: v}
        expect: ok
      - get: k
        expect: {reply: {value: v}}
"""

GOOD_FAMILY = """
area: sample
cases:
  - id: sample-1
    title: A sample
    clients: {a: {}, b: $client}
    axes:
      state:
        absent: {client: {}, before: [], answer: missing, number: 1}
        present: {client: {observes: true}, before: [{get: k}], answer: {value: v}, number: 2, tags: [slow]}
      way:
        plain: {act: [{get: k, expect: $answer}], requirements: [GET-HIT-1]}
        exact: {act: [$asked], asked: {get: {key: {exact: k}, qos: $number}}}
    only: [{state: [absent, present]}]
    except: [{state: absent, way: exact}]
    steps:
      - $before
      - $act
      - send: {command: [GET, $asked], payload_format: $number}
        expect: {reply: $answer, ts: $answer}
"""

# Each is GOOD with one text replaced by another: what it is, the text, the other.
MALFORMED = [
    ("no area", "area: sample\n", ""),
    ("an empty area", "area: sample", "area: ''"),
    ("an unknown key of the file", "area: sample", "area: sample\nversion: one"),
    ("no cases", "cases:", "cases: []\nnone:"),
    ("an id in upper case", "id: sample-1", "id: Sample-1"),
    ("an id that YAML 1.1 takes for a number", "id: sample-1", "id: 1.20"),
    ("a title that YAML 1.1 takes for a boolean", "title: A sample", "title: yes"),
    ("no title", "title: A sample", "note: A sample"),
    ("an empty title", "title: A sample", "title:"),
    ("no requirements", "[SET-NX-1]", "[]"),
    ("requirements that are no list", "[SET-NX-1]", "SET-NX-1"),
    ("an unknown divergence", "clients:", "divergence: [set-not-aplied]\n    clients:"),
    ("an unknown capability", "clients:", "requires: [websocket]\n    clients:"),
    ("a tag that YAML 1.1 takes for a number", "clients:", "tags: [0x10]\n    clients:"),
    ("exclusive in quotes", "clients:", "exclusive: 'true'\n    clients:"),
    ("an unknown key of a client", "observes: true", "observe: true"),
    ("recorded by nobody", "by: explore, ", ""),
    ("recorded by somebody else", "by: explore", "by: me"),
    ("recorded with an unknown key", "endpoint: embedded", "url: embedded"),
    ("a time that YAML 1.1 takes for a time", "'2026-01-01T00:00:00Z'", "2026-01-01T00:00:00Z"),
    ("a time of no zone", "00:00:00Z", "00:00:00"),
    ("a seed in quotes", "seed: 7", "seed: '7'"),
    ("a message of no failure", "signature: s, ", ""),
    ("a signature of nothing", "signature: s", "signature: ''"),
    ("recorded with axes", "recorded:", "axes: {a: {b: {}}}\n    recorded:"),
    ("no clients", "{a: {}, b: {observes: true}}", "{}"),
    ("a step without action", "get: k\n", "note: nothing\n"),
    ("a step with two actions", "get: k\n", "get: k\n        del: k\n"),
    ("a step that is text", "- get: k\n        expect: {reply: {value: v}}", "- get"),
    ("an unknown action", "get: k", "fetch: k"),
    ("expect without request", "get: k", "wait: 1s"),
    ("a request without key", "get: k", "get: {qos: 1}"),
    ("a request with an empty key", "get: k", "get: ''"),
    ("a set without value", "value: v}\n        expect: ok", "qos: 1}\n        expect: ok"),
    ("a get with a value", "get: k", "get: {key: k, value: v}"),
    ("a send of nothing", "get: k", "send: {qos: 1}"),
    ("a send of two things", "get: k", "send: {command: [], payload: x}"),
    ("a value that YAML 1.1 takes for a number", "value: v}\n        expect: ok", "value: 0x10}"),
    ("a value that YAML 1.1 takes for a date", "value: v}\n        expect: ok", "value: 2020-01-01}"),
    ("two notations in one", "value: v}\n        expect: ok", "value: {hex: '00', escaped: x}}"),
    ("times without repeat", "value: v}\n        expect: ok", "value: {hex: '00', times: 2}}"),
    ("an unknown escape", "value: v}\n        expect: ok", r"value: {escaped: 'a\q'}}"),
    ("half a byte in hex", "value: v}\n        expect: ok", "value: {hex: '0'}}"),
    ("a QoS in quotes", "get: k", "get: {key: k, qos: '1'}"),
    ("a QoS that does not exist", "get: k", "get: {key: k, qos: 3}"),
    ("a topic that is none", "get: k", "get: {key: k, topic: none}"),
    ("a limit without a distance", "get: k", "get: {key: k, ts: skew-limit}"),
    ("a limit with a distance of nothing", "get: k", "get: {key: k, ts: skew-limit + 00ms}"),
    ("a timestamp saved as the limit", "{reply: {value: v}}", "{ts: {save: skew-limit}}"),
    ("a timestamp without blanks", "get: k", "get: {key: k, ts: now+1s}"),
    ("a mark with a dot", "get: k", "get: {key: k, mark: t1.reply}"),
    ("a pipeline of one", "get: k\n        expect: {reply: {value: v}}", "pipeline: [{get: k}]"),
    ("a pipeline with a wait", "get: k\n        expect: {reply: {value: v}}", "pipeline: [{get: k}, {wait: 1s}]"),
    ("a duration without unit", "get: k\n        expect: {reply: {value: v}}", "wait: 150"),
    ("a notification of an unknown operation", "get: k\n        expect: {reply: {value: v}}",
     "notification: {key: k, operation: del}"),
    ("an unknown word for a reply", "expect: ok", "expect: okay"),
    ("a reply that is not under reply", "{reply: {value: v}}", "{value: v}"),
    ("an unknown error", "{value: v}", "{error: token-lowr}"),
    ("two replies", "{value: v}", "{value: v, count: 1}"),
    ("documented without deployed", "{value: v}", "{documented: ok}"),
    ("open inside any_of", "{value: v}", "{any_of: [ok, {open: {a: ok, b: none}}]}"),
    ("any_of of one", "{value: v}", "{any_of: [ok]}"),
    ("a version of no reply", "{reply: {value: v}}", "{reply: none, ts: present}"),
    ("a timestamp saved as now", "{reply: {value: v}}", "{ts: {save: now}}"),
]

# The same for GOOD_FAMILY.
MALFORMED_FAMILY = [
    ("neither requirements nor axes", "axes:", "tables:"),
    ("axes without values", "state:\n", "other: {}\n      state:\n"),
    ("a value of an axis in upper case", "absent: {client", "Absent: {client"),
    ("a value of an axis that ends with a dash", "absent: {client", "absent-: {client"),
    ("a placeholder that cannot be named", "number: 1}", "1: 1}"),
    ("only that is no list", "only: [{state: [absent, present]}]", "only: {state: absent}"),
    ("an exception of nothing", "[{state: absent, way: exact}]", "[{}]"),
    ("requirements of a value that are a number", "[GET-HIT-1]", "7"),
    ("tags of a value that are no texts", "[slow]", "[1]"),
    ("text that is no placeholder for a number", "payload_format: $number", "payload_format: number"),
    ("a placeholder with a blank", "ts: $answer", "ts: $answer now"),
    ("a step that is text", "- $act", "- act"),
    ("an axis without name", "way:\n", "'':\n"),
]


def complaints(validator, document):
    """Where and what, one line each. JSON has no keys but texts, so others are errors here."""

    def keys(node, path):
        if isinstance(node, dict):
            for key, value in node.items():
                if not isinstance(key, str):
                    yield f"{path}: the key {key!r} is not text for a YAML 1.1 reader; quote it"
                yield from keys(value, f"{path}/{key}")
        if isinstance(node, list):
            for index, value in enumerate(node):
                yield from keys(value, f"{path}/{index}")

    found = list(keys(document, ""))
    if found:
        return found
    out = []
    for error in validator.iter_errors(document):
        best = jsonschema.exceptions.best_match([error])
        path = "/".join(str(part) for part in best.absolute_path)
        out.append(f"/{path}: {best.message[:300]}")
    return out


def load(text):
    """The document, or the reason why a YAML 1.1 reader cannot read it."""
    try:
        return yaml.safe_load(text), None
    except yaml.YAMLError as error:
        return None, str(error)


def check_files(validator, scenarios):
    problems = []
    for path in sorted(scenarios.rglob("*.yaml")):
        # Cases for clients have a format of their own.
        if path == scenarios / "requirements.yaml" or path.parent == scenarios / "clients":
            continue
        document, error = load(path.read_text(encoding="utf-8"))
        found = [error] if error else complaints(validator, document)
        problems += [f"{path}: {complaint}" for complaint in found]
    return problems


def check_samples(validator):
    problems = []
    for good in GOOD, GOOD_FAMILY:
        problems += [f"a good sample is refused: {c}" for c in complaints(validator, load(good)[0])]
    for good, (what, old, new) in [(GOOD, row) for row in MALFORMED] + [(GOOD_FAMILY, row) for row in MALFORMED_FAMILY]:
        if good.count(old) != 1:
            problems.append(f"sample \"{what}\": {old!r} is not once in its good sample")
            continue
        document, error = load(good.replace(old, new))
        if error:
            problems.append(f"sample \"{what}\" is not even YAML: {error}")
        elif not complaints(validator, document):
            problems.append(f"sample \"{what}\" is not refused by the schema")
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: scenario_schema_test.py SOURCE_DIRECTORY")
    scenarios = pathlib.Path(sys.argv[1]) / "scenarios"
    schema = json.loads((scenarios / "scenario.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    problems = check_files(validator, scenarios) + check_samples(validator)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} problem(s) with {scenarios / 'scenario.schema.json'}")


if __name__ == "__main__":
    main()
