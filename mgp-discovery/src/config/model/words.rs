//! The schemas of words that are defined in `mgp-types`.

use mgp_types::mgp::{Extension, Permission};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

pub(super) fn trust_level(_: &mut SchemaGenerator) -> Schema {
    // The last three are the words of later drafts for the same levels.
    one_of(&["trusted", "standard", "sandboxed", "core", "experimental", "untrusted"])
}

pub(super) fn restart_policy(_: &mut SchemaGenerator) -> Schema {
    one_of(&["never", "on_failure", "always"])
}

/// Returns a closed list of validators, because an unknown validator cannot be applied.
pub(super) fn validators(_: &mut SchemaGenerator) -> Schema {
    let each = one_of(&["sandbox", "readonly", "network_restricted", "code_safety", "none"]);
    json_schema!({ "type": "array", "items": each })
}

pub(super) fn permission(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = Permission::KNOWN.iter().map(Permission::as_str).collect();
    some_of(&words)
}

pub(super) fn permissions(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": permission(generator) })
}

pub(super) fn extensions(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = Extension::STANDARD.iter().map(Extension::as_str).collect();
    json_schema!({ "type": "array", "items": some_of(&words) })
}

/// Adds the names that the revisions of MCP give to Streamable HTTP.
pub(super) fn transport_aliases(schema: &mut Schema) {
    if let Some(Value::Array(words)) = schema.get_mut("oneOf") {
        for alias in ["streamable-http", "streamable_http"] {
            words.push(json!({ "type": "string", "const": alias, "description": "The same as `http`." }));
        }
    }
}

fn one_of(words: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}

/// Returns the schema of a text that is one of the known words, or a word that another party defines.
fn some_of(words: &[&str]) -> Schema {
    json_schema!({ "anyOf": [{ "type": "string", "enum": words }, { "type": "string" }] })
}
