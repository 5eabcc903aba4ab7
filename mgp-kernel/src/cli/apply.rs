//! `mgp apply`: makes the access entries, permissions and keys of a kernel those of a file, and shows the differences.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mgp_kernel_core::admin::access::ListAccess;
use mgp_kernel_core::admin::keys::{
    IssueKey, IssuedKey, ListKeys, RevokeKey, permission_word, read_permission,
};
use mgp_kernel_core::admin::list::OperationEntry;
use mgp_kernel_core::admin::operation::{KernelNeed, Operation};
use mgp_kernel_core::admin::permissions::{GrantPermission, ListGrants, ResetDecision, RevokePermission};
use mgp_kernel_core::sections::rules::CONFIGURATION;
use mgp_kernel_core::terminal::{Exit, Failure, Result, TextForm, TextWriter, printable, word_of};
use mgp_security::permission::GrantLifetime;
use mgp_types::RawJson;
use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessRevoke, AgentId, Decision, Permission, Scope, ServerId, Timestamp,
    ToolName, method,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context::CommandContext;
use super::input::read_text;
use super::link::KernelLink;

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    /// The file with [[access]], [[permissions]] and [[keys]], or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show the differences and change nothing; the command exits with 5 if applying the file would change something
    #[arg(long)]
    diff: bool,
    /// Remove what only the kernel has; denials stay unless this is `all`
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "granted")]
    prune: Option<Prune>,
}

/// The decisions that are removed if only the kernel has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Prune {
    /// What allows something: grants, permissions and keys
    Granted,
    /// Denials too
    All,
}

