use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use super::definitions::HOLDERS;

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

impl References {
    /// The references in compact text from where nothing may become more permissive.
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

    /// The pointers to definitions of the root.
    pub(super) fn pointers(&self) -> impl Iterator<Item = &str> {
        self.pointers.iter().map(String::as_str)
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
