//! The approver that asks the human in front of the calling client, by elicitation.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{Decision, ServerId, Timestamp, ToolName};
use mgp_types::{Context, Error, Method, Object, Principal, RawJson, hex, random_name};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::{ApprovalAnswer, ApprovalQuestion, ApprovalSubject, ShownArguments};
use crate::Clock;
use crate::permission::GrantLifetime;

/// A function that returns the operator who answers in front of the client of a call; `None` if no person does.
pub type OperatorInFront = Arc<dyn Fn(&Context) -> Option<Principal> + Send + Sync>;

/// An approver that asks the human in front of the calling client by elicitation, in both protocol eras.
///
/// Where the question is sent with the answer to the call, and the call is repeated with the reply, the reply counts
/// once: the question has a name that cannot be guessed, and is forgotten when it has been answered.
#[derive(Clone)]
pub(super) struct ElicitationApprover {
    open: Arc<Mutex<HashMap<QuestionKey, Named, RandomState>>>,
    clock: Clock,
}

/// The server and the subject of a question, and the principal that is asked.
type QuestionKey = (ServerId, Box<str>, Principal);

struct Named {
    name: Arc<str>,
    asked_at: Timestamp,
}

impl ElicitationApprover {
    pub(super) fn new(clock: Clock) -> Self {
        Self { open: Arc::default(), clock }
    }

    /// Asks `question` of `asker`, in front of whom `operator` answers. A dismissed or malformed reply counts as
    /// [deferred](Decision::Deferred).
    ///
    /// # Errors
    /// Fails if the client cannot be asked, or if the question has to go with the answer to its call.
    pub(super) async fn ask(
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
        let is_open = |named: &Named| now.since(named.asked_at) < TTL;
        if let Some(named) = open.get(key).filter(|named| is_open(named)) {
            return Ok(named.name.clone());
        }
        if open.len() >= MAX_QUESTIONS {
            open.retain(|_, named| is_open(named));
        }
        if open.len() >= MAX_QUESTIONS {
            return Err(super::pending::full());
        }
        let name: Arc<str> = format!("approval-{}", random_name()).into();
        open.insert(key.clone(), Named { name: name.clone(), asked_at: now });
        Ok(name)
    }

    /// Returns whether this is the first answer to the question of this name.
    fn take(&self, key: &QuestionKey, name: &str) -> bool {
        let mut open = self.open.lock();
        let is_it = open.get(key).is_some_and(|named| *named.name == *name);
        if is_it {
            open.remove(key);
        }
        is_it
    }
}

fn key(question: &ApprovalQuestion, asker: Principal) -> QuestionKey {
    // Servers name permissions as they like; the prefix keeps such a name from being taken for that of a call.
    let subject = match &question.subject {
        ApprovalSubject::Permission { permission, tool, arguments, .. } => {
            let call = arguments.as_ref().map_or("", ShownArguments::whole);
            let tool = tool.as_ref().map_or("", ToolName::as_str);
            let call: [u8; 32] = Sha256::digest(format!("{}:{tool}{call}", tool.len())).into();
            let call = hex::<64>(&call);
            format!("permission {permission} {}", String::from_utf8_lossy(&call))
        }
        ApprovalSubject::Call { binding, .. } => format!("call {binding}"),
    };
    (question.server.clone(), subject.into(), asker)
}

mgp_types::partial_debug!(ElicitationApprover);

/// Returns the parameters of a form.
fn form(message: &str, schema: &'static str) -> Object {
    let mut params = Object::new();
    params.set("message", RawJson::from_text(message));
    params.set("requestedSchema", RawJson::from_written(schema.as_bytes().to_vec()));
    params
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
const SCHEMA_WITH_END: &str = r#"{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]},"lasts":{"type":"string","title":"For how long a yes holds, for this agent","enum":["once","session","hour","day","always"],"default":"session"}},"required":["decision"]}"#;

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
