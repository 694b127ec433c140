/* SQLite's functions that PostgreSQL lacks; postgres_sql.c uses their names.
 * The first program that makes tables also makes these functions, in the same
 * schema. */
#include "store/postgres_impl.h"

/* Change this name when the text below changes. */
#define MARK "bj_functions_6"

static const char sql[] =
    /* SQLite's sum: the sum of integers is an integer, and NULLs are ignored.
     */
    "CREATE OR REPLACE AGGREGATE bj_sum(bigint)(SFUNC = int8pl, STYPE = bigint,"
    " COMBINEFUNC = int8pl, PARALLEL = SAFE);"
    "CREATE OR REPLACE AGGREGATE bj_sum(integer)(SFUNC = int4_sum, STYPE ="
    " bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);"
    "CREATE OR REPLACE AGGREGATE bj_sum(numeric)(SFUNC = numeric_add, STYPE ="
    " numeric, COMBINEFUNC = numeric_add, PARALLEL = SAFE);"
    "CREATE OR REPLACE AGGREGATE bj_sum(double precision)(SFUNC = float8pl,"
    " STYPE = double precision, COMBINEFUNC = float8pl, PARALLEL = SAFE);"

    /* sum of conditions, which count as 0 and 1 */
    "CREATE OR REPLACE FUNCTION bj_count_true(bigint, boolean) RETURNS bigint"
    " LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN $2 IS NULL"
    " THEN $1 ELSE coalesce($1, 0) + $2::int END $$;"
    "CREATE OR REPLACE AGGREGATE bj_sum(boolean)(SFUNC = bj_count_true, STYPE ="
    " bigint, COMBINEFUNC = int8pl, PARALLEL = SAFE);"

    /* Only SQLite reads the clock within a statement; in PostgreSQL the
       deadline ends the statement. */
    "CREATE OR REPLACE FUNCTION bj_late(bigint, bigint, bigint) RETURNS boolean"
    " LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT false $$;"

    /* strftime of seconds since 1970, or of now: in UTC or in local time */
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, t timestamptz, zone"
    " text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT CASE"
    " format WHEN '%Y-%m-%dT%H:%M:%S' THEN to_char(t AT TIME ZONE zone,"
    " 'YYYY-MM-DD\"T\"HH24:MI:SS') WHEN '%Y-%m-%dT%H:%M:%SZ' THEN to_char(t AT"
    " TIME ZONE zone, 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') END $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, sec bigint, unix text)"
    " RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, to_timestamp(sec), 'UTC') $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, sec bigint, unix text,"
    " local text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, to_timestamp(sec), current_setting('TimeZone')) $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, now text, local text)"
    " RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, statement_timestamp(), current_setting('TimeZone'))"
    " $$;"
    "CREATE OR REPLACE FUNCTION bj_strftime(format text, now text, shift text,"
    " local text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT"
    " bj_strftime(format, statement_timestamp() + shift::interval,"
    " current_setting('TimeZone')) $$;"

    /* group_concat */
    "CREATE OR REPLACE FUNCTION bj_list_add(text, text) RETURNS text LANGUAGE"
    " sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT $1 || ',' || $2 $$;"
    "CREATE OR REPLACE AGGREGATE bj_list(text)(SFUNC = bj_list_add, STYPE ="
    " text, PARALLEL = SAFE);"

    /* printf of '%.3g', '%.0f' and, for integers, '%,d': to_char() and round()
     * round as printf does. */
    "CREATE OR REPLACE FUNCTION bj_printf(format text, v double precision)"
    " RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$\n"
    "DECLARE s text; m text; e int;\n"
    "BEGIN\n"
    "  IF format = '%.0f' THEN RETURN round(v)::numeric::text; END IF;\n"
    "  IF format = '%,d' THEN RETURN to_char(v::numeric,"
    " 'FM999,999,999,999,999,990'); END IF;\n"
    "  IF format <> '%.3g' THEN\n"
    "    RAISE EXCEPTION 'bj_printf: format %', format;\n"
    "  END IF;\n"
    "  IF v = 0 THEN RETURN '0'; END IF;\n"
    "  IF v = 'NaN' OR abs(v) >= 1e99 OR abs(v) < 1e-98 THEN\n"
    "    RETURN CASE v WHEN 'Infinity' THEN 'Inf' WHEN '-Infinity' THEN '-Inf'"
    " ELSE v::text END;\n"
    "  END IF;\n"
    "  s := ltrim(to_char(v, '9.99EEEE'));\n"
    "  m := split_part(s, 'e', 1);\n"
    "  e := split_part(s, 'e', 2)::int;\n"
    "  IF e >= -4 AND e < 3 THEN\n"
    "    RETURN trim_scale(m::numeric * 10::numeric ^ e)::text;\n"
    "  END IF;\n"
    "  RETURN trim_scale(m::numeric)::text || 'e' ||"
    " CASE WHEN e < 0 THEN '-' ELSE '+' END || lpad(abs(e)::text, 2, '0');\n"
    "END $$;"

    /* apiserver/frame/faculty.h */
    "CREATE OR REPLACE FUNCTION bj_faculty(lines text, account text) RETURNS"
    " text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT btrim("
    "substr(line, length($2) + 1), E' \\t\\r') FROM (SELECT btrim(l, E'"
    " \\t\\r') AS line, n FROM unnest(string_to_array($1, E'\\n')) WITH"
    " ORDINALITY AS x(l, n)) AS lines WHERE $2 <> '' AND line !~ '^#' AND"
    " starts_with(line, $2) AND substr(line, length($2) + 1, 1) IN (' ',"
    " E'\\t') ORDER BY n LIMIT 1 $$;"
    "CREATE OR REPLACE FUNCTION " MARK "() RETURNS void LANGUAGE sql IMMUTABLE"
    " AS $$ $$";

int bj_postgres_make_functions(struct bj_db *db, struct bj_err *err)
{
    static const char there[] =
        "SELECT count(*) FROM pg_proc WHERE proname = '" MARK "'"
        " AND pronamespace = current_schema()::regnamespace";
    int64_t n = 0;
    int r = bj_db_int(db, there, &n, err);
    if (r < 0 || n > 0)
        return r;
    r = bj_db_begin(db, BJ_BEGIN_WRITE, err);
    if (r == 0)
        r = bj_postgres_exec_own(bj_postgres_of(db), sql, err);
    if (r == 0)
        r = bj_db_commit(db, err);
    if (r < 0)
        bj_db_rollback(db);
    return r < 0 ? bj_err_wrap(err, r, "functions") : 0;
}
