//! The cost of checking a value against a schema, counted before it is checked: a few references can double the work with
//! each level, and no validator of JSON Schema can be stopped once it has begun.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SchemaFault;
use crate::percent::percent_decoded;

/// The cost of checks against one schema, in steps: one for each part of the schema that is applied to a part of a value.
/// It is counted as if every alternative were tried and every pattern matched, so no check takes more.
#[derive(Debug)]
pub(super) struct CheckCost {
    pub(super) schema: Value,
    /// The steps for a value without parts; `None` for a schema that refers to itself, whose steps depend on the depth of
    /// the value.
    expansion: Option<u64>,
}

impl CheckCost {
    /// Measures a schema.
    ///
    /// # Errors
    /// Fails if a check could take too many steps whatever it checks.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaFault> {
        let places = Places::of(schema);
        let mut expansion = Expansion { places: &places, known: HashMap::new(), is_recursive: false };
        let steps = expansion.steps(schema)?;
        if steps > MAX_EXPANSION {
            return Err(SchemaFault(TOO_LARGE.to_owned()));
        }
        let expansion = if expansion.is_recursive { None } else { Some(steps) };
        Ok(Self { schema: schema.clone(), expansion })
    }

    /// Returns whether a check of `value` takes no more steps than its size explains.
    pub(super) fn is_bearable(&self, value: &Value) -> bool {
        let most = (STEPS_OF_SMALL + STEPS_A_PART * parts(value).min(MAX_STEPS)).min(MAX_STEPS);
        self.steps(value, most).is_some()
    }

    /// Returns the number of steps that a check of `value` takes, if it is no more than `most`.
    pub(super) fn steps(&self, value: &Value, most: u64) -> Option<u64> {
        let parts = parts(value);
        if parts > most {
            return None;
        }
        let bound = parts.saturating_mul(self.expansion.unwrap_or(u64::MAX));
        if bound <= SURELY_FEW.min(most) {
            return Some(bound);
        }
        let walk = Walk { places: Places::of(&self.schema), left: Cell::new(most) };
        walk.check(&self.schema, value, 0)?;
        Some(most - walk.left.get())
    }
}

/// Returns the number of values within `value`, itself included, and of pieces of its texts. Parsed values nest no deeper
/// than their parser does.
fn parts(value: &Value) -> u64 {
    let within: u64 = match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(members) => members.values().map(parts).sum(),
        _ => 0,
    };
    1 + pieces(value) + within
}

/// Returns the number of steps that reading a text takes beyond one.
fn pieces(value: &Value) -> u64 {
    value.as_str().map_or(0, |text| (text.len() / PIECE_BYTES) as u64)
}

/// The places of a schema to which references can lead.
struct Places<'a> {
    root: &'a Value,
    /// The places that have a name, of which several can end alike.
    named: HashMap<&'a str, Vec<&'a Value>>,
    /// The schemas with a name of their own by the schemas within them: pointers begin there.
    bases: HashMap<*const Map<String, Value>, &'a Value>,
}

impl<'a> Places<'a> {
    fn of(root: &'a Value) -> Self {
        let mut places = Self { root, named: HashMap::new(), bases: HashMap::new() };
        let mut waiting = vec![(root, root)];
        while let Some((schema, mut base)) = waiting.pop() {
            match schema {
                Value::Array(items) => waiting.extend(items.iter().map(|item| (item, base))),
                Value::Object(members) => {
                    for name in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                        if let Some(Value::String(text)) = members.get(name) {
                            places.named.entry(last_part(text)).or_default().push(schema);
                            if !name.ends_with("nchor") && !text.starts_with('#') {
                                base = schema;
                            }
                        }
                    }
                    if !std::ptr::eq(base, root) {
                        let _ = places.bases.insert(members, base);
                    }
                    waiting.extend(members.values().map(|member| (member, base)));
                }
                _ => {}
            }
        }
        places
    }

    /// Returns the schemas that `schema` refers to; for a reference that can be read in several ways, all of them.
    fn referred(&self, schema: &Map<String, Value>) -> Result<Vec<&'a Value>, SchemaFault> {
        let references =
            ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().filter_map(|name| schema.get(name));
        let mut referred: Vec<&'a Value> = Vec::new();
        for reference in references.filter_map(Value::as_str) {
            let base = self.bases.get(&std::ptr::from_ref(schema)).copied();
            let found = self.find(reference, base);
            if found.is_empty() {
                return Err(SchemaFault(format!("its reference {reference:?} leads nowhere")));
            }
            for place in found {
                if !referred.iter().any(|known| std::ptr::eq(*known, place)) {
                    referred.push(place);
                }
            }
        }
        Ok(referred)
    }

    fn find(&self, reference: &str, base: Option<&'a Value>) -> Vec<&'a Value> {
        let (document, place) = reference.split_once('#').unwrap_or((reference, ""));
        if document.contains(METASCHEMAS) {
            return vec![&Value::Bool(true)];
        }
        let documents = match document {
            "" => base.into_iter().chain([self.root]).collect(),
            document => self.named(last_part(document)),
        };
        match percent_decoded(place).as_deref().unwrap_or(place) {
            "" if document.is_empty() => vec![base.unwrap_or(self.root)],
            "" => documents,
            place if place.starts_with('/') => {
                documents.into_iter().filter_map(|document| document.pointer(place)).collect()
            }
            name => self.named(name),
        }
    }

    fn named(&self, name: &str) -> Vec<&'a Value> {
        self.named.get(name).cloned().unwrap_or_default()
    }
}

