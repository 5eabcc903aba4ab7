//! The schemas of forms: flat objects of primitive values.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::body::{body, builders};
use super::shape::{Shape, Shaped};
use super::union::open_enum;
use super::{ForRevision, Map, Number};
use crate::{RawJson, Revision};

body! {
    /// The schema of a form: an object whose properties are primitive values.
    pub struct FormSchema("type": "object"), fit by leave_out_multi_select {
        /// The dialect of JSON Schema.
        optional schema: String = "$schema" [since V2025_11_25];
        /// The fields of the form.
        required properties: Map<PrimitiveSchema> = "properties";
        /// The fields that must be filled in.
        optional required: Vec<String> = "required";
    }
}

impl FormSchema {
    /// Creates a form without fields.
    pub fn empty() -> Self {
        Self::new(Map::new())
    }

    /// Adds a field that may stay empty.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<String>, schema: impl Into<PrimitiveSchema>) -> Self {
        self.properties.insert(name.into(), schema.into());
        self
    }

    /// Adds a field that must be filled in.
    #[must_use]
    pub fn with_required_field(
        mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchema>,
    ) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.with_field(name, schema)
    }

    /// Removes the fields that 2025-06-18 cannot describe: a form that asks less is better than none.
    fn leave_out_multi_select(&mut self, revision: Revision) {
        if revision >= Revision::V2025_11_25 {
            return;
        }
        self.properties.retain(|_, schema| !matches!(schema, PrimitiveSchema::MultiSelect(_)));
        if let Some(required) = &mut self.required {
            required.retain(|name| self.properties.get(name).is_some());
        }
    }
}

open_enum! {
    /// The format of a text.
    pub enum StringFormat {
        /// An e-mail address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A date.
        Date = "date",
        /// A date with the time.
        DateTime = "date-time",
    }
}

body! {
    /// The schema of a text.
    pub struct StringSchema("type": "string") {
        /// The name for people.
        optional title: String = "title";
        /// The text that tells the user what to fill in.
        optional description: String = "description";
        /// The least number of characters.
        optional min_length: i64 = "minLength";
        /// The greatest number of characters.
        optional max_length: i64 = "maxLength";
        /// The format of the text.
        optional format: StringFormat = "format";
        /// The value that the form shows at first.
        optional default: String = "default" [since V2025_11_25];
    }
}

builders! {
    StringSchema {
        with_title: title: String,
        with_description: description: String,
        with_min_length: min_length: i64,
        with_max_length: max_length: i64,
        with_format: format: StringFormat,
        with_default: default: String,
    }
}

open_enum! {
    /// The kinds of numbers that a field takes.
    pub enum NumberKind {
        /// Any number.
        Number = "number",
        /// Integers.
        Integer = "integer",
    }
}

body! {
    /// The schema of a number.
    pub struct NumberSchema {
        /// The kind of number.
        required kind: NumberKind = "type";
        /// The name for people.
        optional title: String = "title";
        /// The text that tells the user what to fill in.
        optional description: String = "description";
        /// The least number.
        optional minimum: Number = "minimum";
        /// The greatest number.
        optional maximum: Number = "maximum";
        /// The value that the form shows at first.
        optional default: Number = "default" [since V2025_11_25];
    }
}

builders! {
    NumberSchema {
        with_title: title: String,
        with_description: description: String,
        with_minimum: minimum: Number,
        with_maximum: maximum: Number,
        with_default: default: Number,
    }
}

body! {
    /// The schema of a yes or no.
    pub struct BooleanSchema("type": "boolean") {
        /// The name for people.
        optional title: String = "title";
        /// The text that tells the user what to fill in.
        optional description: String = "description";
        /// The value that the form shows at first.
        optional default: bool = "default";
    }
}

builders! {
    BooleanSchema {
        with_title: title: String,
        with_description: description: String,
        with_default: default: bool,
    }
}

body! {
    /// A choice with a name for people.
    pub struct TitledChoice {
        /// The value.
        required value: String = "const";
        /// The name for people.
        required title: String = "title";
    }
}

body! {
    /// The schema of one choice: of plain values (`enum`), of titled ones (`oneOf`), or in the older form of
    /// values with a second list of titles (`enum` and `enumNames`).
    pub struct SingleSelectSchema("type": "string"), fit by use_older_form {
        /// The name for people.
        optional title: String = "title";
        /// The text that tells the user what to choose.
        optional description: String = "description";
        /// The values.
        optional values: Vec<String> = "enum";
        /// The names of the values for people, in the same order.
        optional value_names: Vec<String> = "enumNames";
        /// The values with their names.
        optional one_of: Vec<TitledChoice> = "oneOf";
        /// The choice that the form shows at first.
        optional default: String = "default" [since V2025_11_25];
    }
}

builders! {
    SingleSelectSchema {
        with_title: title: String,
        with_description: description: String,
        with_default: default: String,
    }
}

impl SingleSelectSchema {
    /// Creates a choice of plain values.
    pub fn untitled(values: impl Into<Vec<String>>) -> Self {
        Self { values: Some(values.into()), ..Self::new() }
    }

    /// Creates a choice of titled values.
    pub fn titled(choices: impl Into<Vec<TitledChoice>>) -> Self {
        Self { one_of: Some(choices.into()), ..Self::new() }
    }

