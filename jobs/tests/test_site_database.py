from collections.abc import Iterable

from site_database import MariaDB, Postgres


def lines(*texts: str) -> Iterable[bytes]:
    return [f"{text}\n".encode() for text in texts]


def test_a_dump_of_mariadb_has_no_statement_of_newer_clients() -> None:
    dump = lines("/*M!999999\\- enable the sandbox mode */", "CREATE TABLE `a` (`b` int);")
    assert list(MariaDB.compatible_statements(dump)) == list(lines("CREATE TABLE `a` (`b` int);"))


def test_a_dump_of_postgres_has_no_statement_of_another_owner() -> None:
    dump = lines(
        "\\restrict abc",
        "SET transaction_timeout = 0;",
        "ALTER TABLE public.a OWNER TO someone;",
        "GRANT ALL ON TABLE public.a TO someone;",
        "CREATE TABLE public.a (b text);",
    )
    expected = list(lines("CREATE TABLE public.a (b text);"))
    assert list(Postgres.compatible_statements(dump)) == expected


def test_rows_of_a_dump_are_never_changed() -> None:
    rows = lines("COPY public.a (b) FROM stdin;", "GRANT this", "\\restrict", "\\.", "SELECT 1;")
    assert list(Postgres.compatible_statements(rows)) == list(rows)
