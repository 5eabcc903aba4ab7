//! The questions that wait for an operator: listed, shown, watched, approved and denied.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use mgp_security::permission::{
    ApprovalAnswer, ApprovalId, ApprovalSubject, GrantLifetime, GrantTerms, GrantedTo, PendingApproval,
};
use mgp_types::mgp::{Decision, Permission, RiskLevel, Scope, ServerId, Timestamp, ToolName, code};
use mgp_types::{Error, Object, RawJson};
use serde::{Deserialize, Deserializer, Serialize};

use super::operation::{Operation, OperatorCall};
use super::registrations::{self, ApproveRegistration, DenyRegistration};
use crate::sections::Sections;
use crate::terminal::{Exit, Failure, TextForm, TextWriter, line_form, printable};

/// Lists the decisions that wait for an operator.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListPending {}

/// The decisions that wait for an operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingDecisions {
    /// The questions that calls wait for, the oldest first.
    pub questions: Vec<OpenQuestion>,
    /// The permissions that servers need and nobody has decided, whether or not a call waits for them.
    pub undecided: Vec<UndecidedPermission>,
}

/// An open question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The id by which the question is decided.
    pub id: String,
    /// The server.
    pub server_id: ServerId,
    /// The permission; `None` if the question is about one call.
    pub permission: Option<Permission>,
    /// The name of the tool at its server; `None` for a permission of the server.
    pub tool_name: Option<ToolName>,
    /// The risk of the call.
    pub risk: RiskLevel,
    /// The agent that called, if a call gave rise to the question.
    pub(crate) agent_id: Option<String>,
    /// The question in words for people.
    pub message: String,
    pub(crate) asked_at: Timestamp,
    /// The time at which the question is forgotten or, if it was answered, its answer. A registration is never
    /// forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<Timestamp>,
    /// The answer, which waits until the same is asked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<Decision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answered_by: Option<String>,
    /// The number of calls that the answer approves, if it approves several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_uses: Option<u32>,
}

/// Shows an open question.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ShowQuestion {
    /// The id of the question
    pub id: String,
}

/// An open question with the whole call that it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShownQuestion {
    /// The question.
    #[serde(flatten)]
    pub question: OpenQuestion,
    /// All arguments of the call, for people; `None` if no call gave rise to the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
    /// True if the call can be approved with other arguments; these are JSON then.
    pub(crate) can_be_edited: bool,
    /// The arguments that the answer gives the call in place of its own, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) edited: Option<String>,
}

/// A permission that nobody has decided about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UndecidedPermission {
    /// The server.
    pub server_id: ServerId,
    /// The permission.
    pub permission: Permission,
    pub(crate) risk: RiskLevel,
}

/// Waits for a question that is not known, and lists what waits then; after a while in any case.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchQuestions {
    /// The ids of the questions that the client knows.
    pub known: Vec<String>,
}

/// Approves a question, by default for the agent that asked, until its session ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ApproveQuestion {
    /// The id of the question.
    pub id: String,
    /// The limits of the permission; none if left out.
    pub scope: Option<Scope>,
    /// The end; none if left out.
    pub expires_at: Option<Timestamp>,
    /// The lifetime of the grant; by default until `expires_at`, or else for the session.
    pub lasts: Option<GrantLifetime>,
    /// The agents for whose calls the grant holds.
    #[serde(default)]
    pub granted_to: GrantedTo,
    /// The number of calls that the approval of a call is for; by default the one that was asked about.
    pub max_uses: Option<u32>,
    /// The arguments that the call takes in place of its own, an object. `null` is none, and not left out.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
}

fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(from).map(Some)
}

/// Denies a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DenyQuestion {
    /// The id of the question.
    pub id: String,
    /// The end of the denial; by default after the time that is configured.
    pub expires_at: Option<Timestamp>,
    /// The reason, which the agent is told.
    pub reason: Option<String>,
}

/// The result of a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PermissionDecided {
    pub(crate) decision: Decision,
}

impl Operation for ListPending {
    type Reply = PendingDecisions;

    async fn run(self, call: &OperatorCall) -> Result<PendingDecisions, Error> {
        Ok(PendingDecisions::of(&call.kernel))
    }
}

impl PendingDecisions {
    fn of(kernel: &Sections) -> Self {
        let undecided = kernel.policies.grants.waiting().into_iter();
        let undecided = undecided.map(|(server_id, permission)| UndecidedPermission {
            risk: permission.risk(),
            server_id,
            permission,
        });
        let questions = kernel.policies.pending.list().into_iter().map(OpenQuestion::of);
        Self {
            questions: questions.chain(registrations::questions(&kernel.registry)).collect(),
            undecided: undecided.collect(),
        }
    }
}

