-- What a database of MariaDB may hold: made by the site's user, before it is backed up and restored.
SET innodb_strict_mode = OFF, check_constraint_checks = 0;
CREATE TABLE types (
  id int PRIMARY KEY AUTO_INCREMENT,
  tiny tinyint unsigned, small smallint, medium mediumint, big bigint unsigned, yes boolean,
  exact decimal(30, 9), simple float, twice double, bits bit(9),
  day date, clock time(3), moment datetime(6), stamp timestamp(6) NULL, years year,
  fixed char(5), variable varchar(140) DEFAULT 'it''s', old varchar(20) CHARACTER SET latin1,
  tinytexts tinytext, texts text, mediumtexts mediumtext, longtexts longtext,
  fixedbytes binary(4), bytes varbinary(20), tinyblobs tinyblob, blobs blob, longblobs longblob,
  choice enum('a', 'b''c'), choices set('x', 'y'), document json,
  place point, shape geometry, address4 inet4, address6 inet6, identity uuid,
  doubled int GENERATED ALWAYS AS (tiny * 2) VIRTUAL, tripled int AS (tiny * 3) STORED,
  hidden int INVISIBLE DEFAULT 7, word varchar(20) CHECK (word <> 'never'),
  INDEX (variable(10)), FULLTEXT (texts), UNIQUE (big)
) COMMENT = '-- no; comment # /* ''';
INSERT INTO types (tiny, small, medium, big, yes, exact, simple, twice, bits, day, clock, moment, stamp, years, fixed,
  variable, old, tinytexts, texts, mediumtexts, longtexts, fixedbytes, bytes, tinyblobs, blobs, longblobs, choice,
  choices, document, place, shape, address4, address6, identity, word)
VALUES (255, -5, 1, 18446744073709551615, 1, -1.000000001, 1.5, 1e300, b'100000001', '2020-02-29', '-10:00:00.123',
  '2020-01-01 10:00:00.123456', '2020-03-29 01:30:00.5', 2020, 'ü', 'a\\''"`;-- # /* */ ”日本 😀', 'ÄÖ',
  '', 'a\nb\r\0c\Zd\tе', '\\', repeat('long\\ "text" ', 1000), x'00FF275C', x'5C27', x'', x'0022', repeat(x'00FF275C0A', 9000),
  'b''c', 'x,y', '{"a": "\\"b\\""}', point(1, 2), linestring(point(0, 0), point(1, 1)), '10.0.0.1', '::1',
  '123e4567-e89b-12d3-a456-426655440000', 'ok'), (NULL, 0, 0, 0, 0, 0, 0, 0, b'0', '2021-01-01', '00:00:00',
  '2020-01-01', NULL, 0, '', '', '', '', '', '', '', '', '', '', '', '', 'a', '', '{', NULL, NULL, NULL, NULL, NULL, 'never');
SET sql_mode = '';
INSERT INTO types (big, day, moment) VALUES (1, '0000-00-00', '2020-00-00');
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
INSERT INTO types (id, big) VALUES (0, 2);
SET sql_mode = DEFAULT;
CREATE TABLE `odd ``"' name; -- #` (`co``l "'` int, `/* x` text);
INSERT INTO `odd ``"' name; -- #` VALUES (-1, ''), (--1, NULL);
CREATE TABLE empty_table (a int) ENGINE = MyISAM;
CREATE TABLE in_aria (a int) ENGINE = Aria;
CREATE TABLE parted (a int) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO parted VALUES (1), (100);
CREATE TABLE child (a int, parent int, CONSTRAINT `a key` FOREIGN KEY (parent) REFERENCES types (id));
SET foreign_key_checks = 0;
INSERT INTO child VALUES (1, 1), (2, 999);
CREATE SEQUENCE numbers START WITH 5 INCREMENT BY 2 MAXVALUE 1000 CYCLE;
SELECT NEXTVAL(numbers);
CREATE TABLE numbered (id bigint DEFAULT NEXTVAL(numbers), a int);
INSERT INTO numbered (a) VALUES (1), (2);
DELIMITER //
CREATE FUNCTION f1(a varchar(200)) RETURNS varchar(300) DETERMINISTIC
BEGIN
  /* ; */ DECLARE x int; -- it's
  SET x = 1;
  RETURN concat(a, '; // "', "d;;ü", x);
