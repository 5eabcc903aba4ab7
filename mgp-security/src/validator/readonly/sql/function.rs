//! The check that an SQL function only reads.

use super::super::super::sandbox::is_listed;

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
    if is_listed("sql-pure-functions", &name) {
        return true;
    }
    let verb = name.split('_').next().unwrap_or_default();
    let writes = name.contains('_') && is_listed("sql-verbs", verb);
    !writes && !is_listed("sql-acting-functions", &name) && !is_of_family(&name)
}

/// Returns whether a function or package belongs to a family that does more than read.
pub(super) fn is_of_family(name: &str) -> bool {
    is_listed("sql-families", &name.to_ascii_lowercase())
}
