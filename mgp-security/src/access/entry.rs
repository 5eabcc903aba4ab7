//! The access entry: what one agent or group may do with one server or tool, as operators grant it and stores keep it,
//! and a stream of the entries whose time has come to an end.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessRevoke, AccessSource, AccessState, AgentId, EntryType, ServerId,
    Timestamp, ToolName, ToolPattern,
};
use mgp_types::{Error, Principal, code};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize, Serializer};
use tokio::sync::watch;

use super::AccessPolicy;
use crate::StoreError;
use crate::refusal::refusal;
use mgp_store::{Database, optional_time, text, time};

/// A permission or prohibition for one agent, or a group, to use a server or a tool, with the operator that granted it. A `*` in
/// the names of the server and the tool stands for other characters; the two names are matched separately, as in a
/// [`ToolPattern`].
///
/// The field `tool_name` alone tells an entry for a tool from an entry for a server, so no two fields can disagree
/// about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AccessEntry {
    /// The agent that the entry is about, or a group of agents as `@name`.
    pub agent_id: AgentId,
    /// The server that the entry is about, or a pattern of servers.
    pub server_id: ServerId,
    /// The tool that the entry is about, or a pattern of tools; `None` for the server as a whole.
    pub tool_name: Option<ToolName>,
    /// The decision on the use: allow or deny.
    pub permission: AccessPermission,
    /// The authenticated operator that granted the entry, whatever name the request claimed.
    pub granted_by: String,
    /// The name that the request claimed for the grantor.
    #[serde(rename = "granted_by_label")]
    pub label: Option<String>,
    /// The reason given for the entry.
    pub justification: Option<String>,
    /// The time of the grant.
    pub granted_at: Timestamp,
    /// The time from which the entry no longer holds; `None` if it never ends.
    pub expires_at: Option<Timestamp>,
}

/// An entry with the number under which a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct StoredEntry {
    /// The number of the entry, which no other entry of the store ever has.
    pub id: u64,
    /// The entry itself.
    #[serde(flatten)]
    pub entry: AccessEntry,
}

impl AccessEntry {
    /// Returns the entry that `grant` asks for, made at `now` in the name of the operator `by`.
    ///
    /// # Errors
    /// Fails if a tool is named for a whole server or missing for a tool, or if a name is empty or too long.
    pub fn new(by: &Principal, grant: AccessGrant, now: Timestamp) -> Result<Self, AccessError> {
        let tool_name = scope(grant.entry_type, grant.tool_name)?;
        let entry = Self {
            agent_id: grant.agent_id,
            server_id: grant.server_id,
            tool_name,
            permission: grant.permission,
            granted_by: by.id().into_owned(),
            label: grant.granted_by,
            justification: grant.justification,
            granted_at: now,
            expires_at: grant.expires_at,
        };
        let (agent, server) = (entry.agent_id.as_str(), entry.server_id.as_str());
        let is_short = |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= MAX_TEXT_BYTES);
        demand(is_name(agent), "`agent_id` has to have 1 to 512 bytes")?;
        demand(
            !agent.contains('*'),
            "`agent_id` is one agent's, and a `*` there stands for nobody else: name a group as `@name`, or set the \
             default policy",
        )?;
        demand(is_name(server), "`server_id` has to have 1 to 512 bytes")?;
        demand(
            !server.contains('*') || ToolPattern::new(server, "*").is_ok(),
            "`server_id` fits no server: ids have letters, digits, `.`, `_` and `-`, and `*` stands for any of them",
        )?;
        demand(is_short(&entry.label), "`granted_by` has at most 4096 bytes")?;
        demand(is_short(&entry.justification), "`justification` has at most 4096 bytes")?;
        Ok(entry)
    }

    /// Returns whether the entry is for a server or for tools of it.
    pub const fn entry_type(&self) -> EntryType {
        if self.tool_name.is_some() { EntryType::ToolGrant } else { EntryType::ServerGrant }
    }

    /// Returns the group that the entry is for, where it decides about `agent`; `None` if it is for the agent itself or its
    /// family.
    pub(super) fn group_of(&self, agent: &str) -> Option<AgentId> {
        let is_of_group = self.is_for_group() && self.agent_id.as_str() != agent;
        is_of_group.then(|| self.agent_id.clone())
    }

    pub(super) fn is_for_group(&self) -> bool {
        self.agent_id.as_str().starts_with('@')
    }

    pub(super) fn key(&self) -> EntryKey {
        (self.agent_id.clone(), self.server_id.clone(), self.tool_name.clone())
    }

    pub(super) fn state(&self, source: AccessSource) -> AccessState {
        AccessState::new(self.permission, source)
            .with_grant(&*self.granted_by, self.granted_at)
            .with_expires_at(self.expires_at)
    }
}

