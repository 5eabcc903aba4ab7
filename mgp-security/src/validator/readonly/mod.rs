//! Checks that a call only reads: the engines of the validator `readonly` (MGP §4.5).
//!
//! Each check knows one language, and lets through only what it knows to read. Everything else is refused.
//!
//! | item | decides on |
//! |---|---|
//! | [`check_sql`], [`only_adds_rows`] | statements of SQL |
//! | [`check_http_method`] | the method of a request |
//! | [`check_tool_name`] | a tool, by its name and what its server says of it |
//! | [`check_line_reads`] | a command line, by its programs and their options |

mod lists;
mod sql;

#[cfg(test)]
mod tests;

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::CallEffect;
use mgp_types::{ClientFolders, words};

use crate::{Finding, text};

use self::lists::is_listed;
pub(crate) use self::sql::{check_sql, only_adds_rows};
use crate::command::{CommandVerdict, Deed};

/// Checks the method of a request: `GET`, `HEAD` and `OPTIONS` pass.
pub(crate) fn check_http_method(method: &str) -> Result<(), Finding> {
    let reads = ["GET", "HEAD", "OPTIONS"].iter().any(|own| own.eq_ignore_ascii_case(method));
    if reads { Ok(()) } else { Err(writes("requests may only read here: use GET or HEAD")) }
}

/// Checks a command line: each of its programs has to be known to change nothing.
pub(super) fn check_line_reads(line: &str, folders: Option<&ClientFolders>) -> Result<(), Finding> {
    let verdict = CommandVerdict::of(line, folders);
    let reads = matches!(verdict.deed, Some(Deed::Names | Deed::Reads | Deed::Inspects))
        && verdict.effect <= CallEffect::Runs;
    if reads { Ok(()) } else { Err(writes("commands may only read here: use one that is known to read")) }
}

/// Returns the finding of every check of reading, with its own message.
pub(super) fn writes(message: impl Into<std::borrow::Cow<'static, str>>) -> Finding {
    Finding::new("writes", message)
}

/// Checks that a tool only reads, by its name and the annotations of its server.
///
/// The first verb in the name decides, so `get_updates` reads and `update_get_token` writes. A second verb counts if it
/// is joined to the first, as in `get_or_create`. A name without a known verb passes only if the annotations say that
/// the tool reads. Annotations can get any tool refused, but they do not outweigh a verb of writing.
pub(crate) fn check_tool_name(name: &str, annotations: Option<&ToolAnnotations>) -> Result<(), Finding> {
    let said = annotations.and_then(|annotations| annotations.read_only_hint);
    let destroys = annotations.and_then(|annotations| annotations.destructive_hint) == Some(true);
    if said == Some(false) || (destroys && said.is_none()) {
        return Err(writes("the tool changes something, says its server: use one that reads"));
    }
    let folded = text::fold(name);
    let words = words(&folded);
    let words = words.iter().flat_map(|word| word.split(|character: char| !character.is_alphabetic()));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match effect(&words) {
        Some(CallEffect::Reads) => Ok(()),
        None if said == Some(true) => Ok(()),
        Some(_) => Err(writes("the tool changes something, says its name: use one that reads")),
        None => Err(writes("nothing says that the tool only reads: use one whose name does")),
    }
}

fn effect(words: &[&str]) -> Option<CallEffect> {
    let mut first = None;
    let mut joined = false;
    for (at, word) in words.iter().enumerate() {
        // In names like `pull_request` and `merge_request`, these words are nouns.
        let is_thing = words.get(at + 1).is_some_and(|next| next.starts_with("request"));
        let found = match *word {
            "pull" | "merge" if is_thing => None,
            "check" if words.get(at + 1).is_some_and(|next| matches!(*next, "in" | "out")) => {
                Some(CallEffect::Writes)
            }
            word if is_listed("writing-verbs", word) => Some(CallEffect::Writes),
            word if is_listed("reading-verbs", word) => Some(CallEffect::Reads),
            _ => None,
        };
        if first.is_none() || joined {
            if found == Some(CallEffect::Writes) {
                return found;
            }
            first = found.or(first);
        }
        joined = matches!(*word, "and" | "or" | "then");
    }
    first
}
