"""Checks docs/descriptor.schema.json against the loader: both must say the same of each descriptor below.

    descriptor_schema_test.py BUILD_BIN_DIR

A descriptor is handed to `fencepost certify` with no case to run: exit code 5 says that it was taken, 2 that it was
not.
"""

import os
import pathlib
import re
import sys
import tempfile

import jsonschema
import yaml

from harness import ROOT, load_schema, run

PASSWORD = "FENCEPOST_TEST_PASSWORD"

GOOD = {
    "the least": "url: mqtt://host",
    "embedded": "url: embedded",
    "embedded with a dialect": "url: embedded?dialect=documented\nprofile: documented",
    "in process": "url: 'inproc:'\nkey_prefix: x",
    "an edition": "url: mqtt://host\nedition: ga",
    "the old name of edition": "url: mqtt://host\nwording: preview",
    "TLS": "url: mqtts://host:1\ntls: {ca: file, certificate: file, key: file}",
    "no TLS files": "url: mqtts://host\ntls: {}",
    "a certificate without key": "url: mqtts://host\ntls: {certificate: file}",
    "a user in the URL": "url: 'mqtt://me:secret@host'\nroles: {restricted: {user: r}}",
    "roles": "url: mqtt://host\nroles: {default: {user: a, password: b}, "
             f"r: {{user: c, password_env: {PASSWORD}}}}}",
    "a role with a certificate": "url: mqtts://host\nroles: {r: {certificate: file, key: file}}",
    "a role that is a client id": "url: mqtt://host\nroles: {restricted: {client_id: Sensor_1.a-b}}",
    "no roles": "url: mqtt://host\nroles: {}",
    "capabilities": "url: mqtt://host\ncapabilities: {quota: 1, max_packet_size: 1024}",
    "the largest": "url: mqtt://host\ncapabilities: {quota: 100000, max_packet_size: 268435460}",
    "no capabilities": "url: mqtt://host\ncapabilities: {}",
    "hooks": "url: mqtt://host\nhooks: {restart: 'x; y', timeout: 1h}",
    "hooks of a cluster": "url: mqtt://host\nhooks: {kill: a, stop: b, continue: c, partition: d, heal: e, failover: f}",
    "durations": "url: mqtt://host\ntimeout: 100ms\nclock_tolerance: 0ms",
    "a deep prefix": "url: mqtt://host\nkey_prefix: a/b-c_d.e",
    "the longest prefix": f"url: mqtt://host\nkey_prefix: {'x' * 64}",
    "a product": "url: 'inproc:'\nproduct: {name: A store, version: '2.1', owner: Example}",
    "a product that has a name alone": "url: mqtt://host\nproduct: {name: A}",
    "a note": "url: mqtt://host\nnote: 'any: text'",
}
BAD = {
    "nothing": "{}",
    "a list": "[url]",
    "no URL": "profile: auto",
    "a number for a URL": "url: 5",
    "another scheme": "url: http://host",
    "a WebSocket": "url: ws://host",
    "an unknown key": "url: mqtt://host\ntransport: tcp",
    "an unknown profile": "url: mqtt://host\nprofile: both",
    "an unknown edition": "url: mqtt://host\nedition: older",
    "an edition by both names": "url: mqtt://host\nedition: ga\nwording: ga",
    "a timeout without unit": "url: mqtt://host\ntimeout: 5",
    "a tolerance in days": "url: mqtt://host\nclock_tolerance: 1d",
    "TLS files for a plain URL": "url: mqtt://host\ntls: {ca: file}",
    "an unknown TLS file": "url: mqtts://host\ntls: {cert: file}",
    "a key without certificate": "url: mqtts://host\ntls: {key: file}",
    "TLS as text": "url: mqtts://host\ntls: file",
    "roles as a list": "url: mqtt://host\nroles: [r]",
    "an empty role": "url: mqtt://host\nroles: {r: {}}",
    "a password without user": "url: mqtts://host\nroles: {r: {certificate: file, password: p}}",
    "a variable without user": f"url: mqtts://host\nroles: {{r: {{certificate: file, password_env: {PASSWORD}}}}}",
    "two passwords": f"url: mqtt://host\nroles: {{r: {{user: u, password: p, password_env: {PASSWORD}}}}}",
    "a role's key without certificate": "url: mqtts://host\nroles: {r: {user: u, key: file}}",
    "an unknown key of a role": "url: mqtt://host\nroles: {r: {user: u, token: t}}",
    "a password that is a number": "url: mqtt://host\nroles: {r: {user: u, password: 5}}",
    "a client id with a slash": "url: mqtt://host\nroles: {r: {client_id: a/b}}",
    "a client id that is empty": "url: mqtt://host\nroles: {r: {client_id: ''}}",
    "a client id that is too long": f"url: mqtt://host\nroles: {{r: {{client_id: {'x' * 65}}}}}",
    "a client id of all clients": "url: mqtt://host\nroles: {default: {user: u, client_id: a}}",
    "an empty default role": "url: mqtt://host\nroles: {default: {}}",
    "two default users": "url: mqtt://me@host\nroles: {default: {user: u}}",
    "an empty prefix": "url: mqtt://host\nkey_prefix: ''",
    "a prefix with a slash before it": "url: mqtt://host\nkey_prefix: /a",
    "a prefix with a slash behind it": "url: mqtt://host\nkey_prefix: a/",
    "a prefix with a star": "url: mqtt://host\nkey_prefix: 'a*'",
    "a prefix that is too long": f"url: mqtt://host\nkey_prefix: {'x' * 65}",
    "an unknown capability": "url: mqtt://host\ncapabilities: {keys: 5}",
    "a quota of none": "url: mqtt://host\ncapabilities: {quota: 0}",
    "a quota that is too large": "url: mqtt://host\ncapabilities: {quota: 100001}",
    "a quota in quotes": "url: mqtt://host\ncapabilities: {quota: '5'}",
    "packets that are too small": "url: mqtt://host\ncapabilities: {max_packet_size: 1023}",
    "packets that are too large": "url: mqtt://host\ncapabilities: {max_packet_size: 268435461}",
    "hooks without command": "url: mqtt://host\nhooks: {timeout: 5s}",
    "an empty command": "url: mqtt://host\nhooks: {restart: ''}",
    "an unknown hook": "url: mqtt://host\nhooks: {restart: x, explode: y}",
    "a hook without the one that undoes it": "url: mqtt://host\nhooks: {stop: y}",
    "a product without a name": "url: mqtt://host\nproduct: {version: '1'}",
    "a product with an empty name": "url: mqtt://host\nproduct: {name: ''}",
    "a product of two lines": 'url: mqtt://host\nproduct: {name: "a\\nb"}',
    "a product with a long name": f"url: mqtt://host\nproduct: {{name: {'x' * 101}}}",
    "a version that is a number": "url: mqtt://host\nproduct: {name: a, version: 2.1}",
    "a note that is a list": "url: mqtt://host\nnote: [a]",
    "roles for embedded": "url: embedded\nroles: {}",
    "capabilities for embedded": "url: embedded\ncapabilities: {quota: 5}",
    "hooks for embedded": "url: embedded\nhooks: {restart: x}",
    "TLS for in process": "url: 'inproc:'\ntls: {}",
}