impl Serialize for StoredEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WireEntry { id: self.id, entry_type: self.entry.entry_type(), entry: &self.entry }
            .serialize(serializer)
    }
}

/// The agent, server and tool that an entry is about; no two entries have the same.
pub(super) type EntryKey = (AgentId, ServerId, Option<ToolName>);

/// Returns the key of the entry that is to be removed.
///
/// # Errors
/// Fails if a tool is named for a whole server or missing for a tool, or if its name is empty or too long.
pub(super) fn revoked(revoke: AccessRevoke) -> Result<EntryKey, AccessError> {
    Ok((revoke.agent_id, revoke.server_id, scope(revoke.entry_type, revoke.tool_name)?))
}

#[derive(Serialize)]
struct WireEntry<'a> {
    id: u64,
    entry_type: EntryType,
    #[serde(flatten)]
    entry: &'a AccessEntry,
}

fn scope(entry_type: EntryType, tool: Option<ToolName>) -> Result<Option<ToolName>, AccessError> {
    match entry_type {
        EntryType::ServerGrant => demand(tool.is_none(), "`tool_name` has to be null for a server_grant")?,
        EntryType::ToolGrant => demand(tool.is_some(), "`tool_name` is missing for a tool_grant")?,
    }
    let is_known = tool.as_ref().is_none_or(|tool| is_name(tool.as_str()));
    demand(is_known, "`tool_name` has to have 1 to 512 bytes")?;
    // A pattern of all tools means the server as a whole. If both kinds of entries could say the same, a forgotten one
    // could decide.
    Ok(tool.filter(|tool| tool.as_str().bytes().any(|byte| byte != b'*')))
}

fn demand(is_met: bool, complaint: &'static str) -> Result<(), AccessError> {
    if is_met { Ok(()) } else { Err(AccessError::Malformed(complaint)) }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&name.len())
}

/// The largest length of an agent, server or tool name, in bytes.
const MAX_NAME_BYTES: usize = 512;
/// The largest length of a label or justification, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// The reason why access was not changed or not reported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// Nobody has authenticated.
    #[error("authenticate first")]
    Unauthenticated,
    /// The caller is not an operator.
    #[error("only an operator may change access")]
    NotOperator,
    /// An agent asked about another agent.
    #[error("an agent may ask about itself only")]
    NotAboutItself,
    /// The parameters are malformed or contradict each other; the text names the fault.
    #[error("{0}")]
    Malformed(&'static str),
    /// The change could not be recorded, so it was not made.
    #[error("the change could not be recorded and was not made")]
    Unrecorded(#[source] Error),
    /// The change could not be stored, so it was not made.
    #[error("the change could not be stored and was not made")]
    Store(#[from] StoreError),
}

impl From<AccessError> for Error {
    fn from(error: AccessError) -> Self {
        let code = match error {
            AccessError::Unauthenticated => code::AUTH_REQUIRED,
            AccessError::NotOperator => code::PERMISSION_DENIED,
            AccessError::NotAboutItself => code::ACCESS_DENIED,
            AccessError::Malformed(complaint) => return Self::invalid_params(complaint),
            AccessError::Unrecorded(error) => return error,
            AccessError::Store(error) => return error.into(),
        };
        refusal(code, error.to_string())
    }
}

/// The store of access entries. It holds at most one entry for each agent, server and tool.
///
/// A policy reads the store when it is built and when other kernels changed it, and else only writes it, one change at a
/// time and away from the threads that answer requests.
#[derive(Debug)]
pub(super) struct AccessStore(Database);

impl AccessStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.section("access", MIGRATIONS).map(Self)
    }

    /// Returns all entries, including those that have ended.
    pub(super) fn load(&self) -> Result<Vec<StoredEntry>, StoreError> {
        self.0.read_all(ALL, [], read)
    }

    /// Stores `entry` in place of the one for the same agent, server and tool, and returns its number.
    pub(super) fn put(&self, entry: &AccessEntry) -> Result<u64, StoreError> {
        let put = || self.insert(entry);
        if entry.permission == AccessPermission::Deny { self.0.take_away(put) } else { self.0.give(put) }
    }

    fn insert(&self, entry: &AccessEntry) -> Result<u64, StoreError> {
        let id = self.0.change(|change| {
            // The row is replaced and not updated, because a new entry gets a new number.
            change.execute(
                "INSERT OR REPLACE INTO access_entries
             (agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    entry.agent_id.as_str(),
                    entry.server_id.as_str(),
                    tool_column(entry.tool_name.as_ref()),
                    if entry.permission == AccessPermission::Allow { "allow" } else { "deny" },
                    entry.granted_by,
                    entry.label,
                    entry.justification,
                    entry.granted_at.as_millis(),
                    entry.expires_at.map(Timestamp::as_millis),
                ],
            )?;
            Ok(change.reading().last_insert_rowid())
        })?;
        u64::try_from(id).map_err(|_| damaged("a number below zero"))
    }

    /// Returns the entry for an agent, a server and a tool as it is now, whichever kernel made it.
    pub(super) fn find(&self, key: &EntryKey) -> Result<Option<StoredEntry>, StoreError> {
        let query = format!("{ALL} WHERE agent = ?1 AND server = ?2 AND tool = ?3");
        let (agent, server, tool) = key;
        self.0.change(|change| {
            let mut query = change.reading().prepare_cached(&query)?;
            let mut rows =
                query.query(params![agent.as_str(), server.as_str(), tool_column(tool.as_ref())])?;
            rows.next()?.map(read).transpose()
        })
    }

    /// Removes the entry for the same agent, server and tool as `entry`, if there is one.
    pub(super) fn remove(&self, entry: &AccessEntry) -> Result<(), StoreError> {
        let (agent, server, tool) = (&entry.agent_id, &entry.server_id, entry.tool_name.as_ref());
        let remove = || {
            self.0.execute(
                "DELETE FROM access_entries WHERE agent = ?1 AND server = ?2 AND tool = ?3",
                params![agent.as_str(), server.as_str(), tool_column(tool)],
            )
        };
        if entry.permission == AccessPermission::Allow {
            self.0.take_away(remove)
        } else {
            self.0.give(remove)
        }
    }
}

