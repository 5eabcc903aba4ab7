//! What servers may do: what waits for an operator, what was decided, and deciding.

use std::time::Duration;

use mgp_discovery::registry::Registry;
use mgp_security::permission::{
    ApprovalAnswer, ApprovalId, ApprovalSubject, GrantBook, GrantLifetime, GrantRecord, GrantTerms,
    GrantVerdict, GrantedTo, PendingApproval, PendingApprovals,
};
use mgp_types::Error;
use mgp_types::mgp::{AgentId, Decision, Permission, RiskLevel, Scope, ServerId, Timestamp, ToolName, code};
use serde::{Deserialize, Serialize};

use super::asked::OperatorRequest;
use super::page::PageRequest;
use super::registrations;
use crate::server_inventory::AccessTargets;

/// What waits for an operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PendingDecisions {
    /// Questions that somebody waits for, the oldest first.
    pub(crate) questions: Vec<OpenQuestion>,
    /// What servers need and nobody has decided, whether or not somebody waits for it.
    pub(crate) undecided: Vec<UndecidedPermission>,
}

/// An open question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OpenQuestion {
    /// What to decide it by.
    pub(crate) id: String,
    pub(crate) server_id: ServerId,
    /// The permission; nothing if it is about one call.
    pub(crate) permission: Option<Permission>,
    pub(crate) tool_name: Option<ToolName>,
    pub(crate) risk: RiskLevel,
    /// Who called, if a call gave rise to it.
    pub(crate) agent_id: Option<String>,
    /// The question for people.
    pub(crate) message: String,
    pub(crate) asked_at: Timestamp,
    /// When it is forgotten; of one that was answered, when its answer is. A registration is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<Timestamp>,
    /// What was answered; the answer waits until the same is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<Decision>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answered_by: Option<String>,
}

/// Asks for an open question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShowQuestion {
    pub(crate) id: String,
}

/// An open question with the whole call that it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ShownQuestion {
    #[serde(flatten)]
    pub(crate) question: OpenQuestion,
    /// All arguments of the call, for people; nothing if no call gives rise to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<String>,
}

/// A permission that nobody has decided about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UndecidedPermission {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    pub(crate) risk: RiskLevel,
}

/// Answers a question with yes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApproveQuestion {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) scope: Option<Scope>,
    #[serde(default)]
    pub(crate) expires_at: Option<Timestamp>,
    /// For how long; if nothing is said, until the end, or else for the session.
    #[serde(default)]
    pub(crate) lasts: Option<GrantLifetime>,
    /// For whose calls.
    #[serde(default)]
    pub(crate) granted_to: GrantedTo,
}

impl ApproveQuestion {
    /// For the agent that asked, until its session ends.
    pub(crate) fn of(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { id, scope: None, expires_at: None, lasts: None, granted_to: GrantedTo::Asker }
    }
}

/// Answers a question with no.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DenyQuestion {
    pub(crate) id: String,
    /// Until when; for as long as is configured if nothing is said.
    #[serde(default)]
    pub(crate) expires_at: Option<Timestamp>,
}

/// Forgets what was decided: of a question with its answer, or of a permission of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResetDecision {
    /// The question, or the server.
    pub(crate) what: String,
    /// The permission, if a server is named.
    #[serde(default)]
    pub(crate) permission: Option<Permission>,
    /// Of whose calls; of all agents' if there is none.
    #[serde(default)]
    pub(crate) agent_id: Option<AgentId>,
}

/// Whether anything was forgotten.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DecisionReset {
    pub(crate) reset: bool,
}

/// Asks for the open questions when there is one that is not known, or after a while.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WatchQuestions {
    /// The questions that are known.
    pub(crate) known: Vec<String>,
}

/// Grants a server a permission, asked for or not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GrantPermission {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    /// For whose calls; for all agents' if there is none.
    #[serde(default)]
    pub(crate) agent_id: Option<AgentId>,
    #[serde(default)]
    pub(crate) scope: Option<Scope>,
    #[serde(default)]
    pub(crate) expires_at: Option<Timestamp>,
    /// Whether it is granted although there is no such server.
    #[serde(default)]
    pub(crate) force: bool,
}