impl TextForm for PendingDecisions {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        for question in &self.questions {
            writeln!(out, "{}  {}", question.id, question.asked_at)?;
            printable(&question.message).lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        for needed in &self.undecided {
            let (server, permission) = (printable(needed.server_id.as_str()), needed.permission.as_str());
            writeln!(out, "{server} needs {} ({})", printable(permission), needed.risk)?;
        }
        if self.questions.is_empty() && self.undecided.is_empty() {
            writeln!(out, "nothing waits for a decision")?;
        }
        Ok(())
    }
}

impl Operation for ShowQuestion {
    type Reply = ShownQuestion;

    async fn run(self, call: &OperatorCall) -> Result<ShownQuestion, Error> {
        let (pending, registry) = (&call.kernel.policies.pending, &call.kernel.registry);
        if let Some(question) = registrations::questions(registry).find(|question| question.id == self.id) {
            return Ok(ShownQuestion { question, arguments: None, can_be_edited: false, edited: None });
        }
        let id = named(&self.id, queued_ids(&call.kernel))?;
        let found = pending.find(&ApprovalId::from(&*id));
        let Some(open) = found.filter(|question| !question.is_received) else {
            let message = "there is no such question, or not any more";
            return Err(Error::new(code::RESOURCE_NOT_FOUND, message));
        };
        Ok(ShownQuestion {
            arguments: open.subject.arguments().map(|arguments| arguments.whole().to_owned()),
            can_be_edited: matches!(open.subject, ApprovalSubject::Call { can_be_edited: true, .. }),
            edited: open.edited_arguments().map(|edited| edited.whole().to_owned()),
            question: OpenQuestion::of(open),
        })
    }
}

impl TextForm for ShownQuestion {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let OpenQuestion { id, asked_at, ends_at, decision, answered_by, message, .. } = &self.question;
        writeln!(out, "{id}  {asked_at}")?;
        let until = ends_at.map(|end| format!(" until {end}")).unwrap_or_default();
        match (decision, answered_by) {
            (Some(decision), Some(by)) => {
                let (word, by) = (decision.as_str(), printable(by));
                writeln!(out, "{word} by {by}{until}; `mgp permissions reset {id}` forgets the answer")?;
            }
            _ => writeln!(out, "waits for an answer{until}")?,
        }
        match &self.arguments {
            // All of the arguments take the place of those in the message.
            Some(arguments) => {
                let mut above = message.lines().take_while(|line| !line.starts_with('{'));
                above.try_for_each(|line| writeln!(out, "{}", printable(line)))?;
                writeln!(out, "{}", printable(arguments))?;
            }
            None => writeln!(out, "{}", printable(message))?,
        }
        self.edited.iter().try_for_each(|edited| {
            writeln!(out, "it was approved with these arguments instead:\n{}", printable(edited))
        })
    }
}

impl Operation for WatchQuestions {
    type Reply = PendingDecisions;

    /// Waits for a question. While a client waits here, calls wait longer for their answers.
    async fn run(self, call: &OperatorCall) -> Result<PendingDecisions, Error> {
        let open = &call.kernel.policies.pending;
        let _watching = open.watch();
        let mut asked = open.asked();
        let is_new = |open: &PendingApproval| !self.known.iter().any(|known| known == open.id.as_str());
        let unknown = async { while !open.list().iter().any(is_new) && asked.changed().await.is_ok() {} };
        // A client that goes on watching asks again; a client that is gone is noticed by that.
        let _ = tokio::time::timeout(LONGEST_WATCH, unknown).await;
        Ok(PendingDecisions::of(&call.kernel))
    }
}

impl Operation for ApproveQuestion {
    type Reply = PermissionDecided;

    fn refused(&self, failure: Failure) -> Failure {
        unknown(failure, &self.id)
    }

    async fn run(self, call: &OperatorCall) -> Result<PermissionDecided, Error> {
        // The approval of one call does not approve all calls of its tool.
        if self.lasts == Some(GrantLifetime::Always)
            && let id = named(&self.id, queued_ids(&call.kernel))?
            && let Some(PendingApproval { server, subject: ApprovalSubject::Call { tool, .. }, .. }) =
                call.kernel.policies.pending.find(&ApprovalId::from(&*id))
        {
            return Err(Error::invalid_params(format!(
                "a yes to a call is for this call; `mgp ask never {server}.{tool}` lets all calls of the tool pass"
            )));
        }
        let lasts = match (self.lasts, self.expires_at) {
            (Some(lasts), _) => lasts,
            (None, Some(_)) => GrantLifetime::Always,
            (None, None) => GrantLifetime::Session,
        };
        let mut yes = ApprovalAnswer::new(call.by.clone(), Decision::Approved);
        yes.terms = GrantTerms { lasts, ..terms(self.scope, self.expires_at) };
        (yes.granted_to, yes.max_uses) = (self.granted_to, self.max_uses.unwrap_or(1));
        yes.arguments = self.arguments;
        decide(call, &self.id, &yes).await
    }
}

