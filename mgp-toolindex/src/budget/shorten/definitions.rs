use std::collections::HashMap;

use mgp_types::{Object, RawJson};

use super::references::References;

/// The members of the root that hold definitions.
pub(super) const HOLDERS: [&str; 2] = ["$defs", "definitions"];

/// The definitions of a schema, by the pointers that refer to them.
#[derive(Debug, Clone)]
pub(super) struct Definitions {
    all: Vec<Definition>,
    places: HashMap<String, usize>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// The member that holds it.
    pub(super) holder: &'static str,
    pub(super) name: String,
    pub(super) schema: RawJson,
    /// Whether it is referred to from where nothing may become more permissive.
    pub(super) fixed: bool,
}

impl Definitions {
    /// Those of a schema whose compact text and members these are.
    pub(super) fn of(text: &[u8], root: &Object) -> Self {
        let mut all = Vec::new();
        for holder in HOLDERS {
            if let Some(held) = root.get(holder).and_then(|raw| Object::from_raw(&raw).ok()) {
                all.extend(held.iter().map(|(name, schema)| Definition {
                    holder,
                    name: name.into_owned(),
                    schema,
                    fixed: false,
                }));
            }
        }
        let places =
            all.iter().enumerate().map(|(place, definition)| (definition.pointer(), place)).collect();
        let mut definitions = Self { all, places };
        let fixed = definitions
            .reached(&References::where_fixed(text), |_, one| References::in_text(one.schema.as_bytes()))
            .into_iter()
            .map(|(place, _)| place)
            .collect::<Vec<_>>();
        for place in fixed {
            definitions.all[place].fixed = true;
        }
        definitions
    }

    /// The schema that a pointer refers to.
    pub(super) fn get(&self, pointer: &str) -> Option<&RawJson> {
        Some(&self.all[*self.places.get(pointer)?].schema)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.all.iter()
    }

    /// The definitions that are reached from some references, and their places, in order; `read` says to which others each
    /// refers.
    pub(super) fn reached(
        &self,
        from: &References,
        mut read: impl FnMut(usize, &Definition) -> References,
    ) -> Vec<(usize, &Definition)> {
        let mut seen = vec![false; self.all.len()];
        let mut waiting: Vec<usize> = Vec::new();
        let mut reached = Vec::new();
        let mut note = |references: &References, waiting: &mut Vec<usize>| {
            for place in references.pointers().filter_map(|pointer| self.places.get(pointer)) {
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

impl Definition {
    fn pointer(&self) -> String {
        format!("#/{}/{}", self.holder, self.name)
    }
}
