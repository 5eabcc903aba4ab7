use std::borrow::Cow;
use std::collections::HashSet;

use mgp_types::{Object, RawJson};
use serde_json::value::RawValue;

/// The members of the root that hold definitions.
pub(super) const HOLDERS: [&str; 2] = ["$defs", "definitions"];

/// To which places a schema refers.
///
/// They are found in the text, wherever they stand: what only looks like a reference keeps a definition for nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    /// Pointers like `#/$defs/Name`.
    pointers: HashSet<String>,
    /// Whether places are referred to that are no definitions of the root, or in a way that is not followed here.
    obscure: bool,
}

/// The definitions of the root: who holds each, and its name.
pub(super) fn definitions(root: &Object) -> Vec<(&'static str, String, RawJson)> {
    let mut all = Vec::new();
    for holder in HOLDERS {
        if let Some(held) = root.get(holder).and_then(|raw| Object::from_raw(&raw).ok()) {
            all.extend(held.iter().map(|(name, raw)| (holder, name.into_owned(), raw)));
        }
    }
    all
}

pub(super) fn pointer(holder: &str, name: &str) -> String {
    format!("#/{holder}/{name}")
}

/// The definitions that stand, by reference, where nothing may become more permissive.
pub(super) fn fixed_definitions(schema: &RawJson, root: &Object) -> HashSet<String> {
    let text = String::from_utf8_lossy(schema.as_bytes());
    let mut fixed = HashSet::new();
    for keyword in FIXING {
        for (at, found) in text.match_indices(keyword) {
            let mut values =
                serde_json::Deserializer::from_str(&text[at + found.len()..]).into_iter::<&RawValue>();
            if let Some(Ok(value)) = values.next() {
                fixed.extend(References::in_text(value.get().as_bytes()).pointers);
            }
        }
    }
    let mut waiting = definitions(root);
    loop {
        let (reached, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(holder, name, _)| fixed.contains(&pointer(holder, name)));
        if reached.is_empty() {
            return fixed;
        }
        waiting = rest;
        for (_, _, raw) in reached {
            fixed.extend(References::in_text(raw.as_bytes()).pointers);
        }
    }
}

impl References {
    /// The references in compact text.
    pub(super) fn in_text(text: &[u8]) -> Self {
        let mut found = Self::default();
        let text = String::from_utf8_lossy(text);
        for (at, _) in text.match_indices(REFERENCE) {
            let value = &text[at + REFERENCE.len() - 1..];
            // The string that the text goes on with; what is behind it does not matter.
            let pointer = serde_json::Deserializer::from_str(value).into_iter::<Cow<'_, str>>().next();
            match pointer {
                Some(Ok(pointer)) => found.add(&pointer),
                _ => found.obscure = true,
            }
        }
        found.obscure |= OBSCURE.iter().any(|word| text.contains(word));
        found
    }

    /// Whether the places of the schema have to stay where they are.
    pub(super) const fn are_obscure(&self) -> bool {
        self.obscure
    }

    /// Whether the definition `name` of `holder` is referred to.
    pub(super) fn name(&self, holder: &str, name: &str) -> bool {
        self.pointers.contains(&pointer(holder, name))
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.pointers.extend(other.pointers);
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

const REFERENCE: &str = r#""$ref":""#;

/// What gives names to places, refers to them otherwise, or hides the word.
const OBSCURE: [&str; 9] = [
    r#""$id":"#,
    r#""$anchor":"#,
    r#""$dynamicAnchor":"#,
    r#""$dynamicRef":"#,
    r#""$recursiveRef":"#,
    r"\u0024",
    r#""$vocabulary":"#,
    r#""unevaluatedProperties":"#,
    r#""unevaluatedItems":"#,
];

/// What makes that more permissive schemas within it forbid more.
const FIXING: [&str; 4] = [r#""oneOf":"#, r#""not":"#, r#""if":"#, r#""contains":"#];
