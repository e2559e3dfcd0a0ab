"""Writes what the programs of a build contain of other packages, as SPDX 2.3 in JSON.

usage: sbom.py BUILD TREE NAME VERSION TIME FILE
  BUILD     a folder built with ninja: it knows what was linked and which headers were read, and for another machine, where the
            packages of that one are (CMAKE_SYSROOT)
  TREE      what was installed of it: bin/ and lib/fencepost/
  NAME      of the document
  VERSION   of the programs
  TIME      when the source was made, e.g. 2026-11-28T12:00:00Z
  FILE      the document

A package counts if the linker took a member of its library or if one of its headers was compiled. The licence is what Debian's
copyright file says of most of its files, where that is one that SPDX has a name for. The same build makes the same bytes.
"""

import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.parse

UNKNOWN = "NOASSERTION"
# The names of Debian's copyright files, https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/, and those of SPDX.
LICENCES = {"Apache-2.0": "Apache-2.0", "BSD-2-Clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "CC0-1.0": "CC0-1.0",
            "Expat": "MIT", "X11": "X11", "Zlib": "Zlib", "EPL-2.0": "EPL-2.0", "EDL-1.0": "BSD-3-Clause"}
# What ld and lld print: (/a/libx.a)member.o and /a/libx.a(member.o); a library that is named without a member gave nothing.
LINKED = re.compile(r"^\(?(/[^()]+\.a)(?:\)|\().+|^(/.+\.(?:o|so[.\d]*))$")


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def command_of(build, target):
    return run("ninja", "-C", build, "--quiet", "-t", "commands", "-s", target)


def linked_files(build, target):
    """The files outside of the build that the linker took, from linking once more, to nowhere."""
    command = command_of(build, target)
    with tempfile.TemporaryDirectory() as folder:
        again = command.replace(f" -o {target} ", f" -o {shlex.quote(folder)}/program -Wl,-t,-t ")
        if again == command:
            sys.exit(f"sbom: ninja does not say how {target} is linked: {command}")
        # What the linker warns of, the build has shown already.
        done = subprocess.run(["bash", "-c", again], cwd=build, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"sbom: {target} cannot be linked again: {done.stderr}")
    found = [LINKED.match(line.strip()) for line in done.stdout.splitlines()]
    return {os.path.realpath(match[1] or match[2]) for match in found if match}


def objects_of(build, target):
    """The objects of the build that a target is linked of, also by its libraries. Their other inputs are not in it."""
    words = [word for word in shlex.split(command_of(build, target)) if not word.startswith(("/", "-"))]
    objects = {word for word in words if word.endswith(".o")}
    libraries = {word for word in words if word.endswith(".a") and word != target}
    return objects.union(*(objects_of(build, library) for library in libraries))


def root_of(build):
    """The folder with the packages of the machine that a build is for; empty if it is for this one."""
    cache = pathlib.Path(build, "CMakeCache.txt")
    root = re.search(r"^CMAKE_SYSROOT:\w+=(.+)$", cache.read_text(encoding="utf-8"), re.MULTILINE) if cache.exists() else None
    return os.path.realpath(root[1]) if root else ""


def header_files(build, target, root):
    """The headers outside of the source that the objects of a target were compiled with."""
    lines = run("ninja", "-C", build, "-t", "deps", *sorted(objects_of(build, target))).splitlines()
    return {os.path.realpath(line.strip()) for line in lines if line.startswith(("    /usr/", f"    {root}/usr/"))}


def dpkg_query(root, *words):
    """What it prints of the packages below a root. It fails if it knows only some of them: the caller sees which."""
    command = ["dpkg-query", f"--admindir={root}/var/lib/dpkg", *words]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.splitlines()


def packages_of(files, root):
    """The Debian packages that files belong to, as pairs: the root that a package is in, and its name."""
    inside = {file.removeprefix(root) for file in files if file.startswith(f"{root}/")}
    outside = {file for file in files if not file.startswith(f"{root}/")}
    return {(root, name) for name in names_of(inside, root)} | {("", name) for name in names_of(outside, "")}


