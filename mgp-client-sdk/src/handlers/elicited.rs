use mgp_types::mcp::{ElicitAction, ElicitFormParams, ElicitResult, Map, PrimitiveSchema};
use mgp_types::{Error, RawJson};
use serde::Serialize;

/// What the user did with a question; makes the answers of elicitation handlers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Elicited;

impl Elicited {
    /// The user filled in the form with `content`, an object; or agreed to visit the page, with `()`.
    ///
    /// # Errors
    /// `content` is neither an object nor `()`.
    pub fn accept(content: impl Serialize) -> Result<ElicitResult, Error> {
        let not_a_form = || Error::internal("the content of a form is an object");
        let content = RawJson::from_value(&content).map_err(|error| not_a_form().with_source(error))?;
        let accepted = ElicitResult::new(ElicitAction::Accept);
        if content.is_null() {
            return Ok(accepted);
        }
        let fields: Map<RawJson> = content.to().map_err(|error| not_a_form().with_source(error))?;
        Ok(accepted.with_content(fields))
    }

    /// The user took the form as it was: with the defaults of all fields that have one.
    pub fn accept_defaults(form: &ElicitFormParams) -> ElicitResult {
        let mut content = Map::new();
        for (name, schema) in form.requested_schema.properties.iter() {
            if let Some(value) = default_of(schema) {
                content.insert(name, value);
            }
        }
        ElicitResult::new(ElicitAction::Accept).with_content(content)
    }

    /// The user said no.
    pub fn decline() -> ElicitResult {
        ElicitResult::new(ElicitAction::Decline)
    }

    /// The user closed the question.
    pub fn cancel() -> ElicitResult {
        ElicitResult::new(ElicitAction::Cancel)
    }
}

fn default_of(schema: &PrimitiveSchema) -> Option<RawJson> {
    let written = match schema {
        PrimitiveSchema::String(schema) => RawJson::from_value(schema.default.as_ref()?),
        PrimitiveSchema::Number(schema) => RawJson::from_value(schema.default.as_ref()?),
        PrimitiveSchema::Boolean(schema) => RawJson::from_value(schema.default.as_ref()?),
        PrimitiveSchema::SingleSelect(schema) => RawJson::from_value(schema.default.as_ref()?),
        PrimitiveSchema::MultiSelect(schema) => RawJson::from_value(schema.default.as_ref()?),
        _ => return None,
    };
    written.ok()
}
