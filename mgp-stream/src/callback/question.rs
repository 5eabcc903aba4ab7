//! A question that a handler asks its client, the time for which its answer is awaited, and how the answer is read: from a
//! callback, or from an elicitation of MCP where the client has no callbacks.

use std::collections::HashSet;
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mcp::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitResult, Elicited, ForRevision, FormSchema,
    SingleSelectSchema, StringSchema,
};
use mgp_types::mgp::{CallbackRequest, CallbackType};
use mgp_types::{Error, Object, RawJson, Revision};

/// A question for the client, whose answer is an `A`.
///
/// ```
/// use std::time::Duration;
/// use mgp_stream::callback::Callback;
///
/// let question = Callback::selection("Which branch?", ["main", "next"]).timeout(Duration::from_secs(30));
/// # assert_eq!(format!("{question:?}"), r#"Callback { type: "selection", timeout: 30s, .. }"#);
/// ```
pub struct Callback<A> {
    pub(super) kind: CallbackType,
    pub(super) message: String,
    pub(super) options: Vec<String>,
    pub(super) timeout: Duration,
    pub(super) reading: AnswerReader<A>,
}

/// The functions that read an answer from a callback (`None` if it does not fit) and from an elicitation.
pub(super) struct AnswerReader<A> {
    pub(super) response: fn(&[String], &RawJson) -> Option<A>,
    /// The function that makes the form of the question.
    pub(super) form: fn(&[String]) -> FormSchema,
    pub(super) elicited: fn(&[String], &ElicitResult) -> Option<A>,
}

impl Callback<Confirmation> {
    /// Creates a question for a yes or no, asked before a dangerous action. The words offered are `confirm` and
    /// `cancel`.
    //= mgp §13.4
    //# Yes/no confirmation for dangerous operations
    pub fn confirmation(message: impl Into<String>) -> Self {
        let reading = AnswerReader {
            response: |_, response| Some(confirmation(response)),
            form: |words| {
                let mut schema = BooleanSchema::new();
                schema.title = words.first().cloned();
                FormSchema::empty().with_required_field(FIELD, schema)
            },
            elicited: |_, result| Some(elicited_confirmation(result)),
        };
        Self::new(CallbackType::Confirmation, message, vec!["confirm".into(), "cancel".into()], reading)
    }
}

impl Callback<Elicited<RawJson>> {
    /// Creates a question for a value that the user knows. An elicitation brings a text; a callback may bring any JSON.
    pub fn input(message: impl Into<String>) -> Self {
        let reading = AnswerReader {
            response: |_, response| {
                let is_given = !response.is_null();
                Some(if is_given { Elicited::Accepted(response.detached()) } else { Elicited::Cancelled })
            },
            form: |_| FormSchema::empty().with_required_field(FIELD, StringSchema::new()),
            elicited: |_, result| elicited(result, |value| Some(value.detached())),
        };
        Self::new(CallbackType::Input, message, Vec::new(), reading)
    }
}

impl Callback<Elicited<SelectedOption>> {
    /// Creates a question for one of `options`.
    pub fn selection(
        message: impl Into<String>,
        options: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let reading = AnswerReader {
            response: selection,
            form: |options| {
                FormSchema::empty().with_required_field(FIELD, SingleSelectSchema::untitled(options))
            },
            elicited: elicited_selection,
        };
        Self::new(CallbackType::Selection, message, options.into_iter().map(Into::into).collect(), reading)
    }
}

impl Callback<()> {
    /// Creates a message to the user that needs no answer.
    pub fn notification(message: impl Into<String>) -> Self {
        let reading = AnswerReader {
            response: |_, _| Some(()),
            form: |_| FormSchema::empty(),
            elicited: |_, _| Some(()),
        };
        Self::new(CallbackType::Notification, message, Vec::new(), reading)
    }
}

