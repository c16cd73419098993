import io
import random
from collections.abc import Iterator

import pytest

import postgres_dump
from job_result import JobError
from postgres_dump import Dump, Statement
from postgres_statements import Use, for_known_roles, use_of

COPY = "COPY public.t (a) FROM stdin;\n"


def read(dump: bytes) -> Iterator[tuple[Statement, bytes | None]]:
    reader = Dump(io.BytesIO(dump))
    for statement in reader.statements():
        data = None
        if use_of(statement) is Use.COPY:
            rows = reader.rows()
            data = rows.read()
            rows.end()
        yield statement, data


def texts(dump: str) -> list[str]:
    reader = Dump(io.BytesIO(dump.encode()))
    return [statement.text.decode() for statement in reader.statements()]


def use(text: str) -> Use:
    [statement] = Dump(io.BytesIO(text.encode())).statements()
    return use_of(statement)


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1 << 18])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT ';', '''', ';''', U&'\\', B'1;'",
        "SELECT E'\\';', e'\\\\', E''';\\''",
        "SELECT E'a'\n  -- it's\n '\\';', 'b' E'\\';'",
        "SELECT 'a' /* ' */ '\\'",
        'SELECT 1 AS "a;""b", U&"\\;", "E\'"',
        "SELECT $$;'$a$;$$, $a$;$$;$ a$;$a$, $ä$;$ä$",
        "SELECT a$b$, 1 FROM c$d$",
        "SELECT 1 --; it's\n /* ; /* ' */ ; */ + 2 -- $$\r + 3",
        "CREATE RULE r AS ON INSERT TO t DO (NOTIFY a; NOTIFY b)",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; "
        "SELECT CASE WHEN true THEN (SELECT 2) END; END",
        "CREATE OR REPLACE PROCEDURE begin() LANGUAGE sql BEGIN ATOMIC "
        "INSERT INTO t VALUES (1); END",
    ],
)
def test_statement_ends_where_the_server_ends_it(
    monkeypatch: pytest.MonkeyPatch, piece: int, text: str
) -> None:
    monkeypatch.setattr(postgres_dump, "PIECE_BYTES", piece)
    assert texts(f"{text};\n-- a comment;\nSELECT 2;") == [text, "SELECT 2"]


@pytest.mark.parametrize("piece", [4, 7, 1 << 18])
def test_rows_of_a_table_are_no_statements(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(postgres_dump, "PIECE_BYTES", piece)
    rows = "GRANT all\n\\restrict x\n'\t$$\n\\\\.\n"
    dump = f"{COPY}{rows}\\.\n\nANALYZE t;{COPY}\\.\nCOPY t FROM stdin;\n{rows}\\.\n"
    found = [(part.text.decode(), rows) for part, rows in read(dump.encode()) if rows is not None]
    copy = COPY[:-2]
    assert found == [(copy, rows.encode()), (copy, b""), ("COPY t FROM stdin", rows.encode())]


def test_memory_for_long_rows_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_dump, "PIECE_BYTES", 1000)
    dump = Dump(io.BytesIO(f"{COPY}{'x' * 100_000}\n\\.\n".encode()))
    next(dump.statements())
    rows = dump.rows()
    assert len(rows.read(10)) == 10
    assert len(rows.rest) < 3000
    rows.end()


def test_lines_are_counted() -> None:
    dump = f"\n-- c\n/*\n*/SELECT 1\n;SELECT\n2;\n{COPY}a\nb\n\\.\n\nSET row_security = off;"
    reader = Dump(io.BytesIO(dump.encode()))
    lines = []
    for statement in reader.statements():
        lines.append(statement.line)
        if statement.tokens[0] == "COPY":
            reader.rows().end()
    assert lines == [4, 5, 7, 12]


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        ("SELECT 1;\n\\! id\n", "line 2 of the dump has a command of psql, \\\\!"),
        ("\\connect other\n", "a command of psql, \\\\connect"),
        ("SELECT 1 \\gexec\n", "a command of psql, \\\\gexec"),
        ("SELECT '1;\n", "line 1 of the dump has a text or a comment without an end"),
        ("SELECT 1\n-- end\n", "a last statement without an end, 'REFRESH 1 -- end'"),
        (f"{COPY}a\n", "line 2 of the dump has rows without an end"),
        (f"{COPY[:-1]} DROP TABLE t;\n\\.\n", "a statement behind COPY in its line"),
        ("SELECT '\0';", "a zero byte outside of rows"),
        (
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 AS case; END; ALTER SYSTEM x;",
            "a body whose end is not known, 'CREATE FUNCTION f'",
        ),
    ],
)
def test_dump_of_another_form_is_refused(dump: str, message: str) -> None:
    with pytest.raises(JobError, match=message):
        list(read(dump.replace("SELECT", "REFRESH").encode()))


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE public.t (owner text DEFAULT 'OWNER TO x')",
        "ALTER TABLE ONLY public.t ADD CONSTRAINT k PRIMARY KEY (a)",
        "CREATE UNIQUE INDEX i ON t (a)",
        "CREATE TRIGGER g BEFORE INSERT ON t EXECUTE FUNCTION f()",
        "SELECT pg_catalog.set_config('search_path', '', false)",
        "SELECT pg_catalog.setval('public.s', 5, true)",
        "SET client_encoding = 'UTF8'",
        "INSERT INTO t VALUES ('GRANT')",
    ],
)
def test_data_is_loaded(text: str) -> None:
    assert use(f"{text};") is Use.LOAD


