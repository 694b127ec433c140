-- The store in PostgreSQL: a database, roles, and a schema for people.  As PostgreSQL's
-- administrator:
--     psql -f postgresql.sql
-- batchjob_stats_db connects as batchjob_writer, batchjob_stats_server, batchjob_acct
-- and tools that evaluate all jobs as batchjob_reader (docs/scale.md).

CREATE ROLE batchjob_writer LOGIN;
CREATE ROLE batchjob_reader LOGIN;
ALTER ROLE batchjob_reader SET default_transaction_read_only = on;
ALTER ROLE batchjob_reader SET statement_timeout = '60s';
-- Its members are people: the name of a role is that of the user whose jobs it sees.
--     CREATE ROLE anna LOGIN IN ROLE batchjob_people;
--     ALTER ROLE anna SET search_path = people;
--     ALTER ROLE anna SET statement_timeout = '60s';
CREATE ROLE batchjob_people NOLOGIN;

-- Texts are compared by their bytes, as in SQLite.
CREATE DATABASE batchjob OWNER batchjob_writer ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0;
-- It compiles queries when it thinks that they are long, which takes longer than these.
ALTER DATABASE batchjob SET jit = off;
REVOKE CONNECT, TEMPORARY ON DATABASE batchjob FROM PUBLIC;
GRANT CONNECT ON DATABASE batchjob TO batchjob_reader, batchjob_people;

\connect batchjob
ALTER SCHEMA public OWNER TO batchjob_writer;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO batchjob_reader;
-- Tables and views that batchjob_stats_db makes, now and in later versions.
ALTER DEFAULT PRIVILEGES FOR ROLE batchjob_writer IN SCHEMA public GRANT SELECT ON TABLES TO batchjob_reader;

-- The views with the rows that their reader may see; people get nothing else.
CREATE SCHEMA people AUTHORIZATION batchjob_writer;
GRANT USAGE ON SCHEMA people TO batchjob_people;
ALTER DEFAULT PRIVILEGES FOR ROLE batchjob_writer IN SCHEMA people GRANT SELECT ON TABLES TO batchjob_people;
