//! The check that an SQL function only reads.

/// Returns whether a function of SQL, as far as its name tells, has no effect and reads nothing but the database.
///
/// Databases have thousands of functions and let users add more, so there is no complete list of those that read.
/// Refused are the families of functions that write, wait, lock, run text as SQL or reach outside the database, and
/// every name that begins with a verb of writing.
pub(super) fn reads(name: &str) -> bool {
    // Some databases decode escapes in quoted names.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    if PURE.contains(&&*name) {
        return true;
    }
    let verb = name.split('_').next().unwrap_or_default();
    let writes = name.contains('_') && VERBS.contains(&verb);
    !writes && !ACTING.contains(&&*name) && !is_of_family(&name)
}

/// Returns whether a function or package belongs to a family that does more than read.
pub(super) fn is_of_family(name: &str) -> bool {
    FAMILIES
        .iter()
        .any(|family| name.get(..family.len()).is_some_and(|head| head.eq_ignore_ascii_case(family)))
}

/// Functions that only compute a value although their names begin with a verb of writing or the prefix of a family.
const PURE: [&str; 3] = ["set_bit", "set_byte", "set_masklen"];

const VERBS: [&str; 22] = [
    "create", "insert", "update", "delete", "drop", "remove", "alter", "truncate", "set", "send", "grant",
    "revoke", "exec", "execute", "write", "lock", "unlock", "purge", "kill", "reset", "enqueue", "publish",
];

/// The prefixes of the names of functions with an effect.
#[rustfmt::skip]
const FAMILIES: [&str; 40] = [
    // PostgreSQL: large objects, other databases, the server and its files, locks.
    "lo_", "dblink", "postgres_fdw_", "pg_read_", "pg_ls_", "pg_file_", "pg_stat_file", "pg_stat_reset",
    "pg_stat_statements_reset", "pg_advisory_", "pg_try_advisory_", "pg_sleep", "pg_terminate_",
    "pg_cancel_", "pg_reload_", "pg_rotate_", "pg_switch_", "pg_create_", "pg_drop_", "pg_logical_",
    "pg_replication_", "pg_copy_", "pg_backup_", "pg_start_", "pg_stop_", "pg_wal_replay_", "pg_import_",
    "pg_extension_", "http_",
    // SQL Server, Oracle.
    "xp_", "sp_", "utl_", "dbms_", "ctxsys",
    // MySQL, SQLite.
    "sys_", "lib_mysqludf", "fts3_tokenizer", "load_",
    // Cloud services.
    "query_export_", "system$",
];

/// Functions with an effect that belong to no family.
#[rustfmt::skip]
const ACTING: [&str; 59] = [
    // PostgreSQL.
    "setval", "nextval", "set_config", "pg_notify", "pg_promote", "pg_export_snapshot", "loread", "lowrite",
    "query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "crosstab",
    "ts_stat", "ts_rewrite", "connectby", "schedule", "invoke", "send", "external_query", "exec", "execute",
    "checkpoint", "force_checkpoint", "unschedule",
    // MySQL.
    "sleep", "benchmark", "get_lock", "release_lock", "release_all_locks", "master_pos_wait",
    "source_pos_wait",
    // SQLite.
    "load_extension", "readfile", "writefile", "edit", "fsdir", "zipfile", "sqlar_uncompress", "eval",
    // SQL Server, Oracle.
    "openrowset", "openquery", "opendatasource", "openxml", "httpuritype", "xmltype", "bfilename",
    // ClickHouse and DuckDB: other hosts, files, programs, and text that is run as SQL.
    "url", "urlcluster", "s3", "hdfs", "jdbc", "odbc", "remote", "remotesecure", "executable", "file",
    "query", "query_table",
];