/// Returns the part of a name of a schema that relative references repeat.
fn last_part(name: &str) -> &str {
    name.trim_end_matches('#').rsplit(['/', '#']).next().unwrap_or(name)
}

/// The part of a value that a part of a schema is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AppliedTo<'a> {
    /// The value itself.
    Itself,
    /// The member of the object that has this name.
    Member(&'a str),
    /// The item of the list at this place.
    Item(usize),
    /// All its members.
    Members,
    /// All its items.
    Items,
}

/// Returns each schema within `schema`, with the part of the value that it is applied to.
fn applied(schema: &Map<String, Value>) -> Vec<(&Value, AppliedTo<'_>)> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                found.extend(all.iter().map(|one| (one, AppliedTo::Itself)));
            }
            ("not" | "if" | "then" | "else", one) => found.push((one, AppliedTo::Itself)),
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                found.extend(all.values().map(|one| (one, AppliedTo::Itself)));
            }
            ("properties", Value::Object(all)) => {
                found.extend(all.iter().map(|(name, one)| (one, AppliedTo::Member(name))));
            }
            ("patternProperties", Value::Object(all)) => {
                found.extend(all.values().map(|one| (one, AppliedTo::Members)));
            }
            ("additionalProperties" | "unevaluatedProperties" | "propertyNames", one) => {
                found.push((one, AppliedTo::Members));
            }
            ("prefixItems" | "items", Value::Array(all)) => {
                found.extend(all.iter().enumerate().map(|(at, one)| (one, AppliedTo::Item(at))));
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", one) => {
                found.push((one, AppliedTo::Items));
            }
            _ => {}
        }
    }
    found
}

/// Returns how often the parts of a schema are applied: what is left over by others is found out by applying them again.
fn times(schema: &Map<String, Value>) -> u64 {
    let is_again = |name: &&str| schema.contains_key(*name);
    1 + ["unevaluatedProperties", "unevaluatedItems"].iter().filter(|name| is_again(name)).count() as u64
}

/// The search for the steps that a schema takes for a value without parts, references unfolded.
struct Expansion<'a> {
    places: &'a Places<'a>,
    /// The steps of each part that was measured; `None` while it is.
    known: HashMap<*const Value, Option<u64>>,
    is_recursive: bool,
}

impl<'a> Expansion<'a> {
    fn steps(&mut self, schema: &'a Value) -> Result<u64, SchemaFault> {
        let Value::Object(members) = schema else { return Ok(1) };
        match self.known.get(&std::ptr::from_ref(schema)) {
            Some(Some(known)) => return Ok(*known),
            // The place is being measured, so the schema refers to itself. Its cost depends on the value.
            Some(None) => {
                self.is_recursive = true;
                return Ok(1);
            }
            None => {}
        }
        let _ = self.known.insert(schema, None);
        let referred = self.places.referred(members)?.into_iter();
        let mut inner = referred.chain(applied(members).into_iter().map(|(one, _)| one));
        let sum =
            inner.try_fold(0, |sum: u64, one| self.steps(one).map(|steps| sum.saturating_add(steps)))?;
        let steps = sum.saturating_mul(times(members)).saturating_add(1);
        let _ = self.known.insert(schema, Some(steps));
        Ok(steps)
    }
}

/// A walk through a schema and a value as a check makes it, for as long as steps are left.
struct Walk<'a> {
    places: Places<'a>,
    left: Cell<u64>,
}

impl<'a> Walk<'a> {
    /// Takes the steps of a check; `None` if they are too many, or too deep.
    fn check(&self, schema: &'a Value, value: &Value, depth: usize) -> Option<()> {
        self.left.set(self.left.get().checked_sub(1 + pieces(value))?);
        let Value::Object(members) = schema else { return Some(()) };
        if depth > MAX_DEPTH {
            return None;
        }
        for _ in 0..times(members) {
            let mut referred = self.places.referred(members).ok()?.into_iter();
            referred.try_for_each(|one| self.check(one, value, depth + 1))?;
            applied(members).into_iter().try_for_each(|(one, to)| self.apply(one, to, value, depth + 1))?;
        }
        Some(())
    }

    fn apply(&self, schema: &'a Value, to: AppliedTo<'a>, value: &Value, depth: usize) -> Option<()> {
        let check = |value: &Value| self.check(schema, value, depth);
        match (to, value) {
            (AppliedTo::Itself, value) => check(value),
            (AppliedTo::Member(name), Value::Object(members)) => members.get(name).map_or(Some(()), check),
            (AppliedTo::Members, Value::Object(members)) => members.values().try_for_each(check),
            (AppliedTo::Item(at), Value::Array(items)) => items.get(at).map_or(Some(()), check),
            (AppliedTo::Items, Value::Array(items)) => items.iter().try_for_each(check),
            _ => Some(()),
        }
    }
}

