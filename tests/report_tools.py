"""Brings other people's readers of our reports into a folder: npm packages, each in one exact version, with its checksum.

    report_tools.py FOLDER

Does nothing when they are there. The folder is part of the build, never of the repository. Where npm's registry cannot be
reached, it says immediately what is not checked, and ends with the exit code that stands for a skipped test.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# One validates SARIF by the schema and the rules of those who wrote the standard, and has the schema beside it; two are
# readers of JUnit files that share nothing with each other. package-lock.json has the checksum of each, and of what they need.
LOCKED = pathlib.Path(__file__).resolve().parent / "report_readers"
PACKAGES = [f"{name}@{version}" for name, version in
            json.loads((LOCKED / "package.json").read_text(encoding="utf-8"))["dependencies"].items()]
STAMP = "packages.txt"
SKIPPED = 77  # CMakeLists.txt knows it, too
ANSWER_WITHIN = 30  # seconds: npm itself tries again for minutes


def wanted():
    return (LOCKED / "package-lock.json").read_text(encoding="utf-8")


def is_complete(folder):
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted()


def registry_complaint():
    """What keeps us from the registry, or nothing."""
    command = ["npm", "view", PACKAGES[0], "version", "--fetch-retries=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER_WITHIN)
    except subprocess.TimeoutExpired:
        return f"no answer within {ANSWER_WITHIN} s"
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.startswith("npm")]
    return "; ".join(said[:3]) or f"exit code {done.returncode}"


def install(folder):
    """Beside its place first, so that the folder is whole or not there, even if another process does the same."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        fresh = pathlib.Path(beside) / "tools"
        fresh.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LOCKED / name, fresh / name)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=fresh, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"report_tools: '{' '.join(command)}' failed:\n{done.stdout}{done.stderr}")
        # The package forgets to say that its program is one.
        (fresh / "node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool").chmod(0o755)
        (fresh / STAMP).write_text(wanted(), encoding="utf-8")
        if folder.exists() and not is_complete(folder):
            shutil.rmtree(folder)
        if not folder.exists():
            os.rename(fresh, folder)


def main(folder):
    if not shutil.which("npm"):
        sys.exit("report_tools: npm is not installed: run ci/setup --for-tests")
    if not is_complete(folder):
        complaint = registry_complaint()
        if complaint:
            print(f"NOT CHECKED: that other people's readers take our JUnit and SARIF reports ({', '.join(PACKAGES)}): npm's "
                  f"registry cannot be reached: {complaint}")
            sys.exit(SKIPPED)
        install(folder)
    print(f"report_tools: {', '.join(PACKAGES)} are in {folder}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
