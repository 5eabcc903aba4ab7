//! What changed between two interfaces of tools, and the version that announces it.

use std::collections::BTreeSet;

use mgp_types::mgp::{ChangeClass, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::interface::{RestOfInterface, ToolInterface, is_same_tool};
use super::schema_diff::{SchemaSide, changes};

/// A change of what callers of a tool rely on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InterfaceChange {
    /// The class of the change.
    pub class: ChangeClass,
    /// The JSON pointer into the definition of the tool.
    pub at: String,
    /// The change in words.
    pub what: String,
}

/// The changes of a tool, and whether its version announces them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolDiff {
    /// The name of the tool.
    pub tool: String,
    /// The version before the changes.
    pub old_version: Option<Version>,
    /// The version after the changes.
    pub new_version: Option<Version>,
    /// The least version that announces the changes, if there was a version before.
    pub least_version: Option<Version>,
    /// True if the version announces the changes, or none was declared before.
    pub is_announced: bool,
    /// The changes, the breaking ones first.
    pub changes: Vec<InterfaceChange>,
}

impl ToolInterface {
    /// Returns the changes from `old` to this interface, the breaking ones first.
    pub fn changes_since(&self, old: &Self) -> Vec<InterfaceChange> {
        let mut found = Vec::new();
        let mut note = |class, at: &str, what: &str| {
            found.push(InterfaceChange { class, at: at.to_owned(), what: what.to_owned() });
        };
        if old.purpose != self.purpose {
            note(ChangeClass::Documentation, "/description", "the description changed");
        }
        match (&old.output, &self.output) {
            (None, Some(_)) => note(ChangeClass::Compatible, "/outputSchema", "the output has a schema now"),
            (Some(_), None) => {
                note(ChangeClass::Breaking, "/outputSchema", "the output has no schema any more");
            }
            _ => {}
        }
        if let (Some(before), Some(after)) = (old.idempotent, self.idempotent)
            && before != after
        {
            let what = if after { "the tool is idempotent now" } else { "the tool is no longer idempotent" };
            note(ChangeClass::Compatible, "/annotations/idempotentHint", what);
        }
        match (&old.rest, &self.rest) {
            (RestOfInterface::Definition(old), RestOfInterface::Definition(new)) => {
                for member in differing(old, new) {
                    let is_behaviour = ["annotations", "execution", "security"].contains(&member);
                    let class =
                        if is_behaviour { ChangeClass::Compatible } else { ChangeClass::Documentation };
                    // A changed hint is noted above.
                    if member != "annotations" || without_idempotency(old) != without_idempotency(new) {
                        note(class, &format!("/{member}"), &format!("`{member}` changed"));
                    }
                }
            }
            (RestOfInterface::Document(old), RestOfInterface::Document(new)) => {
                for title in differing(old, new) {
                    note(ChangeClass::Documentation, "", &format!("the text of \"{title}\" changed"));
                }
            }
            _ => {}
        }
        found.extend(changes(SchemaSide::Input, &old.input, &self.input));
        if let (Some(old), Some(new)) = (&old.output, &self.output) {
            found.extend(changes(SchemaSide::Output, old, new));
        }
        found.sort_by_key(|change| std::cmp::Reverse(change.class));
        found
    }
}

impl ToolDiff {
    /// Compares the tools of two sources. A tool is the same if it has the same name; a name without a module is that of
    /// any module. Two sources of one tool each are compared whatever the names are.
    pub fn between(old: &[ToolInterface], new: &[ToolInterface]) -> Vec<Self> {
        if let ([old], [new]) = (old, new) {
            return vec![Self::of(old, new)];
        }
        let gone = old.iter().filter(|old| !new.iter().any(|new| is_same_tool(&old.name, &new.name)));
        let gone = gone
            .map(|old| Self::whole(old, [old.version, None], ChangeClass::Breaking, "the tool was removed"));
        let kept = new.iter().map(|new| match old.iter().find(|old| is_same_tool(&old.name, &new.name)) {
            Some(old) => Self::of(old, new),
            None => Self::whole(new, [None, new.version], ChangeClass::Compatible, "the tool was added"),
        });
        gone.chain(kept).collect()
    }

    pub(super) fn of(old: &ToolInterface, new: &ToolInterface) -> Self {
        let mut changes = new.changes_since(old);
        if !is_same_tool(&old.name, &new.name) {
            let what = format!("the tool was called `{}` before", old.name);
            changes.insert(0, InterfaceChange { class: ChangeClass::Breaking, at: "/name".to_owned(), what });
        }
        let least = |old: Version| changes.first().map_or(old, |change| old.next(change.class));
        let least_version = old.version.map(least);
        Self {
            tool: new.name.clone(),
            old_version: old.version,
            new_version: new.version,
            least_version,
            // A source without versions has no changes to announce them for.
            is_announced: least_version
                .is_none_or(|least| new.version.map_or(changes.is_empty(), |new| new >= least)),
            changes,
        }
    }

    /// Returns the difference of a tool that only one source has.
    fn whole(tool: &ToolInterface, versions: [Option<Version>; 2], class: ChangeClass, what: &str) -> Self {
        let (tool, [old_version, new_version]) = (tool.name.clone(), versions);
        let changes = vec![InterfaceChange { class, at: String::new(), what: what.to_owned() }];
        Self { tool, old_version, new_version, least_version: None, is_announced: true, changes }
    }
}

/// Returns the names of the members that differ.
fn differing<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> BTreeSet<&'a str> {
    let names = old.keys().chain(new.keys()).map(String::as_str);
    names.filter(|name| old.get(*name) != new.get(*name)).collect()
}

/// Returns the hints of a definition but that of idempotency.
fn without_idempotency(definition: &Map<String, Value>) -> Map<String, Value> {
    let hints = definition.get("annotations").and_then(Value::as_object).cloned();
    let mut hints = hints.unwrap_or_default();
    hints.remove("idempotentHint");
    hints
}
