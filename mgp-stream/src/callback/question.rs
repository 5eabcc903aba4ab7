//! A question that a handler asks its client, and the time for which its answer is awaited.

use std::collections::HashSet;
use std::time::Duration;

use foldhash::quality::RandomState;
use mgp_types::mcp::{ElicitResult, Elicited, FormSchema};
use mgp_types::mgp::{CallbackRequest, CallbackType};
use mgp_types::{Error, RawJson};

use super::answer::{self, Confirmation, SelectedOption};
use super::elicit;

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
            response: |_, response| Some(answer::confirmation(response)),
            form: elicit::confirmation_form,
            elicited: |_, result| Some(elicit::confirmation(result)),
        };
        Self::new(CallbackType::Confirmation, message, vec!["confirm".into(), "cancel".into()], reading)
    }
}

impl Callback<Elicited<RawJson>> {
    /// Creates a question for a value that the user knows. An elicitation brings a text; a callback may bring any JSON.
    pub fn input(message: impl Into<String>) -> Self {
        let reading = AnswerReader {
            response: |_, response| Some(answer::input(response)),
            form: elicit::input_form,
            elicited: |_, result| elicit::input(result),
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
            response: answer::selection,
            form: elicit::selection_form,
            elicited: elicit::selection,
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
