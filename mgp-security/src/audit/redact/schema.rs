//! The parts of a tool's schema that tell whether a value is a secret.

use serde_json::Value;

/// The parts of a JSON Schema that apply to one value, as far as they tell whether it is a secret.
///
/// References within the schema are followed, others are not. A schema with more parts to follow than a tool has
/// reason to use makes the value count as a secret. Without a schema nothing is a secret.
#[derive(Debug, Clone, Default)]
pub(super) struct Schemas<'a> {
    root: Option<&'a Value>,
    parts: Vec<&'a Value>,
    /// True if the value is a secret.
    pub(super) is_secret: bool,
}

impl<'a> Schemas<'a> {
    /// Returns the schema `root` for the whole value.
    pub(super) fn of(root: &'a Value) -> Self {
        Self::expanded(Some(root), vec![root])
    }

    /// Returns the parts that apply to the member `name`.
    pub(super) fn member(&self, name: &str) -> Self {
        self.inside(|part| {
            let named = part.get("properties").and_then(|properties| properties.get(name));
            // Patterns are not matched against the name: each counts for all names.
            let patterns = part.get("patternProperties").and_then(Value::as_object);
            let others = ["additionalProperties", "unevaluatedProperties"].map(|of| part.get(of));
            let others = if named.is_some() { [None, None] } else { others };
            named
                .into_iter()
                .chain(patterns.into_iter().flat_map(serde_json::Map::values))
                .chain(others.into_iter().flatten())
                .collect()
        })
    }

    /// Returns the parts that apply to the item at `index`.
    pub(super) fn item(&self, index: usize) -> Self {
        self.inside(|part| {
            let items = part.get("items");
            let prefix = part.get("prefixItems").or_else(|| items.filter(|items| items.is_array()));
            let own = prefix.and_then(|prefix| prefix.get(index));
            let all = items.filter(|items| items.is_object());
            let others = ["contains", "additionalItems", "unevaluatedItems"].map(|of| part.get(of));
            own.into_iter().chain(all).chain(others.into_iter().flatten()).collect()
        })
    }

    fn inside(&self, of: impl Fn(&'a Value) -> Vec<&'a Value>) -> Self {
        if self.parts.is_empty() {
            return Self::default();
        }
        Self::expanded(self.root, self.parts.iter().flat_map(|part| of(part)).collect())
    }

    /// Adds the schemas that the parts refer to or combine.
    fn expanded(root: Option<&'a Value>, mut open: Vec<&'a Value>) -> Self {
        let mut parts: Vec<&Value> = Vec::new();
        while let Some(part) = open.pop() {
            if parts.iter().any(|seen| std::ptr::eq(*seen, part)) {
                continue;
            }
            let is_marked = part.get("writeOnly") == Some(&Value::Bool(true))
                || part.get("format").and_then(Value::as_str) == Some("password");
            if is_marked || parts.len() >= MAX_PARTS {
                return Self { root, parts: Vec::new(), is_secret: true };
            }
            parts.push(part);
            open.extend(["$ref", "$dynamicRef"].iter().filter_map(|name| {
                let reference = part.get(name)?.as_str()?.strip_prefix('#')?;
                root?.pointer(&reference.replace("%25", "%"))
            }));
            let lists = ["allOf", "anyOf", "oneOf"].iter().filter_map(|name| part.get(name)?.as_array());
            open.extend(lists.flatten());
            open.extend(["if", "then", "else", "not"].iter().filter_map(|name| part.get(name)));
            let dependent = part.get("dependentSchemas").and_then(Value::as_object);
            open.extend(dependent.into_iter().flat_map(serde_json::Map::values));
        }
        Self { root, parts, is_secret: false }
    }
}

/// The largest number of parts for one value. Looking for a part among those seen is a linear search, so this also
/// bounds the work.
const MAX_PARTS: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_found_wherever_the_schema_hides_the_mark() {
        let schema = json!({
            "$defs": {"login": {"properties": {"word": {"allOf": [{"type": "string"}, {"format": "password"}]}}}},
            "properties": {
                "plain": {"type": "string"},
                "marked": {"type": "string", "writeOnly": true},
                "login": {"$ref": "#/$defs/login"},
                "list": {"items": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/login"}]}},
                "pair": {"prefixItems": [{}, {"writeOnly": true}]},
            },
            "patternProperties": {"^x": {"properties": {"deep": {"writeOnly": true}}}},
            "if": {"properties": {"kind": {}}}, "then": {"properties": {"later": {"writeOnly": true}}},
        });
        let root = Schemas::of(&schema);
        assert!(!root.is_secret && !root.member("plain").is_secret);
        assert!(root.member("marked").is_secret);
        assert!(root.member("login").member("word").is_secret);
        assert!(root.member("list").item(7).member("word").is_secret);
        assert!(!root.member("pair").item(0).is_secret && root.member("pair").item(1).is_secret);
        assert!(root.member("x1").member("deep").is_secret);
        assert!(root.member("later").is_secret);
        assert!(!root.member("unknown").is_secret);
    }

    #[test]
    fn a_schema_that_goes_round_ends() {
        let schema = json!({
            "$ref": "#", "allOf": [{"$ref": "#/allOf/0"}],
            "properties": {"child": {"$ref": "#"}, "word": {"writeOnly": true}}
        });
        let mut at = Schemas::of(&schema);
        for _ in 0..100 {
            at = at.member("child");
        }
        assert!(at.member("word").is_secret);
    }

    #[test]
    fn a_schema_with_too_much_to_follow_makes_a_secret_of_everything() {
        let parts: Vec<_> = (0..1_000).map(|number| json!({"title": number})).collect();
        assert!(Schemas::of(&json!({"anyOf": parts})).is_secret);
    }
}
