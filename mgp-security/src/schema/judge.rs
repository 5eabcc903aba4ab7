//! The judge of a tool's arguments, which names each of their faults.

use mgp_types::RawJson;
use serde_json::Value;

use super::{Schema, SchemaFault, Violation};

/// A schema that judges arguments, and says of each fault what is wrong and what would be right.
#[derive(Debug)]
pub struct ArgumentJudge(Schema);

impl ArgumentJudge {
    /// Compiles a schema that somebody wrote, and enforces `format`.
    ///
    /// # Errors
    /// Fails as [`Schema::compile`] does.
    pub fn compile(schema: &RawJson) -> Result<Self, SchemaFault> {
        Schema::compile_with_formats(schema).map(Self)
    }

    /// Compiles a schema whose patterns take linear time.
    ///
    /// # Errors
    /// Fails as [`Schema::compile_linear`] does.
    pub fn compile_linear(schema: &RawJson) -> Result<Self, SchemaFault> {
        Schema::compile_linear(schema).map(Self)
    }

    /// Returns the faults of the arguments, those that explain others first.
    pub fn violations(&self, arguments: &Value) -> Vec<Violation> {
        let Schema { compiled, cost, .. } = &self.0;
        let is_cheap = cost.is_bearable(arguments);
        if is_cheap && compiled.is_valid(arguments) {
            return Vec::new();
        }
        if !self.0.explains(arguments) {
            return vec![Violation::of_all(if is_cheap { "schema" } else { "cost" })];
        }
        let errors = compiled.iter_errors(arguments).take(MAX_VIOLATIONS);
        let mut found: Vec<_> =
            errors.flat_map(|error| Violation::of_error(&cost.schema, arguments, &error)).collect();
        found.sort_by_key(Violation::rank);
        found.truncate(MAX_VIOLATIONS);
        found
    }
}

/// The largest number of faults that are reported at once.
const MAX_VIOLATIONS: usize = 100;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_fault_is_named_by_its_place() {
        let schema = json!({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
            "a": {"type": "string", "if": {"minLength": 2}, "then": {"pattern": "^x"}, "allOf": [{"maxLength": 3}]},
            "b": true,
        }});
        let judge = ArgumentJudge::compile_linear(&RawJson::from_value(&schema).unwrap()).unwrap();
        assert!(judge.violations(&json!({"a": "xy", "b": 1})).is_empty());
        let found = judge.violations(&json!({"a": "yyyy", "c": 1}));
        let mut places: Vec<_> = found.iter().map(|fault| (&*fault.path, &*fault.keyword)).collect();
        places.sort_unstable();
        let expected =
            [("/a", "maxLength"), ("/a", "pattern"), ("/b", "required"), ("/c", "additionalProperties")];
        assert_eq!(places, expected);
    }
}
