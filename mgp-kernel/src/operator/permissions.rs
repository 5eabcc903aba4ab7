//! The permissions of servers: pending questions, decisions, and the methods that decide.

use std::collections::BTreeSet;
use std::time::Duration;

use mgp_discovery::registry::Registry;
use mgp_security::permission::{
    ApprovalAnswer, ApprovalId, ApprovalSubject, GrantBook, GrantLifetime, GrantRecord, GrantTerms,
    GrantVerdict, GrantedTo, PendingApproval, PendingApprovals,
};
use mgp_types::Error;
use mgp_types::mgp::{AgentId, Decision, Permission, RiskLevel, Scope, ServerId, Timestamp, ToolName, code};
use serde::{Deserialize, Serialize};

use super::known_names::{DecidedAgent, KnownNames};
use super::page::PageRequest;
use super::registrations;
use super::request::OperatorRequest;

/// The decisions that wait for an operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PendingDecisions {
    /// The questions that calls wait for, the oldest first.
    pub(crate) questions: Vec<OpenQuestion>,
    /// The permissions that servers need and nobody has decided, whether or not a call waits for them.
    pub(crate) undecided: Vec<UndecidedPermission>,
}

/// An open question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenQuestion {
    /// The id by which the question is decided.
    pub(crate) id: String,
    pub(crate) server_id: ServerId,
    /// The permission; `None` if the question is about one call.
    pub(crate) permission: Option<Permission>,
    pub(crate) tool_name: Option<ToolName>,
    pub(crate) risk: RiskLevel,
    /// The agent that called, if a call gave rise to the question.
    pub(crate) agent_id: Option<String>,
    /// The question in words for people.
    pub(crate) message: String,
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
}

/// The params that ask for an open question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShowQuestion {
    pub(crate) id: String,
}

/// An open question with the whole call that it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShownQuestion {
    #[serde(flatten)]
    pub(crate) question: OpenQuestion,
    /// All arguments of the call, for people; `None` if no call gave rise to the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
}

/// A permission that nobody has decided about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UndecidedPermission {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    pub(crate) risk: RiskLevel,
}

/// The params that approve a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApproveQuestion {
    pub(crate) id: String,
    pub(crate) scope: Option<Scope>,
    pub(crate) expires_at: Option<Timestamp>,
    /// The lifetime of the grant; by default until `expires_at`, or else for the session.
    pub(crate) lasts: Option<GrantLifetime>,
    /// The agents for whose calls the grant holds.
    #[serde(default)]
    pub(crate) granted_to: GrantedTo,
    /// The number of calls that the approval of a call is for; by default the one that was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_uses: Option<u32>,
}

impl ApproveQuestion {
    /// Approves the question for the agent that asked, until its session ends.
    pub(crate) fn of(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { id, scope: None, expires_at: None, lasts: None, granted_to: GrantedTo::Asker, max_uses: None }
    }
}

/// The params that deny a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DenyQuestion {
    pub(crate) id: String,
    /// The end of the denial; by default after the time that is configured.
    pub(crate) expires_at: Option<Timestamp>,
}

/// The params that reset a decision: that of a question with its answer, or that about a permission of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResetDecision {
    /// The id of the question, or of the server.
    pub(crate) what: String,
    /// The permission, if a server is named.
    pub(crate) permission: Option<Permission>,
    /// The agent for whose calls it was decided; `None` for all agents.
    pub(crate) agent_id: Option<AgentId>,
}

/// The result of a reset: whether there was a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DecisionReset {
    pub(crate) reset: bool,
}

/// The params that ask for the open questions as soon as there is one that is not known, or after a while.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WatchQuestions {
    /// The ids of the questions that the client knows.
    pub(crate) known: Vec<String>,
}

/// The params that grant a server a permission, whether or not it was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GrantPermission {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub(crate) agent_id: Option<AgentId>,
    pub(crate) scope: Option<Scope>,
    pub(crate) expires_at: Option<Timestamp>,
    /// True if the permission is granted although there is no such server.
    #[serde(default)]
    pub(crate) force: bool,
    /// True if neither an agent is named nor all of them are meant: all mistakes are told, and nothing is granted.
    #[serde(default)]
    pub(crate) agent_is_missing: bool,
}

/// The params that revoke a permission, or deny it before it is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RevokePermission {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub(crate) agent_id: Option<AgentId>,
    /// True if the permission is denied although there is no such server.
    #[serde(default)]
    pub(crate) force: bool,
}

/// The result of a decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PermissionDecided {
    pub(crate) decision: Decision,
}

/// The params that ask for decisions: all, or those about a server, or the one that answers a question.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListGrants {
    /// The id of the server, or the beginning of the id of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) about: Option<String>,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the decisions, by server and permission.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GrantPage {
    pub(crate) grants: Vec<GrantRow>,
    /// The questions whose answers wait until the same call is made again, on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<OpenQuestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// A decision about a permission of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GrantRow {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub(crate) agent_id: Option<AgentId>,
    #[serde(default)]
    pub(crate) lasts: GrantLifetime,
    pub(crate) decision: Decision,
    pub(crate) scope: Option<Scope>,
    pub(crate) approved_by: String,
    pub(crate) decided_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
}

