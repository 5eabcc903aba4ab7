use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{Decision, ServerId, Timestamp, code};
use mgp_types::{BoxFuture, Error, Principal};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::super::book::check_operator;
use super::super::{Lasts, ScopeCheck};
use super::{ApprovalAnswer, ApprovalQuestion, Approver, Subject};
use crate::{Clock, random};

/// The questions that wait for an operator, who sees them in a list and decides. Clones share it.
///
/// What a server needs by itself is one question, however many wait for the answer, and so is what an agent needs for the same
/// call. A question about a call is that of this call alone. A question that nobody waits for any more is taken back.
///
/// There is room for so many questions as somebody may read, and nobody takes all of it: neither one agent by its
/// calls nor one server by what it needs by itself.
#[derive(Debug, Clone)]
pub struct PendingApprovals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    open: Mutex<Open>,
    count: watch::Sender<usize>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Open {
    /// In the order they were asked.
    questions: BTreeMap<u64, Asked>,
    asked: u64,
}

#[derive(Debug)]
struct Asked {
    shown: PendingApproval,
    waiting: Vec<(u64, oneshot::Sender<ApprovalAnswer>)>,
}

/// One open question.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PendingApproval {
    /// What to decide it by.
    pub id: ApprovalId,
    /// The server it is about.
    pub server: ServerId,
    /// What is asked for.
    pub subject: Subject,
    /// Who called first, if a call gave rise to it.
    pub asker: Option<Principal>,
    /// The question for people.
    pub message: String,
    /// When it was asked.
    pub asked_at: Timestamp,
}

/// Names an open question; nobody can guess it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ApprovalId(Arc<str>);

impl PendingApprovals {
    /// No questions yet.
    pub fn new(clock: Clock) -> Self {
        Self(Arc::new(Inner { open: Mutex::default(), count: watch::Sender::new(0), clock }))
    }

    /// The open questions, the oldest first.
    pub fn list(&self) -> Vec<PendingApproval> {
        self.0.open.lock().questions.values().map(|asked| asked.shown.clone()).collect()
    }

    /// How many questions are open, for those who want to be woken when there are others.
    pub fn count(&self) -> watch::Receiver<usize> {
        self.0.count.subscribe()
    }

