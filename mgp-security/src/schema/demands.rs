//! The demands of a schema that a value does not meet, one by one.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::Schema;

/// One demand of a schema that a value does not meet, by places and without a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UnmetDemand {
    /// The JSON Pointer to the faulty part of the value.
    pub(super) place: String,
    /// The keyword of the schema, like `pattern`.
    pub(super) keyword: String,
    /// The JSON Pointer to the keyword in the schema.
    pub(super) schema_place: String,
    /// The members of the part that are missing, or that the schema does not know.
    pub(super) members: Vec<String>,
}

impl Schema {
    /// Returns the demands that `value` does not meet, `most` of them at most.
    pub(super) fn unmet_demands(&self, value: &Value, most: usize) -> Vec<UnmetDemand> {
        let is_cheap = self.cost.is_bearable(value);
        if is_cheap && self.compiled.is_valid(value) {
            return Vec::new();
        }
        if !self.explains(value) {
            let keyword = if is_cheap { "schema" } else { "cost" };
            let whole = UnmetDemand { keyword: keyword.to_owned(), ..UnmetDemand::default() };
            return vec![whole];
        }
        let errors = self.compiled.iter_errors(value).take(most);
        let demands = errors.map(|error| UnmetDemand {
            place: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            schema_place: error.schema_path().to_string(),
            members: match error.kind() {
                ValidationErrorKind::Required { property: Value::String(name) } => vec![name.clone()],
                ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected.clone(),
                _ => Vec::new(),
            },
        });
        demands.collect()
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::RawJson;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_unmet_demand_is_named_by_its_places() {
        let schema = json!({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties": {
            "a": {"type": "string", "if": {"minLength": 2}, "then": {"pattern": "^x"}, "allOf": [{"maxLength": 3}]},
            "b": true,
        }});
        let compiled = Schema::compile_linear(&RawJson::from_value(&schema).unwrap()).unwrap();
        assert!(compiled.unmet_demands(&json!({"a": "xy", "b": 1}), 9).is_empty());
        let unmet = compiled.unmet_demands(&json!({"a": "yyyy", "c": 1}), 9);
        let mut places: Vec<_> =
            unmet.iter().map(|demand| (&*demand.place, &*demand.keyword, &*demand.members)).collect();
        places.sort();
        let (b, c) = (["b".to_owned()], ["c".to_owned()]);
        assert_eq!(
            places,
            [
                ("", "additionalProperties", &c[..]),
                ("", "required", &b[..]),
                ("/a", "maxLength", &[]),
                ("/a", "pattern", &[])
            ]
        );
        for demand in unmet {
            assert!(schema.pointer(&demand.schema_place).is_some(), "{demand:?}");
        }
        assert_eq!(compiled.unmet_demands(&json!({"a": "yyyy", "c": 1}), 2).len(), 2);
    }
}