/// Takes a permission back, or denies it before it is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RevokePermission {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    /// For whose calls; for all agents' if there is none.
    #[serde(default)]
    pub(crate) agent_id: Option<AgentId>,
    /// Whether it is denied although there is no such server.
    #[serde(default)]
    pub(crate) force: bool,
}

/// What was decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PermissionDecided {
    pub(crate) decision: Decision,
}

/// Asks for decisions: all, or those about a server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListGrants {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_id: Option<ServerId>,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// Some of the decisions, by server and permission.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GrantPage {
    pub(crate) grants: Vec<GrantRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// A decision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GrantRow {
    pub(crate) server_id: ServerId,
    pub(crate) permission: Permission,
    /// For whose calls; for all agents' if there is none.
    #[serde(default)]
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
    let Some(open) = pending.find(&ApprovalId::from(asked.id.as_str())) else {
        if let Some(question) = registrations::questions(registry).find(|question| question.id == asked.id) {
            return Ok(ShownQuestion { question, arguments: None });
        }
        return Err(Error::new(code::RESOURCE_NOT_FOUND, "there is no such question, or not any more"));
    };
    let arguments = open.subject.arguments().map(|arguments| arguments.whole().to_owned());
    Ok(ShownQuestion { question: OpenQuestion::of(open), arguments })
}

/// Answers when there is a question that is not known, and after a while in any case. While somebody waits here, calls wait
/// longer for their answers.
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
    // Whoever goes on watching asks again; one that is gone is noticed by that.
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
    decide(asked, pending, registry, &answer.id, &yes.granted_to(answer.granted_to)).await
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
        None => pending.forget(&asked.by, &ApprovalId::from(reset.what.as_str())).await?,
    };
    Ok(DecisionReset { reset: was_there })
}

pub(super) async fn grant(
    asked: &OperatorRequest,
    grants: &GrantBook,
    targets: &AccessTargets,
    grant: GrantPermission,
) -> Result<PermissionDecided, Error> {
    if !grant.force {
        targets.known().check_server(grant.server_id.as_str())?;
        targets.check_permission(grants, &grant.server_id, &grant.permission)?;
    }
    let terms = terms(grant.scope, grant.expires_at);
    let (by, agent) = (&asked.by, grant.agent_id);
    grants.grant_for(by, agent, &grant.server_id, &grant.permission, terms).await?;
    Ok(PermissionDecided { decision: Decision::Approved })
}

pub(super) async fn revoke(
    asked: &OperatorRequest,
    grants: &GrantBook,
    targets: &AccessTargets,
    revoke: &RevokePermission,
) -> Result<PermissionDecided, Error> {
    // What was granted to a server that is gone is taken back like anything else.
    let is_granted = || grants.all_records().iter().any(|record| record.server == revoke.server_id);
    if !revoke.force && !is_granted() {
        targets.known().check_server(revoke.server_id.as_str())?;
    }
    if !revoke.force {
        targets.check_permission(grants, &revoke.server_id, &revoke.permission)?;
    }
    let (by, agent) = (&asked.by, revoke.agent_id.clone());
    grants.revoke_for(by, agent, &revoke.server_id, &revoke.permission).await?;
    Ok(PermissionDecided { decision: Decision::Denied })
}

pub(super) fn list(grants: &GrantBook, asked: &ListGrants) -> GrantPage {
    let about = |record: &GrantRecord| asked.server_id.as_ref().is_none_or(|server| *server == record.server);
    let records = grants.all_records().into_iter().filter(about);
    let (grants, next_offset) = asked.page.of(records.map(GrantRow::of));
    GrantPage { grants, next_offset }
}

async fn decide(
    asked: &OperatorRequest,
    pending: &PendingApprovals,
    registry: &Registry,
    id: &str,
    answer: &ApprovalAnswer,
) -> Result<PermissionDecided, Error> {
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
            // What is not known counts as dangerous.
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
