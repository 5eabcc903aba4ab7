//! Checks that a call only reads: the engines of the validator `readonly` (MGP §4.5).
//!
//! Each check knows one language, and lets through only what it knows to read. Everything else is refused.
//!
//! | item | decides on |
//! |---|---|
//! | [`check_sql`] | statements of SQL |
//! | [`check_http_method`] | the method of a request |
//! | [`check_tool_name`] | a tool, by its name and what its server says of it |
//! | [`check_line_reads`] | a command line, by its programs and their options |

mod sql;
mod tool;

#[cfg(test)]
mod tests;

use crate::Finding;

pub(super) use super::sandbox::check_line_reads;
pub(crate) use sql::check_sql;
pub(crate) use tool::check_tool_name;

/// Checks the method of a request: `GET`, `HEAD` and `OPTIONS` pass.
pub(crate) fn check_http_method(method: &str) -> Result<(), Finding> {
    if ["GET", "HEAD", "OPTIONS"].iter().any(|own| own.eq_ignore_ascii_case(method)) {
        Ok(())
    } else {
        Err(writes("requests may only read here: use GET or HEAD"))
    }
}

/// Returns the finding of every check of reading, with its own message.
pub(super) fn writes(message: impl Into<std::borrow::Cow<'static, str>>) -> Finding {
    Finding::new("writes", message)
}
