//! The approver that asks the calling client first, and then the operators' queue.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foldhash::fast::RandomState;
use futures_util::future::{Either, select};
use mgp_types::canonical::Digest;
use mgp_types::mgp::{Decision, ServerId, Timestamp, ToolName};
use mgp_types::{Context, Error, Method, Object, Origin, Principal, RawJson, random_name};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReply, ApprovalSubject, Approver, PendingApprovals,
    ShownArguments, WaitingQuestion,
};
use crate::Clock;
use crate::permission::GrantLifetime;

/// A function that returns whether a person is asked in front of the client of a call. The function is called once for each
/// question that somebody has to answer.
pub type OperatorInFront = Arc<dyn Fn(&Context) -> PersonInFront + Send + Sync>;

/// The person in front of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonInFront {
    /// A person who answers as this operator.
    Operator(Principal),
    /// No person sits there.
    Nobody,
    /// Nobody knows whether a person sits there, until an operator says so.
    Unproven,
}

/// An approver that asks people in this order: first, by elicitation, the calling client, if a person sits in front
/// of it; then operators, who see the question in the queue, whether they watch it or look later.
///
/// A client answers for its human, and a model could answer for itself; so only the clients that the configuration
/// names are asked, each as the operator who answers there. A client that cannot be asked, or whose answer is
/// unusable (dismissed, malformed, too late), decides nothing, and the question goes to the queue. An answer that was
/// given while nobody waited for it comes before all of these.
///
/// Where a question is sent to the client with the answer to the call, and the call is repeated with the reply, the reply
/// counts once: the question has a name that cannot be guessed, and is forgotten when it has been answered.
#[derive(Clone)]
pub struct ApproverChain {
    operator: OperatorInFront,
    open: Arc<Mutex<HashMap<QuestionKey, NamedQuestion, RandomState>>>,
    clock: Clock,
    queue: PendingApprovals,
}

/// The server and the subject of a question, and the principal that is asked.
type QuestionKey = (ServerId, Box<str>, Principal);

/// The name of a question, and the time at which it was asked.
type NamedQuestion = (Arc<str>, Timestamp);

impl ApproverChain {
    /// Returns a chain that asks the clients for which `operator` names an operator, and otherwise puts the question
    /// into `queue`.
    pub fn new(operator: OperatorInFront, queue: PendingApprovals, clock: Clock) -> Self {
        Self { operator, open: Arc::default(), clock, queue }
    }

    /// Returns the answer given in front of the client until `end`; `None` if nobody decided there.
    ///
    /// If the question has no room for the whole call, operators also find it in the queue, and the first answer
    /// counts.
    async fn ask_client(
        &self,
        question: &mut ApprovalQuestion,
        operator: Principal,
        asker: Principal,
        end: Instant,
    ) -> Result<Option<ApprovalAnswer>, Error> {
        let is_abridged = question.subject.arguments().is_some_and(ShownArguments::is_abridged);
        if is_abridged {
            question.id = Some(self.queue.id_for(question));
        }
        let shown = question.clone();
        let client = pin!(timeout_at(end, self.elicit(&shown, operator, asker)));
        let reply = if is_abridged {
            match select(client, self.queue.ask(question.clone())).await {
                Either::Left((reply, _)) => reply,
                Either::Right((Ok(ApprovalReply::Answer(answer)), _)) => return Ok(Some(answer)),
                // The wait for operators ended without an answer, or there is no room in the queue.
                Either::Right((_, client)) => client.await,
            }
        } else {
            client.await
        };
        match reply {
            Ok(Ok(answer)) if answer.decision != Decision::Deferred => {
                self.queue.take_back(question).await;
                // A denial of a call is for this call only; a denial of a permission stays for a while.
                let stays = matches!(question.subject, ApprovalSubject::Permission { .. });
                return Ok(Some(if stays { self.queue.with_end(answer) } else { answer }));
            }
            Ok(Ok(_)) => tracing::debug!("a client's answer decides nothing; operators are asked"),
            Ok(Err(error)) if error.origin() == Origin::InputRequired => return Err(error),
            Ok(Err(error)) => tracing::debug!(%error, "a client cannot be asked; operators are"),
            Err(_) => tracing::debug!("a client did not answer in time; operators are asked"),
        }
        Ok(None)
    }