@pytest.mark.parametrize(
    "text",
    [
        "CREATE FUNCTION f() RETURNS text AS $$\nGRANT x TO y;\n$$ LANGUAGE sql",
        "CREATE SCHEMA report",
        "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public",
        "CREATE USER MAPPING FOR x SERVER y",
        "COMMENT ON TABLE t IS 'x'",
        "GRANT SELECT ON TABLE t TO reader",
        "ALTER DEFAULT PRIVILEGES FOR ROLE x GRANT SELECT ON TABLES TO y",
        "REVOKE ALL ON FUNCTION f() FROM PUBLIC",
        "ALTER TABLE t ADD CONSTRAINT k FOREIGN KEY (a) REFERENCES other(a)",
    ],
)
def test_what_another_role_decides_is_tried(text: str) -> None:
    assert use(f"{text};") is Use.TRY


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE a.b OWNER TO c",
        'ALTER FUNCTION f(a int) OWNER TO "x y"',
        "CREATE SCHEMA public",
        "CREATE SCHEMA IF NOT EXISTS public",
        "COMMENT ON SCHEMA \"public\" IS 'x'",
        "COMMENT ON EXTENSION plpgsql IS 'x'",
        "GRANT ALL ON SCHEMA public TO x",
        "GRANT reader TO x",
        "DROP TABLE IF EXISTS t",
        "SET transaction_timeout = 0",
        "SET SESSION AUTHORIZATION 'x'",
        "SECURITY LABEL ON TABLE t IS 'x'",
        "CREATE SUBSCRIPTION s CONNECTION 'x' PUBLICATION p",
        "SELECT * FROM pg_catalog.pg_restore_relation_stats('x')",
    ],
)
def test_what_belongs_to_the_server_is_left_out(text: str) -> None:
    assert use(f"{text};") is Use.LEAVE_OUT


@pytest.mark.parametrize(
    "text",
    [
        "CREATE DATABASE x",
        "CREATE /* */ ROLE x",
        'ALTER DATABASE "x" SET a = 1',
        "ALTER SYSTEM SET a = 1",
        "CREATE USER x",
        "CREATE TABLESPACE x LOCATION '/'",
        "DROP OWNED BY x",
        "COPY t FROM '/etc/passwd'",
        "COPY t FROM PROGRAM 'id'",
        "COPY t TO STDOUT",
        "COPY t FROM stdin WITH (FORMAT csv)",
        "COPY (SELECT 1) TO PROGRAM 'id'",
        "SET ROLE postgres",
        "SET standard = 1",
        "SELECT pg_read_file('x')",
        "SELECT pg_catalog.set_config('standard_conforming_strings', 'off', false)",
        "DO $$ BEGIN END $$",
        "SET",
        "COMMENTS",
        "'x'",
    ],
)
def test_what_no_dump_of_a_database_has_is_refused(text: str) -> None:
    with pytest.raises(JobError, match="line 1 of the dump has a statement that is not loaded"):
        use(f"{text};")


def test_roles_of_a_right() -> None:
    def known(text: str) -> bool:
        [statement] = Dump(io.BytesIO(text.encode())).statements()
        return for_known_roles(statement, "shop", {"reader", "a b"})

    assert known("GRANT SELECT ON TABLE t TO reader;")
    assert known('GRANT SELECT(a) ON TABLE t TO "a b", PUBLIC WITH GRANT OPTION;')
    assert known("REVOKE ALL ON FUNCTION f(int) FROM PUBLIC;")
    rights = "ALTER DEFAULT PRIVILEGES FOR ROLE shop IN SCHEMA s"
    assert known(f"{rights} GRANT SELECT ON TABLES  TO reader;")
    assert known(f"{rights} REVOKE ALL ON FUNCTIONS  FROM PUBLIC;")
    assert not known(f"{rights} GRANT SELECT ON TABLES  TO other;")
    assert not known(f"{rights.replace('shop', 'other')} GRANT SELECT ON TABLES  TO reader;")
    assert not known("GRANT SELECT ON TABLE t TO reader, other;")
    assert not known('GRANT SELECT ON TABLE "x TO reader" TO "Reader";')


def test_pieces_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    marks = ["'", '"', "$$", "$a$", "/*", "*/", "--", "\n", "E", "\\", ";", " ", "a", "U&", "1"]
    for _ in range(3000):
        dump = "".join(chance.choices(marks, k=chance.randrange(1, 25))) + ";"
        results = []
        for piece in (1, 2, 1 << 18):
            monkeypatch.setattr(postgres_dump, "PIECE_BYTES", piece)
            try:
                results.append(str(texts(dump)))
            except JobError as error:
                results.append(str(error))
        assert results[0] == results[1] == results[2], dump
