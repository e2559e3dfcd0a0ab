"""What tests require of each JSON Schema in docs/: that it says something of every member, and that it can refuse."""

import copy

import jsonschema


def complaints(schema, document):
    """What the schema has against the document, one sentence each."""
    return [f"{error.json_path}: {error.message[:500]}"
            for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]


def left_open(schema, undescribed=()):
    """Objects that take unknown members, and members without description, by their paths. `undescribed`: members that
    need none."""
    out = []

    def walk(node, path):
        if isinstance(node, dict):
            if node.get("type") == "object" and "additionalProperties" not in node:
                out.append(path)
            for name, member in node.get("properties", {}).items():
                if "description" not in member and name not in undescribed and "/if" not in path:
                    out.append(f"{path}/{name}")
            for name, child in node.items():
                walk(child, f"{path}/{name}")
        elif isinstance(node, list):
            for index, child in enumerate(node):
                walk(child, f"{path}/{index}")

    jsonschema.Draft202012Validator.check_schema(schema)
    walk(schema, "")
    return out


def taken(schema, good, changes):
    """The numbers of the changes that make of a good document one that the schema takes as well. There should be none."""
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(good)
    out = []
    for number, change in enumerate(changes):
        document = copy.deepcopy(good)
        change(document)
        if validator.is_valid(document):
            out.append(number)
    return out
