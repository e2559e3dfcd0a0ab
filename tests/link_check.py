"""Checks what the linker would forgive: from the symbols of the libraries of a build, that no unit of a room needs what only
a room above it defines, and that no circle of units runs through several rooms. The rooms and what each may use are those of
tests/style_check.py.

    python3 tests/link_check.py [--matrix] BUILD_FOLDER

--matrix prints which room needs symbols of which: rows need columns, with the number of symbols."""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

import style_check

# Libraries that are built from sources of other rooms, for fuzzing.
FOREIGN = {"libfencepost_naive_decoder.a", "libfencepost_naive_hlc.a", "libfencepost_hiredis_reader.a"}


def symbols_of(build):
    """nm's lines of all libraries: `folder/library.a[unit.o]: symbol type ...`, paths relative to the build folder."""
    # Other builds of the same sources may stand in this folder, and be at work: the test of OSS-Fuzz makes one.
    own = (path.relative_to(build) for path in pathlib.Path(build).rglob("libfencepost_*.a") if path.name not in FOREIGN)
    archives = sorted(str(path) for path in own if path.parts[0] != "oss-fuzz")
    if not archives:
        return ""
    return subprocess.run(["nm", "-A", "--format=posix", *archives], cwd=build, capture_output=True, text=True,
                          check=True).stdout


class Unit:
    """An object file: what it defines and what it needs."""

    def __init__(self, room):
        self.room = room
        self.defines = set()
        self.needs = set()


def read_units(listing):
    """name -> Unit, from nm's lines. The same unit in two libraries is one."""
    units = {}
    for line in listing.splitlines():
        match = re.match(r"(?P<archive>\S+)\[(?P<object>[^\]]+)\]: (?P<symbol>\S+) (?P<type>\w)", line)
        if not match:
            continue
        folder = pathlib.PurePath(match["archive"]).parent
        room = style_check.room_of(folder / match["object"])
        unit = units.setdefault(f"{folder}/{match['object']}", Unit(room))
        if match["type"] in "Uw":
            unit.needs.add(match["symbol"])
        elif match["type"] in "TDBRVWuGSC":
            unit.defines.add(match["symbol"])
    return units


def check(units, layers):
    """(errors, room -> room -> symbols needed)"""
    complaints = []
    matrix = collections.defaultdict(collections.Counter)
    definers = collections.defaultdict(set)
    for name, unit in units.items():
        for symbol in unit.defines:
            definers[symbol].add(name)
    uses = {name: set() for name in units}
    for name, unit in sorted(units.items()):
        if unit.room not in layers:
            complaints.append(f"{name}: {unit.room}/ is not in the table of rooms")
            continue
        allowed = layers[unit.room] | {unit.room}
        for symbol in sorted(unit.needs - unit.defines):
            found = definers.get(symbol)
            if not found:
                continue  # of another library
            if not any(units[other].room in allowed for other in found):
                complaints.append(f"{name}: {unit.room}/ may not need {symbol}, which {min(found)} defines")
            # One that several units define is inline, and is of none of them in particular.
            if len(found) == 1:
                uses[name] |= found
                matrix[unit.room][units[min(found)].room] += 1
    for circle in style_check.circles(uses):
        if len({units[name].room for name in circle}) > 1:
            complaints.append(f"{circle[0]}: a circle of units across rooms: {', '.join(circle)}")
    return complaints, matrix


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--matrix", action="store_true", help="print which room needs symbols of which")
    parser.add_argument("build")
    arguments = parser.parse_args()
    units = read_units(symbols_of(arguments.build))
    complaints, matrix = check(units, style_check.LAYERS)
    if not units:
        complaints.append(f"no libraries in {arguments.build}")
    if arguments.matrix:
        print(style_check.matrix_text(matrix))
    for complaint in complaints:
        print(complaint)
    print(f"link: {len(units)} units, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
