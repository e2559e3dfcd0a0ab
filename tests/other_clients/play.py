"""play.py NAME: is this client of faulty.py or conforming.py, at the broker of FENCEPOST_PORT."""

import os
import sys

import conforming
import faulty


def main(name):
    client = faulty.TABLE.get(name) or conforming.TABLE[name]
    try:
        client["run"](int(os.environ["FENCEPOST_PORT"]))
    except Exception as end:  # pylint: disable=broad-exception-caught
        print(f"{type(end).__name__}: {end}")  # the broker has ended it
    sys.stdout.flush()
    os._exit(0)  # whatever its threads do


if __name__ == "__main__":
    main(sys.argv[1])
