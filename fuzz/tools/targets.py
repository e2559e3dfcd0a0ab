"""The fuzz targets: which there are, their limits and dictionaries, their inputs, for what runs and packs them."""

import configparser
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Inputs in the repository, below corpus/<target>. Seeds are generated, regressions are findings, distilled is what a
# campaign found beyond them.
CORPUS_PARTS = ("seeds", "regressions", "distilled")


class Failure(Exception):
    """What stops a command, as a sentence for people."""


def build_folder(root=ROOT):
    """What is built of these sources is below it. FENCEPOST_BUILD_DIR is that of this repository, as in ci/paths.sh."""
    elsewhere = os.environ.get("FENCEPOST_BUILD_DIR") if pathlib.Path(root).resolve() == ROOT else None
    return pathlib.Path(elsewhere or pathlib.Path(root) / "build").resolve()


class Target:
    """`name` from fuzz/name_fuzzer.cc. `root`: of the sources; it holds fuzz/ and corpus/."""

    def __init__(self, name, root=ROOT):
        self.name = name
        self.program = name + "_fuzzer"
        # What compares more of an input has the inputs of the target beside it.
        self.corpus = pathlib.Path(root) / "corpus" / name.removesuffix("_differential")
        self.options_file = pathlib.Path(root) / "fuzz/options" / (self.program + ".options")
        self.dictionaries = pathlib.Path(root) / "fuzz/dictionaries"

    def options(self):
        """Options of libFuzzer as a dictionary, from the target's .options file."""
        return read_options(self.options_file)

    def arguments(self):
        """The same as arguments of the program, the dictionary with its path."""
        options = self.options()
        if "dict" in options:
            options["dict"] = str(self.dictionaries / options["dict"])
        return [f"-{name}={value}" for name, value in sorted(options.items())]

    def inputs(self, parts=CORPUS_PARTS):
        """Files of these parts of the corpus, in a fixed order."""
        return [path for part in parts for path in sorted((self.corpus / part).rglob("*")) if path.is_file()]

    def folders(self, parts=CORPUS_PARTS):
        return [self.corpus / part for part in parts if (self.corpus / part).is_dir()]


def read_options(path):
    """The section [libfuzzer] of a .options file. Raises Failure when it is not one."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(pathlib.Path(path).read_text(encoding="utf-8"))
        return dict(parser["libfuzzer"])
    except (configparser.Error, KeyError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: not a .options file with a section [libfuzzer]: {error}") from error


def all_targets(root=ROOT):
    """Those with a .options file: each target has one. What else is called so in fuzz/ is there for tests."""
    names = [path.name[:-len("_fuzzer.cc")] for path in sorted((pathlib.Path(root) / "fuzz").glob("*_fuzzer.cc"))]
    return [target for target in (Target(name, root) for name in names) if target.options_file.is_file()]


def choose(names, root=ROOT):
    """The targets with these names, all when there are none. `_fuzzer` at the end of a name may be left out."""
    known = {target.name: target for target in all_targets(root)}
    wanted = [name.removesuffix("_fuzzer") for name in names] or list(known)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise Failure(f"no such target: {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(wanted)]