    /// Asks `question` of `asker`, in front of whom `operator` answers. A dismissed or malformed reply counts as
    /// [deferred](Decision::Deferred).
    ///
    /// # Errors
    /// Fails if the client cannot be asked, or if the question has to go with the answer to its call.
    async fn elicit(
        &self,
        question: &ApprovalQuestion,
        operator: Principal,
        asker: Principal,
    ) -> Result<ApprovalAnswer, Error> {
        let is_permission = matches!(question.subject, ApprovalSubject::Permission { .. });
        let form = form(&question.message(), if is_permission { SCHEMA_WITH_END } else { SCHEMA });
        let read = |answer: &RawJson| read(operator.clone(), answer, is_permission.then(|| self.clock.now()));
        if question.context.input.is_none() {
            // The client is asked directly, so its reply is to this question and no other.
            let answer = question.context.ask("approval", Method::ELICIT, form).await?;
            return Ok(read(&answer));
        }
        let key = key(question, asker);
        let name = self.name(&key)?;
        let answer = question.context.ask(&name, Method::ELICIT, form).await?;
        if !self.take(&key, &name) {
            // The reply has already been used for another call with the same words.
            return Ok(ApprovalAnswer::new(operator, Decision::Deferred));
        }
        Ok(read(&answer))
    }

    /// Returns the name of the question, which stays the same until the question is answered.
    fn name(&self, key: &QuestionKey) -> Result<Arc<str>, Error> {
        let now = self.clock.now();
        let mut open = self.open.lock();
        open.retain(|_, (_, asked_at)| now.since(*asked_at) < TTL);
        if let Some((name, _)) = open.get(key) {
            return Ok(name.clone());
        }
        if open.len() >= MAX_QUESTIONS {
            return Err(super::pending::full());
        }
        let name: Arc<str> = format!("approval-{}", random_name()).into();
        open.insert(key.clone(), (name.clone(), now));
        Ok(name)
    }

    /// Returns whether this is the first answer to the question of this name.
    fn take(&self, key: &QuestionKey, name: &str) -> bool {
        let mut open = self.open.lock();
        open.get(key).is_some_and(|(known, _)| **known == *name) && open.remove(key).is_some()
    }
}

#[async_trait]
impl Approver for ApproverChain {
    async fn ask(&self, mut question: ApprovalQuestion) -> Result<ApprovalReply, Error> {
        if let Some(answer) = self.queue.take_answer(&question).await? {
            return Ok(ApprovalReply::Answer(answer));
        }
        let person = (self.operator)(&question.context);
        question.context.unattended |= person == PersonInFront::Unproven;
        if let (PersonInFront::Operator(operator), Some(asker)) = (person, question.asker().cloned())
            && !question.patience.is_zero()
        {
            let end = Instant::now() + question.patience;
            if let Some(answer) = self.ask_client(&mut question, operator, asker, end).await? {
                return Ok(ApprovalReply::Answer(answer));
            }
            question.patience = end.saturating_duration_since(Instant::now());
        }
        self.queue.ask(question).await
    }

    async fn take_back(&self, question: &ApprovalQuestion) {
        self.queue.take_back(question).await;
    }

    fn open_for(&self, server: &ServerId) -> Option<WaitingQuestion> {
        self.queue.open_for(server)
    }
}

mgp_types::partial_debug!(ApproverChain, self => queue: self.queue);

fn key(question: &ApprovalQuestion, asker: Principal) -> QuestionKey {
    // Servers name permissions as they like; the prefix keeps such a name from being taken for that of a call.
    let subject = match &question.subject {
        ApprovalSubject::Permission { permission, tool, arguments, .. } => {
            let call = arguments.as_ref().map_or("", ShownArguments::whole);
            let tool = tool.as_ref().map_or("", ToolName::as_str);
            format!("permission {permission} {}", Digest::of_parts([tool.as_bytes(), call.as_bytes()]))
        }
        ApprovalSubject::Call { binding, .. } => format!("call {binding}"),
    };
    (question.server.clone(), subject.into(), asker)
}

/// Returns the parameters of a form.
fn form(message: &str, schema: &'static str) -> Object {
    let schema = RawJson::from_written(schema.as_bytes().to_vec());
    Object::from([("message", RawJson::from_text(message)), ("requestedSchema", schema)])
}