def names_of(files, root):
    """The names of the packages that files belong to, whose paths are as seen in that root."""
    found = {}
    files = sorted(file for file in files if file.startswith(("/usr/", "/lib")))
    # Debian 12 has some files below /lib, which is a link to /usr/lib.
    asked = files + [file.removeprefix("/usr") for file in files if file.startswith("/usr/lib")]
    if asked:
        for line in dpkg_query(root, "-S", *asked):
            package, file = line.split(": ", 1)
            found[os.path.realpath(root + file).removeprefix(root)] = package.split(",")[0].split(":")[0]
    nobodys = [file for file in files if file not in found]
    if nobodys:
        sys.exit(f"sbom: no Debian package has {', '.join(nobodys[:5])}")
    return set(found.values())


def licence_of(root, package):
    """What the stanza `Files: *` of a copyright file says, in the names of SPDX."""
    try:
        text = pathlib.Path(f"{root}/usr/share/doc/{package}/copyright").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return UNKNOWN
    most = re.search(r"^Files: *\*\s*$(?:\n(?!License:).+)*\nLicense: *(.+)$", text, re.MULTILINE)
    words = re.split(r" or ", most[1].strip()) if most else []
    return " OR ".join(LICENCES[word] for word in words) if words and all(word in LICENCES for word in words) else UNKNOWN


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def described(name, version, purpose, **more):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "primaryPackagePurpose": purpose,
            "downloadLocation": UNKNOWN, "filesAnalyzed": False, "licenseConcluded": UNKNOWN, "copyrightText": UNKNOWN} | more


def library(root, package):
    asked = "${Version} ${source:Package} ${source:Version} ${Architecture}\n"
    version, source, source_version, machine = dpkg_query(root, "-W", "-f", asked, package)[0].split()
    locator = f"pkg:deb/debian/{urllib.parse.quote(package)}@{urllib.parse.quote(version)}?arch={machine}"
    return described(package, version, "LIBRARY", supplier="Organization: Debian", licenseDeclared=licence_of(root, package),
                     sourceInfo=f"made from the Debian source package {source} {source_version}",
                     externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                    "referenceLocator": locator}])


def related(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def document(build, tree, name, version, time):
    programs, libraries, relations, root = [], set(), [], root_of(build)
    for path in sorted([*tree.glob("bin/*"), *tree.glob("lib/fencepost/*")]):
        target = f"bin/{path.name}"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        program = described(path.name, version, "APPLICATION", licenseDeclared="Apache-2.0", supplier=UNKNOWN,
                            packageFileName=str(path.relative_to(tree)),
                            checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
        files = linked_files(build, target)
        shared = {file for file in files if ".so" in file}
        kinds = {"STATIC_LINK": packages_of(files - shared, root), "DYNAMIC_LINK": packages_of(shared, root),
                 "CONTAINS": packages_of(header_files(build, target, root), root)}
        # A package is named once: by its library, if that is linked. A .so of its -dev package only names others.
        kinds["DYNAMIC_LINK"] -= kinds["STATIC_LINK"]
        kinds["CONTAINS"] -= kinds["STATIC_LINK"] | kinds["DYNAMIC_LINK"]
        programs.append(program)
        relations.append(related("SPDXRef-DOCUMENT", "DESCRIBES", program["SPDXID"]))
        for kind, packages in kinds.items():
            libraries |= packages
            relations += [related(program["SPDXID"], kind, identifier(name)) for _, name in sorted(packages)]
    content = {"packages": programs + [library(*package) for package in sorted(libraries)], "relationships": relations}
    # A namespace is one document's own: it is named after the content.
    digest = hashlib.sha256(json.dumps([name, version, time, content]).encode()).hexdigest()
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest[:32]}",
            "creationInfo": {"created": time, "creators": ["Tool: fencepost-packaging-sbom"]}, **content}


def main(build, tree, name, version, time, file):
    made = document(build, pathlib.Path(tree), name, version, time)
    pathlib.Path(file).write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
