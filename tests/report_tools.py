"""Brings other people's readers of our reports into a folder: npm packages, each in one exact version.

    report_tools.py FOLDER

Does nothing when they are there. The folder is part of the build, never of the repository.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Validates SARIF by the schema and the rules of those who wrote the standard, and has the schema beside it; two readers
# of JUnit files that share nothing with each other.
PACKAGES = ["@microsoft/sarif-multitool-linux@5.7.0", "junit2json@4.0.0", "test-results-parser@0.4.6"]
STAMP = "packages.txt"


def wanted():
    return "\n".join(PACKAGES) + "\n"


def is_complete(folder):
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted()


def install(folder):
    """Beside its place first, so that the folder is whole or not there, whoever else is at it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        fresh = pathlib.Path(beside) / "tools"
        fresh.mkdir()
        (fresh / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        command = ["npm", "install", "--no-package-lock", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund",
                   *PACKAGES]
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
        install(folder)
    print(f"report_tools: {', '.join(PACKAGES)} are in {folder}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