impl Operation for DenyQuestion {
    type Reply = PermissionDecided;

    fn refused(&self, failure: Failure) -> Failure {
        unknown(failure, &self.id)
    }

    async fn run(self, call: &OperatorCall) -> Result<PermissionDecided, Error> {
        let mut no = ApprovalAnswer::new(call.by.clone(), Decision::Denied);
        (no.terms, no.reason) = (terms(None, self.expires_at), self.reason);
        decide(call, &self.id, &no).await
    }
}

line_form!(PermissionDecided, |decided| decided.decision.as_str());

/// Returns the failure with a hint if there is no such question. Every other failure says what helps.
fn unknown(failure: Failure, id: &str) -> Failure {
    if failure.exit != Exit::Tool {
        return failure;
    }
    failure.hint(format!(
        "`mgp permissions pending` shows the questions; `mgp permissions approve {id} PERMISSION --agent AGENT` grants a \
         permission to a server"
    ))
}

/// Returns the ids of the questions that are asked and of those that are answered.
pub(super) fn queued_ids(kernel: &Sections) -> impl Iterator<Item = String> {
    let pending = &kernel.policies.pending;
    let rows = pending.list().into_iter().chain(pending.answered());
    rows.map(|open| open.id.as_str().to_owned())
}

/// Returns the id that an operator means by `text`: that id, or the only one that begins so. A text by which no id begins
/// is returned as it is.
///
/// # Errors
/// -32602 if several ids begin so.
pub(super) fn named(text: &str, ids: impl Iterator<Item = String>) -> Result<String, Error> {
    let found: BTreeSet<String> = ids.filter(|id| !text.is_empty() && id.starts_with(text)).collect();
    let mut begun = found.iter();
    match (begun.next(), begun.next()) {
        (Some(only), None) => Ok(only.clone()),
        (Some(_), Some(_)) if !found.contains(text) => {
            let ids = Vec::from_iter(found).join(", ");
            Err(Error::invalid_params(format!("the ids of several questions begin with `{text}`: {ids}")))
        }
        _ => Ok(text.to_owned()),
    }
}

async fn decide(call: &OperatorCall, id: &str, answer: &ApprovalAnswer) -> Result<PermissionDecided, Error> {
    let decision = answer.decision;
    // Nobody starts a server by a few letters: the id of a registration is given in full.
    if registrations::questions(&call.kernel.registry).any(|question| question.id == id) {
        let id = id.to_owned();
        match decision {
            Decision::Approved => drop(ApproveRegistration { id }.run(call).await?),
            _ => drop(DenyRegistration { id }.run(call).await?),
        }
    } else {
        let id = &*named(id, queued_ids(&call.kernel))?;
        call.kernel.policies.pending.decide(&call.by, &ApprovalId::from(id), answer).await?;
    }
    Ok(PermissionDecided { decision })
}

/// Returns the terms of a grant within `scope`, until `end`.
pub(super) fn terms(scope: Option<Scope>, end: Option<Timestamp>) -> GrantTerms {
    GrantTerms { scope: scope.map(Box::new), expires_at: end, ..GrantTerms::default() }
}

/// Returns the id of the question that a call waits for, if the call was refused for that reason.
pub fn awaited(error: &Error) -> Option<String> {
    let details = Object::from_raw(&error.recovery()?.details?).ok()?;
    details.text("approval_id").map(Into::into)
}

impl OpenQuestion {
    pub(crate) fn of(open: PendingApproval) -> Self {
        let message = open.message();
        let (permission, tool_name, risk) = match open.subject {
            ApprovalSubject::Permission { permission, risk, tool, .. } => (Some(permission), tool, risk),
            ApprovalSubject::Call { tool, risk, .. } => (None, Some(tool), risk),
            // A tool that is not known counts as dangerous.
            _ => (None, None, RiskLevel::Dangerous),
        };
        Self {
            id: open.id.as_str().to_owned(),
            server_id: open.server,
            permission,
            tool_name,
            risk,
            agent_id: open.asker.map(|asker| asker.access_id().into_owned()),
            message,
            asked_at: open.asked_at,
            ends_at: Some(open.ends_at),
            decision: open.answer.as_ref().map(|answer| answer.decision),
            max_uses: open.answer.as_ref().map(|answer| answer.max_uses).filter(|uses| *uses > 1),
            answered_by: open.answer.map(|answer| answer.approver.id().into_owned()),
        }
    }
}

const LONGEST_WATCH: Duration = Duration::from_secs(20);
