"""Statements that list what is in a database of PostgreSQL, as the site's user sees it."""

# What every new database has is below it.
FIRST_OBJECT = 16384
OWNERS = {
    "pg_class": "relowner",
    "pg_proc": "proowner",
    "pg_type": "typowner",
    "pg_operator": "oprowner",
    "pg_opclass": "opcowner",
    "pg_opfamily": "opfowner",
    "pg_collation": "collowner",
    "pg_conversion": "conowner",
    "pg_ts_config": "cfgowner",
    "pg_ts_dict": "dictowner",
    "pg_statistic_ext": "stxowner",
    "pg_foreign_server": "srvowner",
    "pg_publication": "pubowner",
    "pg_namespace": "nspowner",
}
# Parts of other objects are dropped with these: indexes, the types of rows, sequences of identity
# columns, what an extension has made.
OWN_OBJECTS = f"""
SELECT named.type, named.identity FROM (
  {
    " UNION ALL ".join(
        f"SELECT '{catalog}'::regclass::oid AS catalog, oid, {owner} AS owner FROM {catalog}"
        for catalog, owner in OWNERS.items()
    )
} ) AS found
LEFT JOIN pg_class c ON found.catalog = 'pg_class'::regclass AND c.oid = found.oid
CROSS JOIN LATERAL pg_identify_object(found.catalog, found.oid, 0) AS named
WHERE found.oid >= {FIRST_OBJECT} AND pg_has_role(found.owner, 'USAGE')
  AND (c.relkind IS NULL OR c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f'))
  AND (named.type, named.identity) <> ('schema', 'public')
  AND COALESCE(named.schema, named.name, '') !~ '^pg_(temp|toast)'
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = found.catalog
    AND d.objid = found.oid AND d.deptype IN ('e', 'i') AND d.refobjid <> d.objid)
ORDER BY array_position(ARRAY['view', 'materialized view'], named.type),
  c.relispartition AND c.relkind = 'r' DESC NULLS LAST, named.type = 'schema', found.oid
"""
# DROP has another name for these.
DROPPED_AS = {"statistics object": "STATISTICS", "server": "SERVER"}
# Each holds a lock to the end of its transaction.
DROP_LARGE_OBJECTS = """
SELECT lo_unlink(oid) FROM (SELECT oid FROM pg_largeobject_metadata
  WHERE pg_has_role(lomowner, 'USAGE') LIMIT 1000) AS own
"""

# Statements that take back what new objects would give to other roles: the dump says what each has.
DEFAULT_RIGHTS = """
SELECT format('ALTER DEFAULT PRIVILEGES %s REVOKE ALL ON %s FROM %s',
  'IN SCHEMA ' || quote_ident(n.nspname), kind.name,
  CASE right_of.grantee WHEN 0 THEN 'PUBLIC'
    ELSE quote_ident(pg_get_userbyid(right_of.grantee)) END)
FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace
JOIN (VALUES ('r', 'TABLES'), ('S', 'SEQUENCES'), ('f', 'FUNCTIONS'), ('T', 'TYPES'),
  ('n', 'SCHEMAS')) AS kind (code, name) ON kind.code = d.defaclobjtype::text
CROSS JOIN LATERAL aclexplode(d.defaclacl) AS right_of
WHERE pg_get_userbyid(d.defaclrole) = current_user AND right_of.grantee <> d.defaclrole
UNION ALL VALUES ('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC'),
  ('ALTER DEFAULT PRIVILEGES GRANT USAGE ON TYPES TO PUBLIC')
"""

# Tables of other roles: the site's user may not read them, or could not make them again.
OTHER_TABLES = f"""
SELECT n.nspname, c.relname, pg_get_userbyid(c.relowner) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid >= {FIRST_OBJECT} AND c.relkind IN ('r', 'p', 'S', 'f')
  AND NOT pg_has_role(c.relowner, 'USAGE') AND n.nspname !~ '^pg_(temp|toast)'
  AND (c.oid IN (SELECT unnest(extconfig) FROM pg_extension) OR NOT EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
    AND d.objid = c.oid AND d.deptype IN ('e', 'i') AND d.refobjid <> d.objid))
ORDER BY 1, 2
"""
OTHER_LARGE_OBJECTS = """
SELECT count(*) FROM pg_largeobject_metadata WHERE NOT pg_has_role(lomowner, 'USAGE')
"""
# What the user of another site could not make: with words of people, each once.
NOT_POSSIBLE_ELSEWHERE = f"""
SELECT format('extension %I', e.extname) FROM pg_extension e
LEFT JOIN pg_available_extension_versions v ON (v.name, v.version) = (e.extname, e.extversion)
WHERE e.extname <> 'plpgsql' AND e.oid >= {FIRST_OBJECT}
  AND COALESCE(v.superuser AND NOT (to_jsonb(v) ->> 'trusted')::boolean, true)
UNION
SELECT format('function %s in %I', p.oid::regprocedure, l.lanname) FROM pg_proc p
JOIN pg_language l ON l.oid = p.prolang
WHERE p.oid >= {FIRST_OBJECT} AND NOT l.lanpltrusted AND p.prokind <> 'a'
  AND NOT EXISTS (SELECT FROM pg_depend d
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype IN ('e', 'i'))
UNION
SELECT format('event trigger %I', evtname) FROM pg_event_trigger
UNION
SELECT format('rights of the role %I', pg_get_userbyid(right_of.grantee))
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS right_of
WHERE c.oid >= {FIRST_OBJECT} AND right_of.grantee NOT IN (0, c.relowner)
  AND pg_has_role(c.relowner, 'USAGE')
ORDER BY 1
"""
# Roles that may connect, other than those that own the database and all of the server.
CONNECTED_ROLES = """
SELECT current_user UNION
SELECT pg_get_userbyid(right_of.grantee) FROM pg_database
CROSS JOIN LATERAL aclexplode(datacl) AS right_of
WHERE datname = current_database() AND right_of.privilege_type = 'CONNECT'
  AND right_of.grantee <> 0
"""


def excluding(tables: list[tuple[str, str, str]], has_large_objects: bool) -> list[str]:
    """Arguments of pg_dump, which fails at what its user may not read."""
    quoted = [[part.replace('"', '""') for part in table[:2]] for table in tables]
    arguments = [f'--exclude-table="{schema}"."{name}"' for schema, name in quoted]
    return [*arguments, *(["--no-blobs"] if has_large_objects else [])]


def names_of(tables: list[tuple[str, str, str]], has_large_objects: bool) -> list[str]:
    names = [f"{schema}.{name} of {owner}" for schema, name, owner in tables]
    return [*names, *(["all large objects"] if has_large_objects else [])]
