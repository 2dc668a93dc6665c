"""Saved bonds and databases."""

import os
import sqlite3

from harness import FIXTURES, contains, equal, expect, test

ADAPTER, PEER = "00:AA:01:00:00:00", "C0:FF:EE:00:00:01/random"
KEY = bytes(range(16))


def store(b, name="store.sqlite"):
    """A store with one bond, written without atto."""
    server, at = b.serve("heart-rate.json", name=f"for-{name}")
    equal(b.run("discover", at, "--cache", "--store", b.path(name)).code, 0)
    server.stop()
    with sqlite3.connect(b.path(name)) as database:
        # A store of the first version, which had no checksums.
        database.execute("PRAGMA user_version = 1")
        for table in ("bond", "peer_database"):
            database.execute(f"ALTER TABLE {table} DROP COLUMN sum")
        database.execute("INSERT INTO bond VALUES(1, ?, ?, 1700000000)", (ADAPTER, PEER))
        database.execute(
            "INSERT INTO long_term_key VALUES(1, 0, 2, 16, 0, 0, ?)", (KEY,))
        database.execute("INSERT INTO signature_key VALUES(1, 1, 0, ?, 41)", (KEY,))
        database.execute("INSERT INTO client VALUES(1, 1, ?)", (KEY,))
        database.execute("INSERT INTO configuration VALUES(1, 19, 1, ?)", (KEY,))
    database.close()
    return b.path(name)


@test("bonds: no store, and no store at the path of --store")
def none(b):
    ended = b.run("bonds")
    equal((ended.code, ended.out), (0, ""))
    contains(ended.err, "no such store", "store.sqlite")
    expect(not os.path.exists(b.path("store.sqlite")), "looking has made a store")
    b.refuses(2, ["no such store: /nowhere/x"], "bonds", "--store", "/nowhere/x")
    equal(b.run("bonds", "--json").out, "")


@test("bonds: table, JSON, and --show-keys")
def table(b):
    path = store(b)
    ended = b.run("bonds")
    equal(ended.code, 0)
    contains(ended.lines[0], "ADAPTER", "PEER", "SINCE")
    contains(ended.lines[1], ADAPTER, PEER, "unauthenticated, secure connections",
             "2023-11-14 22:13Z", "next counter 41", "1 subscription")
    contains(ended.err, "1 bond in ", path)
    found, = b.run("bonds", "--json").json
    equal(found, {
        "adapter": ADAPTER, "peer": PEER, "since": 1700000000, "authenticated": False,
        "secureConnections": True, "keySize": 16, "hasIdentity": False, "ownSignCounter": 41,
        "features": 1, "subscriptions": [{"handle": 19, "notify": True, "indicate": False}]})
    shown = KEY[::-1].hex()
    for words in ([], ["--json"]):
        without = b.run("bonds", *words)
        expect(shown not in without.out + without.err, "keys that nobody asked for")
        contains(b.run("bonds", "--show-keys", *words).out, "LTK", "CSRK", shown)
    equal(b.run("bonds", "--adapter", PEER, "--json").out, "")
    equal(len(b.run("bonds", "--adapter", ADAPTER, "--json").json), 1)


@test("bonds: a damaged bond is named, and is not listed")
def damaged(b):
    path = store(b)
    equal(len(b.run("bonds", "--json").json), 1)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE signature_key SET counter = 40")
    database.close()
    for words in (["bonds"], ["discover", b.serve("heart-rate.json")[1], "--cache"]):
        ended = b.run(*words)
        equal(ended.code, 0)
        contains(ended.err, f"the bond of {ADAPTER} with {PEER}", path, "damaged", "hint: pair again")
    equal(b.run("bonds", "--json").out, "")
    equal(b.run("bonds", "--remove", PEER).code, 0)
    expect("damaged" not in b.run("bonds").err, "it is still there")
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE client RENAME COLUMN hash TO other")
    database.close()
    b.refuses(2, ["damaged", "wrong columns in table client", "hint: "], "bonds")