impl<A> Callback<A> {
    /// Sets the time to wait for the answer, in place of a minute: at least a millisecond and at most a day.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = within_bounds(timeout);
        self
    }

    /// Returns the callback that the client is sent under `id`.
    pub(super) fn request(&self, id: Box<str>) -> CallbackRequest {
        let request = CallbackRequest::new(id, self.kind.clone(), self.message.clone())
            .with_options(self.options.iter().cloned());
        if !self.kind.wants_answer() {
            return request;
        }
        request.with_timeout_ms(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns the parameters of `elicitation/create` that ask the question.
    pub(super) fn elicitation(&self, revision: Revision) -> Result<Object, Error> {
        let form = (self.reading.form)(&self.options);
        let params = ElicitFormParams::new(self.message.clone(), form).for_revision(revision);
        Object::from_value(&params)
            .map_err(|error| Error::internal("the question cannot be written as JSON").with_source(error))
    }

    /// Reads the user's answer from an elicitation.
    ///
    /// # Errors
    /// -32602 if the answer does not fit.
    pub(super) fn read_elicited(&self, answer: &RawJson) -> Result<A, Error> {
        let result: Option<ElicitResult> = answer.to().ok();
        result
            .and_then(|result| (self.reading.elicited)(&self.options, &result))
            .ok_or_else(|| Error::invalid_params("the answer does not fit the question that was asked"))
    }

    /// Checks that the question has an answer.
    ///
    /// # Errors
    /// The question has no answer, or two that cannot be told apart.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.kind == CallbackType::Selection && self.options.is_empty() {
            return Err(Error::internal("a selection needs at least one option"));
        }
        let mut known = HashSet::with_capacity_and_hasher(self.options.len(), RandomState::default());
        if !self.options.iter().all(|option| !option.trim().is_empty() && known.insert(option)) {
            return Err(Error::internal("the options of a question must not be empty or repeat"));
        }
        Ok(())
    }

    pub(super) fn new(
        kind: CallbackType,
        message: impl Into<String>,
        options: Vec<String>,
        reading: AnswerReader<A>,
    ) -> Self {
        Self { kind, message: message.into(), options, timeout: USUAL_WAIT, reading }
    }
}

mgp_types::partial_debug!([A] Callback<A>, self => type: self.kind.as_str(), timeout: self.timeout);

pub(super) const USUAL_WAIT: Duration = Duration::from_mins(1);

/// Returns the time that the asking server waits.
///
/// A server that names no time is taken to wait as long as most do. The same holds for 0: no user can answer in no
/// time, and some servers write 0 for no limit. The time of a callback that needs no answer means nothing.
pub(super) fn wait_for(asked: &CallbackRequest) -> Duration {
    let millis = asked.timeout_ms.filter(|millis| *millis > 0 && asked.callback_type.wants_answer());
    millis.map_or(USUAL_WAIT, |millis| within_bounds(Duration::from_millis(millis)))
}

const LONGEST_WAIT: Duration = Duration::from_hours(24);
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Returns `wait` bounded to a time that a peer can be told in whole milliseconds, and that clocks can bear.
fn within_bounds(wait: Duration) -> Duration {
    wait.clamp(SHORTEST_WAIT, LONGEST_WAIT)
}

/// The outcome of a question for a yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a user says yes, says no, or says nothing")]
pub enum Confirmation {
    /// The user said yes.
    Confirmed,
    /// The user said no, or gave an answer that is not known to be a yes.
    Declined,
    /// The user closed the question without an answer.
    Cancelled,
}

impl Confirmation {
    /// Returns whether the user said yes.
    pub const fn is_confirmed(self) -> bool {
        matches!(self, Self::Confirmed)
    }
}

/// The chosen option of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedOption {
    /// The position of the option, from 0.
    pub index: usize,
    /// The text of the option.
    pub option: String,
}

const CANCEL: [&str; 2] = ["cancel", "cancelled"];
const YES: [&str; 8] = ["confirm", "confirmed", "yes", "true", "ok", "accept", "approve", "approved"];

/// Reads a client's answer to a question for a yes or no.
///
/// Unknown answers are a no: the user is asked before actions that cannot be taken back.
fn confirmation(response: &RawJson) -> Confirmation {
    if response.is_null() {
        return Confirmation::Cancelled;
    }
    let Some(text) = response.to_text() else {
        let is_yes = response.as_bytes() == b"true";
        return if is_yes { Confirmation::Confirmed } else { Confirmation::Declined };
    };
    let text = text.trim();
    let is = |word: &&str| word.eq_ignore_ascii_case(text);
    if CANCEL.iter().any(is) {
        Confirmation::Cancelled
    } else if YES.iter().any(is) {
        Confirmation::Confirmed
    } else {
        Confirmation::Declined
    }
}

/// Reads a client's answer to a question for one of `options`; `None` if the answer is none of them.
fn selection(options: &[String], response: &RawJson) -> Option<Elicited<SelectedOption>> {
    if response.is_null() {
        return Some(Elicited::Cancelled);
    }
    choice(options, &response.to_text()?).map(Elicited::Accepted)
}

/// Returns the option that equals `text` letter by letter: options may differ in case only.
fn choice(options: &[String], text: &str) -> Option<SelectedOption> {
    let index = options.iter().position(|option| option == text)?;
    Some(SelectedOption { index, option: options[index].clone() })
}

