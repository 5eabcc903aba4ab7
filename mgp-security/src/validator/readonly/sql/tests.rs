use proptest::prelude::*;

use super::*;

fn rule(sql: &str) -> Option<&'static str> {
    check_sql(sql).err().map(|finding| finding.rule)
}

// covers: MGP-4.5-02
#[test]
fn queries_pass() {
    for sql in [
        "SELECT 1",
        "select * from users where name = 'drop table users; -- update' limit 10;",
        "SELECT u.id, count(*) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id GROUP BY u.id HAVING n > 2",
        "SELECT * FROM t WHERE a IN (SELECT b FROM c) ORDER BY 1 DESC",
        "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT * FROM a",
        "SELECT * FROM a UNION SELECT * FROM b EXCEPT (SELECT * FROM c)",
        "VALUES (1, 2), (3, 4)",
        "SHOW TABLES",
        "SHOW CREATE TABLE users",
        "SHOW search_path",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN ANALYZE SELECT * FROM t",
        "EXPLAIN QUERY PLAN SELECT * FROM t",
        "DESCRIBE users",
        "PRAGMA table_info(users)",
        "PRAGMA main.index_list('users');",
        "PRAGMA user_version",
        "SELECT 1; SELECT 2;",
        "SELECT u.delete, u.\"update\", `insert` FROM u",
        "SELECT updated_at, deleted, created_by FROM audit_log",
        "SELECT load FROM metrics WHERE load > 2 ORDER BY load DESC",
        "SELECT id, shutdown, commit FROM t ORDER BY shutdown",
        "SELECT replace(name, 'a', 'b'), lower(x), coalesce(y, 0), date_trunc('day', z) FROM t",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
        "SELECT data->>'key' FROM t WHERE data @> '{\"a\":1}'::jsonb",
        "SELECT TOP 5 [name] FROM [dbo].[users]",
        "SELECT * FROM t -- a comment about DELETE FROM\nWHERE a = 1",
        "SELECT CASE WHEN a THEN 'insert into' ELSE 'x' END FROM t",
        "SELECT * FROM events FOR JSON AUTO",
        "SELECT high, low, open, close FROM prices WHERE open > 1 ORDER BY close NULLS LAST",
        "SELECT replace(name, '''', '') FROM t -- quotes",
        "SELECT tags[1], data['key'] FROM t WHERE name LIKE 'C:\\%'",
        "SELECT convert(a USING utf8), cast(a AS char CHARACTER SET utf8) FROM t USE INDEX (i)",
        "EXPLAIN (ANALYZE, BUFFERS) SELECT a FROM t",
        "EXPLAIN FORMAT = JSON SELECT a FROM t",
        "DESC shop.users",
        "FROM t SELECT a",
    ] {
        assert_eq!(check_sql(sql), Ok(()), "{sql}");
    }
}