    /// Lets `operator` answer the question `id`.
    ///
    /// # Errors
    /// The principal is no operator, or the answer is not theirs (1000); its scope cannot be checked (-32602); or nobody
    /// waits for the answer (4004).
    pub fn decide(
        &self,
        operator: &Principal,
        id: &ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<(), Error> {
        check_operator(operator)?;
        if answer.approver != *operator {
            return Err(Error::new(code::PERMISSION_DENIED, "nobody answers in another's name"));
        }
        // A scope that cannot be checked is told to the operator, not to the one who waits.
        if let Some(scope) = &answer.terms.scope {
            ScopeCheck::new(scope).map_err(|error| Error::invalid_params(error.to_string()))?;
        }
        let mut open = self.0.open.lock();
        let place = open.questions.iter().find(|(_, asked)| asked.shown.id == *id).map(|(place, _)| *place);
        let asked = place.and_then(|place| open.questions.remove(&place));
        self.0.count.send_replace(open.questions.len());
        drop(open);
        let mut answer = answer.clone();
        let mut told = 0;
        for (_, waiting) in asked.into_iter().flat_map(|asked| asked.waiting) {
            told += usize::from(waiting.send(answer.clone()).is_ok());
            if told > 0 && answer.terms.lasts == Lasts::Once {
                // It was for one call; the others have to ask again.
                answer.decision = Decision::Deferred;
            }
        }
        if told > 0 {
            return Ok(());
        }
        Err(Error::new(code::RESOURCE_NOT_FOUND, "nobody waits for an answer to this question any more"))
    }

    fn open(
        &self,
        question: &ApprovalQuestion,
    ) -> Result<(oneshot::Receiver<ApprovalAnswer>, Waiting), Error> {
        let (sender, receiver) = oneshot::channel();
        let mut open = self.0.open.lock();
        open.asked += 1;
        let ticket = open.asked;
        let is_full = open.questions.len() >= MAX_QUESTIONS || open.has_enough_of(question);
        let same = open.questions.iter_mut().find(|(_, asked)| asked.is_answered_with(question));
        let place = match same {
            Some((_, asked)) if asked.waiting.len() >= MAX_WAITING => return Err(full()),
            Some((place, asked)) => {
                asked.waiting.push((ticket, sender));
                *place
            }
            None if is_full => return Err(full()),
            None => {
                let id = question.id.clone().map_or_else(ApprovalId::random, Ok)?;
                let question = ApprovalQuestion { id: Some(id.clone()), ..question.clone() };
                let shown = PendingApproval {
                    id,
                    server: question.server.clone(),
                    subject: question.subject.clone(),
                    asker: question.asker().cloned(),
                    message: question.message(),
                    asked_at: self.0.clock.now(),
                };
                open.questions.insert(ticket, Asked { shown, waiting: vec![(ticket, sender)] });
                ticket
            }
        };
        self.0.count.send_replace(open.questions.len());
        drop(open);
        Ok((receiver, Waiting { questions: self.clone(), place, ticket }))
    }
}

impl Approver for PendingApprovals {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, Error>> {
        Box::pin(async move {
            let (answer, _waiting) = self.open(&question)?;
            answer.await.map_err(|_| Error::internal("the question was taken back"))
        })
    }
}

impl Open {
    /// Whether those who ask `question` have as many open as one may: an agent, or a server that asks by itself.
    fn has_enough_of(&self, question: &ApprovalQuestion) -> bool {
        let asker = question.asker();
        let is_theirs = |shown: &PendingApproval| {
            shown.asker.as_ref() == asker && (asker.is_some() || shown.server == question.server)
        };
        let most = if asker.is_some() { MAX_OF_ASKER } else { MAX_OF_SERVER };
        self.questions.values().filter(|asked| is_theirs(&asked.shown)).count() >= most
    }
}

impl Asked {
    /// Whether the answer to this question is one to the other as well.
    fn is_answered_with(&self, question: &ApprovalQuestion) -> bool {
        match (&self.shown.subject, &question.subject) {
            (
                Subject::Permission { permission: shown, arguments: None, .. },
                Subject::Permission { permission, arguments: None, .. },
            ) => shown == permission && self.shown.server == question.server,
            // The same call by the same agent; of which one goes on if the permission is granted once.
            (shown @ Subject::Permission { .. }, asked @ Subject::Permission { .. }) => {
                shown == asked
                    && self.shown.server == question.server
                    && self.shown.asker.as_ref() == question.asker()
            }
            _ => false,
        }
    }
}

/// Somebody's place before a question; given up when dropped.
struct Waiting {
    questions: PendingApprovals,
    place: u64,
    ticket: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut open = self.questions.0.open.lock();
        let Some(asked) = open.questions.get_mut(&self.place) else { return };
        asked.waiting.retain(|(ticket, _)| *ticket != self.ticket);
        if asked.waiting.is_empty() {
            open.questions.remove(&self.place);
        }
        self.questions.0.count.send_replace(open.questions.len());
    }
}