/// The name of the only field of each form.
const FIELD: &str = "answer";

/// Reads a yes or no from an elicitation. Only a form that was filled in with a plain yes is a yes.
fn elicited_confirmation(result: &ElicitResult) -> Confirmation {
    match elicited(result, |value| Some(value.as_bytes() == b"true")) {
        Some(Elicited::Accepted(true)) => Confirmation::Confirmed,
        Some(Elicited::Cancelled) => Confirmation::Cancelled,
        _ => Confirmation::Declined,
    }
}

fn elicited_selection(options: &[String], result: &ElicitResult) -> Option<Elicited<SelectedOption>> {
    elicited(result, |value| choice(options, &value.to_text()?))
}

/// Reads an answer from an elicitation, `read` from the field of its form.
fn elicited<T>(result: &ElicitResult, read: impl FnOnce(&RawJson) -> Option<T>) -> Option<Elicited<T>> {
    Some(match result.action {
        ElicitAction::Accept => Elicited::Accepted(read(result.content.as_ref()?.get(FIELD)?)?),
        ElicitAction::Decline => Elicited::Declined,
        _ => Elicited::Cancelled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> RawJson {
        RawJson::parse(json.to_owned()).unwrap()
    }

    // covers: MGP-13.4-12, MGP-13.4-11
    #[test]
    fn only_what_is_known_to_be_a_yes_is_one() {
        for yes in [r#""confirm""#, r#"" Yes ""#, "true", r#""CONFIRM""#, r#""approve""#, r#""true""#] {
            assert_eq!(confirmation(&raw(yes)), Confirmation::Confirmed, "{yes}");
        }
        for no in [r#""no""#, "false", "1", r#""""#, r#""yes, but""#, r#"{"confirm":true}"#, "[true]"] {
            assert_eq!(confirmation(&raw(no)), Confirmation::Declined, "{no}");
        }
        for neither in [r#""cancel""#, "null", r#""Cancelled""#] {
            assert_eq!(confirmation(&raw(neither)), Confirmation::Cancelled, "{neither}");
        }
    }

    // covers: MGP-13.4-14
    #[test]
    fn a_selection_is_one_of_the_options_or_none() {
        let options = ["a".to_owned(), "A".to_owned()];
        let chosen = selection(&options, &raw(r#""A""#)).unwrap().accepted().unwrap();
        assert_eq!((chosen.index, &*chosen.option), (1, "A"));
        assert_eq!(selection(&options, &RawJson::null()), Some(Elicited::Cancelled));
        for none in [r#""b""#, "0", r#""a ""#, r#"{"index":0}"#] {
            assert_eq!(selection(&options, &raw(none)), None, "{none}");
        }
    }

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
            assert_eq!(elicited_confirmation(&result(json)), expected, "{json}");
        }
    }

    #[test]
    fn a_filled_form_must_fit() {
        let options = ["a".to_owned(), "b".to_owned()];
        let chosen = elicited_selection(&options, &result(r#"{"action":"accept","content":{"answer":"b"}}"#));
        assert_eq!(chosen.and_then(Elicited::accepted).map(|choice| choice.index), Some(1));
        for wrong in [r#"{"action":"accept","content":{"answer":"c"}}"#, r#"{"action":"accept"}"#] {
            assert_eq!(elicited_selection(&options, &result(wrong)), None, "{wrong}");
        }
        let declined = result(r#"{"action":"decline"}"#);
        assert_eq!(elicited_selection(&options, &declined), Some(Elicited::Declined));
        let input = (Callback::input("Who?").reading.elicited)(&[], &result(r#"{"action":"cancel"}"#));
        assert_eq!(input, Some(Elicited::Cancelled));
    }

    #[test]
    fn every_question_is_one_form() {
        let revision = Revision::V2025_06_18;
        let ask = |params: Result<Object, Error>| {
            String::from_utf8(params.unwrap().to_raw().as_bytes().to_vec()).unwrap()
        };
        assert_eq!(
            ask(Callback::selection("Which?", ["a", "b"]).elicitation(revision)),
            concat!(
                r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{"answer":"#,
                r#"{"type":"string","enum":["a","b"]}},"required":["answer"]}}"#
            )
        );
        let confirmation = ask(Callback::confirmation("Sure?").elicitation(revision));
        assert!(confirmation.contains(r#"{"type":"boolean","title":"confirm"}"#), "{confirmation}");
        let input = ask(Callback::input("Who?").elicitation(revision));
        assert!(input.contains(r#""answer":{"type":"string"}"#), "{input}");
    }
}