pub(super) fn pending(
    grants: &GrantBook,
    pending: &PendingApprovals,
    registry: &Registry,
) -> PendingDecisions {
    let undecided = grants.waiting().into_iter().map(|(server_id, permission)| UndecidedPermission {
        risk: permission.risk(),
        server_id,
        permission,
    });
    let questions = pending.list().into_iter().map(OpenQuestion::of);
    PendingDecisions {
        questions: questions.chain(registrations::questions(registry)).collect(),
        undecided: undecided.collect(),
    }
}

pub(super) fn show(
    pending: &PendingApprovals,
    registry: &Registry,
    asked: &ShowQuestion,
) -> Result<ShownQuestion, Error> {
    let id = named(&asked.id, all_ids(pending, registry))?;
    let Some(open) = pending.find(&ApprovalId::from(&*id)) else {
        if let Some(question) = registrations::questions(registry).find(|question| question.id == id) {
            return Ok(ShownQuestion { question, arguments: None });
        }
        return Err(Error::new(code::RESOURCE_NOT_FOUND, "there is no such question, or not any more"));
    };
    let arguments = open.subject.arguments().map(|arguments| arguments.whole().to_owned());
    Ok(ShownQuestion { question: OpenQuestion::of(open), arguments })
}

/// Answers as soon as there is a question that is not known, and after a while in any case. While a client waits here,
/// calls wait longer for their answers.
pub(super) async fn watch(
    grants: &GrantBook,
    open: &PendingApprovals,
    registry: &Registry,
    asked: &WatchQuestions,
) -> PendingDecisions {
    let _watching = open.watch();
    let mut count = open.count();
    let is_new = |open: &PendingApproval| !asked.known.iter().any(|known| known == open.id.as_str());
    let unknown = async { while !open.list().iter().any(is_new) && count.changed().await.is_ok() {} };
    // A client that goes on watching asks again; a client that is gone is noticed by that.
    let _ = tokio::time::timeout(LONGEST_WATCH, unknown).await;
    pending(grants, open, registry)
}

pub(super) async fn approve(
    asked: &OperatorRequest,
    pending: &PendingApprovals,
    registry: &Registry,
    answer: ApproveQuestion,
) -> Result<PermissionDecided, Error> {
    let lasts = match (answer.lasts, answer.expires_at) {
        (Some(lasts), _) => lasts,
        (None, Some(_)) => GrantLifetime::Always,
        (None, None) => GrantLifetime::Session,
    };
    let terms = terms(answer.scope, answer.expires_at).lasting(lasts);
    let yes = ApprovalAnswer::new(asked.by.clone(), Decision::Approved).with_terms(terms);
    let yes = yes.granted_to(answer.granted_to).for_calls(answer.max_uses.unwrap_or(1));
    decide(asked, pending, registry, &answer.id, &yes).await
}

pub(super) async fn deny(
    asked: &OperatorRequest,
    pending: &PendingApprovals,
    registry: &Registry,
    answer: DenyQuestion,
) -> Result<PermissionDecided, Error> {
    let no = ApprovalAnswer::new(asked.by.clone(), Decision::Denied);
    decide(asked, pending, registry, &answer.id, &no.with_terms(terms(None, answer.expires_at))).await
}

pub(super) async fn reset(
    asked: &OperatorRequest,
    grants: &GrantBook,
    pending: &PendingApprovals,
    reset: ResetDecision,
) -> Result<DecisionReset, Error> {
    let was_there = match &reset.permission {
        Some(permission) => {
            let server = ServerId::from(reset.what.as_str());
            grants.reset(&asked.by, reset.agent_id, &server, permission).await?
        }
        None => forget(asked, grants, pending, &reset.what).await?,
    };
    Ok(DecisionReset { reset: was_there })
}

/// Forgets the answer to a question: where it waits for its call, or the decision that it has become.
async fn forget(
    asked: &OperatorRequest,
    grants: &GrantBook,
    pending: &PendingApprovals,
    what: &str,
) -> Result<bool, Error> {
    let decided: Vec<_> =
        grants.all_records().into_iter().filter(|record| record.question.is_some()).collect();
    let ids = decided.iter().filter_map(|record| record.question.as_deref()).map(str::to_owned);
    let id = named(what, ids.chain(queued_ids(pending)))?;
    let mut was_there = pending.forget(&asked.by, &ApprovalId::from(&*id)).await?;
    for record in decided.into_iter().filter(|record| record.question.as_deref() == Some(&*id)) {
        was_there |= grants.reset(&asked.by, record.agent, &record.server, &record.permission).await?;
    }
    Ok(was_there)
}

