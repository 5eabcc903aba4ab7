//! One task: its owner, its questions, its outcome and its times.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mgp_types::mcp::task::TaskStatus;
use mgp_types::{Context, Error, Method, Object, Principal, RawJson, Session};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// One task.
#[derive(Debug)]
pub(crate) struct Task {
    pub(super) id: Arc<str>,
    /// The number of the task in the order of creation.
    pub(super) number: u64,
    pub(super) owner: TaskOwner,
    pub(super) created_at: SystemTime,
    pub(super) expires: Instant,
    pub(super) ttl: Duration,
    pub(super) poll_interval: Duration,
    state: Mutex<TaskState>,
    changed: Notify,
    abort: OnceLock<AbortHandle>,
}

/// The owner of a task: no other caller can see the task.
#[derive(Debug)]
pub(super) struct TaskOwner {
    principal: Option<Principal>,
    /// The session of a 2025-11-25 task. The eras do not see each other's tasks.
    session: Option<Weak<Session>>,
}

#[derive(Debug)]
struct TaskState {
    message: Option<String>,
    updated_at: SystemTime,
    outcome: Option<Outcome>,
    /// The questions without an answer.
    questions: Vec<Question>,
    /// The keys of all questions so far; no key is used twice.
    keys: Vec<Box<str>>,
}

/// The outcome of a task.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Result { result: RawJson, is_error: bool },
    Failed(Error),
    Cancelled,
}

/// A question that a task waits for.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) key: Box<str>,
    pub(super) method: Method,
    pub(super) params: Object,
    pub(super) answer: oneshot::Sender<Result<RawJson, Error>>,
}

/// A task at one moment.
pub(super) struct TaskView {
    pub(super) status: TaskStatus,
    pub(super) message: Option<String>,
    pub(super) updated_at: SystemTime,
    pub(super) outcome: Option<Outcome>,
    pub(super) questions: Vec<(Box<str>, Method, Object)>,
}

impl TaskOwner {
    pub(super) fn of(context: &Context) -> Self {
        let session = context.session.as_ref().filter(|session| session.lasts());
        Self { principal: context.principal.clone(), session: session.map(Arc::downgrade) }
    }

    /// Returns whether a request with this context comes from the owner.
    pub(super) fn is(&self, context: &Context) -> bool {
        if self.principal != context.principal {
            return false;
        }
        let session = context.session.as_ref().filter(|session| session.lasts());
        match (&self.session, session) {
            (None, None) => true,
            // A principal keeps its tasks from one session to the next; a caller without one is known by its session
            // only.
            (Some(own), Some(session)) => self.principal.is_some() || own.as_ptr() == Arc::as_ptr(session),
            _ => false,
        }
    }

    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.session.as_ref()?.upgrade()
    }

    pub(super) fn is_session_era(&self) -> bool {
        self.session.is_some()
    }
}

impl Task {
    pub(super) fn new(
        id: Arc<str>,
        number: u64,
        owner: TaskOwner,
        ttl: Duration,
        poll_interval: Duration,
    ) -> Self {
        let now = SystemTime::now();
        let state = TaskState {
            message: None,
            updated_at: now,
            outcome: None,
            questions: Vec::new(),
            keys: Vec::new(),
        };
        Self {
            id,
            number,
            owner,
            created_at: now,
            expires: Instant::now() + ttl,
            ttl,
            poll_interval,
            state: Mutex::new(state),
            changed: Notify::new(),
            abort: OnceLock::new(),
        }
    }

    pub(super) fn view(&self) -> TaskView {
        let state = self.state.lock();
        let questions = state.waiting();
        TaskView {
            status: state.status(),
            message: state.message.clone(),
            updated_at: state.updated_at,
            outcome: state.outcome.clone(),
            questions: questions
                .map(|question| (question.key.clone(), question.method.clone(), question.params.clone()))
                .collect(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.lock().outcome.is_some()
    }

    /// Hands the running work to the task, which aborts it when it is cancelled or dropped.
    pub(super) fn runs_in(&self, abort: AbortHandle) {
        let _ = self.abort.set(abort);
        // The task may have been cancelled in the meantime.
        if matches!(self.state.lock().outcome, Some(Outcome::Cancelled)) {
            self.stop();
        }
    }

    /// Ends the task; returns `false` if it was over already.
    pub(super) fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state.lock();
        if state.outcome.is_some() {
            return false;
        }
        let stop = matches!(outcome, Outcome::Cancelled);
        state.outcome = Some(outcome);
        state.questions.clear();
        state.touch();
        drop(state);
        self.changed.notify_waiters();
        if stop {
            self.stop();
        }
        true
    }

    pub(super) fn say(&self, message: &str) {
        let mut state = self.state.lock();
        if state.outcome.is_none() {
            state.message = Some(message.into());
            state.touch();
        }
    }

    /// Notes a question, under `key` or a similar one if that was used before.
    pub(super) fn ask(
        &self,
        key: &str,
        method: Method,
        params: Object,
    ) -> oneshot::Receiver<Result<RawJson, Error>> {
        let (answer, answered) = oneshot::channel();
        let mut state = self.state.lock();
        if state.outcome.is_none() {
            let key = state.unused(key);
            state.keys.push(key.clone());
            state.questions.push(Question { key, method, params, answer });
            state.touch();
        }
        drop(state);
        self.changed.notify_waiters();
        answered
    }

    /// Removes the question called `key` and returns it, for its answer.
    pub(super) fn take_question(&self, key: &str) -> Option<Question> {
        let mut state = self.state.lock();
        let place = state.questions.iter().position(|question| &*question.key == key)?;
        state.touch();
        Some(state.questions.remove(place))
    }

    /// Removes the first question and returns it, for its answer.
    pub(super) fn take_first_question(&self) -> Option<Question> {
        let mut state = self.state.lock();
        state.questions.retain(|question| !question.answer.is_closed());
        (!state.questions.is_empty()).then(|| state.questions.remove(0))
    }

    /// Puts a question back that was not answered.
    pub(super) fn put_back(&self, question: Question) {
        let mut state = self.state.lock();
        if state.outcome.is_none() {
            state.questions.insert(0, question);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits for any change. A wait that begins before a look at the task misses no change.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    fn stop(&self) {
        if let Some(abort) = self.abort.get() {
            abort.abort();
        }
    }
}

impl TaskState {
    fn status(&self) -> TaskStatus {
        match &self.outcome {
            None if self.waiting().next().is_some() => TaskStatus::InputRequired,
            None => TaskStatus::Working,
            Some(Outcome::Result { .. }) => TaskStatus::Completed,
            Some(Outcome::Failed(_)) => TaskStatus::Failed,
            Some(Outcome::Cancelled) => TaskStatus::Cancelled,
        }
    }

    /// Returns the questions whose askers still wait.
    fn waiting(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| !question.answer.is_closed())
    }

    fn touch(&mut self) {
        self.updated_at = SystemTime::now();
    }

    fn unused(&self, key: &str) -> Box<str> {
        let is_used = |key: &str| self.keys.iter().any(|used| &**used == key);
        if !is_used(key) {
            return key.into();
        }
        // The range has more numbers than there are used keys.
        let others = 2..self.keys.len() + 3;
        others.map(|round| format!("{key}-{round}")).find(|key| !is_used(key)).unwrap_or_default().into()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the time in ISO 8601, in UTC with milliseconds.
pub(super) fn iso_8601(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Returns the date `days` days after 1970-01-01. Years are counted from March, so that leap days come last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_are_written_right() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_772_323_200, "2026-03-01T00:00:00.000Z"),
            (4_102_444_799, "2099-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(iso_8601(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
