//! The permissions of servers: granted, revoked, listed, and decisions that are forgotten. A decision about a name that nobody
//! has stands for nothing, so names are checked.

use std::collections::BTreeSet;
use std::io;

use clap::Args;
use mgp_discovery::config::nearest;
use mgp_security::confirmation::ConfirmedBatch;
use mgp_security::permission::{
    ApprovalId, GrantLifetime, GrantRecord, GrantTerms, GrantVerdict, PendingApproval,
};
use mgp_types::mgp::{AgentId, Decision, Permission, Scope, ServerId, ServerState, Timestamp, ToolName};
use mgp_types::{Error, LOCAL_AGENT, RawJson, shell_word};
use serde::{Deserialize, Serialize};

use super::operation::{Operation, OperatorCall, PageRequest};
use super::questions::{OpenQuestion, PermissionDecided, named, queued_ids, terms};
use crate::sections::Sections;
use crate::sections::inventory::ServerInventory;
use crate::servers::upstream::ServerView;
use crate::settings::KEYLESS_AGENT;
use crate::terminal::{Failure, TextForm, TextWriter, line_form, or_dash};

/// Grants a server a permission, whether or not it was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GrantPermission {
    /// The server.
    pub server_id: ServerId,
    /// The permission.
    pub permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub agent_id: Option<AgentId>,
    /// The limits of the permission; none if left out.
    pub scope: Option<Scope>,
    /// The end; none if left out.
    pub expires_at: Option<Timestamp>,
    /// True if the permission is granted although there is no such server.
    #[serde(default)]
    pub force: bool,
    /// True if neither an agent is named nor all of them are meant: all mistakes are told, and nothing is granted.
    #[serde(default)]
    pub agent_is_missing: bool,
}

/// Revokes a permission, or denies it before it is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RevokePermission {
    /// The server.
    pub server_id: ServerId,
    /// The permission.
    pub permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub agent_id: Option<AgentId>,
    /// True if the permission is denied although there is no such server.
    #[serde(default)]
    pub force: bool,
}

/// Forgets a decision: that of a question with its answer, or that about a permission of a server.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ResetDecision {
    /// The id of the question, or the server
    #[arg(value_name = "ID|SERVER")]
    pub what: String,
    /// The permission, if a server is named
    pub permission: Option<Permission>,
    /// Forget the decision for this agent's calls only, if a server is named
    #[arg(long = "agent", value_name = "AGENT", requires = "permission")]
    pub agent_id: Option<AgentId>,
}

/// The result of a reset: whether there was a decision.
#[derive(Debug, Serialize, Deserialize)]
pub struct DecisionReset {
    reset: bool,
}

/// Lists the decisions by server and permission: all, those about a server, or the one that answers a question.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ListGrants {
    /// List the decisions about this server only
    #[arg(value_name = "SERVER")]
    pub about: Option<String>,
    /// The part of the list that is wanted.
    #[command(flatten)]
    #[serde(flatten)]
    pub page: PageRequest,
}

/// A page of the decisions.
#[derive(Debug, Serialize, Deserialize)]
pub struct GrantPage {
    /// The grants.
    pub grants: Vec<GrantRow>,
    /// The questions whose answers wait until the same call is made again, on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<OpenQuestion>,
    /// The approvals of several calls of a tool, on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<ConfirmedRow>,
    /// The start of the next part; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// An approval of several calls of a tool.
#[derive(Debug, Serialize, Deserialize)]
pub struct ConfirmedRow {
    pub(crate) server_id: ServerId,
    pub(crate) tool_name: ToolName,
    pub(crate) agent_id: Option<String>,
    approved_by: String,
    /// The id of the question that was answered.
    pub(crate) question: Option<String>,
    /// The number of approved calls; `None` for all calls until the end.
    calls: Option<u32>,
    /// The number of these calls that are left.
    left: Option<u32>,
    expires_at: Timestamp,
}

/// A decision about a permission of a server.
#[derive(Debug, Serialize, Deserialize)]
pub struct GrantRow {
    /// The server.
    pub server_id: ServerId,
    /// The permission.
    pub permission: Permission,
    /// The agent for whose calls the decision holds; `None` for all agents.
    pub agent_id: Option<AgentId>,
    /// The time for which the grant holds.
    pub lasts: GrantLifetime,
    /// The decision, and who made it.
    pub decision: Decision,
    /// The limits of the permission; none if left out.
    pub scope: Option<Scope>,
    approved_by: String,
    decided_at: Timestamp,
    /// The end of the grant; `None` if it has none.
    pub expires_at: Option<Timestamp>,
}

impl Operation for GrantPermission {
    type Reply = PermissionDecided;