END//
CREATE PROCEDURE p1() SQL SECURITY INVOKER MODIFIES SQL DATA COMMENT 'it''s' BEGIN INSERT INTO empty_table VALUES (1); END//
CREATE TRIGGER first_trigger BEFORE INSERT ON parted FOR EACH ROW BEGIN SET NEW.a = NEW.a + 1; END//
CREATE TRIGGER second_trigger BEFORE INSERT ON parted FOR EACH ROW PRECEDES first_trigger SET NEW.a = NEW.a * 2//
CREATE TRIGGER `odd;trigger` AFTER DELETE ON `odd ``"' name; -- #` FOR EACH ROW SET @a = ';'//
CREATE EVENT event1 ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' ON COMPLETION PRESERVE DISABLE DO BEGIN DELETE FROM empty_table; END//
SET time_zone = '+05:30'//
CREATE EVENT event2 ON SCHEDULE AT '2037-01-01 00:00:00' DO DELETE FROM empty_table//
SET time_zone = DEFAULT//
SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'//
CREATE PROCEDURE p2() BEGIN SELECT 'a\', "col" FROM (SELECT 1 AS "col") t; END//
SET sql_mode = 'ORACLE'//
CREATE PACKAGE package1 AS PROCEDURE p; END//
CREATE PACKAGE BODY package1 AS PROCEDURE p AS BEGIN SELECT "id" FROM types; END; END//
SET sql_mode = DEFAULT//
SET NAMES latin1//
CREATE PROCEDURE p3() SELECT 'ä'//
SET NAMES utf8mb4//
DELIMITER ;
CREATE VIEW b_view AS SELECT id, variable FROM types;
CREATE SQL SECURITY INVOKER VIEW a_view AS SELECT variable, '; -- ''' AS `odd "name` FROM b_view WHERE id > 0 WITH CASCADED CHECK OPTION;
CREATE ALGORITHM = TEMPTABLE VIEW c_view AS SELECT f1(variable) AS v FROM a_view;
CREATE TABLE compact_rows (c0 varchar(140), c1 varchar(140), c2 varchar(140), c3 varchar(140), c4 varchar(140), c5 varchar(140), c6 varchar(140), c7 varchar(140), c8 varchar(140), c9 varchar(140), c10 varchar(140), c11 varchar(140), c12 varchar(140), c13 varchar(140), c14 varchar(140), c15 varchar(140), c16 varchar(140), c17 varchar(140), c18 varchar(140), c19 varchar(140), c20 varchar(140), c21 varchar(140), c22 varchar(140), c23 varchar(140), c24 varchar(140), c25 varchar(140), c26 varchar(140), c27 varchar(140), c28 varchar(140), c29 varchar(140), c30 varchar(140), c31 varchar(140), c32 varchar(140), c33 varchar(140), c34 varchar(140), c35 varchar(140), c36 varchar(140), c37 varchar(140), c38 varchar(140), c39 varchar(140), c40 varchar(140), c41 varchar(140), c42 varchar(140), c43 varchar(140), c44 varchar(140), c45 varchar(140), c46 varchar(140), c47 varchar(140), c48 varchar(140), c49 varchar(140), c50 varchar(140), c51 varchar(140), c52 varchar(140), c53 varchar(140), c54 varchar(140), c55 varchar(140), c56 varchar(140), c57 varchar(140), c58 varchar(140), c59 varchar(140)) ROW_FORMAT = COMPACT;
CREATE TABLE short_columns (c0 varchar(60), c1 varchar(60), c2 varchar(60), c3 varchar(60), c4 varchar(60), c5 varchar(60), c6 varchar(60), c7 varchar(60), c8 varchar(60), c9 varchar(60), c10 varchar(60), c11 varchar(60), c12 varchar(60), c13 varchar(60), c14 varchar(60), c15 varchar(60), c16 varchar(60), c17 varchar(60), c18 varchar(60), c19 varchar(60), c20 varchar(60), c21 varchar(60), c22 varchar(60), c23 varchar(60), c24 varchar(60), c25 varchar(60), c26 varchar(60), c27 varchar(60), c28 varchar(60), c29 varchar(60), c30 varchar(60), c31 varchar(60), c32 varchar(60), c33 varchar(60), c34 varchar(60), c35 varchar(60), c36 varchar(60), c37 varchar(60), c38 varchar(60), c39 varchar(60), c40 varchar(60), c41 varchar(60), c42 varchar(60), c43 varchar(60), c44 varchar(60), c45 varchar(60), c46 varchar(60), c47 varchar(60), c48 varchar(60), c49 varchar(60), c50 varchar(60), c51 varchar(60), c52 varchar(60), c53 varchar(60), c54 varchar(60), c55 varchar(60), c56 varchar(60), c57 varchar(60), c58 varchar(60), c59 varchar(60)) ROW_FORMAT = DYNAMIC;
INSERT INTO compact_rows (c0) VALUES ('x');
