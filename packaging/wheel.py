"""Makes a wheel of the static program, so that `pipx run fencepost` works, as ruff and cmake do it.

usage: wheel.py TREE VERSION MACHINE FOLDER
  TREE      bin/fencepost, which needs no shared libraries, and lib/fencepost/ with the broker's plugin
  VERSION   of the program
  MACHINE   as `uname -m` says it
  FOLDER    where the wheel is written

The same tree makes the same bytes. The format: the packaging user guide, "Binary distribution format".
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

SUMMARY = "Conformance suite of the state store protocol over MQTT 5"
# A static program runs with any C library; no older kernel is supported than that of manylinux2014.
PLATFORMS = ("manylinux2014", "manylinux_2_17", "musllinux_1_1")


def add(wheel, records, name, content, mode=0o644):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    records.append(f"{name},sha256={digest},{len(content)}\n")


def main(tree, version, machine, folder):
    tree = pathlib.Path(tree)
    tags = [f"py3-none-{platform}_{machine}" for platform in PLATFORMS]
    info, data = f"fencepost-{version}.dist-info", f"fencepost-{version}.data"
    path = pathlib.Path(folder) / f"fencepost-{version}-py3-none-{'.'.join(f'{each}_{machine}' for each in PLATFORMS)}.whl"
    records = []
    readme = pathlib.Path(__file__).resolve().parents[1] / "README.md"
    metadata = (f"Metadata-Version: 2.1\nName: fencepost\nVersion: {version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
                f"Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n{readme.read_text(encoding='utf-8')}")
    kind = "Wheel-Version: 1.0\nGenerator: fencepost\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {tag}\n" for tag in tags)
    with zipfile.ZipFile(path, "w", compresslevel=9) as wheel:
        # Beside the scripts of the environment, where the program finds its plugin.
        add(wheel, records, f"{data}/scripts/fencepost", (tree / "bin/fencepost").read_bytes(), 0o755)
        for plugin in sorted((tree / "lib/fencepost").iterdir()):
            add(wheel, records, f"{data}/data/lib/fencepost/{plugin.name}", plugin.read_bytes())
        add(wheel, records, f"{info}/METADATA", metadata.encode())
        add(wheel, records, f"{info}/WHEEL", kind.encode())
        add(wheel, records, f"{info}/licenses/LICENSE", (readme.parent / "LICENSE").read_bytes())
        records.append(f"{info}/RECORD,,\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0)), "".join(records))
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