    fn refused(&self, failure: Failure) -> Failure {
        let ending = match (&self.agent_id, self.agent_is_missing) {
            (Some(_), _) => "",
            (None, true) => "`, or `--all-agents",
            (None, false) => " --all-agents",
        };
        let command = ["approve", self.server_id.as_str(), self.permission.as_str()];
        advised(failure, command, self.agent_id.as_ref(), ending)
    }

    async fn run(self, call: &OperatorCall) -> Result<PermissionDecided, Error> {
        let agent = self.agent_id.as_ref();
        let is_missing = agent.is_none() && self.agent_is_missing;
        if !self.force || is_missing {
            check_names(&call.kernel, &self.server_id, &self.permission, agent, is_missing)?;
        }
        let terms = terms(self.scope, self.expires_at);
        let grants = &call.kernel.policies.grants;
        grants.grant(&call.by, self.agent_id, &self.server_id, &self.permission, terms).await?;
        Ok(PermissionDecided { decision: Decision::Approved })
    }
}

impl Operation for RevokePermission {
    type Reply = PermissionDecided;

    fn refused(&self, failure: Failure) -> Failure {
        let command = ["deny", self.server_id.as_str(), self.permission.as_str()];
        advised(failure, command, self.agent_id.as_ref(), "")
    }

    async fn run(self, call: &OperatorCall) -> Result<PermissionDecided, Error> {
        if !self.force {
            check_names(&call.kernel, &self.server_id, &self.permission, self.agent_id.as_ref(), false)?;
        }
        let grants = &call.kernel.policies.grants;
        grants.revoke(&call.by, self.agent_id, &self.server_id, &self.permission).await?;
        Ok(PermissionDecided { decision: Decision::Denied })
    }
}

impl Operation for ResetDecision {
    type Reply = DecisionReset;

    async fn run(self, call: &OperatorCall) -> Result<DecisionReset, Error> {
        let Some(permission) = &self.permission else {
            return Ok(DecisionReset { reset: forget(call, &self.what).await? });
        };
        let server = ServerId::from(self.what.as_str());
        let grants = &call.kernel.policies.grants;
        Ok(DecisionReset { reset: grants.reset(&call.by, self.agent_id, &server, permission).await? })
    }
}

line_form!(DecisionReset, |it| if it.reset { "reset" } else { "there was no decision to forget" });

/// Forgets the answer to a question: where it waits for its call, or the decision that it has become.
async fn forget(call: &OperatorCall, what: &str) -> Result<bool, Error> {
    let (grants, pending) = (&call.kernel.policies.grants, &call.kernel.policies.pending);
    let decided: Vec<_> =
        grants.all_records().into_iter().filter(|record| record.question.is_some()).collect();
    let ids = decided.iter().filter_map(|record| record.question.as_deref()).map(str::to_owned);
    let confirmed = &call.kernel.policies.confirmed;
    let of_batches =
        confirmed.list().into_iter().filter_map(|batch| Some(batch.question?.as_str().to_owned()));
    let id = named(what, ids.chain(queued_ids(&call.kernel)).chain(of_batches))?;
    let mut was_there = pending.forget(&call.by, &ApprovalId::from(&*id)).await?;
    was_there |= confirmed.forget(&ApprovalId::from(&*id));
    for record in decided.into_iter().filter(|record| record.question.as_deref() == Some(&*id)) {
        was_there |= grants.reset(&call.by, record.agent, &record.server, &record.permission).await?;
    }
    Ok(was_there)
}

impl Operation for ListGrants {
    type Reply = GrantPage;

