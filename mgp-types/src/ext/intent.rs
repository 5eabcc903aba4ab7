//! The purpose of a call, a suggestion in return, and what a call may cost.

use super::written;
use crate::json::ObjectWriter;
use crate::macros::record;
use crate::macros::words::open_words;
use crate::{Error, Object, RawJson};

/// The most bytes of an intent.
const MAX_INTENT_BYTES: usize = 1024;

open_words! {
    /// The party on whose initiative a call is made.
    pub enum IntentCategory {
        /// `user_requested`: a person asked for it.
        UserRequested = "user_requested",
        /// `agent_autonomous`: the agent decided so by itself.
        AgentAutonomous = "agent_autonomous",
        /// `workflow_step`: it is a step of a workflow.
        WorkflowStep = "workflow_step",
    }
}

/// The purpose of a call, in the metadata of its params.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Intent {
    /// The purpose in words.
    pub text: Box<str>,
    /// The party on whose initiative the call is made.
    pub category: Option<IntentCategory>,
    /// The workflow that the call is a step of.
    pub workflow_id: Option<Box<str>>,
}

impl Intent {
    /// Creates a purpose in words, which says nothing of who wants the call.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self { text: text.into(), category: None, workflow_id: None }
    }

    crate::setters! { #[must_use] self =>
        /// Sets the party on whose initiative the call is made.
        pub fn wanted_by(category: IntentCategory) => self.category = Some(category);

        /// Makes the call a step of the workflow `id`.
        pub fn step_of(id: impl Into<Box<str>>) =>
            (self.category, self.workflow_id) = (Some(IntentCategory::WorkflowStep), Some(id.into()));
    }

    /// Writes the intent into the metadata of a call.
    ///
    /// # Errors
    ///
    /// A text of more than 1024 bytes is an error for the caller.
    pub fn write(&self, meta: &mut Object) -> Result<(), Error> {
        if self.text.len() > MAX_INTENT_BYTES {
            return Err(Error::invalid_params("the purpose of a call has 1024 bytes at most"));
        }
        meta.set("intent", RawJson::from_text(&self.text));
        if self.category.is_some() || self.workflow_id.is_some() {
            let mut context = ObjectWriter::new();
            context.optional("category", self.category.as_ref());
            context.optional("workflow_id", self.workflow_id.as_ref());
            meta.set("intent_context", context.finish().to_raw());
        }
        Ok(())
    }

    /// Reads the intent in the metadata of a call; `None` if the call has none.
    ///
    /// # Errors
    ///
    /// An intent that is no text, or a longer one than 1024 bytes, is an error for the caller.
    pub fn read(meta: &Object) -> Result<Option<Self>, Error> {
        let Some(intent) = meta.get("intent") else { return Ok(None) };
        let text = intent
            .to_text()
            .filter(|text| text.len() <= MAX_INTENT_BYTES)
            .ok_or_else(|| Error::invalid_params("`_meta.intent` must be a string of at most 1024 bytes"))?;
        let context = meta.object("intent_context").unwrap_or_default();
        let category = context.text("category").map(|category| IntentCategory::read(&category));
        let workflow_id = context.text("workflow_id").map(Into::into);
        Ok(Some(Self { text: text.into(), category, workflow_id }))
    }
}

crate::convert!(&str => Intent, text => Self::new(text));

record! {
    /// A tool that a server thinks suits the purpose of a call better. It is advice: the call was made all the same.
    pub struct Suggestion {
        /// The name of the tool.
        required recommended_tool: into Box<str>;
        /// The reason.
        required reason: into Box<str>;
        /// The server that has the tool, if it is another one.
        optional server_id: Box<str>;
        /// The confidence, from 0 to 1.
        optional confidence: f64;
    }
}

impl Suggestion {
    /// Reads the suggestion in the metadata of a result.
    pub fn read(meta: &Object) -> Option<Self> {
        meta.get("suggestion")?.to().ok()
    }

    /// Returns the suggestion as JSON.
    pub fn to_raw(&self) -> RawJson {
        written(self)
    }
}

/// Reads the most units that a call may cost, in its metadata under `budget`.
///
/// # Errors
///
/// A budget without a number that is not negative is an error for the caller, because a budget that is overlooked would be
/// spent.
pub fn max_units(meta: &Object) -> Result<Option<f64>, Error> {
    let Some(budget) = meta.get("budget") else { return Ok(None) };
    let units = Object::from_raw(&budget).ok().and_then(|budget| budget.get("max_units")?.to::<f64>().ok());
    let form = "`_meta.budget` must be {\"max_units\": N} with a number that is not negative";
    units.filter(|units| *units >= 0.0).map(Some).ok_or_else(|| Error::invalid_params(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(json: &str) -> Object {
        Object::parse(json.to_owned()).unwrap()
    }

    // covers: EXT-02-01, EXT-02-05, ENV-10-05
    #[test]
    fn the_purpose_of_a_call_is_read_with_its_context() {
        let intent = Intent::read(&meta(
            r#"{"intent":"find the incident","intent_context":{"category":"workflow_step","workflow_id":"w1"}}"#,
        ))
        .unwrap()
        .unwrap();
        assert_eq!(
            (&*intent.text, intent.category),
            ("find the incident", Some(IntentCategory::WorkflowStep))
        );
        assert_eq!(intent.workflow_id.as_deref(), Some("w1"));
        assert_eq!(Intent::read(&meta("{}")).unwrap(), None);
    }

    #[test]
    fn a_purpose_is_written_as_it_is_read() {
        for intent in [
            Intent::new("find it"),
            Intent::new("find it").wanted_by(IntentCategory::UserRequested),
            Intent::new("find it").step_of("w1"),
        ] {
            let mut meta = Object::new();
            intent.write(&mut meta).unwrap();
            assert_eq!(Intent::read(&meta).unwrap(), Some(intent));
        }
        assert!(Intent::new("x".repeat(1025)).write(&mut Object::new()).is_err());
    }

    // covers: EXT-02-04
    #[test]
    fn a_purpose_that_is_too_long_or_no_text_is_refused() {
        let long = |length| meta(&format!(r#"{{"intent":"{}"}}"#, "x".repeat(length)));
        assert!(Intent::read(&long(1024)).unwrap().is_some());
        for wrong in [long(1025), meta(r#"{"intent":7}"#), meta(r#"{"intent":null}"#)] {
            assert_eq!(Intent::read(&wrong).unwrap_err().code(), -32602);
        }
    }

    #[test]
    fn a_budget_is_a_number_or_an_error() {
        assert_eq!(max_units(&meta("{}")).unwrap(), None);
        assert_eq!(max_units(&meta(r#"{"budget":{"max_units":3}}"#)).unwrap(), Some(3.0));
        for wrong in ["3", "{}", r#"{"max_units":-1}"#, r#"{"max_units":"3"}"#, "null"] {
            assert!(max_units(&meta(&format!(r#"{{"budget":{wrong}}}"#))).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_suggestion_is_read_and_written() {
        let json = r#"{"suggestion":{"recommended_tool":"get_recent_incidents","reason":"by recency"}}"#;
        let suggestion = Suggestion::read(&meta(json)).unwrap();
        assert_eq!(format!(r#"{{"suggestion":{}}}"#, suggestion.to_raw()), json);
        assert_eq!(Suggestion::read(&meta(r#"{"suggestion":{"reason":"x"}}"#)), None);
    }
}
