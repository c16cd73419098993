CREATE EXTENSION citext;
CREATE EXTENSION pg_trgm;
CREATE SCHEMA report;
COMMENT ON SCHEMA report IS 'it''s; a report';
CREATE EXTENSION unaccent WITH SCHEMA report;
CREATE TYPE mood AS ENUM ('happy', 'it''s', 'so; so');
CREATE TYPE pair AS (a int, b text);
CREATE TYPE span AS RANGE (subtype = numeric);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE COLLATION plain FROM "C";
CREATE TABLE numbers (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  number positive, mood mood DEFAULT 'it''s', pair pair, span span, label citext COLLATE "C",
  doubled int GENERATED ALWAYS AS (number * 2) STORED, data jsonb, bytes bytea, tags text[]
);
COMMENT ON COLUMN numbers.number IS E'a\nGRANT x;\n\\! id';
INSERT INTO numbers (number, pair, span, label, data, bytes, tags)
  VALUES (42, ROW(1, 'x'), '[1,2)', 'Label', '{"a": "GRANT"}', '\x00ff5c', ARRAY['a', E'\\.', E'\n\\.\n']);
CREATE INDEX numbers_trgm ON numbers USING gin ((label::text) gin_trgm_ops);
CREATE STATISTICS numbers_stats ON number, mood FROM numbers;
CREATE SEQUENCE counted START 7 INCREMENT 3;
SELECT nextval('counted'), nextval('counted');
CREATE TABLE "odd "" name's; --" ("co""l;umn" serial PRIMARY KEY, n int REFERENCES numbers (id));
INSERT INTO "odd "" name's; --" (n) VALUES (1), (NULL);
CREATE FUNCTION grants() RETURNS text LANGUAGE plpgsql AS $body$
BEGIN
  -- it's
  RETURN $$
GRANT x;
REVOKE y;
COPY z FROM stdin;
\.
ALTER TABLE a OWNER TO b;
$$;
END $body$;
REVOKE ALL ON FUNCTION grants() FROM PUBLIC;
CREATE FUNCTION report.total() RETURNS bigint LANGUAGE sql SECURITY DEFINER
  BEGIN ATOMIC
    SELECT CASE WHEN true THEN (SELECT sum(number) FROM numbers) ELSE 0 END;
  END;
CREATE PROCEDURE add_number(n int) LANGUAGE plpgsql AS 'BEGIN INSERT INTO numbers (number) VALUES (n); END';
CREATE AGGREGATE longest(text) (SFUNC = textcat, STYPE = text, INITCOND = 'it''s');
CREATE OPERATOR === (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq);
CREATE FUNCTION touched() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.label := 'it''s'; RETURN NEW; END$$;
CREATE TRIGGER touch BEFORE UPDATE ON numbers FOR EACH ROW WHEN (OLD.number IS DISTINCT FROM NEW.number) EXECUTE FUNCTION touched();
CREATE VIEW v_open AS SELECT id, number, grants() AS text FROM numbers;
CREATE VIEW v_chain WITH (security_barrier) AS SELECT * FROM v_open WHERE number > 0 WITH CHECK OPTION;
CREATE MATERIALIZED VIEW report.m AS SELECT number, 'a;b' AS t FROM numbers;
CREATE UNIQUE INDEX m_number ON report.m (number);
CREATE RULE nothing AS ON DELETE TO v_open DO INSTEAD (UPDATE numbers SET label = 'a;b'; DELETE FROM numbers WHERE false);
CREATE TABLE report.parts (id int, day date) PARTITION BY RANGE (day);
CREATE TABLE report.parts_old PARTITION OF report.parts FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
CREATE TABLE report.parts_rest PARTITION OF report.parts DEFAULT;
INSERT INTO report.parts VALUES (1, '2025-05-05'), (2, '2026-05-05');
ALTER TABLE numbers ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON numbers USING (true);
CREATE TEXT SEARCH CONFIGURATION words (COPY = pg_catalog.simple);
SELECT lo_from_bytea(0, 'GRANT x; large');
CREATE PUBLICATION changes FOR TABLE numbers;
GRANT SELECT ON numbers, v_open TO reader;
GRANT SELECT (n) ON "odd "" name's; --" TO reader;
GRANT USAGE ON SCHEMA report TO reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader;