    async fn run(self, call: &OperatorCall) -> Result<GrantPage, Error> {
        let is_about = |server: &ServerId, question: Option<&str>| {
            let answers = |about: &str| question.is_some_and(|id| id.starts_with(about));
            self.about.as_deref().is_none_or(|about| about == server.as_str() || answers(about))
        };
        let is_wanted = |record: &GrantRecord| is_about(&record.server, record.question.as_deref());
        let records = call.kernel.policies.grants.all_records().into_iter().filter(is_wanted);
        let (grants, next_offset) = self.page.of(records.map(GrantRow::of));
        // An answer about what a server itself needs is entered at once, and is among the decisions.
        let waits = |open: &PendingApproval| {
            self.page.offset == 0 && open.asker.is_some() && is_about(&open.server, Some(open.id.as_str()))
        };
        let answered = call.kernel.policies.pending.answered().into_iter();
        let waiting = answered.filter(waits).map(OpenQuestion::of).collect();
        let is_shown = |batch: &ConfirmedBatch| {
            self.page.offset == 0 && is_about(&batch.server, batch.question.as_ref().map(ApprovalId::as_str))
        };
        let confirmed = call.kernel.policies.confirmed.list().into_iter().filter(is_shown);
        Ok(GrantPage { grants, waiting, confirmed: confirmed.map(ConfirmedRow::of).collect(), next_offset })
    }
}

impl TextForm for GrantPage {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.grants.iter().map(GrantRow::cells).chain(self.waiting.iter().map(answered_cells));
        let rows = rows.chain(self.confirmed.iter().map(ConfirmedRow::cells));
        let headings = ["SERVER", "PERMISSION", "AGENT", "DECISION", "BY", "UNTIL", "SCOPE"];
        out.table(&headings, rows, "nothing was decided")
    }
}

/// Returns the row of a question whose answer waits for its call.
pub(crate) fn answered_cells(answered: &OpenQuestion) -> [String; 7] {
    let calls = answered.max_uses.map_or_else(|| "one call".to_owned(), |uses| format!("{uses} calls"));
    let call = answered.tool_name.as_ref().map(|tool| format!("{calls} of {tool}"));
    let permission = answered.permission.as_ref().map(|permission| permission.as_str().to_owned());
    [
        answered.server_id.to_string(),
        permission.or(call).unwrap_or_default(),
        answered.agent_id.clone().unwrap_or_else(|| "all".to_owned()),
        or_dash(answered.decision.map(Decision::as_str)),
        answered.answered_by.clone().unwrap_or_default(),
        match (answered.ends_at, answered.max_uses) {
            (Some(end), None) => format!("{end}, or its call"),
            (end, _) => or_dash(end),
        },
        match answered.max_uses {
            Some(uses) => format!("{uses} of {uses} calls left, question {}", answered.id),
            None => format!("question {}", answered.id),
        },
    ]
}

impl ConfirmedRow {
    fn of(batch: ConfirmedBatch) -> Self {
        Self {
            server_id: batch.server,
            tool_name: batch.tool,
            agent_id: batch.agent.map(|agent| agent.access_id().into_owned()),
            approved_by: batch.approver.id().into_owned(),
            question: batch.question.map(|id| id.as_str().to_owned()),
            calls: batch.calls,
            left: batch.calls.map(|_| batch.left),
            expires_at: batch.ends_at,
        }
    }

