//! Callbacks as elicitations of MCP, for clients without callbacks.

use mgp_types::mcp::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitResult, Elicited, ForRevision, FormSchema,
    SingleSelectSchema, StringSchema,
};
use mgp_types::{Error, Object, RawJson, Revision};

use super::answer::{self, Confirmation, SelectedOption};
use super::question::Callback;

/// Returns the parameters of `elicitation/create` that ask the question.
pub(super) fn params<A>(question: &Callback<A>, revision: Revision) -> Result<Object, Error> {
    let form = (question.reading.form)(&question.options);
    let params = ElicitFormParams::new(question.message.clone(), form).for_revision(revision);
    Object::from_value(&params)
        .map_err(|error| Error::internal("the question cannot be written as JSON").with_source(error))
}

/// Reads the user's answer from an elicitation.
///
/// # Errors
/// -32602 if the answer does not fit.
pub(super) fn read<A>(question: &Callback<A>, answer: &RawJson) -> Result<A, Error> {
    let result: Option<ElicitResult> = answer.to().ok();
    result
        .and_then(|result| (question.reading.elicited)(&question.options, &result))
        .ok_or_else(|| Error::invalid_params("the answer does not fit the question that was asked"))
}

/// The name of the only field of each form.
const FIELD: &str = "answer";

pub(super) fn confirmation_form(words: &[String]) -> FormSchema {
    let mut schema = BooleanSchema::new();
    schema.title = words.first().cloned();
    FormSchema::empty().with_required_field(FIELD, schema)
}

pub(super) fn input_form(_: &[String]) -> FormSchema {
    FormSchema::empty().with_required_field(FIELD, StringSchema::new())
}

pub(super) fn selection_form(options: &[String]) -> FormSchema {
    FormSchema::empty().with_required_field(FIELD, SingleSelectSchema::untitled(options))
}

/// Reads a confirmation. Only a form that was filled in with a plain yes is a yes.
pub(super) fn confirmation(result: &ElicitResult) -> Confirmation {
    match result.action {
        ElicitAction::Accept if field(result).is_some_and(|value| value.as_bytes() == b"true") => {
            Confirmation::Confirmed
        }
        ElicitAction::Accept | ElicitAction::Decline => Confirmation::Declined,
        _ => Confirmation::Cancelled,
    }
}

pub(super) fn input(result: &ElicitResult) -> Option<Elicited<RawJson>> {
    reply(result, |value| Some(value.detached()))
}

pub(super) fn selection(options: &[String], result: &ElicitResult) -> Option<Elicited<SelectedOption>> {
    reply(result, |value| answer::choice(options, &value.to_text()?))
}

fn reply<T>(result: &ElicitResult, read: impl FnOnce(&RawJson) -> Option<T>) -> Option<Elicited<T>> {
    Some(match result.action {
        ElicitAction::Accept => Elicited::Accepted(read(field(result)?)?),
        ElicitAction::Decline => Elicited::Declined,
        _ => Elicited::Cancelled,
    })
}

fn field(result: &ElicitResult) -> Option<&RawJson> {
    result.content.as_ref()?.get(FIELD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(json: &str) -> ElicitResult {
        RawJson::parse(json.to_owned()).unwrap().to().unwrap()
    }

    // covers: MGP-13.4-12
    #[test]
    fn only_a_form_with_a_plain_yes_confirms() {
        for (json, expected) in [
            (r#"{"action":"accept","content":{"answer":true}}"#, Confirmation::Confirmed),
            (r#"{"action":"accept","content":{"answer":"true"}}"#, Confirmation::Declined),
            (r#"{"action":"accept"}"#, Confirmation::Declined),
            (r#"{"action":"decline"}"#, Confirmation::Declined),
            (r#"{"action":"cancel"}"#, Confirmation::Cancelled),
            (r#"{"action":"later"}"#, Confirmation::Cancelled),
        ] {
            assert_eq!(confirmation(&result(json)), expected, "{json}");
        }
    }

    #[test]
    fn a_filled_form_must_fit() {
        let options = ["a".to_owned(), "b".to_owned()];
        let chosen = selection(&options, &result(r#"{"action":"accept","content":{"answer":"b"}}"#));
        assert_eq!(chosen.and_then(Elicited::accepted).map(|choice| choice.index), Some(1));
        for wrong in [r#"{"action":"accept","content":{"answer":"c"}}"#, r#"{"action":"accept"}"#] {
            assert_eq!(selection(&options, &result(wrong)), None, "{wrong}");
        }
        assert_eq!(selection(&options, &result(r#"{"action":"decline"}"#)), Some(Elicited::Declined));
        assert_eq!(input(&result(r#"{"action":"cancel"}"#)), Some(Elicited::Cancelled));
    }

    #[test]
    fn every_question_is_one_form() {
        let revision = Revision::V2025_06_18;
        let ask = |params: Result<Object, Error>| {
            String::from_utf8(params.unwrap().to_raw().as_bytes().to_vec()).unwrap()
        };
        assert_eq!(
            ask(params(&Callback::selection("Which?", ["a", "b"]), revision)),
            concat!(
                r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{"answer":"#,
                r#"{"type":"string","enum":["a","b"]}},"required":["answer"]}}"#
            )
        );
        let confirmation = ask(params(&Callback::confirmation("Sure?"), revision));
        assert!(confirmation.contains(r#"{"type":"boolean","title":"confirm"}"#), "{confirmation}");
        let input = ask(params(&Callback::input("Who?"), revision));
        assert!(input.contains(r#""answer":{"type":"string"}"#), "{input}");
    }
}
