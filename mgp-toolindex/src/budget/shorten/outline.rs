//! Outlines of parameters, without their inner structure.

use mgp_types::{Object, RawJson};

use super::definitions::SchemaDefinitions;
use super::places::HEADER;
use super::{Member, array, clip, list, object};

/// The part of a parameter that stays without its inner structure. The outline allows all that the parameter's own
/// schema allows.
#[derive(Debug, Default)]
pub(super) struct Outline {
    description: String,
    /// The note in place of a long list of values.
    note: String,
    /// The members that are kept unchanged.
    plain: Vec<(&'static str, RawJson)>,
    items: Option<Box<Self>>,
    any_of: Vec<Self>,
}

const DEEPEST: usize = 2;
const MAX_ALTERNATIVES: usize = 8;
const KEPT: [&str; 7] = ["type", "format", "const", "minimum", "maximum", "nullable", HEADER];

impl Outline {
    /// Returns the outline of a schema; references are followed into the definitions.
    pub(super) fn of(schema: &RawJson, definitions: &SchemaDefinitions) -> Self {
        Self::at(schema, definitions, 0)
    }

    /// Returns the outline as a schema, with so many characters of each description.
    pub(super) fn write(&self, words: usize) -> RawJson {
        let mut members: Vec<Member<'_>> =
            self.plain.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let description = format!("{}{}", clip(&self.description, words), self.note);
        if !description.is_empty() {
            members.push(("description".into(), RawJson::from_text(description.trim_start())));
        }
        members.extend(self.items.iter().map(|items| ("items".into(), items.write(words))));
        if !self.any_of.is_empty() {
            members.push(("anyOf".into(), array(self.any_of.iter().map(|outline| outline.write(words)))));
        }
        object(&members)
    }

    fn at(schema: &RawJson, definitions: &SchemaDefinitions, depth: usize) -> Self {
        let Ok(members) = Object::from_raw(schema) else { return Self::default() };
        let mut outline =
            Self { description: members.text("description").unwrap_or_default().into(), ..Self::default() };
        for name in KEPT {
            outline.plain.extend(members.get(name).map(|value| (name, value)));
        }
        if is_long(&members) {
            outline.note = note(&members);
        } else {
            outline.plain.extend(members.get("enum").map(|value| ("enum", value)));
        }
        if depth == DEEPEST {
            return outline;
        }
        let below = |schema: &RawJson| Self::at(schema, definitions, depth + 1);
        outline.items = members.get("items").filter(RawJson::is_object).map(|items| Box::new(below(&items)));
        let alternatives = members.get("anyOf").or_else(|| members.get("oneOf")).map(|raw| list(&raw));
        if let Some(alternatives) = alternatives.filter(|list| list.len() <= MAX_ALTERNATIVES) {
            outline.any_of = alternatives.iter().map(below).collect();
        }
        if let Some(target) = same_as(&members, definitions) {
            outline.add(below(&target));
        }
        outline
    }

    /// Adds the demands of another schema that has to be met too.
    fn add(&mut self, other: Self) {
        if self.description.is_empty() {
            self.description = other.description;
        }
        if self.note.is_empty() {
            self.note = other.note;
        }
        for (name, value) in other.plain {
            if !self.plain.iter().any(|(own, _)| *own == name) {
                self.plain.push((name, value));
            }
        }
        self.items = self.items.take().or(other.items);
        if self.any_of.is_empty() {
            self.any_of = other.any_of;
        }
    }
}

/// Returns the schema that a schema refers to, or the only one that it combines.
fn same_as(members: &Object, definitions: &SchemaDefinitions) -> Option<RawJson> {
    if let Some(pointer) = members.text("$ref") {
        return definitions.get(&pointer).cloned();
    }
    let mut all = list(&members.get("allOf")?);
    if all.len() == 1 { all.pop() } else { None }
}

const FEW_BYTES: usize = 120;

/// The number of values up to which a list is short; a list is also short by its length.
const FEW_VALUES: usize = 16;

/// Returns whether a schema lists so many values that a note with examples replaces them.
pub(super) fn is_long(members: &Object) -> bool {
    members.get("enum").is_some_and(|raw| raw.as_bytes().len() > FEW_BYTES && list(&raw).len() > FEW_VALUES)
}

const EXAMPLES: usize = 6;

/// Returns the note that names some values of a schema.
pub(super) fn note(members: &Object) -> String {
    let values = members.get("enum").map(|raw| list(&raw)).unwrap_or_default();
    let some: Vec<String> = values.iter().take(EXAMPLES).map(plain).collect();
    format!(" (one of {} values, like {})", values.len(), some.join(", "))
}

/// Returns whether all values are strings.
pub(super) fn all_text(values: &RawJson) -> bool {
    list(values).iter().all(|value| value.as_bytes().first() == Some(&b'"'))
}

const LONGEST_EXAMPLE: usize = 24;

fn plain(value: &RawJson) -> String {
    let text = value.to_text().unwrap_or_else(|| String::from_utf8_lossy(value.as_bytes()).into_owned());
    clip(&text, LONGEST_EXAMPLE).into_owned()
}