    /// Returns the cells of the approval in a table of decisions.
    pub(crate) fn cells(&self) -> [String; 7] {
        let (what, left) = match (self.calls, self.left) {
            (Some(calls), Some(left)) => {
                (format!("{calls} calls of {}", self.tool_name), format!("{left} of {calls} calls left"))
            }
            _ => (format!("calls of {}", self.tool_name), "all calls".to_owned()),
        };
        let question = self.question.as_ref().map(|id| format!(", question {id}")).unwrap_or_default();
        [
            self.server_id.to_string(),
            what,
            self.agent_id.clone().unwrap_or_else(|| "all".to_owned()),
            Decision::Approved.as_str().to_owned(),
            self.approved_by.clone(),
            self.expires_at.to_string(),
            left + &question,
        ]
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

    /// Returns the cells of the decision in a table: server, permission, agent, decision, operator, end and scope.
    pub(crate) fn cells(&self) -> [String; 7] {
        [
            self.server_id.to_string(),
            self.permission.as_str().to_owned(),
            self.agent_id.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string),
            self.decision.as_str().to_owned(),
            self.approved_by.clone(),
            match (self.lasts, self.expires_at) {
                (GrantLifetime::Session, None) => "the session or the kernel ends".to_owned(),
                (_, end) => or_dash(end),
            },
            or_dash(self.scope.as_ref().and_then(|scope| serde_json::to_string(scope).ok())),
        ]
    }
}

/// The wrong names in a decision, which an error has as its data: all reasons in one text, and the names that are probably
/// meant.
#[derive(Debug, Default, Serialize, Deserialize)]
struct NameMistakes {
    reason: String,
    meant_server: Option<String>,
    meant_permission: Option<String>,
    meant_agent: Option<String>,
    /// The known permissions, if the permission is none of them and reads like none.
    permissions: Vec<String>,
}

/// Checks that there is such a server, or was when something was decided about it, and that the permission and the
/// agent are known, or at least read like no known ones. `is_missing` says that neither an agent is named, nor all of
/// them.
///
/// # Errors
/// -32602 with [`NameMistakes`].
fn check_names(
    kernel: &Sections,
    server: &ServerId,
    permission: &Permission,
    agent: Option<&AgentId>,
    is_missing: bool,
) -> Result<(), Error> {
    let (mut mistakes, mut reasons) = (NameMistakes::default(), Vec::new());
    if let Err(unmatched) = ServerInventory::of(kernel).check_server(server.as_str())
        && kernel.policies.grants.records(server).is_empty()
    {
        mistakes.meant_server = unmatched.suggestion();
        reasons.push(format!("no server is called `{server}`"));
    }
    let permissions = known_permissions(kernel);
    if !permissions.contains(permission.as_str()) {
        let meant = nearest(permission.as_str(), permissions.iter().map(String::as_str));
        // A server that is not connected may need more permissions than are known; then only a name that reads like a
        // known one is taken for a misspelling of it.
        let is_connected = |view: &ServerView| view.id == *server && view.state == ServerState::Connected;
        if meant.is_some() || kernel.fleet.views().iter().any(is_connected) {
            reasons.push(format!("no server needs a permission `{permission}`"));
            mistakes.meant_permission = meant.map(str::to_owned);
            mistakes.permissions =
                if meant.is_none() { permissions.into_iter().collect() } else { Vec::new() };
        }
    }
    if let Some(agent) = agent
        && let agents = known_agents(kernel)
        && !agents.contains(agent.as_str())
        && let Some(meant) = nearest(agent.as_str(), agents.iter().map(String::as_str))
    {
        reasons.push(format!("no agent `{agent}` is known"));
        mistakes.meant_agent = Some(meant.to_owned());
    }
    if let Some(last) = reasons.last_mut() {
        last.push_str(", so this would have no effect");
    }
    if is_missing {
        reasons.push("no agent is named for whose calls the permission is granted".to_owned());
        mistakes.meant_agent = Some("AGENT".to_owned());
    }
    if reasons.is_empty() {
        return Ok(());
    }
    mistakes.reason = reasons.join("; ");
    let error = Error::invalid_params(format!("{} (`force` accepts unknown names)", mistakes.reason));
    Err(RawJson::from_value(&mistakes).into_iter().fold(error, Error::with_data))
}