/// Returns the answer in a filled form. Only a plain yes approves, and only a plain no denies: a form that was dismissed,
/// or filled with something else, decides nothing. A yes to a permission, given `now`, holds as long as the form says;
/// without a word about it, for the session.
fn read(operator: Principal, answer: &RawJson, now: Option<Timestamp>) -> ApprovalAnswer {
    let answer = Object::from_raw(answer).unwrap_or_default();
    let content = answer.object("content").unwrap_or_default();
    let decision = match (answer.text("action").as_deref(), content.text("decision").as_deref()) {
        (Some("accept"), Some("approve")) => Decision::Approved,
        (Some("accept"), Some("deny")) | (Some("decline"), _) => Decision::Denied,
        _ => Decision::Deferred,
    };
    let mut read = ApprovalAnswer::new(operator, decision);
    if let Some(now) = now.filter(|_| decision == Decision::Approved) {
        let until = |hours| Some(now.saturating_add(Duration::from_hours(hours)));
        (read.terms.lasts, read.terms.expires_at) = match content.text("lasts").as_deref() {
            Some("once") => (GrantLifetime::Once, None),
            Some("hour") => (GrantLifetime::Always, until(1)),
            Some("day") => (GrantLifetime::Always, until(24)),
            Some("always") => (GrantLifetime::Always, None),
            _ => (GrantLifetime::Session, None),
        };
    }
    read
}

/// The schema of a form with one choice.
const SCHEMA: &str = r#"{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]}},"required":["decision"]}"#;

/// The schema of a form that also asks how long an approval holds.
const SCHEMA_WITH_END: &str = r#"{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]},"lasts":{"type":"string","title":"How long an approval lasts for this agent","enum":["once","session","hour","day","always"],"default":"session"}},"required":["decision"]}"#;

/// The largest number of open questions.
const MAX_QUESTIONS: usize = 1024;
/// The time for which a question keeps its name.
const TTL: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::GrantTerms;

    #[test]
    fn only_a_plain_yes_is_one_and_only_a_plain_no() {
        for (answer, decision) in [
            (r#"{"action":"accept","content":{"decision":"approve"}}"#, Decision::Approved),
            (r#"{"action":"accept","content":{"decision":"deny"}}"#, Decision::Denied),
            (r#"{"action":"accept","content":{}}"#, Decision::Deferred),
            (r#"{"action":"accept"}"#, Decision::Deferred),
            (r#"{"action":"accept","content":{"decision":true}}"#, Decision::Deferred),
            (r#"{"action":"accept","content":{"decision":"yes"}}"#, Decision::Deferred),
            (r#"{"action":"decline"}"#, Decision::Denied),
            (r#"{"action":"cancel"}"#, Decision::Deferred),
            (r#"{"content":{"decision":"approve"}}"#, Decision::Deferred),
            ("[]", Decision::Deferred),
        ] {
            let read = read(Principal::operator("ada"), &RawJson::parse(answer).unwrap(), None);
            assert_eq!(read.decision, decision, "{answer}");
        }
    }

    #[test]
    fn a_yes_holds_for_the_session_unless_the_form_says_otherwise() {
        let now = Timestamp::EPOCH;
        let read = |content: &str| {
            let answer = format!(r#"{{"action":"accept","content":{{"decision":"approve"{content}}}}}"#);
            super::read(Principal::operator("ada"), &RawJson::parse(answer).unwrap(), Some(now)).terms
        };
        assert_eq!(read("").lasts, GrantLifetime::Session);
        assert_eq!(read(r#","lasts":"for ever""#).lasts, GrantLifetime::Session);
        assert_eq!(read(r#","lasts":"once""#).lasts, GrantLifetime::Once);
        assert_eq!(
            read(r#","lasts":"hour""#),
            GrantTerms {
                expires_at: Some(now.saturating_add(Duration::from_hours(1))),
                ..GrantTerms::default()
            }
        );
        assert_eq!(read(r#","lasts":"always""#), GrantTerms::default());
    }

    #[test]
    fn the_form_holds_the_question() {
        for schema in [SCHEMA, SCHEMA_WITH_END] {
            let form = form("May it \"x\"?", schema);
            assert_eq!(form.text("message").as_deref(), Some("May it \"x\"?"));
            assert_eq!(form.object("requestedSchema").unwrap().to_raw().as_bytes(), schema.as_bytes());
        }
    }
}
