"""A state store over MQTT 5, with a broker of its own, on 127.0.0.1.

    python3 store.py [--port N] [--profile deployed|documented] [--seed N]
                     [--choose NAME=WAY ...] [--database FILE]

Prints `listening on 127.0.0.1:PORT` on stdout once it accepts connections, and the way that
it takes where the documents leave one open on stderr.  Ends on SIGTERM.  With --database all
that a client has been told outlives the process, also one that is killed; not registrations.
"""
import argparse
import asyncio
import signal
import sys

import mqtt5
from broker import Broker, Connection
from choices import Choices
from database import Database, Nowhere
from statestore import Store


async def run(port, choices, file):
    loop = asyncio.get_running_loop()
    broker = Broker(loop, choices)
    database = Database(file, loop) if file else Nowhere()
    broker.store = Store(broker, choices, database)
    server = await loop.create_server(lambda: Connection(broker), "127.0.0.1", port)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    print("listening on 127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()
    server.close()
    for conn in list(broker.connections):
        conn.close(mqtt5.SHUTTING_DOWN)
    broker.store.commit()
    database.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--profile", choices=("deployed", "documented"), default="deployed")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--choose", action="append", default=[], metavar="NAME=WAY",
                        help="take this way, whatever the seed draws")
    parser.add_argument("--database", metavar="FILE", help="an SQLite file, made if there is none")
    args = parser.parse_args()
    choices = Choices(args.profile, args.seed, [c.partition("=")[::2] for c in args.choose])
    print("\n".join(choices.lines), file=sys.stderr, flush=True)
    asyncio.run(run(args.port, choices, args.database))


if __name__ == "__main__":
    main()
