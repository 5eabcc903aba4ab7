//! The differences between two JSON Schemas, and what each means for those who call the tool.
//!
//! A parameter may accept more and an output field may promise more; the reverse breaks callers. A keyword whose change
//! could be either counts as breaking.

use std::collections::{BTreeSet, HashSet};

use mgp_types::mgp::ChangeClass;
use serde_json::{Map, Value};

use super::diff::InterfaceChange;
use super::schema_rules::{TYPES, last_name, member, texts, types};

/// The side of a tool that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSide {
    Input,
    Output,
}

/// The direction of a change of what a schema accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acceptance {
    Narrower,
    Wider,
    /// Some values are accepted anew and others no longer, or nobody can tell.
    Other,
}

/// Returns the changes from one schema to another, each at its JSON pointer into the definition of the tool.
pub(super) fn changes(side: SchemaSide, old: &Value, new: &Value) -> Vec<InterfaceChange> {
    let at = if side == SchemaSide::Input { "/inputSchema" } else { "/outputSchema" };
    let mut comparison =
        Comparison { side, roots: (old, new), compared: HashSet::new(), depth: 0, changes: Vec::new() };
    comparison.compare(at, old, new);
    comparison.changes
}

struct Comparison<'a> {
    side: SchemaSide,
    roots: (&'a Value, &'a Value),
    /// The pairs of schemas that were compared: references lead to one schema from many places, and in circles.
    compared: HashSet<(*const Value, *const Value)>,
    depth: usize,
    changes: Vec<InterfaceChange>,
}

impl<'a> Comparison<'a> {
    fn compare(&mut self, pointer: &str, old: &'a Value, new: &'a Value) {
        let (old, new) = (resolved(self.roots.0, old), resolved(self.roots.1, new));
        if !self.compared.insert((old, new)) {
            return;
        }
        let is_within = self.compared.len() <= MAX_SCHEMAS && self.depth < DEEPEST;
        let (true, Some(before), Some(after)) = (is_within, old.as_object(), new.as_object()) else {
            if old != new {
                let what = format!("the schema of {} is another one", self.named(pointer));
                self.note(Acceptance::Other, pointer, &what);
            }
            return;
        };
        self.depth += 1;
        self.types(pointer, old, new);
        self.properties(pointer, before, after);
        for word in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            self.keyword(pointer, word, before.get(word), after.get(word));
        }
        self.depth -= 1;
    }

    fn types(&mut self, pointer: &str, old: &Value, new: &Value) {
        let (before, after) = (demanded_types(old), demanded_types(new));
        // No names stand for all types.
        let lacks = |of: &[&str], some: &[&str]| {
            !of.is_empty() && (some.is_empty() || some.iter().any(|name| !of.contains(name)))
        };
        let acceptance = match (lacks(&before, &after), lacks(&after, &before)) {
            (false, false) => return,
            (true, false) => Acceptance::Wider,
            (false, true) => Acceptance::Narrower,
            (true, true) => Acceptance::Other,
        };
        let describe = |names: &[&str]| if names.is_empty() { "any".to_owned() } else { names.join(" or ") };
        let (name, before, after) = (self.named(pointer), describe(&before), describe(&after));
        let what = format!("{name} changed its type from {before} to {after}");
        self.note(acceptance, &member(pointer, "type"), &what);
    }

    fn properties(&mut self, pointer: &str, old: &'a Map<String, Value>, new: &'a Map<String, Value>) {
        let [before, after] = [old, new].map(|schema| schema.get("properties").and_then(Value::as_object));
        let (was_required, is_required) = (texts(old.get("required")), texts(new.get("required")));
        for (name, value) in before.into_iter().flatten() {
            let at = member(&member(pointer, "properties"), name);
            let named = self.named(&at);
            let Some(now) = after.and_then(|after| after.get(name)) else {
                self.push(ChangeClass::Breaking, &at, format!("{named} was removed"));
                continue;
            };
            match (was_required.contains(&name.as_str()), is_required.contains(&name.as_str())) {
                (false, true) => self.note(Acceptance::Narrower, &at, &format!("{named} is required now")),
                (true, false) => self.note(Acceptance::Wider, &at, &format!("{named} is no longer required")),
                _ => {}
            }
            self.compare(&at, value, now);
        }
        for name in after.into_iter().flatten().map(|(name, _)| name) {
            if before.is_some_and(|before| before.contains_key(name)) {
                continue;
            }
            let at = member(&member(pointer, "properties"), name);
            let (class, how) = match (self.side, is_required.contains(&name.as_str())) {
                (SchemaSide::Input, true) => (ChangeClass::Breaking, " and is required"),
                (SchemaSide::Input, false) => (ChangeClass::Compatible, " and is optional"),
                (SchemaSide::Output, _) => (ChangeClass::Compatible, ""),
            };
            let what = format!("{} was added{how}", self.named(&at));
            self.push(class, &at, what);
        }
    }

    /// Compares what two schemas say with one keyword.
    fn keyword(&mut self, pointer: &str, word: &str, old: Option<&'a Value>, new: Option<&'a Value>) {
        let at = member(pointer, word);
        match (word, old, new) {
            // References are followed, and the members are compared one by one.
            ("type" | "properties" | "required" | "$defs" | "definitions", ..) => {}
            ("items" | "additionalProperties", Some(old), Some(new))
                if old.is_object() && new.is_object() =>
            {
                self.compare(&at, old, new);
            }
            ("oneOf" | "anyOf" | "allOf", Some(Value::Array(old)), Some(Value::Array(new)))
                if old.len() == new.len() =>
            {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    self.compare(&member(&at, &index.to_string()), old, new);
                }
            }
            // Only below the schemas above can references lead to something else.
            _ if old == new => {}
            _ => {
                let what = format!("`{word}` of {} {}", self.named(pointer), how(old, new));
                let is_default = word == "default" && self.side == SchemaSide::Input;
                match change_of(word, old, new) {
                    Some(acceptance) => self.note(acceptance, &at, &what),
                    None if is_default => self.push(ChangeClass::Compatible, &at, what),
                    None => self.push(ChangeClass::Documentation, &at, what),
                }
            }
        }
    }

    /// Notes a change of what is accepted.
    fn note(&mut self, acceptance: Acceptance, pointer: &str, what: &str) {
        let harmless = if self.side == SchemaSide::Input { Acceptance::Wider } else { Acceptance::Narrower };
        let class = if acceptance == harmless { ChangeClass::Compatible } else { ChangeClass::Breaking };
        self.push(class, pointer, what.to_owned());
    }

    fn push(&mut self, class: ChangeClass, pointer: &str, what: String) {
        self.changes.push(InterfaceChange { class, at: pointer.to_owned(), what });
    }

    /// Returns the words for what a pointer leads to: "parameter `a`", or "output field `a.b`".
    fn named(&self, pointer: &str) -> String {
        let mut steps = pointer.split('/').skip(1);
        let mut path = String::new();
        while let Some(step) = steps.next() {
            match step {
                "properties" => {
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(&last_name(steps.next().unwrap_or_default()));
                }
                "items" => path.push_str("[]"),
                _ => {}
            }
        }
        match (self.side, path.is_empty()) {
            (SchemaSide::Input, true) => "the arguments".to_owned(),
            (SchemaSide::Output, true) => "the output".to_owned(),
            (SchemaSide::Input, false) => format!("parameter `{path}`"),
            (SchemaSide::Output, false) => format!("output field `{path}`"),
        }
    }
}

