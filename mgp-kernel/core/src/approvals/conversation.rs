//! The exchange between a call and its client, over the rounds of the client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;

use mgp_types::mgp::CallRecord;
use mgp_types::{
    BoxFuture, Context, Error, InputQuestion, Method, Object, Outbox, OutboxPort, Principal, RawJson,
    Request, Response, Session, StreamId, code,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

use super::check_declared;
use super::parked_calls::ParkedCallShared;
use super::quota::{Quota, QuotaSlot};
use super::unattended::UnattendedCall;

/// The exchange between one call and its client, over the rounds of the client.
///
/// The call asks questions and reports progress; the client's rounds bring answers and take questions and the outcome.
/// Neither waits for the other here: each is woken when there is something for it.
pub(super) struct CallConversation {
    state: Mutex<CallConversationState>,
    /// The stream of the call, as all services behind know it.
    pub(super) stream: StreamId,
    /// The token under which the call reports its progress.
    pub(super) progress: Option<RawJson>,
    principal: Option<Principal>,
    pub(super) trail: Option<Arc<CallRecord>>,
    quota: Arc<Quota>,
}

#[derive(Default)]
struct CallConversationState {
    phase: CallPhase,
    /// The number of times that the client was asked.
    round: u64,
    questions: Vec<QuestionSlot>,
    /// The number of questions that the call has asked so far.
    asked: u64,
    /// True if the call is being polled, and may ask more.
    in_poll: bool,
    /// The place in the quota, taken with the first question.
    place: Option<QuotaSlot>,
    driver: Option<Waker>,
    /// The recorder of the outcome if the client does not come back.
    unattended: Option<UnattendedCall>,
}

#[derive(Default)]
enum CallPhase {
    /// A round of the client is open.
    Round(Round),
    /// The call waits for the client, or the client has the questions and the call is over.
    Parked { session: Arc<Session>, until: Instant, outcome: Option<Result<Response, Error>> },
    /// A round of the client is open, and this is its outcome.
    Finished(Result<Response, Error>, Option<Waker>),
    #[default]
    Over,
}

/// A request of the client: the first of a call, or one with answers.
struct Round {
    session: Arc<Session>,
    outbox: Outbox,
    /// The token under which the client gets progress in this round.
    progress: Option<RawJson>,
    /// The waker of the task that waits for the outcome of the round.
    waker: Option<Waker>,
}

impl Round {
    fn of(request: &Request, session: &Arc<Session>) -> Self {
        Self {
            session: Arc::clone(session),
            outbox: request.context.outbox.clone(),
            progress: request.meta("progressToken"),
            waker: None,
        }
    }
}

struct QuestionSlot {
    asked: InputQuestion,
    answer: oneshot::Sender<RawJson>,
}

/// The questions with which a round ends.
pub(super) struct RoundQuestions {
    /// The number of the round.
    pub(super) round: u64,
    pub(super) questions: Vec<InputQuestion>,
}

/// A question that was noted. Dropping it takes the question back.
pub(super) struct PendingQuestion {
    conversation: Arc<CallConversation>,
    key: Box<str>,
    answer: oneshot::Receiver<RawJson>,
}

impl CallConversation {
    /// Begins the conversation of the call that `request` begins.
    pub(super) fn begin(request: &Request, session: &Arc<Session>, parked: &ParkedCallShared) -> Arc<Self> {
        let Context { principal, trail, outbox, .. } = &*request.context;
        let round = Round::of(request, session);
        let stream = match outbox.stream() {
            // There is no way back, and so no stream; but the call has to be told from others.
            StreamId::STANDALONE => StreamId::fresh(),
            stream => stream,
        };
        Arc::new(Self {
            stream,
            progress: round.progress.clone(),
            principal: principal.clone(),
            trail: trail.clone(),
            quota: Arc::clone(&parked.quota),
            state: Mutex::new(CallConversationState { phase: CallPhase::Round(round), ..Default::default() }),
        })
    }

    /// Returns the way back to the client for all services behind.
    pub(super) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::new(ParkedCallPort(Arc::clone(self))), self.stream)
    }

    /// Returns the session of the open round, or of the last one.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        match &self.state.lock().phase {
            CallPhase::Round(Round { session, .. }) | CallPhase::Parked { session, .. } => {
                Some(Arc::clone(session))
            }
            CallPhase::Finished(..) | CallPhase::Over => None,
        }
    }

    /// Returns the outbox for the messages of the call, and the token of its progress there; `None` between rounds.
    pub(super) fn way_back(&self) -> Option<(Outbox, Option<RawJson>)> {
        match &self.state.lock().phase {
            CallPhase::Round(round) => Some((round.outbox.clone(), round.progress.clone())),
            _ => None,
        }
    }

    /// Notes a question for the client.
    ///
    /// # Errors
    /// 3001 if there is no place for it; 2001 if there are no places any more. Fails as well if the call is over.
    pub(super) fn ask(self: &Arc<Self>, method: Method, params: Object) -> Result<PendingQuestion, Error> {
        let mut state = self.state.lock();
        if !matches!(state.phase, CallPhase::Round(_) | CallPhase::Parked { outcome: None, .. }) {
            return Err(Error::cancelled());
        }
        if state.questions.len() >= self.quota.limits.max_questions {
            let message = "the client cannot be asked: the call has too many questions that wait for answers";
            return Err(Error::new(code::RESOURCE_EXHAUSTED, message));
        }
        match &state.place {
            Some(_) => self.quota.check()?,
            None => state.place = Some(self.quota.take(self.principal.as_ref())?),
        }
        state.asked += 1;
        let key: Box<str> = format!("question-{}", state.asked).into();
        let (sender, answer) = oneshot::channel();
        let asked = InputQuestion::new(key.clone(), method, params);
        state.questions.push(QuestionSlot { asked, answer: sender });
        let waker = if state.in_poll { None } else { state.waker() };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok(PendingQuestion { conversation: Arc::clone(self), key, answer })
    }

    /// Has `waker` wake the task that waits for the round.
    pub(super) fn awaited_by(&self, waker: &Waker) {
        let mut state = self.state.lock();
        if let CallPhase::Round(Round { waker: place, .. }) | CallPhase::Finished(_, place) = &mut state.phase
            && !place.as_ref().is_some_and(|old| old.will_wake(waker))
        {
            *place = Some(waker.clone());
        }
    }

    /// Takes the outcome of the round, in a call that has been parked.
    pub(super) fn take_outcome(&self) -> Option<Result<Response, Error>> {
        let mut state = self.state.lock();
        match std::mem::take(&mut state.phase) {
            CallPhase::Finished(outcome, _) => Some(outcome),
            CallPhase::Over => Some(Err(Error::internal("the call ended without an answer; make it again"))),
            waiting => {
                state.phase = waiting;
                None
            }
        }
    }

    /// Ends the round with the questions there are; the client has `ttl` for its answers. Returns `None` if there are
    /// no questions, or may be more in a moment.
    pub(super) fn park(&self, ttl: Duration) -> Option<RoundQuestions> {
        let mut state = self.state.lock();
        if state.in_poll || state.questions.is_empty() {
            return None;
        }
        let CallPhase::Round(round) = &state.phase else { return None };
        let session = Arc::clone(&round.session);
        state.phase = CallPhase::Parked { session, until: Instant::now() + ttl, outcome: None };
        state.round += 1;
        let questions = state.questions.iter().map(|question| question.asked.clone()).collect();
        let (round, driver) = (state.round, state.driver.take());
        drop(state);
        driver.into_iter().for_each(Waker::wake);
        Some(RoundQuestions { round, questions })
    }

    /// Has the outcome recorded if the client does not come back.
    pub(super) fn record_with(&self, unattended: UnattendedCall) {
        self.state.lock().unattended = Some(unattended);
    }

    /// Opens the round that `request` brings, as the answer to round `number`.
    ///
    /// # Errors
    /// Fails if that round was answered already, or the call is over.
    pub(super) fn resume(&self, number: u64, request: &Request, answers: &Object) -> Result<(), Error> {
        let session = request.context.session()?;
        let mut state = self.state.lock();
        let is_this_round = state.round == number;
        let (CallPhase::Parked { outcome, .. }, true) = (&mut state.phase, is_this_round) else {
            return Err(super::ticket::unknown());
        };
        state.phase = match outcome.take() {
            Some(outcome) => CallPhase::Finished(outcome, None),
            None => CallPhase::Round(Round::of(request, session)),
        };
        let (answered, open): (Vec<_>, Vec<_>) = std::mem::take(&mut state.questions)
            .into_iter()
            .map(|question| (answers.get(&question.asked.key).filter(RawJson::is_object), question))
            .partition(|(answer, _)| answer.is_some());
        state.questions = open.into_iter().map(|(_, question)| question).collect();
        drop(state);
        for (answer, question) in answered {
            if let Some(answer) = answer {
                // The asker may have given up by now.
                let _ = question.answer.send(answer);
            }
        }
        Ok(())
    }

    /// Notes that the call is about to be polled, and that `waker` wakes its driver when it is parked or over.
    pub(super) fn driven_by(&self, waker: &Waker, is_running: bool) {
        let mut state = self.state.lock();
        state.driver = Some(waker.clone());
        state.in_poll = is_running;
    }

    /// Notes that the call waits.
    pub(super) fn waits(&self) {
        let mut state = self.state.lock();
        state.in_poll = false;
        let waker = if state.questions.is_empty() { None } else { state.waker() };
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Keeps the outcome of the call, which has ended, for the client.
    pub(super) fn finish(&self, outcome: Result<Response, Error>) {
        let mut state = self.state.lock();
        state.in_poll = false;
        let questions = std::mem::take(&mut state.questions);
        let mut waker = None;
        match &mut state.phase {
            CallPhase::Round(round) => {
                waker = round.waker.take();
                state.phase = CallPhase::Finished(outcome, None);
            }
            CallPhase::Parked { outcome: place, .. } => *place = Some(outcome),
            CallPhase::Finished(..) | CallPhase::Over => {}
        }
        drop(state);
        drop(questions);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Returns whether no round of the client is open.
    pub(super) fn is_away(&self) -> bool {
        matches!(&self.state.lock().phase, CallPhase::Parked { .. } | CallPhase::Over)
    }

    /// Waits until the call is over, and ends it if its client does not come back in time, for which `sleep` waits.
    pub(super) fn poll_over(&self, mut sleep: Pin<&mut Sleep>, cx: &mut task::Context<'_>) -> Poll<()> {
        loop {
            let until = match &self.state.lock().phase {
                CallPhase::Round(_) | CallPhase::Finished(..) => return Poll::Pending,
                CallPhase::Parked { until, .. } => *until,
                CallPhase::Over => return Poll::Ready(()),
            };
            if sleep.deadline() != until {
                sleep.as_mut().reset(until);
            }
            task::ready!(sleep.as_mut().poll(cx));
            // The client may have come back just now.
            let is_late =
                matches!(&self.state.lock().phase, CallPhase::Parked { until: own, .. } if *own == until);
            if is_late {
                tracing::debug!("a call is dropped: its client did not come back with answers in time");
                self.end();
            }
        }
    }

    /// Ends the call: no question is asked any more, and its place is free.
    pub(super) fn end(&self) {
        let mut state = self.state.lock();
        let questions = std::mem::take(&mut state.questions);
        let (place, driver) = (state.place.take(), state.driver.take());
        let (phase, unattended) = (std::mem::take(&mut state.phase), state.unattended.take());
        drop(state);
        drop((questions, place));
        match phase {
            CallPhase::Round(Round { waker, .. }) | CallPhase::Finished(_, waker) => {
                waker.into_iter().for_each(Waker::wake);
            }
            CallPhase::Parked { outcome, .. } => {
                if let Some(unattended) = unattended {
                    unattended.record(self.trail.clone(), outcome);
                }
            }
            CallPhase::Over => {}
        }
        driver.into_iter().for_each(Waker::wake);
    }
}

impl CallConversationState {
    /// Takes the waker of the task that waits for the round.
    fn waker(&mut self) -> Option<Waker> {
        match &mut self.phase {
            CallPhase::Round(round) => round.waker.take(),
            _ => None,
        }
    }
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        let mut state = self.conversation.state.lock();
        let at = state.questions.iter().position(|question| *question.asked.key == *self.key);
        let question = at.map(|at| state.questions.remove(at));
        drop(state);
        drop(question);
    }
}

/// The way back to the client of a call, whichever round it is in.
struct ParkedCallPort(Arc<CallConversation>);

impl ParkedCallPort {
    /// Asks the client; the answer comes with one of its next rounds.
    async fn ask(&self, question: Request) -> Result<Response, Error> {
        let session = self.0.session().ok_or_else(Error::cancelled)?;
        check_declared(&session, &question).await?;
        let mut asked = self.0.ask(question.method, question.params)?;
        (&mut asked.answer).await.map(Response::new).map_err(|_| Error::cancelled())
    }
}

impl OutboxPort for ParkedCallPort {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let Some((outbox, progress)) = self.0.way_back() else {
                tracing::debug!(method = %notification.method, "dropping a notification between two rounds");
                return Ok(());
            };
            if notification.method == Method::PROGRESS && progress != self.0.progress {
                // Each round has a progress token of its own, or wants no progress.
                let Some(progress) = progress else { return Ok(()) };
                notification.params.set("progressToken", progress);
            }
            let Some((port, current)) = outbox.into_parts() else { return Ok(()) };
            let stream = if stream == self.0.stream { current } else { stream };
            port.notify(stream, notification).await
        })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.ask(request))
    }
}