const ALL: &str = "SELECT id, agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at FROM access_entries";

fn read(row: &Row<'_>) -> Result<StoredEntry, StoreError> {
    let tool = text(row, 3)?;
    let permission = match text(row, 4)? {
        "allow" => AccessPermission::Allow,
        "deny" => AccessPermission::Deny,
        _ => return Err(damaged("a permission that is none")),
    };
    let entry = AccessEntry {
        agent_id: text(row, 1)?.into(),
        server_id: text(row, 2)?.into(),
        tool_name: (!tool.is_empty()).then(|| tool.into()),
        permission,
        granted_by: row.get(5)?,
        label: row.get(6)?,
        justification: row.get(7)?,
        granted_at: time(row, 8)?,
        expires_at: optional_time(row, 9)?,
    };
    let id = u64::try_from(row.get::<_, i64>(0)?).map_err(|_| damaged("a number below zero"))?;
    Ok(StoredEntry { id, entry })
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("an access entry has {what}"))
}

/// Returns the value of the column `tool`. A whole server is the empty name, because `UNIQUE` treats two `NULL`s as
/// different; no tool has that name.
fn tool_column(tool: Option<&ToolName>) -> &str {
    tool.map_or("", ToolName::as_str)
}

const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// A stream of the entries that expire, each reported once, beginning when [`AccessPolicy::endings`] is called.
#[derive(Debug)]
pub struct ExpiringEntries {
    pub(super) policy: AccessPolicy,
    pub(super) changed: watch::Receiver<()>,
    /// The time up to which ended entries have been reported.
    pub(super) reported_until: Timestamp,
}

impl ExpiringEntries {
    /// Waits until entries have ended and returns them. They are reported at the next full second, from which on
    /// [`revision`](AccessPolicy::revision) has changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Vec<Arc<StoredEntry>> {
        loop {
            self.changed.borrow_and_update();
            let now = self.policy.now();
            let (reported_until, until) = (self.reported_until, whole_seconds(now));
            let mut ended = self.policy.entries();
            let ends = ended.iter().filter_map(|stored| stored.entry.expires_at);
            let next = ends.filter(|end| *end > until).min();
            let has_ended = |end: Timestamp| end > reported_until && end <= until;
            ended.retain(|stored| stored.entry.expires_at.is_some_and(has_ended));
            if !ended.is_empty() {
                self.reported_until = until;
                self.policy.tell_change();
                return ended;
            }
            let wait = next.map_or(LONGEST_WAIT, |end| {
                let wait = end.as_millis().saturating_add(SECOND).saturating_sub(now.as_millis());
                Duration::from_millis(wait.unsigned_abs()).min(LONGEST_WAIT)
            });
            // The sender belongs to the policy, which is held here, so it cannot be dropped.
            let _ = tokio::time::timeout(wait, self.changed.changed()).await;
        }
    }
}

/// Returns the full second in which `time` is.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_millis(time.as_millis() - time.as_millis().rem_euclid(SECOND)).unwrap_or(time)
}

/// A second in milliseconds.
const SECOND: i64 = 1000;
/// The longest wait before the clock is read again, because the clock may be set in the meantime.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
