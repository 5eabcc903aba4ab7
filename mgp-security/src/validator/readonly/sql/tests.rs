use proptest::prelude::*;

use super::*;
use crate::doubles::cases;

fn rule(sql: &str) -> Option<&'static str> {
    check_sql(sql).err().map(|finding| finding.rule)
}

// covers: MGP-4.5-02
#[test]
fn every_row_of_the_table_reads_or_is_refused() {
    for (verdict, sql) in cases(include_str!("statements.txt")) {
        assert_eq!(check_sql(&sql).is_ok(), verdict == "reads", "{sql}");
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

#[test]
fn an_insert_adds_rows_unless_it_changes_others() {
    for adds in [
        "INSERT INTO t (a) VALUES (1)",
        "insert into t select a from u",
        "SELECT 1; INSERT INTO t VALUES (1);",
    ] {
        assert!(only_adds_rows(adds), "{adds}");
    }
    for more in [
        "INSERT OR REPLACE INTO t VALUES (1)",
        "INSERT OVERWRITE TABLE t VALUES (1)",
        "REPLACE INTO t VALUES (1)",
        "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 1",
        "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
        "INSERT INTO t VALUES (1); DROP TABLE t",
        "INSERT INTO t VALUES (pg_read_file('a'))",
        "UPDATE t SET a = 1",
    ] {
        assert!(!only_adds_rows(more), "{more}");
    }
}
