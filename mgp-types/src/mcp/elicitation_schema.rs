//! The schemas of forms: flat objects of primitive values.

use serde_json::value::RawValue;

use super::body::body;
use super::union::{open_enum, union};
use super::{Map, Number};
use crate::Revision;

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

    /// The schema of a text.
    pub struct StringSchema("type": "string") {
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The text that tells the user what to fill in.
        optional description: String = "description" => with_description;
        /// The least number of characters.
        optional min_length: i64 = "minLength" => with_min_length;
        /// The greatest number of characters.
        optional max_length: i64 = "maxLength" => with_max_length;
        /// The format of the text.
        optional format: StringFormat = "format" => with_format;
        /// The value that the form shows at first.
        optional default: String = "default" [since V2025_11_25] => with_default;
    }

    /// The schema of a number.
    pub struct NumberSchema {
        /// The kind of number.
        required kind: NumberKind = "type";
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The text that tells the user what to fill in.
        optional description: String = "description" => with_description;
        /// The least number.
        optional minimum: Number = "minimum" => with_minimum;
        /// The greatest number.
        optional maximum: Number = "maximum" => with_maximum;
        /// The value that the form shows at first.
        optional default: Number = "default" [since V2025_11_25] => with_default;
    }

    /// The schema of a yes or no.
    pub struct BooleanSchema("type": "boolean") {
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The text that tells the user what to fill in.
        optional description: String = "description" => with_description;
        /// The value that the form shows at first.
        optional default: bool = "default" => with_default;
    }

    /// A choice with a name for people.
    pub struct TitledChoice {
        /// The value.
        required value: String = "const";
        /// The name for people.
        required title: String = "title";
    }

    /// The schema of one choice: of plain values (`enum`), of titled ones (`oneOf`), or in the older form of
    /// values with a second list of titles (`enum` and `enumNames`).
    pub struct SingleSelectSchema("type": "string"), fit by use_older_form {
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The text that tells the user what to choose.
        optional description: String = "description" => with_description;
        /// The values.
        optional values: Vec<String> = "enum";
        /// The names of the values for people, in the same order.
        optional value_names: Vec<String> = "enumNames";
        /// The values with their names.
        optional one_of: Vec<TitledChoice> = "oneOf";
        /// The choice that the form shows at first.
        optional default: String = "default" [since V2025_11_25] => with_default;
    }

    /// The items of a multiple choice: plain values (`enum`) or titled ones (`anyOf`).
    pub struct MultiSelectItems {
        /// `string` for plain values.
        optional kind: String = "type";
        /// The values.
        optional values: Vec<String> = "enum";
        /// The values with their names.
        optional any_of: Vec<TitledChoice> = "anyOf";
    }

    /// The schema of a multiple choice.
    pub struct MultiSelectSchema("type": "array") {
        /// The name for people.
        optional title: String = "title" => with_title;
        /// The text that tells the user what to choose.
        optional description: String = "description" => with_description;
        /// The least number of values.
        optional min_items: i64 = "minItems" => with_min_items;
        /// The greatest number of values.
        optional max_items: i64 = "maxItems" => with_max_items;
        /// The values to choose from.
        required items: MultiSelectItems = "items";
        /// The choice that the form shows at first.
        optional default: Vec<String> = "default" => with_default;
    }
}

impl FormSchema {
    /// Creates a form without fields.
    pub fn empty() -> Self {
        Self::new(Map::new())
    }

    crate::setters! { #[must_use] self =>
        /// Adds a field that may stay empty.
        pub fn with_field(name: impl Into<String>, schema: impl Into<PrimitiveSchema>) =>
            self.properties.insert(name.into(), schema.into());
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

    /// The kinds of numbers that a field takes.
    pub enum NumberKind {
        /// Any number.
        Number = "number",
        /// Integers.
        Integer = "integer",
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

union! {
    /// The schema of one field of a form.
    pub enum PrimitiveSchema by fn kind_of {
        /// A text.
        String(StringSchema) = "string",
        /// A number.
        Number(NumberSchema) = "number",
        /// A yes or no.
        Boolean(BooleanSchema) = "boolean",
        /// One choice.
        SingleSelect(SingleSelectSchema) = "choice",
        /// A multiple choice.
        MultiSelect(MultiSelectSchema) = "array",
    }
}

/// Returns the kind of a schema. The choices of texts make a choice of a text.
fn kind_of(schema: &RawValue) -> Result<&'static str, serde_json::Error> {
    let members: Map<&RawValue> = serde_json::from_str(schema.get())?;
    let has = |name| members.get(name).is_some();
    Ok(match members.get("type").map(|kind| kind.get()) {
        Some(r#""string""#) if has("enum") || has("oneOf") => "choice",
        Some(r#""string""#) => "string",
        Some(r#""number""# | r#""integer""#) => "number",
        Some(r#""boolean""#) => "boolean",
        Some(r#""array""#) => "array",
        _ => "unknown",
    })
}