/// The decisions in a file.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DeclaredDecisions {
    access: Vec<DeclaredAccess>,
    permissions: Vec<DeclaredPermission>,
    keys: Vec<DeclaredKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredAccess {
    agent: AgentId,
    server: ServerId,
    tool: Option<ToolName>,
    permission: AccessPermission,
    until: Option<Timestamp>,
    because: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredPermission {
    server: ServerId,
    permission: Permission,
    agent: Option<AgentId>,
    decision: Option<Decision>,
    scope: Option<Scope>,
    until: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredKey {
    owner: String,
    allow: Vec<String>,
    #[serde(default)]
    operator: bool,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    label: String,
    until: Option<Timestamp>,
    per_minute: Option<NonZeroU32>,
    per_hour: Option<NonZeroU32>,
}

/// A request that makes a decision or takes one back: its method and its params.
type Order = (&'static str, RawJson);

fn order(method: &'static str, params: &impl Serialize) -> Result<Order> {
    let params = RawJson::from_value(params).map_err(|error| Failure::usage(error.to_string()))?;
    Ok((method, params))
}

fn operation<O: Operation>(operation: &O) -> Result<Order> {
    order(OperationEntry::name_of::<O>(), operation)
}

/// Decisions by their names, each with its terms and a request.
type Decisions = BTreeMap<String, (DecisionTerms, Order)>;

/// The terms of a decision.
#[derive(PartialEq, Eq)]
struct DecisionTerms {
    text: String,
    is_denial: bool,
}

impl DecisionTerms {
    fn of_access(permission: AccessPermission, until: Option<Timestamp>) -> Self {
        let text = with_end(word_of(permission), until);
        Self { text, is_denial: permission == AccessPermission::Deny }
    }

    fn of_permission(decision: Decision, scope: Option<&Scope>, until: Option<Timestamp>) -> Self {
        let scope = scope.and_then(|scope| serde_json::to_string(scope).ok());
        let text = scope.iter().fold(decision.as_str().to_owned(), |terms, scope| terms + " within " + scope);
        Self { text: with_end(text, until), is_denial: decision == Decision::Denied }
    }

    /// Returns the terms of a key, all of which belong to its name.
    const fn of_key() -> Self {
        Self { text: String::new(), is_denial: false }
    }
}

/// The differences between a file and a kernel, and the keys that were issued.
#[derive(Serialize)]
struct AppliedDecisions {
    differences: Vec<Difference>,
    keys: Vec<IssuedKey>,
}

#[derive(Serialize)]
struct Difference {
    kind: DifferenceKind,
    decision: String,
    terms: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum DifferenceKind {
    Added,
    Changed,
    Removed,
    OnlyInTheKernel,
}

pub(super) async fn run(cx: &CommandContext, args: ApplyArgs) -> Result {
    let declared = declared(&args)?;
    KernelLink::with(cx, KernelNeed::State, async |link| {
        let mut kept = kept(link).await?;
        let mut applied = AppliedDecisions { differences: Vec::new(), keys: Vec::new() };
        for (decision, (terms, (method, params))) in declared {
            let before = kept.remove(&decision).map(|(before, _)| before);
            if before.as_ref() == Some(&terms) {
                continue;
            }
            if !args.diff {
                let reply: Value = link.request(method, &params).await?;
                // All other replies are without the secret of a key.
                applied.keys.extend(serde_json::from_value::<IssuedKey>(reply));
            }
            let kind = before.map_or(DifferenceKind::Added, |_| DifferenceKind::Changed);
            applied.differences.push(Difference { kind, decision, terms: terms.text });
        }
        for (decision, (terms, (method, params))) in kept {
            // A denial may be what somebody decided a moment ago, when a person left.
            let is_removed = args.prune.is_some_and(|prune| prune == Prune::All || !terms.is_denial);
            let kind = if is_removed { DifferenceKind::Removed } else { DifferenceKind::OnlyInTheKernel };
            if is_removed && !args.diff {
                link.request::<Value>(method, &params).await?;
            }
            applied.differences.push(Difference { kind, decision, terms: terms.text });
        }
        link.output.result(&applied)?;
        Ok(if args.diff && applied.changes_something() { Exit::Tool } else { Exit::Done })
    })
    .await
}

/// Returns the decisions of the file.
fn declared(args: &ApplyArgs) -> Result<Decisions> {
    let wrong = |what: String| Failure::file(&args.file, what);
    let DeclaredDecisions { access, permissions, keys } =
        toml_edit::de::from_str(&read_text(&args.file)?).map_err(|error| wrong(error.to_string()))?;
    let mut all = Vec::new();
    for DeclaredAccess { agent, server, tool, permission, until, because } in access {
        let decision = access_name(&agent, &server, tool.as_ref());
        let mut entry = AccessGrant::new(agent, server, permission).with_expires_at(until);
        entry.justification = because;
        // A file is applied before the servers are there, too.
        entry.force = true;
        let entry = tool.into_iter().fold(entry, AccessGrant::for_tool);
        let order = order(method::ACCESS_GRANT, &entry)?;
        all.push((decision, (DecisionTerms::of_access(permission, until), order)));
    }
    for DeclaredPermission { server, permission, agent, decision, scope, until } in permissions {
        let name = permission_name(&server, &permission, agent.as_ref());
        let decision = decision.unwrap_or(Decision::Approved);
        let terms = DecisionTerms::of_permission(decision, scope.as_ref(), until);
        let order = if decision == Decision::Denied {
            operation(&RevokePermission { server_id: server, permission, agent_id: agent, force: true })?
        } else {
            operation(&GrantPermission {
                server_id: server,
                permission,
                agent_id: agent,
                scope,
                expires_at: until,
                force: true,
                agent_is_missing: false,
            })?
        };
        all.push((name, (terms, order)));
    }
    for DeclaredKey { owner, allow, operator, groups, label, until, per_minute, per_hour } in keys {
        let permissions = allow.iter().map(|word| read_permission(word)).collect::<Result<Vec<_>, _>>();
        let permissions = permissions.map_err(wrong)?;
        let members = groups.iter().map(|group| format!("@{}", group.trim_start_matches('@')));
        let words = permissions.iter().map(permission_word).chain(members).collect();
        let name = with_end(key_name(&owner, operator, &label, words, [per_minute, per_hour]), until);
        let (expires_at, force) = (until, true);
        let key =
            IssueKey { owner, permissions, operator, groups, label, expires_at, per_minute, per_hour, force };
        all.push((name, (DecisionTerms::of_key(), operation(&key)?)));
    }
    let mut decisions = Decisions::new();
    for (name, decision) in all {
        if decisions.contains_key(&name) {
            return Err(wrong(format!("{name} stands twice")).hint("remove one of the two entries"));
        }
        decisions.insert(name, decision);
    }
    Ok(decisions)
}

/// Returns the decisions of the kernel that operators made, and the keys that have not ended.
async fn kept(link: &KernelLink) -> Result<Decisions> {
    let mut kept = Decisions::new();
    let access = link
        .all(|page| ListAccess { page, ..ListAccess::default() }, |list| (list.entries, list.next_offset));
    for stored in access.await? {
        let entry = stored.entry;
        // Rules of mgp.toml are changed there.
        if entry.granted_by != CONFIGURATION {
            let name = access_name(&entry.agent_id, &entry.server_id, entry.tool_name.as_ref());
            let terms = DecisionTerms::of_access(entry.permission, entry.expires_at);
            let revoke = AccessRevoke::new(entry.agent_id, entry.server_id);
            let revoke = entry.tool_name.into_iter().fold(revoke, AccessRevoke::for_tool);
            kept.insert(name, (terms, order(method::ACCESS_REVOKE, &revoke)?));
        }
    }
    let grants = link.all(|page| ListGrants { page, about: None }, |list| (list.grants, list.next_offset));
    for row in grants.await? {
        if row.lasts == GrantLifetime::Always {
            let name = permission_name(&row.server_id, &row.permission, row.agent_id.as_ref());
            let terms = DecisionTerms::of_permission(row.decision, row.scope.as_ref(), row.expires_at);
            let (what, permission) = (row.server_id.to_string(), Some(row.permission));
            let reset = ResetDecision { what, permission, agent_id: row.agent_id };
            kept.insert(name, (terms, operation(&reset)?));
        }
    }
    let keys = link.all(|page| ListKeys { page, owner: None }, |list| (list.keys, list.next_offset));
    for key in keys.await?.into_iter().filter(|key| !key.expired) {
        let members = key.groups.iter().map(|group| format!("@{group}"));
        let words = key.permissions.iter().map(permission_word).chain(members).collect();
        let rates = key.rate_limit.unwrap_or_default();
        let rates = [rates.requests_per_minute, rates.requests_per_hour];
        let name = with_end(key_name(&key.owner, key.operator, &key.label, words, rates), key.expires_at);
        let name = if kept.contains_key(&name) { format!("{name}, {}", key.id) } else { name };
        let revoke = RevokeKey { id: key.id, let_calls_finish: false };
        kept.insert(name, (DecisionTerms::of_key(), operation(&revoke)?));
    }
    Ok(kept)
}

fn access_name(agent: &AgentId, server: &ServerId, tool: Option<&ToolName>) -> String {
    format!("access of {agent} to {server}/{}", tool.map_or("*", ToolName::as_str))
}

fn permission_name(server: &ServerId, permission: &Permission, agent: Option<&AgentId>) -> String {
    let agents = agent.map_or_else(|| "all agents".to_owned(), ToString::to_string);
    format!("permission {} of {server} for {agents}", permission.as_str())
}

/// Returns the name of a key, but for its end. Keys do not change, so that all of it belongs to the name.
fn key_name(
    owner: &str,
    operator: bool,
    label: &str,
    mut words: Vec<String>,
    rates: [Option<NonZeroU32>; 2],
) -> String {
    words.sort_unstable();
    words.dedup();
    let operator = if operator { " (operator)" } else { "" };
    let label = if label.is_empty() { String::new() } else { format!(" \"{label}\"") };
    let rates = rates.iter().zip(["minute", "hour"]);
    let rates = rates.filter_map(|(rate, per)| Some(format!(", {} a {per}", (*rate)?)));
    format!("key of {owner}{operator}{label} for {}{}", words.join(" "), rates.collect::<String>())
}

fn with_end(terms: String, until: Option<Timestamp>) -> String {
    until.iter().fold(terms, |terms, end| format!("{terms} until {end}"))
}

impl AppliedDecisions {
    /// Returns whether the kernel was not as the file says. What only the kernel has stays, so it changes nothing.
    fn changes_something(&self) -> bool {
        self.differences.iter().any(|difference| difference.kind != DifferenceKind::OnlyInTheKernel)
    }
}

impl TextForm for AppliedDecisions {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        for Difference { kind, decision, terms } in &self.differences {
            let (sign, behind) = match kind {
                DifferenceKind::Added => ("+", ""),
                DifferenceKind::Changed => ("~", ""),
                DifferenceKind::Removed => ("-", ""),
                DifferenceKind::OnlyInTheKernel => ("?", " (not in the file)"),
            };
            let terms = if terms.is_empty() { String::new() } else { format!(": {terms}") };
            writeln!(out, "{sign} {}{behind}", printable(&format!("{decision}{terms}")))?;
        }
        self.keys.iter().try_for_each(|key| writeln!(out, "{} {}", key.key.owner, key.secret))
    }

    fn notes(&self) -> Vec<String> {
        let is_left = |difference: &Difference| difference.kind == DifferenceKind::OnlyInTheKernel;
        let notes = [
            (self.differences.is_empty(), "the kernel has what the file has"),
            (
                self.differences.iter().any(is_left),
                "`--prune` removes what is not in the file, except denials; `--prune=all` removes those too",
            ),
            (!self.keys.is_empty(), "keys are not shown again"),
        ];
        notes.into_iter().filter(|(is_true, _)| *is_true).map(|(_, note)| note.to_owned()).collect()
    }
}
