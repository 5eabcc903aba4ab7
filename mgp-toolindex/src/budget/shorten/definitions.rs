//! The definitions of a schema under `$defs` and `definitions`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mgp_types::{Object, RawJson};
use serde_json::value::RawValue;

/// The members of the root that hold definitions.
pub(super) const HOLDERS: [&str; 2] = ["$defs", "definitions"];

/// The definitions of a schema, by the pointers that refer to them.
#[derive(Debug, Clone)]
pub(super) struct SchemaDefinitions {
    pub(super) all: Vec<SchemaDefinition>,
    places: HashMap<String, usize>,
}

/// A definition of a schema.
#[derive(Debug, Clone)]
pub(super) struct SchemaDefinition {
    /// The member that holds the definition.
    pub(super) holder: &'static str,
    pub(super) name: String,
    pub(super) schema: RawJson,
    /// Set if a place refers to the definition in which nothing may become more permissive.
    pub(super) fixed: bool,
}

impl SchemaDefinitions {
    /// Returns the definitions of a schema, given as compact text and as members.
    pub(super) fn of(text: &[u8], root: &Object) -> Self {
        let mut all = Vec::new();
        for holder in HOLDERS {
            if let Some(held) = root.object(holder) {
                all.extend(held.iter().map(|(name, schema)| {
                    let name = name.into_owned();
                    SchemaDefinition { holder, name, schema, fixed: false }
                }));
            }
        }
        let places =
            all.iter().enumerate().map(|(place, definition)| (definition.pointer(), place)).collect();
        let mut definitions = Self { all, places };
        let from = References::where_fixed(text);
        let fixed = definitions.reached(&from, |_, one| References::in_text(one.schema.as_bytes()));
        let fixed: Vec<usize> = fixed.into_iter().map(|(place, _)| place).collect();
        for place in fixed {
            definitions.all[place].fixed = true;
        }
        definitions
    }

    /// Returns the schema that a pointer refers to.
    pub(super) fn get(&self, pointer: &str) -> Option<&RawJson> {
        Some(&self.all[*self.places.get(pointer)?].schema)
    }

    /// Returns the definitions that are reached from some references, with their places, in order; `read` returns the
    /// references of each.
    pub(super) fn reached(
        &self,
        from: &References,
        mut read: impl FnMut(usize, &SchemaDefinition) -> References,
    ) -> Vec<(usize, &SchemaDefinition)> {
        let mut seen = vec![false; self.all.len()];
        let mut waiting: Vec<usize> = Vec::new();
        let mut reached = Vec::new();
        let mut note = |references: &References, waiting: &mut Vec<usize>| {
            for place in references.pointers.iter().filter_map(|pointer| self.places.get(pointer)) {
                if !std::mem::replace(&mut seen[*place], true) {
                    waiting.push(*place);
                }
            }
        };
        note(from, &mut waiting);
        while let Some(place) = waiting.pop() {
            reached.push((place, &self.all[place]));
            note(&read(place, &self.all[place]), &mut waiting);
        }
        reached.sort_unstable_by_key(|(place, _)| *place);
        reached
    }
}

impl SchemaDefinition {
    fn pointer(&self) -> String {
        format!("#/{}/{}", self.holder, self.name)
    }
}

/// The places to which a schema refers.
///
/// References are found in the text, wherever they stand: text that only looks like a reference keeps a definition
/// without need.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    /// The pointers, such as `#/$defs/Name`.
    pointers: HashSet<String>,
    /// Set if a reference leads to a place that is no definition of the root, or has a form that is not followed here.
    pub(super) obscure: bool,
}

/// The keywords below which more permissive schemas forbid more.
const FIXING: [&str; 4] = [r#""oneOf":"#, r#""not":"#, r#""if":"#, r#""contains":"#];

/// The keywords that name places, refer to them in another way, or hide such a keyword.
const OBSCURE: [&str; 9] = [
    r#""$id":"#, r#""$anchor":"#, r#""$dynamicAnchor":"#, r#""$dynamicRef":"#, r#""$recursiveRef":"#,
    r"\u0024", r#""$vocabulary":"#, r#""unevaluatedProperties":"#, r#""unevaluatedItems":"#,
];

const REFERENCE: &str = r#""$ref":""#;

impl References {
    /// Returns the references in compact text from places in which nothing may become more permissive.
    pub(super) fn where_fixed(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text);
        let mut found = Self::default();
        for keyword in FIXING {
            for (at, keyword) in text.match_indices(keyword) {
                let rest = serde_json::Deserializer::from_str(&text[at + keyword.len()..]);
                if let Some(Ok(value)) = rest.into_iter::<&RawValue>().next() {
                    found.pointers.extend(Self::in_text(value.get().as_bytes()).pointers);
                }
            }
        }
        found
    }

    /// Returns the references in compact text.
    pub(super) fn in_text(text: &[u8]) -> Self {
        let mut found = Self::default();
        let text = String::from_utf8_lossy(text);
        for (at, _) in text.match_indices(REFERENCE) {
            let value = &text[at + REFERENCE.len() - 1..];
            // The text begins with a string; the parts behind it do not matter.
            let pointer = serde_json::Deserializer::from_str(value).into_iter::<Cow<'_, str>>().next();
            match pointer {
                Some(Ok(pointer)) => found.add(&pointer),
                _ => found.obscure = true,
            }
        }
        found.obscure |= OBSCURE.iter().any(|word| text.contains(word));
        found
    }

    fn add(&mut self, pointer: &str) {
        if pointer.contains(['%', '~']) {
            self.obscure = true;
        }
        let definition = pointer.strip_prefix("#/").and_then(|path| path.split_once('/'));
        match definition {
            Some((holder, name)) if HOLDERS.contains(&holder) && !name.contains('/') => {
                self.pointers.insert(pointer.into());
            }
            _ => self.obscure |= pointer != "#",
        }
    }
}
