"""Puts beside built fuzz targets what OSS-Fuzz wants there: python3 fuzz/tools/pack.py BUILT OUT

For each target: the program, `<program>_seed_corpus.zip` with all inputs that the repository has for it,
`<program>.options`, and the dictionaries. The same inputs give the same bytes."""

import hashlib
import pathlib
import shutil
import sys
import zipfile

sys.dont_write_bytecode = True
import targets  # noqa: E402


def write_seed_corpus(target, path):
    """One file for each different input; a name says where it comes from."""
    seen = set()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in target.inputs():
            content = file.read_bytes()
            digest = hashlib.sha1(content).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            name = "-".join(file.relative_to(target.corpus).parts)
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    if not seen:
        raise targets.Failure(f"{target.corpus}: no inputs")


def pack(built, out, root=targets.ROOT):
    out.mkdir(parents=True, exist_ok=True)
    for target in targets.all_targets(root):
        shutil.copy2(built / target.program, out / target.program)
        write_seed_corpus(target, out / (target.program + "_seed_corpus.zip"))
        shutil.copy2(target.options_file, out)
        dictionary = target.options().get("dict")
        if dictionary:
            shutil.copy2(target.dictionaries / dictionary, out)


if __name__ == "__main__":
    try:
        pack(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    except (targets.Failure, OSError) as failure:
        sys.exit(f"pack: {failure}")
