//! The pinned form of a definition: its canonical form, digest and name.

use mgp_types::canonical::{CanonicalError, CanonicalTree, Digest};
use mgp_types::{Object, RawJson};

use super::{DefinitionKind, DefinitionName};

/// A definition as it is pinned: everything that a model reads or that decides about calls, in canonical form.
///
/// The form contains all members, those that no specification defines yet included: a client may show a model the whole
/// object, and people recognise a tool or prompt by its icon. Only members that control nothing but caching, and stamps
/// of the list, are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    name: DefinitionName,
    digest: Digest,
    canonical: RawJson,
}

impl Definition {
    /// Reads the pinned form of `listed`, a definition of the kind `kind`.
    ///
    /// # Errors
    /// Fails if the definition has no name, or no canonical form.
    pub fn read(kind: DefinitionKind, listed: &Object) -> Result<Self, DefinitionError> {
        let CanonicalTree::Object(mut members) = CanonicalTree::read(&listed.to_raw())? else {
            return Err(DefinitionError::NoName);
        };
        // No model reads these, and they decide nothing.
        members.retain(|(member, _)| !matches!(member.as_str(), "ttlMs" | "cacheScope"));
        for (member, value) in &mut members {
            if member == "_meta"
                && let CanonicalTree::Object(entries) = value
            {
                entries.retain(|(key, _)| !is_stamp(key));
            }
        }
        // A server that adds an empty `_meta` or list of icons has changed nothing.
        members.retain(|(member, value)| member != "icons" || *value != CanonicalTree::Array(Vec::new()));
        members.retain(|(member, value)| member != "_meta" || *value != CanonicalTree::Object(Vec::new()));
        Self::from_members(kind, members)
    }

    /// Restores a definition that was pinned before, from the bytes that [`canonical`](Self::canonical) returned.
    ///
    /// # Errors
    /// Fails if the bytes are not those of a definition in canonical form.
    pub fn restore(kind: DefinitionKind, canonical: &RawJson) -> Result<Self, DefinitionError> {
        match CanonicalTree::read(canonical)? {
            CanonicalTree::Object(members) => Self::from_members(kind, members),
            _ => Err(DefinitionError::NoName),
        }
    }

    /// Returns the kind and name of the definition.
    pub const fn name(&self) -> &DefinitionName {
        &self.name
    }

    /// Returns the digest of the canonical form.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the canonical form.
    pub fn canonical(&self) -> &RawJson {
        &self.canonical
    }

    fn from_members(
        kind: DefinitionKind,
        members: Vec<(String, CanonicalTree)>,
    ) -> Result<Self, DefinitionError> {
        let name = members.iter().find_map(|(member, value)| match value {
            CanonicalTree::Text(name) if member == kind.name_member() => {
                Some(DefinitionName::new(kind, name.as_str()))
            }
            _ => None,
        });
        let bytes = CanonicalTree::Object(members).to_bytes();
        let name = name.ok_or(DefinitionError::NoName)?;
        Ok(Self { name, digest: Digest::of_canonical(&bytes), canonical: RawJson::from_written(bytes) })
    }
}

/// The reason why an object is not a definition that can be pinned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The member that names the definition (`name`, `uriTemplate`, `uri`) is missing, or not a text.
    #[error("the definition has no name")]
    NoName,
    /// The definition has no canonical form.
    #[error("the definition cannot be hashed")]
    Canonical(#[from] CanonicalError),
}

/// Returns whether a key of `_meta` says when or on whose behalf the list was made, rather than something about the
/// tool.
fn is_stamp(key: &str) -> bool {
    let last = key.rsplit(['/', '.']).next().unwrap_or(key);
    let word: String =
        last.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    STAMPS.contains(&word.as_str())
}

const STAMPS: &[&str] = &[
    "baggage", "cachedat", "cachescope", "etag", "fetchedat", "generatedat", "lastmodified", "progresstoken",
    "requestid", "timestamp", "traceparent", "tracestate", "ttl", "ttlms", "updatedat",
];

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"name":"read","title":"Read","description":"Reads.","inputSchema":{"type":"object"},
        "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"execution":{"taskSupport":"optional"},
        "security":{"risk_level":"safe"},"_meta":{"_mgp":{"admin_only":true},"example.com/etag":"1"},"icons":[]}"#;

    fn changed(member: &'static str, value: &str) -> Digest {
        let mut tool = Object::parse(TOOL).unwrap();
        tool.set(member, RawJson::parse(value.to_owned()).unwrap());
        Definition::read(DefinitionKind::Tool, &tool).unwrap().digest()
    }

    fn unchanged() -> Digest {
        Definition::read(DefinitionKind::Tool, &Object::parse(TOOL).unwrap()).unwrap().digest()
    }

    #[test]
    fn every_member_that_is_read_or_decides_counts() {
        for (member, value) in [
            ("name", r#""read2""#),
            ("title", r#""Reed""#),
            ("description", r#""Reads.\u200b""#),
            ("inputSchema", r#"{"type":"object","properties":{"x":{}}}"#),
            ("outputSchema", r#"{"type":"object","title":"x"}"#),
            ("annotations", r#"{"readOnlyHint":true,"destructiveHint":true}"#),
            ("execution", r#"{"taskSupport":"required"}"#),
            ("security", r#"{"risk_level":"moderate"}"#),
            ("_meta", r#"{"_mgp":{"admin_only":false}}"#),
            ("not_known_yet", "1"),
            ("icons", r#"[{"src":"https://example.com/a.png"}]"#),
        ] {
            assert_ne!(changed(member, value), unchanged(), "{member}");
        }
    }

    #[test]
    fn stamps_and_spelling_do_not_count() {
        for (member, value) in [
            ("icons", "[]"),
            ("ttlMs", "5"),
            (
                "_meta",
                r#"{"example.com/etag":"2","cached_at":5,"traceparent":"00-1-2-03","_mgp":{"admin_only":true}}"#,
            ),
            ("security", r#"{ "risk_level" : "s\u0061fe" }"#),
        ] {
            assert_eq!(changed(member, value), unchanged(), "{member}");
        }
    }

    #[test]
    fn a_definition_is_restored_from_its_canonical_form() {
        let template = r#"{"uriTemplate":"file:///{path}","name":"files"}"#;
        for (kind, json) in [(DefinitionKind::Tool, TOOL), (DefinitionKind::Template, template)] {
            let definition = Definition::read(kind, &Object::parse(json).unwrap()).unwrap();
            assert_eq!(Definition::restore(kind, definition.canonical()).unwrap(), definition);
        }
    }

    #[test]
    fn a_definition_without_a_name_is_none() {
        for json in ["{}", r#"{"name":1}"#, r#"{"title":"name"}"#] {
            let read = Definition::read(DefinitionKind::Tool, &Object::parse(json).unwrap());
            assert_eq!(read, Err(DefinitionError::NoName));
        }
    }
}