// covers: MGP-4.5-02
#[test]
fn writes_are_refused_wherever_they_stand() {
    for sql in [
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "delete from t",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "REPLACE INTO t VALUES (1)",
        "TRUNCATE t",
        "DROP TABLE t",
        "CREATE TABLE t AS SELECT 1",
        "ALTER TABLE t ADD a int",
        "GRANT ALL ON t TO x",
        "COPY t TO '/tmp/x'",
        "COPY (SELECT 1) TO PROGRAM 'id'",
        "SELECT * INTO t2 FROM t",
        "SELECT * FROM t INTO OUTFILE '/tmp/x'",
        "SELECT 'x' INTO DUMPFILE '/tmp/x'",
        "SELECT 1; DROP TABLE t",
        "SELECT 1 DROP TABLE t",
        "SELECT 1 DELETE FROM t",
        "SELECT 1 EXEC xp_cmdshell 'id'",
        "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
        "WITH a AS (SELECT 1) DELETE FROM t",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "SELECT * FROM (UPDATE t SET a = 1 RETURNING *) x",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t FOR NO KEY UPDATE SKIP LOCKED",
        "SELECT * FROM t LOCK IN SHARE MODE",
        "EXPLAIN ANALYZE DELETE FROM t",
        "EXPLAIN (ANALYZE) INSERT INTO t VALUES (1)",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT * FROM dblink('host=x', 'DELETE FROM t') AS t(a int)",
        "SELECT pg_catalog.pg_sleep(10)",
        "SELECT \"pg_terminate_backend\"(1)",
        "SELECT PG_SLEEP (10)",
        "SELECT pg_sleep/**/(10)",
        "SELECT nextval('s')",
        "SELECT s.nextval FROM dual",
        "SELECT NEXT VALUE FOR s",
        "SELECT set_config('a', 'b', false)",
        "SELECT query_to_xml('delete from t', true, true, '')",
        "SELECT load_extension('x')",
        "SELECT writefile('a', 'b')",
        "SELECT load_file('/etc/passwd')",
        "SELECT sleep(5), benchmark(1, 2)",
        "SELECT @a := 1",
        "SELECT delete_user(1)",
        "SELECT * FROM OPENROWSET('a', 'b', 'DELETE FROM t')",
        "SELECT 1 /*! ; DROP TABLE t */",
        "SELECT '\\'; DROP TABLE t; -- '",
        "SELECT 1 --x; DROP TABLE t",
        "SELECT 1 # ; DROP TABLE t",
        "SELECT 1 /* /* */ ; DROP TABLE t -- */",
        "SELECT $$; DROP TABLE t; $$",
        "SELECT '\\'' ; DROP TABLE t; -- '",
        "SELECT q'[']' , utl_http.request('http://x') , q'[']' FROM dual",
        "SELECT U&\"pg_\\0073leep\"(10)",
        "SELECT 1 SHUTDOWN",
        "SELECT * FROM t SHUTDOWN WITH NOWAIT",
        "SELECT 1 EXEC('DROP TABLE t')",
        "PRAGMA journal_mode = WAL",
        "PRAGMA user_version(3)",
        "PRAGMA wal_checkpoint",
        "PRAGMA table_info(t); DROP TABLE t",
        "PRAGMA table_info(t) x",
        "ATTACH DATABASE 'x' AS y",
        "VACUUM",
        "SET ROLE admin",
        "BEGIN; SELECT 1",
        "CALL p()",
        "EXEC sp_who",
        "DO $$ BEGIN DELETE FROM t; END $$",
        "LOCK TABLE t",
        "USE other",
        "KILL 1",
        "SELECT 1 KILL 53",
        "SELECT 1DROP TABLE t",
        "SELECT 1 USE other",
        "SELECT 1 DISABLE TRIGGER a ON t",
        "SELECT 1 DROP\u{a0}TABLE t",
        "SELECT '\\', E'\\''; DROP TABLE t; --'",
        "SELECT [a'b] ; DROP TABLE t --']",
        "SELECT `a` /* ( */ INTO b FROM t",
        "SELECT ( INTO",
        "SELECT 1 /*T! ; DROP TABLE t */",
        "WITH a AS (SELECT 1) VACUUM",
        "EXPLAIN ANALYZE VACUUM",
        "SELECT 1 SETTINGS readonly = 0",
        "LISTEN x",
    ] {
        assert!(check_sql(sql).is_err(), "{sql}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for sql in ["", ";", "-- nothing", "hello", "SELECT 'open", "GET /x"] {
        assert!(check_sql(sql).is_err(), "{sql:?}");
    }
    assert_eq!(rule("SELECT ((("), Some("unreadable-sql"));
    assert_eq!(rule(&format!("SELECT '{}'", "x".repeat(100_000))), Some("unreadable-sql"));
}

#[test]
fn deep_brackets_are_refused_and_no_depth_takes_long() {
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("SELECT * FROM (", "SELECT 1", ") a"),
        ("(SELECT ", "1", ")"),
        ("f(", "1", ")"),
        ("a IN (", "1", ")"),
        ("(t JOIN ", "u", ")"),
        ("CASE WHEN ", "1", " THEN 1 END"),
        ("NOT ", "1", ""),
        ("EXPLAIN ", "SELECT 1", ""),
    ] {
        for start in ["SELECT ", "SELECT * FROM ", ""] {
            let nested = |depth| format!("{start}{}{middle}{}", open.repeat(depth), close.repeat(depth));
            // If each level took twice as long as the one inside, this would never end.
            let read = check_sql(&nested(2000));
            assert!(read.is_err() || !open.contains('('), "{start}{open}");
        }
    }
}

#[test]
fn long_chains_cost_no_stack() {
    for link in ["1+", "a=", "1 OR ", "(1),", "- "] {
        let chain = format!("SELECT {}1", link.repeat(60_000 / link.len()));
        assert!(!matches!(rule(&chain), Some("writes")), "{link}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(any in ".{0,200}", like in "(SELECT|FROM|WITH|AS|\\(|\\)|a|,|'|\"|--|/\\*|\\*/|;|\\$\\$|1|\\.| ){0,30}") {
        let _ = check_sql(&any);
        let _ = check_sql(&like);
    }

    #[test]
    fn a_write_behind_a_query_is_refused_whatever_is_between(
        between in prop::sample::select(vec![";", "; ", " ;\n", ";/* x */", ";--x\n", ";;"]),
        write in prop::sample::select(vec!["DROP TABLE t", "delete from t", "INSERT INTO t VALUES (1)", "UPDATE t SET a=1"]),
    ) {
        let sql = format!("SELECT 1{between}{write}");
        prop_assert!(check_sql(&sql).is_err(), "{}", sql);
    }
}