impl ApprovalId {
    /// Makes an id that nobody can guess.
    pub(super) fn random() -> Result<Self, Error> {
        Ok(Self(random::name()?.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ApprovalId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever reads a log must not be able to name it.
        f.write_str("ApprovalId(***)")
    }
}

pub(super) fn full() -> Error {
    Error::new(code::RESOURCE_EXHAUSTED, "too many questions wait for an operator; try again later")
}

const MAX_QUESTIONS: usize = 256;
/// How many of them may come of the calls of one principal.
const MAX_OF_ASKER: usize = 16;
/// How many of them one server may ask by itself: as many as it may need to operate.
const MAX_OF_SERVER: usize = 64;
const MAX_WAITING: usize = 1024;

#[cfg(test)]
mod tests {
    use mgp_types::Context;
    use mgp_types::mgp::Permission;

    use super::*;
    use crate::permission::Terms;

    fn question(permission: Permission) -> ApprovalQuestion {
        let risk = permission.risk();
        ApprovalQuestion::new(
            "s".into(),
            Subject::Permission { permission, risk, tool: None, arguments: None },
            Context::default(),
        )
    }

    fn yes(operator: &Principal) -> ApprovalAnswer {
        ApprovalAnswer::new(operator.clone(), Decision::Approved).with_terms(Terms::default())
    }

    #[tokio::test]
    async fn many_that_need_the_same_permission_ask_once_and_all_are_answered() {
        let pending = PendingApprovals::new(Clock::system());
        let ada = Principal::operator("ada");
        let asks: Vec<_> = (0..16)
            .map(|_| {
                let pending = pending.clone();
                tokio::spawn(async move { pending.ask(question(Permission::Camera)).await })
            })
            .collect();
        let other = tokio::spawn({
            let pending = pending.clone();
            async move { pending.ask(question(Permission::ShellExecute)).await }
        });
        pending.count().wait_for(|count| *count == 2).await.unwrap();
        tokio::task::yield_now().await;
        let open = pending.list();
        let camera = open.iter().find(|open| open.message.contains("camera")).unwrap();
        pending.decide(&ada, &camera.id, &yes(&ada)).unwrap();
        for ask in asks {
            assert_eq!(ask.await.unwrap().unwrap().decision, Decision::Approved);
        }
        assert_eq!(pending.list().len(), 1);
        other.abort();
    }

    #[tokio::test]
    async fn agents_and_impostors_decide_nothing() {
        let pending = PendingApprovals::new(Clock::system());
        let asking = tokio::spawn({
            let pending = pending.clone();
            async move { pending.ask(question(Permission::Camera)).await }
        });
        pending.count().wait_for(|count| *count == 1).await.unwrap();
        let id = pending.list()[0].id.clone();
        let agent = Principal::new("ada");
        let (ada, bob) = (Principal::operator("ada"), Principal::operator("bob"));
        for (who, answer) in [(&agent, yes(&agent)), (&agent, yes(&ada)), (&bob, yes(&ada))] {
            assert_eq!(pending.decide(who, &id, &answer).unwrap_err().code(), code::PERMISSION_DENIED);
        }
        assert!(!asking.is_finished());
        asking.abort();
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_taken_back() {
        let pending = PendingApprovals::new(Clock::system());
        let asking = ask_and_wait(&pending);
        assert_eq!(pending.list().len(), 1);
        let id = pending.list()[0].id.clone();
        drop(asking);
        assert!(pending.list().is_empty());
        let ada = Principal::operator("ada");
        assert_eq!(pending.decide(&ada, &id, &yes(&ada)).unwrap_err().code(), code::RESOURCE_NOT_FOUND);
    }

    /// Asks, up to where it waits.
    fn ask_and_wait(pending: &PendingApprovals) -> BoxFuture<'_, Result<ApprovalAnswer, Error>> {
        let mut asking = pending.ask(question(Permission::Camera));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(asking.as_mut().poll(&mut context).is_pending());
        asking
    }

    #[tokio::test]
    async fn more_questions_than_anybody_reads_are_refused() {
        let pending = PendingApprovals::new(Clock::system());
        let mut asking = Vec::new();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for number in 0..=MAX_QUESTIONS {
            let server = format!("s{}", number / 8);
            let mut ask = pending.ask(from(None, &server, number));
            let polled = ask.as_mut().poll(&mut context);
            assert_eq!(polled.is_ready(), number == MAX_QUESTIONS);
            asking.push(ask);
        }
        assert_eq!(pending.list().len(), MAX_QUESTIONS);
    }

    fn from(agent: Option<&str>, server: &str, number: usize) -> ApprovalQuestion {
        let permission = Permission::read(&format!("com.example.{server}.p{number}"));
        let subject = Subject::Permission {
            permission,
            risk: mgp_types::mgp::RiskLevel::Safe,
            tool: None,
            arguments: None,
        };
        let mut context = Context::default();
        context.principal = agent.map(Principal::new);
        ApprovalQuestion::new(server.into(), subject, context)
    }

    #[tokio::test]
    async fn neither_an_agent_nor_a_server_takes_the_room_of_the_others() {
        let pending = PendingApprovals::new(Clock::system());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let mut asking = Vec::new();
        let mut ask = |agent: Option<&str>, server: &str, count: usize| {
            let mut refused = 0;
            for number in 0..count {
                let mut ask = pending.ask(from(agent, server, number));
                refused += usize::from(ask.as_mut().poll(&mut context).is_ready());
                asking.push(ask);
            }
            refused
        };
        assert_eq!(ask(Some("greedy"), "s", MAX_QUESTIONS), MAX_QUESTIONS - 16);
        assert_eq!(ask(None, "rogue", MAX_QUESTIONS), MAX_QUESTIONS - 64);
        assert_eq!(ask(Some("modest"), "other", 16), 0);
        assert_eq!(ask(None, "honest", 64), 0);
        // To join a question that stands already takes no room.
        assert_eq!(ask(Some("greedy"), "honest", 1), 0);
        drop(asking);
        assert!(pending.list().is_empty());
    }
}