pub(super) async fn grant(
    asked: &OperatorRequest,
    known: &KnownNames<'_>,
    grant: GrantPermission,
) -> Result<PermissionDecided, Error> {
    let (server, agent) = (&grant.server_id, grant.agent_id);
    let decided = match &agent {
        Some(agent) => DecidedAgent::Named(agent),
        None if grant.agent_is_missing => DecidedAgent::Missing,
        None => DecidedAgent::All,
    };
    if !grant.force || matches!(decided, DecidedAgent::Missing) {
        known.check(server, &grant.permission, decided)?;
    }
    let terms = terms(grant.scope, grant.expires_at);
    let by = &asked.by;
    known.grants.grant_for(by, agent, &grant.server_id, &grant.permission, terms).await?;
    Ok(PermissionDecided { decision: Decision::Approved })
}

pub(super) async fn revoke(
    asked: &OperatorRequest,
    known: &KnownNames<'_>,
    revoke: &RevokePermission,
) -> Result<PermissionDecided, Error> {
    let (server, agent) = (&revoke.server_id, &revoke.agent_id);
    if !revoke.force {
        known.check(
            server,
            &revoke.permission,
            agent.as_ref().map_or(DecidedAgent::All, DecidedAgent::Named),
        )?;
    }
    let (by, agent) = (&asked.by, agent.clone());
    known.grants.revoke_for(by, agent, &revoke.server_id, &revoke.permission).await?;
    Ok(PermissionDecided { decision: Decision::Denied })
}

pub(super) fn list(grants: &GrantBook, pending: &PendingApprovals, asked: &ListGrants) -> GrantPage {
    let is_about = |server: &ServerId, question: Option<&str>| {
        let answers = |about: &str| question.is_some_and(|id| id.starts_with(about));
        asked.about.as_deref().is_none_or(|about| about == server.as_str() || answers(about))
    };
    let is_wanted = |record: &GrantRecord| is_about(&record.server, record.question.as_deref());
    let records = grants.all_records().into_iter().filter(is_wanted);
    let (grants, next_offset) = asked.page.of(records.map(GrantRow::of));
    // An answer about what a server itself needs is entered at once, and is among the decisions.
    let waits = |open: &PendingApproval| {
        asked.page.offset == 0 && open.asker.is_some() && is_about(&open.server, Some(open.id.as_str()))
    };
    let waiting = pending.answered().into_iter().filter(waits).map(OpenQuestion::of).collect();
    GrantPage { grants, waiting, next_offset }
}

fn queued_ids(pending: &PendingApprovals) -> impl Iterator<Item = String> {
    let rows = pending.list().into_iter().chain(pending.answered());
    rows.map(|open| open.id.as_str().to_owned())
}

fn all_ids(pending: &PendingApprovals, registry: &Registry) -> impl Iterator<Item = String> {
    queued_ids(pending).chain(registrations::questions(registry).map(|question| question.id))
}

/// Returns the id that an operator means by `text`: that id, or the only one that begins so. A text by which no id begins
/// is returned as it is.
///
/// # Errors
/// -32602 if several ids begin so.
fn named(text: &str, ids: impl Iterator<Item = String>) -> Result<String, Error> {
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

async fn decide(
    asked: &OperatorRequest,
    pending: &PendingApprovals,
    registry: &Registry,
    id: &str,
    answer: &ApprovalAnswer,
) -> Result<PermissionDecided, Error> {
    let id = &*named(id, all_ids(pending, registry))?;
    if registrations::questions(registry).any(|question| question.id == id) {
        let named = registrations::NamedRegistration { server_id: id.into() };
        match answer.decision {
            Decision::Approved => drop(registrations::approve(asked, registry, &named).await?),
            _ => drop(registrations::deny(asked, registry, named).await?),
        }
        return Ok(PermissionDecided { decision: answer.decision });
    }
    pending.decide(&asked.by, &ApprovalId::from(id), answer).await?;
    Ok(PermissionDecided { decision: answer.decision })
}

fn terms(scope: Option<Scope>, end: Option<Timestamp>) -> GrantTerms {
    let terms = scope.map_or_else(GrantTerms::default, |scope| GrantTerms::default().within(scope));
    match end {
        Some(end) => terms.until(end),
        None => terms,
    }
}

impl OpenQuestion {
    fn of(open: PendingApproval) -> Self {
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
            message: open.message,
            asked_at: open.asked_at,
            ends_at: Some(open.ends_at),
            decision: open.answer.as_ref().map(|(decision, _)| *decision),
            answered_by: open.answer.map(|(_, by)| by.id().into_owned()),
        }
    }
}

impl GrantRow {
    fn of(record: GrantRecord) -> Self {
        let (decision, expires_at) = (record.verdict.decision(), record.verdict.end());
        let terms = match record.verdict {
            GrantVerdict::Approved(terms) => terms,
            GrantVerdict::Denied { .. } => GrantTerms::default(),
        };
        Self {
            server_id: record.server,
            permission: record.permission,
            agent_id: record.agent,
            lasts: terms.lasts,
            decision,
            scope: terms.scope.map(|scope| *scope),
            approved_by: record.approver.into(),
            decided_at: record.decided_at,
            expires_at,
        }
    }
}

const LONGEST_WATCH: Duration = Duration::from_secs(20);
