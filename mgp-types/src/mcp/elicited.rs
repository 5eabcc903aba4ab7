//! The answer of a user to a question: servers read it, and the handlers of clients return it.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ElicitAction, ElicitFormParams, ElicitResult, Map, PrimitiveSchema};
use crate::{Error, Object, RawJson};

/// The answer of a user to a question (`elicitation/create`), as a `T`.
///
/// A server reads the answer; a handler of a client returns it. `T` is a struct with the fields of the form, a [`Map`]
/// of them, or `()` for a page to visit.
///
/// ```
/// use mgp_types::mcp::Elicited;
///
/// fn greeting(name: Elicited<String>) -> String {
///     match name {
///         Elicited::Accepted(name) => format!("Hello, {name}!"),
///         Elicited::Declined | Elicited::Cancelled => "Hello, stranger!".into(),
///     }
/// }
///
/// assert_eq!(greeting(Elicited::Accepted("Ada".into())), "Hello, Ada!");
/// assert_eq!(greeting(Elicited::Declined), "Hello, stranger!");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
#[must_use = "only `Accepted` is a yes"]
pub enum Elicited<T = ()> {
    /// The user filled in the form, or agreed to visit the page.
    Accepted(T),
    /// The user said no.
    Declined,
    /// The user closed the question without an answer.
    Cancelled,
}

impl Elicited {
    /// Returns [`Declined`](Self::Declined), with a fixed `T` for a handler that never accepts.
    pub const fn declined() -> Self {
        Self::Declined
    }

    /// Returns [`Cancelled`](Self::Cancelled), with a fixed `T` for a handler that never accepts.
    pub const fn cancelled() -> Self {
        Self::Cancelled
    }
}

impl Elicited<Map<RawJson>> {
    /// Accepts `form` with the default of each field that has one.
    pub fn accept_defaults(form: &ElicitFormParams) -> Self {
        let fields = form.requested_schema.properties.iter();
        Self::Accepted(fields.filter_map(|(name, schema)| Some((name, default_of(schema)?))).collect())
    }
}

impl<T> Elicited<T> {
    /// Returns the answer if the user gave one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// Changes the answer, if the user gave one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Elicited<U> {
        match self {
            Self::Accepted(answer) => Elicited::Accepted(change(answer)),
            Self::Declined => Elicited::Declined,
            Self::Cancelled => Elicited::Cancelled,
        }
    }
}

impl<T: DeserializeOwned> Elicited<T> {
    /// Reads the answer of a client, whose form has the fields of `T`. An unknown action counts as
    /// [`Cancelled`](Self::Cancelled).
    ///
    /// # Errors
    /// The user accepted, and the fields are not those of `T`.
    pub fn read(result: ElicitResult) -> Result<Self, serde_json::Error> {
        Ok(match Elicited::from(result) {
            Elicited::Accepted(fields) => Self::Accepted(RawJson::from_value(&fields)?.to()?),
            Elicited::Declined => Self::Declined,
            Elicited::Cancelled => Self::Cancelled,
        })
    }
}

impl<T: Serialize> Elicited<T> {
    /// Writes the answer of a client.
    ///
    /// # Errors
    /// -32603: the accepted value is neither an object, whose members are the fields of the form, nor `()`.
    pub fn write(&self) -> Result<ElicitResult, Error> {
        let not_a_form = || {
            Error::internal(
                "the value in `Elicited::Accepted` is no object: give a struct or `json!({\"field\": value})` for a \
                 form, and `()` for a page",
            )
        };
        let accepted = match self {
            Self::Accepted(answer) => answer,
            Self::Declined => return Ok(ElicitResult::decline()),
            Self::Cancelled => return Ok(ElicitResult::cancel()),
        };
        let content = RawJson::from_value(accepted).map_err(|error| not_a_form().with_source(error))?;
        if content.is_null() {
            return Ok(ElicitResult::new(ElicitAction::Accept));
        }
        content.to().map(ElicitResult::accept).map_err(|error| not_a_form().with_source(error))
    }
}

crate::convert!(ElicitResult => Elicited<Map<RawJson>>, result => match result.action {
    ElicitAction::Accept => Self::Accepted(result.content.unwrap_or_default()),
    ElicitAction::Decline => Self::Declined,
    _ => Self::Cancelled,
});

fn default_of(schema: &PrimitiveSchema) -> Option<RawJson> {
    let is_known = !matches!(schema, PrimitiveSchema::Unknown(_));
    Object::from_value(schema).ok().filter(|_| is_known)?.get("default")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Name {
        name: String,
    }

    #[test]
    fn what_a_client_writes_is_what_a_server_reads() {
        for said in [Elicited::Accepted(Name { name: "Ada".into() }), Elicited::Declined, Elicited::Cancelled]
        {
            assert_eq!(Elicited::<Name>::read(said.write().unwrap()).unwrap(), said);
        }
        let visited = Elicited::Accepted(()).write().unwrap();
        assert_eq!((&visited.action, &visited.content), (&ElicitAction::Accept, &None));
    }

    #[test]
    fn an_accepted_form_without_its_fields_is_no_answer() {
        assert!(Elicited::<Name>::read(ElicitResult::new(ElicitAction::Accept)).is_err());
        assert!(Elicited::<Name>::read(ElicitResult::accept(Map::new())).is_err());
    }

    #[test]
    fn an_action_that_is_not_known_is_no_yes() {
        let odd: ElicitResult = serde_json::from_str(r#"{"action":"later","content":{"name":"x"}}"#).unwrap();
        assert_eq!(Elicited::<Name>::read(odd).unwrap(), Elicited::Cancelled);
    }

    #[test]
    fn what_is_no_form_says_what_is() {
        let error = Elicited::Accepted(7).write().unwrap_err();
        assert!(error.message().contains("json!"), "{error}");
    }
}