    /// Turns titled values into the older form, the only one before 2025-11-25.
    fn use_older_form(&mut self, revision: Revision) {
        if revision >= Revision::V2025_11_25 {
            return;
        }
        if let Some(choices) = self.one_of.take() {
            let (values, names) = choices.into_iter().map(|choice| (choice.value, choice.title)).unzip();
            self.values = Some(values);
            self.value_names = Some(names);
        }
    }
}

body! {
    /// The items of a multiple choice: plain values (`enum`) or titled ones (`anyOf`).
    pub struct MultiSelectItems {
        /// `string` for plain values.
        optional kind: String = "type";
        /// The values.
        optional values: Vec<String> = "enum";
        /// The values with their names.
        optional any_of: Vec<TitledChoice> = "anyOf";
    }
}

body! {
    /// The schema of a multiple choice.
    pub struct MultiSelectSchema("type": "array") {
        /// The name for people.
        optional title: String = "title";
        /// The text that tells the user what to choose.
        optional description: String = "description";
        /// The least number of values.
        optional min_items: i64 = "minItems";
        /// The greatest number of values.
        optional max_items: i64 = "maxItems";
        /// The values to choose from.
        required items: MultiSelectItems = "items";
        /// The choice that the form shows at first.
        optional default: Vec<String> = "default";
    }
}

builders! {
    MultiSelectSchema {
        with_title: title: String,
        with_description: description: String,
        with_min_items: min_items: i64,
        with_max_items: max_items: i64,
        with_default: default: Vec<String>,
    }
}

impl MultiSelectSchema {
    /// Creates a choice of plain values.
    pub fn untitled(values: impl Into<Vec<String>>) -> Self {
        let kind = Some("string".into());
        Self::new(MultiSelectItems { kind, values: Some(values.into()), ..MultiSelectItems::new() })
    }

    /// Creates a choice of titled values.
    pub fn titled(choices: impl Into<Vec<TitledChoice>>) -> Self {
        Self::new(MultiSelectItems { any_of: Some(choices.into()), ..MultiSelectItems::new() })
    }
}

/// The schema of one field of a form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// A text.
    String(StringSchema),
    /// A number.
    Number(NumberSchema),
    /// A yes or no.
    Boolean(BooleanSchema),
    /// One choice.
    SingleSelect(SingleSelectSchema),
    /// A multiple choice.
    MultiSelect(MultiSelectSchema),
    /// A schema of a kind that no revision known here defines.
    Unknown(RawJson),
}

impl Serialize for PrimitiveSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(schema) => schema.serialize(serializer),
            Self::Number(schema) => schema.serialize(serializer),
            Self::Boolean(schema) => schema.serialize(serializer),
            Self::SingleSelect(schema) => schema.serialize(serializer),
            Self::MultiSelect(schema) => schema.serialize(serializer),
            Self::Unknown(schema) => schema.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PrimitiveSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let schema = <&'de RawValue>::deserialize(deserializer)?.get();
        let members: Map<&RawValue> = serde_json::from_str(schema).map_err(D::Error::custom)?;
        let has = |name| members.get(name).is_some();
        match members.get("type").map(|kind| kind.get()) {
            Some(r#""string""#) if has("enum") || has("oneOf") => {
                serde_json::from_str(schema).map(Self::SingleSelect)
            }
            Some(r#""string""#) => serde_json::from_str(schema).map(Self::String),
            Some(r#""number""# | r#""integer""#) => serde_json::from_str(schema).map(Self::Number),
            Some(r#""boolean""#) => serde_json::from_str(schema).map(Self::Boolean),
            Some(r#""array""#) => serde_json::from_str(schema).map(Self::MultiSelect),
            _ => serde_json::from_str(schema).map(Self::Unknown),
        }
        .map_err(D::Error::custom)
    }
}

impl ForRevision for PrimitiveSchema {
    fn fit(&mut self, revision: Revision) {
        match self {
            Self::String(schema) => schema.fit(revision),
            Self::Number(schema) => schema.fit(revision),
            Self::Boolean(schema) => schema.fit(revision),
            Self::SingleSelect(schema) => schema.fit(revision),
            Self::MultiSelect(schema) => schema.fit(revision),
            Self::Unknown(_) => {}
        }
    }
}

impl Shaped for PrimitiveSchema {
    fn shape() -> Shape {
        const KINDS: &[fn() -> Shape] = &[
            StringSchema::shape,
            NumberSchema::shape,
            BooleanSchema::shape,
            SingleSelectSchema::shape,
            MultiSelectSchema::shape,
        ];
        Shape::AnyOf(KINDS)
    }
}

impl From<StringSchema> for PrimitiveSchema {
    fn from(schema: StringSchema) -> Self {
        Self::String(schema)
    }
}

impl From<NumberSchema> for PrimitiveSchema {
    fn from(schema: NumberSchema) -> Self {
        Self::Number(schema)
    }
}

impl From<BooleanSchema> for PrimitiveSchema {
    fn from(schema: BooleanSchema) -> Self {
        Self::Boolean(schema)
    }
}

impl From<SingleSelectSchema> for PrimitiveSchema {
    fn from(schema: SingleSelectSchema) -> Self {
        Self::SingleSelect(schema)
    }
}

impl From<MultiSelectSchema> for PrimitiveSchema {
    fn from(schema: MultiSelectSchema) -> Self {
        Self::MultiSelect(schema)
    }
}