@test("bonds: --remove removes all data of a peer")
def remove(b):
    path = store(b)
    b.refuses(4, ["no bond with 00:00:00:00:00:01"], "bonds", "--remove", "00:00:00:00:00:01")
    b.refuses(4, ["no bond"], "bonds", "--remove", PEER, "--adapter", "00:00:00:00:00:01")
    b.refuses(2, ["for --remove: expected an address"], "bonds", "--remove", "Strap")
    ended = b.run("bonds", "--remove", PEER)
    equal((ended.code, ended.out), (0, ""))
    contains(ended.err, "removed", PEER)
    equal(b.run("bonds", "--json").out, "")
    with open(path, "rb") as file:
        expect(KEY not in file.read(), "the key is still in the file")


@test("bonds: permissions of the store are corrected; a file that is not a store is unchanged")
def files(b):
    path = store(b)
    os.chmod(path, 0o640)
    ended = b.run("bonds")
    equal(ended.code, 0)
    contains(ended.err, "mode 640", "600 now", "pair again")
    equal(os.stat(path).st_mode & 0o777, 0o600)
    equal("600" in b.run("bonds").err, False)

    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    b.refuses(2, ["newer version", "schema 9", "--store"], "bonds")

    other = b.file("notes.txt", "not a database\n" * 100)
    os.chmod(other, 0o600)
    b.refuses(2, [other, "not an SQLite database", "was not changed"], "bonds", "--store", other)
    server, at = b.serve("heart-rate.json")
    b.refuses(2, [other, "was not changed"], "discover", at, "--cache", "--store", other)
    with open(other) as file:
        equal(file.read(), "not a database\n" * 100)
    os.mkdir(b.path("directory"))
    b.refuses(2, ["is not a regular file"], "bonds", "--store", b.path("directory"))


@test("keeping: without SQLite the other commands work, and the error names the package")
def library(b):
    store(b)
    b.environment["ATTO_SQLITE"] = "libnone.so.0"
    b.refuses(3, ["libsqlite3-0", "libnone.so.0"], "bonds")
    server, at = b.serve("heart-rate.json")
    ended = b.run("read", at, "0x0015")
    equal((ended.code, ended.err), (0, ""))
    b.refuses(3, ["libsqlite3-0", "--no-store"], "discover", at, "--cache")


@test("keeping: options that cannot be combined")
def options(b):
    at = "unix:/tmp/atto-nobody-here"
    b.refuses(2, ["--store cannot be combined with --no-store"], "read", at, "1", "--store", "x", "--no-store")
    b.refuses(2, ["for --store: expected"], "read", at, "1", "--store", "")
    server, at = b.serve("heart-rate.json")
    b.refuses(2, ["--no-store cannot be used"], "discover", at, "--cache", "--no-store")
    b.refuses(2, ["le: endpoint", "--key and --counter"], "write", at, "1", "00", "--signed")
    b.refuses(2, ["--key and --counter"], "write", at, "1", "00", "--signed", "--key", "00" * 16)
    b.refuses(2, ["--resume"], "subscribe", at, "0x0012", "--resume", "--indicate")


def requests(ended):
    return [line for line in ended.err.splitlines() if " > " in line]


@test("discover: --cache reads only the hash while it is unchanged")
def cache(b):
    server, at = b.serve("heart-rate.json")
    plain = b.run("discover", at, "--json", "--trace")
    first = b.run("discover", at, "--json", "--trace", "--cache")
    equal(first.out, plain.out)
    equal(len(requests(first)), len(requests(plain)) + 1)
    expect(not any("2B2A" in line and "08" in line.split()[2][:2] for line in requests(plain)),
           "the hash without being asked for")
    again = b.run("discover", at, "--json", "--trace", "--cache")
    equal(again.out, plain.out)
    equal(len(requests(again)), 1)
    contains(again.err, "using the saved database")
    equal(os.stat(b.path("store.sqlite")).st_mode & 0o777, 0o600)
    server.stop()

    # Another database at the same place.
    server, at = b.serve("uart.json")
    other = b.run("discover", at, "--json", "--trace", "--cache")
    expect(len(requests(other)) > 3 and other.out != plain.out, other)
    equal(len(requests(b.run("discover", at, "--trace", "--cache"))), 1)
    server.stop()

    # A database without a hash is not cached.
    bare = {"automatic": False, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read"], "value": "hex:00"}]}]}
    server, at = b.serve(bare)
    for _ in range(2):
        ended = b.run("discover", at, "--cache", "--trace")
        contains(ended.err, "not saved", "no Database Hash")
        expect(len(requests(ended)) > 2, ended)