/// The fault of a schema that nothing can be checked against in time.
pub(super) const TOO_LARGE: &str = "its references unfold to more than can be checked";

/// The largest number of steps that a schema may take for a value without parts: ten times those of the largest schemas
/// that are in use.
const MAX_EXPANSION: u64 = 100_000;

/// The largest number of steps of a check: a tenth of a second.
const MAX_STEPS: u64 = 1_000_000;

/// The number of steps that a check of the smallest value may take, and the number that it may take for each part more.
const STEPS_OF_SMALL: u64 = 50_000;
const STEPS_A_PART: u64 = 50;

/// The number of steps up to which an estimate is good enough.
const SURELY_FEW: u64 = 10_000;

/// The host of the schemas of schemas, which every validator knows.
const METASCHEMAS: &str = "//json-schema.org/";

/// The deepest nesting of schemas in a check.
const MAX_DEPTH: usize = 400;

/// The length of text that is read in one step, in bytes.
const PIECE_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A chain of definitions, each of which applies the one before twice.
    fn doubled(levels: usize, keyword: &str) -> Value {
        let twice = |level: usize| json!([{"$ref": format!("#/$defs/d{level}")}, {"$ref": format!("#/$defs/d{level}")}]);
        let mut defs = json!({"d0": {"type": "object", "required": ["zz"]}});
        for level in 1..levels {
            defs[format!("d{level}")] = json!({keyword: twice(level - 1)});
        }
        json!({"type": "object", "$defs": defs, keyword: twice(levels - 1)})
    }

    #[test]
    fn a_schema_that_unfolds_without_end_is_refused() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            assert!(CheckCost::of(&doubled(28, keyword)).is_err(), "{keyword}");
            assert!(CheckCost::of(&doubled(8, keyword)).is_ok(), "{keyword}");
        }
        assert!(CheckCost::of(&json!({"$ref": "#/$defs/none"})).is_err());
        for named in [
            json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a"}}}),
            json!({"$ref": "x.json", "$defs": {"x": {"$id": "https://a.example/x.json"}}}),
            json!({"properties": {"a/b": {"type": "string"}, "c": {"$ref": "#/properties/a~1b"}}}),
            json!({"properties": {"x": {"$id": "https://a.example/x", "$ref": "#/$defs/y", "$defs": {"y": true}}}}),
            json!({"properties": {"a b": true, "c": {"$ref": "#/properties/a%20b"}}}),
        ] {
            assert!(CheckCost::of(&named).is_ok(), "{named}");
        }
    }

    #[test]
    fn the_cost_of_a_schema_that_refers_to_itself_grows_with_the_depth_of_the_value() {
        let filter = json!({"properties": {"filter": {"$ref": "#/$defs/f"}}, "$defs": {
            "f": {"properties": {"not": {"anyOf": [{"$ref": "#/$defs/f"}, {"$ref": "#/$defs/g"}]}}, "required": ["op"]},
            "g": {"properties": {"not": {"anyOf": [{"$ref": "#/$defs/f"}, {"$ref": "#/$defs/g"}]}}, "required": ["name"]},
        }});
        let cost = CheckCost::of(&filter).unwrap();
        let nested = |depth| (0..depth).fold(json!({"op": "x"}), |inner, _| json!({"not": inner}));
        let steps = |depth| cost.steps(&json!({"filter": nested(depth)}), 1_000_000);
        assert!(steps(3).unwrap() < steps(6).unwrap());
        assert_eq!(steps(26), None);
        let tree =
            CheckCost::of(&json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}})).unwrap();
        assert!(tree.steps(&json!({"left": {"left": {}}, "right": {}}), 100).is_some());
        let itself = CheckCost::of(&json!({"$ref": "#"})).unwrap();
        assert_eq!(itself.steps(&json!({}), 1_000_000), None);
    }

    #[test]
    fn every_part_of_a_value_counts() {
        let cost = CheckCost::of(&json!({"properties": {"l": {"items": {"type": "integer"}}}})).unwrap();
        let list: Vec<usize> = (0..1_000).collect();
        assert_eq!(cost.steps(&json!({"l": list}), 1_000), None);
        assert_eq!(cost.steps(&json!({"l": list}), 10_000), Some(1_002 * 3));
        let long: Vec<usize> = (0..100_000).collect();
        assert_eq!(cost.steps(&json!({"l": long}), 1_000_000), Some(100_002));
        let patterns: Map<String, Value> = (0..3_000).map(|n| (format!(".*{n}.*"), json!(true))).collect();
        let cost = CheckCost::of(&json!({ "patternProperties": patterns })).unwrap();
        let members: Map<String, Value> = (0..3_000).map(|n| (format!("k{n}"), json!(1))).collect();
        assert!(cost.steps(&Value::Object(members), 1_000_000).is_none());
    }
}
