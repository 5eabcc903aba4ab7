//! The approver that asks the human in front of the calling client, by elicitation.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use mgp_types::mgp::{Decision, ServerId, Timestamp, ToolName};
use mgp_types::{Context, Error, Method, Object, Principal, RawJson, hex, json, random_name};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::{ApprovalAnswer, ApprovalQuestion, ApprovalSubject, ShownArguments};
use crate::Clock;
use crate::permission::{GrantLifetime, GrantTerms};

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
        let form = if is_permission { form_with_end(&question.message()) } else { form(&question.message()) };
        let read = |answer: &RawJson| {
            let decided = ApprovalAnswer::new(operator.clone(), read(answer));
            let is_yes = decided.decision == Decision::Approved;
            if is_permission && is_yes {
                ApprovalAnswer { terms: terms(answer, self.clock.now()), ..decided }
            } else {
                decided
            }
        };
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
            return Ok(ApprovalAnswer::new(operator.clone(), Decision::Deferred));
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

/// Returns the parameters of a form with one choice.
fn form(message: &str) -> Object {
    let mut text = Vec::new();
    json::write_string(&mut text, message);
    let mut params = Object::parse(FORM).unwrap_or_default();
    params.set("message", RawJson::from_written(text));
    params
}

/// Returns the decision in a filled form. Only a plain yes approves, and only a plain no denies: a form that was
/// dismissed, or filled with something else, decides nothing.
fn read(answer: &RawJson) -> Decision {
    let Ok(answer) = Object::from_raw(answer) else { return Decision::Deferred };
    let content = answer.object("content");
    let choice = content.as_ref().and_then(|content| content.text("decision"));
    match (answer.text("action").as_deref(), choice.as_deref()) {
        (Some("accept"), Some("approve")) => Decision::Approved,
        (Some("accept"), Some("deny")) | (Some("decline"), _) => Decision::Denied,
        _ => Decision::Deferred,
    }
}

/// Returns the parameters of a form with one choice, and with another for how long it holds.
fn form_with_end(message: &str) -> Object {
    let mut params = form(message);
    if let Ok(schema) = RawJson::parse(SCHEMA_WITH_END) {
        params.set("requestedSchema", schema);
    }
    params
}

/// Returns the terms of approval in a filled form; without any, they last for the session.
fn terms(answer: &RawJson, now: Timestamp) -> GrantTerms {
    let answer = Object::from_raw(answer).ok();
    let content = answer.and_then(|answer| Object::from_raw(&answer.get("content")?).ok());
    let lasts = content.as_ref().and_then(|content| content.text("lasts"));
    let until = |hours| Some(now.saturating_add(Duration::from_hours(hours)));
    let (lasts, expires_at) = match lasts.as_deref() {
        Some("once") => (GrantLifetime::Once, None),
        Some("hour") => (GrantLifetime::Always, until(1)),
        Some("day") => (GrantLifetime::Always, until(24)),
        Some("always") => (GrantLifetime::Always, None),
        _ => (GrantLifetime::Session, None),
    };
    GrantTerms { scope: None, expires_at, lasts }
}

/// The schema of a form that also asks how long an approval holds.
const SCHEMA_WITH_END: &str = r#"{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]},"lasts":{"type":"string","title":"For how long a yes holds, for this agent","enum":["once","session","hour","day","always"],"default":"session"}},"required":["decision"]}"#;

/// The parameters of a form with one choice, without its message.
const FORM: &str = r#"{"message":"","requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]}},"required":["decision"]}}"#;

/// The largest number of open questions.
const MAX_QUESTIONS: usize = 1024;
/// The time for which a question keeps its name.
const TTL: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(read(&RawJson::parse(answer).unwrap()), decision, "{answer}");
        }
    }

    #[test]
    fn a_yes_holds_for_the_session_unless_the_form_says_otherwise() {
        let now = Timestamp::EPOCH;
        let read = |content: &str| {
            let answer = format!(r#"{{"action":"accept","content":{{"decision":"approve"{content}}}}}"#);
            terms(&RawJson::parse(answer).unwrap(), now)
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
        assert!(form_with_end("x").get("requestedSchema").unwrap().as_bytes() == SCHEMA_WITH_END.as_bytes());
    }

    #[test]
    fn the_form_holds_the_question() {
        assert_eq!(form("May it \"x\"?").text("message").as_deref(), Some("May it \"x\"?"));
        assert!(form("").contains("requestedSchema"));
    }
}
