CREATE EXTENSION pg_stat_statements;
CREATE TABLE audit (id serial, what text);
INSERT INTO audit (what) VALUES ('seen');
CREATE FUNCTION native(int) RETURNS int LANGUAGE internal AS 'int4abs';
CREATE FUNCTION watched() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER watch ON sql_drop EXECUTE FUNCTION watched();
GRANT SELECT ON audit TO "OWNER";
SET ROLE "OWNER";
CREATE VIEW v_audit AS SELECT what FROM audit;
