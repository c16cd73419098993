import io
import random
import time

import pytest

from job_result import JobError
from mariadb_dump import DumpReader, Statement
from mariadb_packets import divided
from mariadb_statements import Check
from mariadb_tokens import Grammar, tokens

SERVER = Grammar(101119)
OWN, SOURCE = b"site_b", b"site_a"


class Slow(io.BytesIO):
    """Gives few bytes at a time: what is read together is chance."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size or 0, 7))


def statements(dump: bytes, grammar: Grammar = SERVER) -> list[bytes]:
    whole = list(DumpReader(io.BytesIO(dump), grammar).statements())
    assert list(DumpReader(Slow(dump), grammar).statements()) == whole
    return [statement.text for statement in whole]


def run(dump: bytes) -> list[bytes]:
    """The statements of a dump as they run."""
    reader = DumpReader(io.BytesIO(dump), SERVER)
    found = [Check(one, SERVER, OWN, reader.source).runnable() for one in reader.statements()]
    return [text for text in found if text is not None]


def test_statements_end_outside_of_texts_and_comments() -> None:
    dump = (
        b"\xef\xbb\xbf-- a comment; with '\r\n"
        b"/*M!999999\\- enable the sandbox mode */ \n/*!999999\\- enable the sandbox mode */ \n"
        b"INSERT INTO t VALUES ('a;''b\\';',\"c;\\\"\"),(`d;`) # ;\n;\r\n"
        b"/*!50003 CREATE */ /*!50700 ; ' */ /*!50003 TABLE t */ ;; SELECT 1--;\nSELECT 2 -- '\n;"
    )
    assert statements(dump) == [
        b"INSERT INTO t VALUES ('a;''b\\';',\"c;\\\"\"),(`d;`) # ;\n",
        b"/*!50003 CREATE */ /*!50700 ; ' */ /*!50003 TABLE t */ ",
        b"SELECT 1--",
        b"SELECT 2 -- '\n",
    ]


def test_delimiters_of_the_client_are_known() -> None:
    dump = b"DELIMITER ;;\nCREATE TRIGGER x BEGIN a; b; END ;;\ndelimiter ;\nCOMMIT;"
    assert statements(dump) == [b"CREATE TRIGGER x BEGIN a; b; END ", b"COMMIT"]


def test_lines_are_counted() -> None:
    dump = b"-- a\n\nSET @a = 'x\ny';\n/*\n*/ COMMIT;"
    found = list(DumpReader(io.BytesIO(dump), SERVER).statements())
    assert [statement.line for statement in found] == [3, 6]


@pytest.mark.parametrize(
    ("grammar", "dump", "expected"),
    [
        (SERVER, b"A 'x\\';' ;", [b"A 'x\\';' "]),
        (Grammar(101119, no_backslash_escapes=True), b"A 'x\\';B;", [b"A 'x\\'", b"B"]),
        (SERVER, b'A "x\\";" ;', [b'A "x\\";" ']),
        (Grammar(101119, ansi_quotes=True), b'A "x\\";B;', [b'A "x\\"', b"B"]),
    ],
)
def test_modes_decide_where_texts_end(grammar: Grammar, dump: bytes, expected: list[bytes]) -> None:
    assert statements(dump, grammar) == expected


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (b"/*!50100 a*/ b", b"a b"),
        (b"/*!50700 a*/ b", b"b"),
        (b"/*M!50700 a*/ b", b"a b"),
        (b"/*!99999 a*/ b", b"b"),
        (b"/*!101119 a*/ b", b"a b"),
        (b"/*!101120 a /* c */ */ b", b"b"),
        (b"/*!5010 a*/ b", b"5010 a b"),
        (b"/*! a */*/*c*/ b", b"a * b"),
        (b"/* a /* b */ c", b"c"),
        (b"a--1", b"a - - 1"),
        (b"a-- 1", b"a"),
        (b"a /*/ b */ c", b"a c"),
    ],
)
def test_comments_are_those_of_the_server(text: bytes, seen: bytes) -> None:
    assert b" ".join(token.value for token in tokens(text, SERVER)) == seen


@pytest.mark.parametrize(
    "dump",
    [
        b"\\! id\n",
        b"\\e\n",
        b"INSERT INTO t VALUES (1) \\! id\n;",
        b"INSERT INTO z VALUES (1 /* ' */ ); \\! touch /tmp/pwned # ');\n",
        b"INSERT INTO t VALUES (1)\\g\n",
        b"INSERT INTO t VALUES ('\0');\r\\! id\n;",
        b"INSERT INTO t VALUES (1)\0;",
        b"-- a\0b\n;",
        b"INSERT INTO t VALUES ('a\n",
        b"INSERT INTO t VALUES (1) /* ",
        b"INSERT INTO t VALUES (1)",
        b"SELECT 1--\xa0'\n;",
        b"DELIMITER '\n",
    ],
)
def test_what_no_statement_is_is_refused(dump: bytes) -> None:
    with pytest.raises(JobError, match="it was not loaded"):
        run(dump)


@pytest.mark.parametrize(
    "dump",
    [
        b"system id;",
        b"source /etc/passwd;",
        b"USE mysql;",
        b"CREATE DATABASE x;",
        b"CREATE TABLE mysql.x (a int);",
        b"CREATE TABLE `other`.`x` (a int);",
        b"/*!50003 CREATE TABLE `other` . `x` (a int) */;",
        b"INSERT INTO other.x VALUES (1);",
        b"INSERT INTO x SELECT * FROM y;",
        b"DROP TABLE IF EXISTS x, other.y;",
        b"CREATE TRIGGER a AFTER INSERT ON other.t FOR EACH ROW SET @a = 1;",
        b"CREATE TABLE x (a int) ENGINE=FEDERATED CONNECTION='mysql://h/x';",
        b"CREATE TABLE x (a int) ENGINE = 'spider';",
        b"CREATE FUNCTION f RETURNS STRING SONAME 'x.so';",
        b"LOAD DATA LOCAL INFILE '/proc/self/environ' INTO TABLE t;",
        b"SELECT 1 INTO OUTFILE '/tmp/x';",
        b"SELECT SETVAL(s, (SELECT 1));",
        b"GRANT ALL ON *.* TO x;",
        b"CREATE USER x;",
        b"SET PASSWORD = 'x';",
        b"SET GLOBAL general_log = 1;",
        b"SET @@global.general_log = 1;",
        b"SET PERSIST general_log = 1;",
        b"SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR COMMIT;",
        b"SET @a = (SELECT 1);",
        b"SET @a = SLEEP(1);",
        b"SET innodb_x = 1;",
        b"EXECUTE IMMEDIATE 'SET sql_mode=4096';",
        b"CALL p();",
        b"INSTALL PLUGIN x SONAME 'y';",
        b"BEGIN NOT ATOMIC SELECT 1; END;",
        b"START SLAVE;",
    ],
)
def test_statement_that_dumps_do_not_have_is_refused(dump: bytes) -> None:
    with pytest.raises(JobError, match=r"line 2 of the dump, "):
        run(b"\n" + dump)


def test_a_message_has_no_text_of_a_statement() -> None:
    with pytest.raises(JobError) as caught:
        run(b"INSERT INTO other.x VALUES ('a secret');")
    assert str(caught.value).startswith("line 1 of the dump, INSERT INTO other.x VALUES (: other ")


@pytest.mark.parametrize(
    "dump",
    [
        b"SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO'",
        b"/*!40101 SET NAMES utf8mb4 */",
        b"/*!40103 SET TIME_ZONE='+00:00' */",
        b"/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */",
        b"/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */",
        b"SET character_set_client = utf8mb4",
        b"SET @@session.system_versioning_insert_history=1",
        b"CREATE TABLE `t` (`a` int(11) COMMENT 'ENGINE=SPIDER; USE x') ENGINE=InnoDB",
        b"/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        b"INSERT IGNORE INTO `t` (`a`, `b`) VALUES (1,'USE other;'),(2,_binary '\\0')",
        b"REPLACE INTO `t` VALUES (1)",
        b"CREATE SEQUENCE `s` start with 1 minvalue 1 cache 1000 nocycle ENGINE=InnoDB",
        b"DO SETVAL(`s`, 5, 0)",
        b"SELECT SETVAL(`s`, -5, 1, 2)",
        b"START TRANSACTION",
        b"COMMIT",
        b"/*!50001 CREATE VIEW `v` AS SELECT\n 1 AS `a` */",
        b"DROP TABLE IF EXISTS `a`, `b`",
    ],
)
def test_statement_that_dumps_have_runs_as_it_is(dump: bytes) -> None:
    assert run(dump + b";") == [dump]


@pytest.mark.parametrize(
    "dump",
    [b"LOCK TABLES `t` WRITE", b"UNLOCK TABLES", b"SET @@SESSION.SQL_LOG_BIN= 0"],
)
def test_what_a_closed_site_does_not_need_is_left_out(dump: bytes) -> None:
    assert run(dump + b";") == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            b"/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */",
            b"/*!50013 DEFINER=CURRENT_USER SQL SECURITY DEFINER */",
        ),
        (b"DEFINER = 'a''b' @ 'localhost' ", b"DEFINER=CURRENT_USER "),
        (b"DEFINER=root@localhost ", b"DEFINER=CURRENT_USER "),
        (b"DEFINER=root@'%' ", b"DEFINER=CURRENT_USER "),
        (b"DEFINER=CURRENT_USER() ", b"DEFINER=CURRENT_USER "),
        (b"DEFINER=a_role ", b"DEFINER=CURRENT_USER "),
        (b"SQL SECURITY DEFINER ", b"SQL SECURITY DEFINER "),
    ],
)
def test_definer_becomes_the_sites_user(given: bytes, expected: bytes) -> None:
    dump = b"/*!50001 CREATE ALGORITHM=UNDEFINED */ %s /*!50001 VIEW `v` AS select 'DEFINER=x' */;"
    assert run(dump % given) == [(dump % expected)[:-1]]


def test_names_of_the_dumped_database_become_the_sites() -> None:
    dump = (
        b"-- Host: 127.0.0.1    Database: site_a\n"
        b"CREATE VIEW v AS select `site_a`.`f`(site_a.t.a, 'site_a.', x.site_a) from site_a . t;"
        b"ALTER DATABASE `site_a` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;"
        b"INSERT INTO `site_a`.`t` VALUES (1);"
    )
    assert run(dump) == [
        b"CREATE VIEW v AS select `site_b`.`f`(`site_b`.t.a, 'site_a.', x.site_a) "
        b"from `site_b` . t",
        b"ALTER DATABASE `site_b` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        b"INSERT INTO `site_b`.`t` VALUES (1)",
    ]


def test_the_head_of_a_large_statement_decides() -> None:
    rows = b",".join(b"(%d, 'it''s \\\\ ; -- ', -1.5, NULL)" % number for number in range(100_000))
    dump = b"INSERT INTO `t` VALUES " + rows + b";\n"
    started = time.monotonic()
    assert run(dump) == [dump[:-2]]
    assert time.monotonic() - started < 10


def test_large_rows_are_divided_between_characters() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    chance = random.Random(seed)
    parts = ["a", "\\'", "''", "\\\\", "ü", "€", "\\n", "\U0001f600"]
    long = "".join(chance.choice(parts) for _ in range(3000))
    rows = f"(1,'short'),(2,'{long}',0x{'0a' * 2000}),(3,_binary '{long}'),(4,'x')".encode()
    limit = 2000
    found = list(divided(b"INSERT INTO t VALUES " + rows, SERVER, limit))
    assert all(len(statement) <= limit for statement in found)
    joined: dict[bytes, bytes] = {}
    inserted = b""
    for statement in found:
        assert statements(statement + b";") == [statement]
        statement.decode()
        if statement.startswith(b"SET "):
            name, _, value = statement[4:].partition(b" = ")
            value = value.removeprefix(b"CONCAT(%s, " % name).removesuffix(b")")
            body = value.removeprefix(b"_binary ").removeprefix(b"0x").strip(b"'")
            if not value.endswith(b"'") or value[-2:] == b"''":
                body = value.removeprefix(b"0x")
            joined[name] = joined.get(name, b"") + (
                body if b"'" not in value else value[value.index(b"'") + 1 : -1]
            )
        else:
            for name, text in joined.items():
                statement = statement.replace(name, text)
            joined = {}
            inserted += statement.removeprefix(b"INSERT INTO t VALUES ") + b","
    expected = rows.replace(f"'{long}'".encode(), long.encode()).replace(b"_binary ", b"")
    assert inserted[:-1] == expected.replace(b"0x", b"")


def test_a_statement_has_its_place() -> None:
    assert list(DumpReader(io.BytesIO(b"\nCOMMIT;"), SERVER).statements()) == [
        Statement(b"COMMIT", 2)
    ]
