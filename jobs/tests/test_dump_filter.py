import pytest

from dump_filter import Rows, postgres_parts


def parts(lines: list[bytes]) -> list[tuple[bytes, bytes | None]]:
    return [(text, rows.read() if rows else None) for text, rows in postgres_parts(lines)]


def test_rows_of_a_table_are_no_statements() -> None:
    rows = [b"GRANT all\n", b"\\restrict x\n", b"ALTER TABLE public.t OWNER TO x\n"]
    dump = [b"COPY public.t (a) FROM stdin;\n", *rows, b"\\.\n", b"GRANT ALL ON t TO x;\n"]
    assert parts(dump) == [(b"COPY public.t (a) FROM stdin", b"".join(rows))]


@pytest.mark.parametrize(
    "line", [b"\\restrict k\n", b"CREATE SCHEMA public;\n", b"ALTER TABLE a.b OWNER TO c;\n"]
)
def test_statements_that_the_sites_user_may_not_run_are_removed(line: bytes) -> None:
    assert parts([line]) == []


def test_rows_that_are_not_read_are_skipped() -> None:
    lines = iter([b"a\n", b"\\.\n", b"next\n"])
    Rows(lines).end()
    assert list(lines) == [b"next\n"]
