//! Examples of arguments, made of constraints.

use mgp_security::ArgumentJudge;
use serde_json::{Map, Number, Value};

use super::{Constraint, FieldType, InputField, Signature, constraint};
use crate::Fault;
use crate::schema::to_raw;

impl Signature {
    /// Makes two examples: one with all arguments, and one with the required ones.
    pub(super) fn make_examples(&self) -> Result<Vec<Value>, Fault> {
        self.check().map_err(|reason| self.fault(reason))?;
        let (mut all, mut required) = (Map::new(), Map::new());
        for field in &self.inputs {
            let fitting = field.fitting_values().map_err(|reason| self.fault(reason))?;
            let Some(first) = fitting.first() else {
                if field.is_required {
                    let name = &field.name;
                    let fault =
                        format!("no example of `{name}` is known: add one with `InputField::example`");
                    return Err(self.fault(fault));
                }
                continue;
            };
            all.insert(field.name.clone(), first.clone());
            if field.is_required {
                required.insert(field.name.clone(), fitting.get(1).unwrap_or(first).clone());
            }
        }
        Ok(vec![Value::Object(all), Value::Object(required)])
    }
}

impl InputField {
    /// Returns the first two values that fit the schema of the argument.
    fn fitting_values(&self) -> Result<Vec<Value>, String> {
        let schema =
            ArgumentJudge::compile_linear(&to_raw(&self.schema())).map_err(|fault| fault.to_string())?;
        let mut fitting: Vec<Value> = Vec::new();
        for value in self.examples.iter().cloned().chain(candidates(self.kind.present(), &self.constraints)) {
            if fitting.len() < WANTED && !fitting.contains(&value) && schema.violations(&value).is_empty() {
                fitting.push(value);
            }
        }
        Ok(fitting)
    }
}

/// Returns values of the type that may fit the constraints, the likeliest first.
fn candidates(kind: &FieldType, constraints: &[Constraint]) -> Vec<Value> {
    let mut found = Mentioned::default();
    for constraint in constraints {
        found.add(constraint);
    }
    let mut candidates = found.values;
    match kind {
        FieldType::String => {
            let samples = found.patterns.iter().flat_map(|pattern| constraint::samples(pattern));
            candidates.extend(samples.map(Value::String));
            candidates.push("example".into());
            let lengths =
                found.lengths.iter().flat_map(|length| [*length, length + 1, length.saturating_sub(1)]);
            let lengths = lengths.chain(0..8).filter(|length| *length <= MAX_LENGTH);
            candidates.extend(lengths.map(|length| Value::String("a".repeat(length))));
        }
        FieldType::Integer | FieldType::Float => {
            found.numbers.truncate(MAX_NUMBERS);
            let known = &found.numbers;
            let near = |number: &f64| [*number, number + 1.0, number - 1.0, number.ceil(), number.floor()];
            let between = known.iter().flat_map(|one| known.iter().map(move |other| (one + other) / 2.0));
            let numbers = known.iter().chain(&[1.0, 0.0]).flat_map(near).chain(between);
            candidates.extend(numbers.filter_map(|number| to_number(number, kind)));
        }
        FieldType::Boolean => candidates.extend([true.into(), false.into()]),
        FieldType::Array(items) => {
            let items = self::candidates(items, &[]);
            candidates.push(items.iter().take(1).cloned().collect());
            candidates.push(items.into_iter().take(2).collect());
        }
        FieldType::Optional(inner) => candidates.extend(self::candidates(inner, &[])),
    }
    candidates
}

fn to_number(number: f64, kind: &FieldType) -> Option<Value> {
    #[expect(clippy::cast_possible_truncation, reason = "the number is whole and small")]
    if number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER {
        return Some((number as i64).into());
    }
    if *kind == FieldType::Integer { None } else { Number::from_f64(number).map(Value::Number) }
}

/// The values that constraints mention anywhere.
#[derive(Default)]
struct Mentioned {
    values: Vec<Value>,
    patterns: Vec<String>,
    lengths: Vec<usize>,
    numbers: Vec<f64>,
}

impl Mentioned {
    fn add(&mut self, constraint: &Constraint) {
        match constraint {
            Constraint::MinLength(length) | Constraint::MaxLength(length) => {
                self.lengths.extend(usize::try_from(*length));
            }
            Constraint::Pattern(pattern) => self.patterns.push(pattern.clone()),
            Constraint::MinValue(bound) | Constraint::MaxValue(bound) => self.numbers.extend(bound.as_f64()),
            Constraint::OneOf(values) => self.values.extend(values.iter().cloned()),
            Constraint::Default(value) => self.values.push(value.clone()),
            composed => composed.parts().into_iter().for_each(|part| self.add(part)),
        }
    }
}

/// The number of different values that examples are made of.
const WANTED: usize = 2;

/// The number of mentioned numbers whose neighbours and means are tried.
const MAX_NUMBERS: usize = 32;

/// The largest length of a text that is made as an example.
const MAX_LENGTH: usize = 4096;

