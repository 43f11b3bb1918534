"""Two roles of PostgreSQL: one owns the tables and migrates, one runs the product and owns nothing.

Triggers keep this program from changing what is written once. They do not keep a role from it that owns the table, and
can switch them off. So the program connects as a role that has no right to: into append-only tables it may insert the
columns it must, and nothing more. docs/database-roles.md says how to set it up.
"""

import re
from collections.abc import Iterator

import pgtrigger
from django.db import connection

from agentops.kernel.errors import AgentOpsError

APPEND_ONLY = "append_only"
"""The name of the trigger of a table whose rows are never changed."""

_PLAIN = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")


class BadRoleName(AgentOpsError):
    """A name that is not a plain name of a role."""

    code = "BAD_ROLE_NAME"
    next_step = "Use small letters, digits and underscores, beginning with a letter, 63 at most."


def append_only_tables() -> dict[str, list[str]]:
    """Return the append-only tables and the columns that the program writes, which are those of their models.

    A column that the database fills by itself (``ledger_event.xid``) is none of them.
    """
    tables = {model._meta for model, trigger in pgtrigger.registered() if trigger.name == APPEND_ONLY}  # noqa: SLF001 - documented
    return {
        options.db_table: [
            field.column for field in options.local_concrete_fields if field.column and not field.generated
        ]
        for options in sorted(tables, key=lambda options: options.db_table)
    }


def grants(owner: str, application: str) -> list[str]:
    """Return the statements that make both roles, give ``owner`` all tables, and ``application`` what it needs of them.

    A superuser runs them in one transaction, again after each migration; a second time changes nothing. They give no
    role a password.
    Raises BadRoleName, also when the two are one.
    """
    for name in (owner, application):
        if not _PLAIN.match(name) or name.startswith("pg_"):
            raise BadRoleName(f"{name!r} is no name for a role")
    if owner == application:
        raise BadRoleName("the owner and the application are two roles")
    return [*_roles(owner, application), *_ownership(owner), *_rights(application)]


def _roles(owner: str, application: str) -> Iterator[str]:
    for name in (owner, application):
        yield (
            f"DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '{name}') "  # noqa: S608 - a plain name
            f"THEN CREATE ROLE {name} LOGIN; END IF; END $$"
        )
        yield f"ALTER ROLE {name} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    yield f"REVOKE {owner} FROM {application}"


def _ownership(owner: str) -> Iterator[str]:
    # The schema too: whoever owns it can drop what is in it.
    yield f"ALTER SCHEMA public OWNER TO {owner}"
    # Sequences of identity columns go with their table, functions and views stand for themselves.
    yield f"""DO $$ DECLARE it record; BEGIN
  FOR it IN SELECT c.oid::regclass AS name, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm') LOOP
    EXECUTE format('ALTER TABLE %s OWNER TO {owner}', it.name);
  END LOOP;
  FOR it IN SELECT p.oid::regprocedure AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'public'
      AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') LOOP
    EXECUTE format('ALTER ROUTINE %s OWNER TO {owner}', it.name);
  END LOOP;
END $$"""  # noqa: S608 - a plain name


def _rights(application: str) -> Iterator[str]:
    yield "REVOKE ALL ON SCHEMA public FROM PUBLIC"
    yield f"REVOKE ALL ON SCHEMA public FROM {application}"
    yield f"GRANT USAGE ON SCHEMA public TO {application}"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {application}"
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {application}"
    yield f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {application}"
    yield f"GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public TO {application}"
    yield f"REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {application}"
    # The sequencer tells open transactions of this database from those of others by it; else these would hold it up.
    yield f"GRANT pg_read_all_stats TO {application}"
    for table, columns in append_only_tables().items():
        yield f'REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON "{table}" FROM {application}'
        written = ", ".join(f'"{column}"' for column in columns)
        yield f'GRANT INSERT ({written}) ON "{table}" TO {application}'


_RIGHTS = """
SELECT c.relname,
  pg_has_role(current_user, c.relowner, 'USAGE') AS owned,
  has_table_privilege(c.oid, 'UPDATE') OR has_any_column_privilege(c.oid, 'UPDATE')
    OR has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE') AS changed,
  has_table_privilege(c.oid, 'TRIGGER') AS triggers
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relname = ANY(%s) ORDER BY c.relname"""


def rights_too_many() -> list[str]:
    """Return, a sentence each, what the role of this connection could do to what is written once. Empty is right."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user")
        role, superuser = cursor.fetchone()
        if superuser:
            return [f"The role {role} is a superuser: it can switch off triggers and change every table."]
        cursor.execute(_RIGHTS, [list(append_only_tables())])
        rows = cursor.fetchall()
    found = []
    for words, which in (("owns", 1), ("can change or empty", 2), ("can put triggers on", 3)):
        named = [row[0] for row in rows if row[which]]
        if named:
            found.append(f"The role {role} {words} {', '.join(named)}.")
    return found
