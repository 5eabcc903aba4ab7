//! The check that a tool only reads, by its name and its annotations.

use mgp_types::mcp::ToolAnnotations;

use crate::Finding;
use crate::text;
use mgp_types::words;

use super::super::sandbox::is_listed;
use super::writes;

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
        Some(ToolEffect::Reads) => Ok(()),
        None if said == Some(true) => Ok(()),
        Some(ToolEffect::Writes) => {
            Err(writes("the tool changes something, says its name: use one that reads"))
        }
        None => Err(writes("nothing says that the tool only reads: use one whose name does")),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolEffect {
    Reads,
    Writes,
}

fn effect(words: &[&str]) -> Option<ToolEffect> {
    let mut first = None;
    let mut joined = false;
    for (at, word) in words.iter().enumerate() {
        // In names like `pull_request` and `merge_request`, these words are nouns.
        let is_thing = words.get(at + 1).is_some_and(|next| next.starts_with("request"));
        let found = match *word {
            "pull" | "merge" if is_thing => None,
            "check" if words.get(at + 1).is_some_and(|next| matches!(*next, "in" | "out")) => {
                Some(ToolEffect::Writes)
            }
            word if is_listed("writing-verbs", word) => Some(ToolEffect::Writes),
            word if is_listed("reading-verbs", word) => Some(ToolEffect::Reads),
            _ => None,
        };
        if first.is_none() || joined {
            first = match found {
                Some(ToolEffect::Writes) => return Some(ToolEffect::Writes),
                Some(ToolEffect::Reads) => Some(ToolEffect::Reads),
                None => first,
            };
        }
        joined = matches!(*word, "and" | "or" | "then");
    }
    first
}