/// Returns the standard permissions, and those that some server is known to need.
fn known_permissions(kernel: &Sections) -> BTreeSet<String> {
    let config = kernel.config.load();
    let mut known: BTreeSet<_> = Permission::KNOWN.iter().map(|one| one.as_str().to_owned()).collect();
    for server in &config.servers {
        known.extend(server.security.permissions.iter().map(|one| one.as_str().to_owned()));
        known.extend(server.mgp.iter().flat_map(|mgp| &mgp.permissions_required).cloned());
    }
    known.extend(config.permissions.grants.iter().map(|grant| grant.permission.as_str().to_owned()));
    known.extend(kernel.policies.grants.waiting().into_iter().map(|(_, one)| one.as_str().to_owned()));
    let decided = kernel.policies.grants.all_records().into_iter();
    known.extend(decided.map(|record| record.permission.as_str().to_owned()));
    known
}

/// Returns the agents that are configured or connected, have keys or rules, or about whose calls something was decided, and
/// the groups of agents.
pub(super) fn known_agents(kernel: &Sections) -> BTreeSet<String> {
    let mut known = BTreeSet::from([LOCAL_AGENT.to_owned(), KEYLESS_AGENT.to_owned()]);
    known.extend(kernel.config.load().agents.iter().map(|agent| agent.id.clone()));
    known.extend(kernel.policies.keys.keys().iter().map(|key| key.terms.owner.as_str().to_owned()));
    let connected = kernel.lifecycle.connections.clients().into_iter();
    known.extend(connected.map(|one| one.session.principal(&one.agent, None).access_id().into_owned()));
    let rules = kernel.policies.access.entries();
    known.extend(rules.iter().map(|rule| rule.entry.agent_id.as_str().to_owned()));
    let decided = kernel.policies.grants.all_records().into_iter().filter_map(|record| record.agent);
    known.extend(decided.map(|agent| agent.as_str().to_owned()));
    known.extend(kernel.policies.access.groups().ids().iter().map(ToString::to_string));
    known
}

/// Adds a hint to the refusal of a decision whose names are wrong: the command that is probably meant, or the known
/// permissions. The command is `mgp permissions` with these words, and the names that are meant in place of those written.
fn advised(
    failure: Failure,
    [verb, server, permission]: [&str; 3],
    agent: Option<&AgentId>,
    ending: &str,
) -> Failure {
    let Some(mistakes) = failure.data::<NameMistakes>() else { return failure };
    let NameMistakes { meant_server, meant_permission, meant_agent, .. } = &mistakes;
    let word = |meant: &Option<String>, written: &str| shell_word(meant.as_deref().unwrap_or(written));
    let agent = meant_agent.as_deref().or_else(|| agent.map(AgentId::as_str));
    let whose = agent.map(|agent| format!(" --agent {}", shell_word(agent))).unwrap_or_default();
    let (server, permission) = (word(meant_server, server), word(meant_permission, permission));
    let meant = [meant_server, meant_permission, meant_agent];
    let hint = if meant.into_iter().any(Option::is_some) {
        format!(
            "did you mean `mgp permissions {verb} {server} {permission}{whose}{ending}`? `--force` accepts what is written"
        )
    } else if mistakes.permissions.is_empty() {
        "`mgp servers` shows the servers; `--force` accepts what is written".to_owned()
    } else {
        let known = mistakes.permissions.join(", ");
        format!("the known permissions are {known}; `--force` accepts what is written")
    };
    failure.with_message(mistakes.reason).hint(hint)
}
