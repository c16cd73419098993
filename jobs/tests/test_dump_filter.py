import pytest

from dump_filter import mariadb_statements
from job_result import JobError
from mariadb_server import without_newer_statements

DUMP = (
    b"/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;\n"
    b"-- it's a comment\n"
    b"CREATE TABLE `a\\b` (\n  `name` varchar(140) DEFAULT 'x\\'y' COMMENT 'a -- b # c'\n);\n"
    b"INSERT INTO `a` VALUES ('it''s; \\\\','\\! id'),('\\\\! id');\n"
)


def test_statement_of_a_newer_client_is_removed() -> None:
    lines = [
        b"/*M!999999\\- enable the sandbox mode */\n",
        b"INSERT INTO t VALUES ('/*M!999999');\n",
    ]
    assert list(without_newer_statements(lines)) == lines[1:]


def test_dump_of_mariadb_is_kept_without_comments() -> None:
    kept = b"".join(mariadb_statements(DUMP.splitlines(keepends=True)))
    assert kept == DUMP.replace(b"-- it's a comment\n", b"")


@pytest.mark.parametrize(
    "line",
    [
        b"\\! id\n",
        b"system id\n",
        b"source /etc/passwd\n",
        b"tee /tmp/x\n",
        b"INSERT INTO t VALUES (1) \\! id\n",
        b"INSERT INTO t VALUES (1);\\! id\n",
        b"INSERT INTO t VALUES ('a\n\\! id\n');\n",
        b"--x '\n\\! id\n",
        b"# '\n\\! id\n",
        b"/* ' */ \\! id\n",
        b"CREATE TABLE t (a int -- '\n); \\! id -- '\n",
        b"LOAD DATA LOCAL INFILE '/proc/self/environ' INTO TABLE t;\n",
        b"EXECUTE IMMEDIATE 'SET sql_mode=4096';\n",
        b"SELECT 1;\n",
        b"DELIMITER ;;\n",
        b"INSERT INTO t VALUES (1)\\g\n",
        b"INSERT INTO t VALUES ('\0');\r\\! id\n",
    ],
)
def test_command_of_the_client_is_refused(line: bytes) -> None:
    with pytest.raises(JobError, match="it was not loaded"):
        list(mariadb_statements(line.splitlines(keepends=True)))


@pytest.mark.parametrize("mode", [b"SET SQL_MODE='NO_BACKSLASH_ESCAPES';\n", b"SET sql_mode=@x;\n"])
def test_mode_that_changes_texts_is_not_set(mode: bytes) -> None:
    assert list(mariadb_statements([mode])) == []
