"""Random statements, as the server and the tokenizer of jobs/ see them: they must see the same.

  random_statements.py SCRIPTS SEED PORT USER [COUNT]     PASSWORD in the environment

The server gets a text as a whole, and executes the statements that it finds in it, up to the first
error. Then it gets the statements of DumpReader one by one, and then their tokens only.
"""

import io
import os
import random
import sys
from typing import Any

SCRIPTS, SEED, PORT, USER, *further = sys.argv[1:]
sys.path.append(SCRIPTS)

import pymysql  # noqa: E402

from job_result import JobError  # noqa: E402
from mariadb_dump import DumpReader  # noqa: E402
from mariadb_load import version_id  # noqa: E402
from mariadb_tokens import Grammar, tokens  # noqa: E402

COUNT = int(further[0]) if further else 4000
MODES = ("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES")
MULTI_STATEMENTS = 1 << 16
EMPTY_QUERY = 1065
chance = random.Random(int(SEED))
pick = chance.choice


def inside() -> str:
    parts = ["a", "'", '"', "`", "\\", "\\\\", "\\'", "''", ";", "--", "-- ", "#", "/*", "*/", "/*!"]
    parts += ["\n", " ", "ü", "%", "\\\n", "//", "$$"]
    return "".join(pick(parts) for _ in range(chance.randrange(5)))


def versioned(depth: int, version: int) -> str:
    versions = ["50100", "50699", "50700", "99999", "100000", "999999", "5010", "", "9"]
    versions += [str(version + more) for more in (-1, 0, 1)] + [f"{version}0"]
    nested = depth < 2 and chance.random() < 0.3
    code = statement(depth + 1, version) if nested else f" , {chance.randrange(99)} "
    rest = inside() if chance.random() < 0.3 else ""
    return "/*" + pick(["!", "M!"]) + pick(versions) + pick(["", " "]) + code + rest + pick(["*/", " */"])


def piece(depth: int, version: int) -> str:
    quote = pick(["'", '"'])
    pieces = [
        lambda: quote + inside() + quote,
        lambda: quote + inside() + quote + pick(["'", '"']) + inside() + pick(["'", '"']),
        lambda: ", 1 `" + inside().replace("`", "") + "x`",
        lambda: "/*" + inside() + "*/",
        lambda: versioned(depth, version),
        lambda: versioned(depth, version),
        lambda: "-- " + inside().replace("\n", " ") + "\n",
        lambda: "#" + inside() + "\n",
        lambda: "--" + pick(["\n", "\t", "1", "\x01 \n", "-", " "]),
        lambda: pick([", ", "+", "-", "*", "/", " ", "\n", "\t", "\\N", "_utf8mb4", "x", "b", "n"]),
        lambda: f", {chance.randrange(1000)}",
        lambda: pick(["*/", "/*", "/*/", "/**/", "/***/", "/*!*/", "/*!1*/"]),
        lambda: pick([", 1--1", ", 1 - -1", ", 4/*x*/", ", 1/2", ", 2*3", ", (1)", ", \"a\" 'b'"]),
        lambda: ", length(" + pick(["'a\\\\'", "'\\''", '"\\""', "'\\0'"]) + ")",
    ]
    return pick(pieces)()


def statement(depth: int, version: int) -> str:
    head = f"SELECT {chance.randrange(10000)}"
    return head + "".join(piece(depth, version) for _ in range(chance.randrange(6)))


class Reader(DumpReader):
    """Notes an empty statement: the server refuses one."""

    has_empty = False

    def end_of_statement(self) -> int:
        end = super().end_of_statement()
        self.has_empty = self.has_empty or end == 0
        return end


class Session:
    def __init__(self, mode: str, flags: int) -> None:
        login: dict[str, Any] = {"host": "127.0.0.1", "port": int(PORT), "user": USER}
        login |= {"password": os.environ["PASSWORD"].encode(), "charset": "utf8mb4"}
        self.connection = pymysql.connect(**login, client_flag=flags)
        self.cursor = self.connection.cursor()
        self.cursor.execute("SET SESSION sql_mode = %s", mode)

    def result(self) -> tuple[Any, ...]:
        names = tuple(column[0] for column in self.cursor.description or ())
        return names, self.cursor.fetchall()

    def results(self, text: bytes) -> tuple[list[Any], int]:
        """The results, and the number of the error that ended them."""
        found = []
        try:
            self.cursor.execute(text)
            found.append(self.result())
            while self.cursor.nextset():
                found.append(self.result())
        except pymysql.MySQLError as error:
            return found, error.args[0]
        return [one for one in found if one[0]], 0


def only_tokens(text: bytes, grammar: Grammar) -> bytes:
    """A text without its comments."""
    found, end = b"", 0
    for token in tokens(text, grammar):
        gap = b"/**/ " if end and token.start > end else b""
        name = token.value.replace(b"`", b"``")
        found += gap + (b"`%s`" % name if token.kind == "name" else token.value)
        end = token.end
    return found


def compare(text: str, grammar: Grammar, whole: Session, single: Session) -> bool | None:
    """Whether both see the same; None where the text shows nothing."""
    expected, error = whole.results(text.encode())
    reader = Reader(io.BytesIO(text.encode() + b"\n;"), grammar)
    found, failed = [], 0
    try:
        for one in reader.statements():
            results, failed = single.results(one.text)
            if failed:
                break
            plain, failed = single.results(only_tokens(one.text, grammar))
            if failed not in (0, EMPTY_QUERY) or [rows for _, rows in plain] != [
                rows for _, rows in results
            ]:
                print(f"tokens of {one.text!r}: {only_tokens(one.text, grammar)!r}")
                return False
            found += results
    except JobError:
        failed = 1
    if reader.has_empty or "--;" in text or EMPTY_QUERY in (error, failed):
        return None  # behind the last statement, `--` begins a comment
    return found == expected and bool(failed) == bool(error)


def main() -> None:
    sessions = {mode: (Session(mode, MULTI_STATEMENTS), Session(mode, 0)) for mode in MODES}
    whole, _ = sessions[""]
    [(_, [(server,)])], _ = whole.results(b"SELECT VERSION()")
    version = version_id(server)
    counts = {True: 0, None: 0}
    for _ in range(COUNT):
        mode = pick(MODES)
        grammar = Grammar(version, "ANSI_QUOTES" in mode, "NO_BACKSLASH_ESCAPES" in mode)
        text = ";".join(statement(0, version) for _ in range(chance.randrange(1, 5)))
        same = compare(text, grammar, *sessions[mode])
        if same is False:
            sys.exit(f"seed {SEED}: the server sees {text!r} in another way, in the mode {mode!r}")
        counts[same] += 1
    print(f"seed {SEED}: {counts[True]} equal, {counts[None]} show nothing")


main()
