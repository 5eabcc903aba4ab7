//! The rules about database statements that destroy data or change rights.

use crate::Finding;

use super::finding::{Danger, refuse_if};
use super::lists::holds_listed;

/// Judges the statements that a database client is given to run.
pub(super) fn check(text: &str) -> Result<(), Finding> {
    refuse_if(holds_listed("destroying-calls", text), Danger::Destruction)?;
    text.split(';').try_for_each(check_statement)
}

fn check_statement(statement: &str) -> Result<(), Finding> {
    let upper = statement.to_ascii_uppercase();
    let words: Vec<&str> = upper
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    let destroys = match words.as_slice() {
        ["DROP", "TABLE", "IF", "EXISTS", ..] => false,
        ["DROP", kind, ..] => {
            !matches!(*kind, "INDEX" | "VIEW" | "TRIGGER" | "FUNCTION" | "TYPE" | "SEQUENCE")
        }
        ["TRUNCATE", ..] => true,
        ["DELETE", "FROM", ..] | ["UPDATE", ..] => !has("WHERE") && (words[0] == "DELETE" || has("SET")),
        _ => false,
    };
    refuse_if(destroys, Danger::Destruction)?;
    let account = matches!(words.as_slice(), ["ALTER" | "CREATE", "USER" | "ROLE" | "LOGIN", ..]);
    let grants = match words.as_slice() {
        ["GRANT", ..] => true,
        _ => account && ["SUPERUSER", "CREATEROLE", "PASSWORD", "IDENTIFIED"].into_iter().any(has),
    };
    refuse_if(grants, Danger::Privilege)
}
