use std::collections::HashSet;

use mgp_types::{Object, RawJson};

use super::list;

/// What a keyword of a schema holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    /// No schema.
    Value,
    /// A schema or a list of them; if true, one that must not become more permissive.
    Schema(bool),
    /// Schemas by names.
    Named,
}

/// What the keyword `name` holds, `properties` apart.
pub(super) fn inside(name: &str) -> Inside {
    match name {
        "items"
        | "prefixItems"
        | "additionalItems"
        | "additionalProperties"
        | "propertyNames"
        | "anyOf"
        | "allOf"
        | "then"
        | "else" => Inside::Schema(false),
        "oneOf" | "not" | "if" | "contains" | "unevaluatedItems" | "unevaluatedProperties" => {
            Inside::Schema(true)
        }
        "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => Inside::Named,
        _ => Inside::Value,
    }
}

/// The properties without which a call may be refused.
#[derive(Debug)]
pub(super) enum Needed {
    /// Any of them may be among those.
    All,
    /// Those of these names.
    These(HashSet<String>),
}

impl Needed {
    /// Those that a schema requires, in any case or in some.
    pub(super) fn of(members: &Object) -> Self {
        let mut names = HashSet::new();
        if members.contains("minProperties") || !collect(members, 0, &mut names) {
            return Self::All;
        }
        Self::These(names)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.contains(name),
        }
    }
}

/// Notes the names that a schema needs; false if it cannot be told.
fn collect(members: &Object, depth: usize, names: &mut HashSet<String>) -> bool {
    if depth > DEEPEST_CONDITION {
        return false;
    }
    names.extend(members.get("required").and_then(|raw| raw.to::<Vec<String>>().ok()).unwrap_or_default());
    for holder in ["dependentRequired", "dependencies", "dependentSchemas"] {
        let Some(dependent) = members.get(holder).and_then(|raw| Object::from_raw(&raw).ok()) else {
            continue;
        };
        for (name, value) in dependent.iter() {
            names.insert(name.into_owned());
            if let Ok(others) = value.to::<Vec<String>>() {
                names.extend(others);
            } else if !collect_below(&value, depth, names) {
                return false;
            }
        }
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        let Some(raw) = members.get(alternatives) else { continue };
        if !list(&raw).iter().all(|schema| collect_below(schema, depth, names)) {
            return false;
        }
    }
    ["if", "then", "else", "not"]
        .iter()
        .filter_map(|name| members.get(name))
        .all(|schema| collect_below(&schema, depth, names))
}

/// A condition also needs the properties that it looks at.
fn collect_below(schema: &RawJson, depth: usize, names: &mut HashSet<String>) -> bool {
    let Ok(members) = Object::from_raw(schema) else { return true };
    if let Some(properties) = members.get("properties").and_then(|raw| Object::from_raw(&raw).ok()) {
        names.extend(properties.iter().map(|(name, _)| name.into_owned()));
    }
    // What a reference requires is not followed.
    !members.contains("$ref") && collect(&members, depth + 1, names)
}

const DEEPEST_CONDITION: usize = 4;