/// The largest number up to which each integer has a float of its own.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ToolMetadata;

    #[test]
    fn the_export_has_the_schema_examples_and_metadata() {
        let days = InputField::new("days", FieldType::Integer, "How many days.");
        let signature = Signature::new("weather", "Tells the weather.")
            .metadata(ToolMetadata { deprecated: true, ..ToolMetadata::new("science", "2.1.0", "somebody") })
            .input(days.constraint(Constraint::MinValue(3.into())).example(7).example(2))
            .input(InputField::new("place", FieldType::String, "Where.").optional());
        let export: Value = signature.export().unwrap().to().unwrap();
        assert_eq!(export["schema"], signature.to_json_schema().to::<Value>().unwrap());
        assert_eq!(export["examples"], serde_json::json!([{"days": 7, "place": "example"}, {"days": 3}]));
        assert_eq!(
            export["metadata"],
            serde_json::json!({"category": "science", "version": "2.1.0", "deprecated": true, "author": "somebody"})
        );
    }

    #[test]
    fn an_example_that_cannot_be_found_is_asked_for() {
        // Generated texts are not that long.
        let field = InputField::new("id", FieldType::String, "An id.")
            .constraint(Constraint::Pattern("^(?:ab)+c$".into()))
            .constraint(Constraint::MinLength(500));
        let signature = |field: InputField| Signature::new("get", "Gets.").input(field);
        let fault = signature(field.clone()).examples().unwrap_err().to_string();
        assert_eq!(fault, "tool `get`: no example of `id` is known: add one with `InputField::example`");
        let id = format!("{}c", "ab".repeat(300));
        let examples = signature(field.example(id.as_str())).examples().unwrap();
        assert_eq!(examples[1].to_string(), format!(r#"{{"id":"{id}"}}"#));
    }

    fn texts() -> impl Strategy<Value = Vec<Constraint>> {
        let length = (0_u64..40, 0_u64..20);
        let pattern = prop::sample::select(vec![
            "^[A-Z]{1,5}$", "^(yes|no)$", r"^\d{3}-\w+$", "x", "^[äö]*$", r"^\S+@\S+\.de$",
        ]);
        prop_oneof![
            length.prop_map(|(least, more)| vec![
                Constraint::MinLength(least),
                Constraint::MaxLength(least + more)
            ]),
            (pattern, 0_u64..2).prop_map(|(pattern, least)| {
                vec![Constraint::Pattern(pattern.into()), Constraint::MinLength(least)]
            }),
            prop::collection::vec("[a-z]{1,9}", 1..5).prop_map(|values| {
                let values: Vec<Value> = values.into_iter().map(Value::from).collect();
                vec![Constraint::Default(values[0].clone()), Constraint::OneOf(values)]
            }),
            (2_u64..9).prop_map(|length| vec![
                Constraint::Not(Box::new(Constraint::MaxLength(length))),
                Constraint::If {
                    condition: Box::new(Constraint::MinLength(length)),
                    then: Box::new(Constraint::All(vec![
                        Constraint::Pattern("^a".into()),
                        Constraint::MinLength(1)
                    ])),
                    otherwise: None,
                },
            ]),
        ]
    }

    fn fields() -> impl Strategy<Value = InputField> {
        let numbers = (-1000_i64..1000, 0_i64..50).prop_map(|(least, more)| {
            vec![Constraint::Any(vec![
                Constraint::All(vec![
                    Constraint::MinValue(least.into()),
                    Constraint::MaxValue((least + more).into()),
                ]),
                Constraint::OneOf(vec![0.into()]),
            ])]
        });
        let typed = prop_oneof![
            texts().prop_map(|constraints| (FieldType::String, constraints)),
            numbers.clone().prop_map(|constraints| (FieldType::Integer, constraints)),
            numbers.prop_map(|constraints| (FieldType::Float, constraints)),
            Just((FieldType::Boolean, Vec::new())),
            Just((FieldType::Array(Box::new(FieldType::Array(Box::new(FieldType::Float)))), Vec::new())),
            Just((FieldType::Optional(Box::new(FieldType::Boolean)), Vec::new())),
        ];
        (typed, any::<bool>()).prop_map(|((kind, constraints), optional)| {
            let field = InputField::new("x", kind, "A value.");
            let field = if optional { field.optional() } else { field };
            constraints.into_iter().fold(field, InputField::constraint)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        // covers: GGEN-4-04
        #[test]
        fn every_example_fits_the_schema(fields in prop::collection::vec(fields(), 0..6)) {
            let named = fields.into_iter().enumerate().map(|(number, field)| InputField { name: format!("x{number}"), ..field });
            let signature = named.fold(Signature::new("random", "Drawn at random."), Signature::input);
            let schema = ArgumentJudge::compile_linear(&signature.to_json_schema()).unwrap();
            let examples = signature.examples().unwrap();
            prop_assert!(examples.len() >= 2);
            for example in examples {
                let value: Value = example.to().unwrap();
                prop_assert!(schema.violations(&value).is_empty(), "{}", example);
            }
        }
    }
}