/// Returns the types that a schema demands; none if all of them will do.
fn demanded_types(schema: &Value) -> Vec<&str> {
    let types = types(schema);
    let is_any = TYPES.iter().all(|name| *name == "integer" || types.contains(name));
    if is_any { Vec::new() } else { types }
}

/// Returns how the change of a keyword changes what is accepted; `None` if the keyword only documents.
fn change_of(word: &str, old: Option<&Value>, new: Option<&Value>) -> Option<Acceptance> {
    if ANNOTATIONS.contains(&word) || word.starts_with("x-") {
        return None;
    }
    // A keyword that was added demands more, and one that was removed less.
    let presence = match (old, new) {
        (None, _) => Acceptance::Narrower,
        (_, None) => Acceptance::Wider,
        _ => Acceptance::Other,
    };
    let order = |by: fn(f64, f64) -> bool| match (old.and_then(Value::as_f64), new.and_then(Value::as_f64)) {
        (Some(old), Some(new)) if by(old, new) => Acceptance::Narrower,
        (Some(_), Some(_)) => Acceptance::Wider,
        _ => presence,
    };
    Some(match word {
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            order(|old, new| new > old)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
            order(|old, new| new < old)
        }
        "enum" => match (old.and_then(Value::as_array), new.and_then(Value::as_array)) {
            (Some(old), Some(new)) if new.iter().all(|value| old.contains(value)) => Acceptance::Narrower,
            (Some(old), Some(new)) if old.iter().all(|value| new.contains(value)) => Acceptance::Wider,
            _ => presence,
        },
        "additionalProperties" | "uniqueItems" => match (is_open(word, old), is_open(word, new)) {
            (true, false) => Acceptance::Narrower,
            (false, true) => Acceptance::Wider,
            (true, true) => return None,
            (false, false) => Acceptance::Other,
        },
        _ => presence,
    })
}

/// Returns whether a keyword demands nothing in this form.
fn is_open(word: &str, value: Option<&Value>) -> bool {
    match value {
        None => true,
        Some(Value::Bool(value)) => *value == (word == "additionalProperties"),
        Some(_) => false,
    }
}

fn how(old: Option<&Value>, new: Option<&Value>) -> &'static str {
    match (old, new) {
        (None, _) => "was added",
        (_, None) => "was removed",
        _ => "changed",
    }
}

/// Returns the schema to which a local reference leads, or the schema itself if it refers to none that is known.
pub(super) fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_REFERENCES {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
        let Some(target) = target.and_then(|pointer| root.pointer(pointer)) else { break };
        schema = target;
    }
    schema
}

/// The keywords that demand nothing.
pub(super) const ANNOTATIONS: [&str; 12] = [
    "$comment", "$id", "$schema", "contentEncoding", "contentMediaType", "default", "deprecated",
    "description", "examples", "readOnly", "title", "writeOnly",
];

/// The largest number of pairs of schemas that are compared member by member. Others only may differ or not.
const MAX_SCHEMAS: usize = 10_000;

/// The largest number of schemas within each other that are compared member by member.
const DEEPEST: usize = 128;

/// The largest number of references that are followed one after the other.
const MAX_REFERENCES: usize = 16;