def loader_takes(folder, text):
    path = folder / "d.yaml"
    path.write_text(text + "\n", encoding="utf-8")
    done = run("certify", "--descriptor", path, "--run", "no.such.case", env={**os.environ, PASSWORD: "p"})
    if done.returncode not in (2, 5):
        sys.exit(f"exit code {done.returncode} of:\n{text}\n{done.stdout}{done.stderr}")
    if done.returncode == 2 and f"{path}:" not in done.stderr:
        sys.exit(f"no place is named for\n{text}\n{done.stderr}")
    return done.returncode == 5


def example():
    """The full example of the manual."""
    text = (ROOT / "docs" / "DESCRIPTORS.md").read_text(encoding="utf-8")
    return re.search(r"```yaml\n(.*?)```", text, re.S).group(1)


def main():
    schema = load_schema("descriptor")
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "file").write_text("")
        for expected, samples in ((True, GOOD), (False, BAD)):
            for what, text in samples.items():
                for judge, verdict in (("schema", validator.is_valid(yaml.safe_load(text))),
                                       ("loader", loader_takes(folder, text))):
                    if verdict != expected:
                        problems.append(f"the {judge} {'takes' if verdict else 'refuses'} \"{what}\"")
        if not validator.is_valid(yaml.safe_load(example())):
            problems.append("the schema refuses the example of docs/DESCRIPTORS.md")
        for file in ("ca.pem", "suite.pem", "suite.key"):
            (folder / "tls").mkdir(exist_ok=True)
            (folder / "tls" / file).write_text("")
        os.environ.update(SUITE_PASSWORD="p", SENSOR_PASSWORD="p")
        if not loader_takes(folder, example()):
            problems.append("the loader refuses the example of docs/DESCRIPTORS.md")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} problem(s): docs/descriptor.schema.json and the loader differ")


if __name__ == "__main__":
    main()
