//! The access policy: it decides from the entries in memory, and makes, records and stores changes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use mgp_types::mgp::{
    AccessGrant, AccessPermission, AccessQuery, AccessRevoke, AccessSource, AccessState, Actor, ActorType,
    AgentId, AuditEvent, AuditPort, AuditTarget, DefaultPolicy, EventType, Outcome, Timestamp, ToolName,
    TraceId,
};
use mgp_types::{AgentGroups, Principal, PrincipalRole, agent_family};
use tokio::sync::{OwnedMutexGuard, watch};

use super::entry::{AccessStore, EntryKey, revoked, whole_seconds};
use super::table::{DecisionTime, EntryTable};
use super::{AccessEntry, AccessError, ExpiringEntries, StoredEntry};
use crate::latest_time::LatestTime;
use crate::{Clock, StoreError};
use mgp_store::{Database, off_the_runtime};

/// A policy that decides which agent may use which server and tool (§5), and that operators change while it runs.
///
/// Clones share one policy. A decision takes no lock and allocates nothing. A change is first recorded, then stored,
/// and then holds from the next decision on; a change that cannot be recorded or stored is not made.
#[derive(Clone)]
pub struct AccessPolicy(Arc<AccessPolicyInner>);

struct AccessPolicyInner {
    table: ArcSwap<EntryTable>,
    groups: AgentGroups,
    store: AccessStore,
    audit: Option<Arc<dyn AuditPort>>,
    clock: Clock,
    latest: LatestTime,
    /// The number of changes of the table.
    changes: AtomicU64,
    /// True if there has ever been an entry that expires.
    has_ends: AtomicBool,
    /// A signal that is sent when decisions may have changed.
    changed: watch::Sender<()>,
    /// A lock that admits one change at a time, because the table must change in the same order as the store.
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The decision about one server or tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessVerdict {
    /// The decision on the use: allow or deny.
    pub permission: AccessPermission,
    /// The kind of rule that decided.
    pub source: AccessSource,
    /// The group of the agent whose entry decided, as `@name`; `None` if it was no group's.
    pub group: Option<AgentId>,
}

/// The settings of an [`AccessPolicy`].
#[derive(Debug, Default)]
pub struct AccessPolicySettings {
    /// The policy where no entry decides.
    pub default_policy: DefaultPolicy,
    /// The database that keeps the entries; without it they end with the process.
    pub database: Option<Database>,
    /// The record of each change.
    pub audit: Option<Arc<dyn AuditPort>>,
    /// The clock by which entries end.
    pub clock: Clock,
    /// The groups of agents, whose entries hold for their members.
    pub groups: AgentGroups,
}

impl AccessPolicy {
    /// Reads the store, which may block, and returns the policy.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn open(settings: AccessPolicySettings) -> Result<Self, StoreError> {
        let AccessPolicySettings { default_policy, database, audit, clock, groups } = settings;
        let changed = watch::Sender::new(());
        let by_groups = changed.clone();
        groups.on_change(move || by_groups.send_replace(()));
        let policy = AccessPolicyInner {
            table: ArcSwap::from_pointee(EntryTable::new([], default_policy)),
            groups,
            store: AccessStore::new(database.map_or_else(Database::in_memory, Ok)?)?,
            audit,
            clock,
            latest: LatestTime::default(),
            changes: AtomicU64::new(0),
            has_ends: AtomicBool::new(false),
            changed,
            turn: Arc::default(),
        };
        policy.reload()?;
        Ok(Self(Arc::new(policy)))
    }

    /// Reads the entries anew, after another kernel changed them, and returns those that came or went: their agents may use
    /// other tools from now on. Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails if the store cannot be read; the entries then hold as before.
    pub async fn reload(&self) -> Result<Vec<Arc<StoredEntry>>, StoreError> {
        let turn = Arc::clone(&self.0.turn).lock_owned().await;
        self.apply(turn, AccessPolicyInner::reload).await
    }

    /// Returns whether `agent` may use `tool` of `server` or, without a tool, the server as a whole.
    //= mgp §5.2
    //# tool_grant, then server_grant, then default_policy
    pub fn decide(&self, agent: &str, server: &str, tool: Option<&str>) -> AccessVerdict {
        let table = self.0.table.load();
        let deciding = table.deciding(agent, &self.0.groups, server, tool, self.0.moment());
        let by_default = || table.default.permission();
        AccessVerdict {
            permission: deciding.map_or_else(by_default, |(_, stored)| stored.entry.permission),
            source: deciding.map_or(AccessSource::DefaultPolicy, |(source, _)| source),
            group: deciding.and_then(|(_, stored)| stored.entry.group_of(agent)),
        }
    }

    /// Returns the groups of agents, whose entries hold for their members.
    pub fn groups(&self) -> &AgentGroups {
        &self.0.groups
    }

    /// Returns in words which group's entry decides about a tool for `agent`, and why the agent is a member; `None` if no
    /// group's entry does.
    pub(super) fn reason_by_group(&self, agent: &str, (server, tool): (&str, &str)) -> Option<String> {
        let verdict = self.decide(agent, server, Some(tool));
        let group = verdict.group.as_ref()?;
        let memberships = self.0.groups.of(agent)?;
        let through = &memberships.iter().find(|member| member.group == *group)?.through;
        let word = if verdict.allows() { "allowed" } else { "denied" };
        Some(format!("{word} by the entry for {group}, of which {agent} is a member through {through}"))
    }

    /// Returns whether `agent` may use anything on `server`: the server as a whole, or one of its tools.
    pub fn reaches(&self, agent: &str, server: &str) -> bool {
        let inner = &self.0;
        self.decide(agent, server, None).allows()
            || inner.table.load().allows_some(agent, &inner.groups, server, inner.moment())
    }

    /// Returns the default policy, which holds where no entry decides.
    pub fn default_policy(&self) -> DefaultPolicy {
        self.0.table.load().default
    }

    /// Returns all entries in the order in which they were made, including those that have ended.
    pub fn entries(&self) -> Vec<Arc<StoredEntry>> {
        let mut entries: Vec<_> = self.0.table.load().entries().cloned().collect();
        entries.sort_unstable_by_key(|stored| stored.id);
        entries
    }

    /// Returns a number that changes whenever decisions may: after each change of the policy and of memberships in groups,
    /// and every second once there has been an entry that expires.
    pub fn revision(&self) -> u64 {
        // Both only ever grow, so no sum comes twice.
        let changes = (self.0.changes.load(Ordering::Acquire) + self.0.groups.revision()) << 40;
        if !self.0.has_ends.load(Ordering::Relaxed) {
            return changes;
        }
        changes | (self.0.clock.now().as_millis().unsigned_abs() / 1000)
    }

    /// Returns a stream of the entries that expire from now on. While it is read, [requests that run](super::RunningAccessLayer)
    /// end with the entries that allowed them.
    pub fn endings(&self) -> ExpiringEntries {
        let (policy, changed) = (self.clone(), self.changes());
        ExpiringEntries { policy, changed, reported_until: whole_seconds(self.now()) }
    }

    /// Returns a receiver of the signal that decisions may have changed.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    pub(super) fn tell_change(&self) {
        self.0.changed.send_replace(());
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Answers `mgp/access/query` for `by`: an operator may ask about everybody, an agent about itself.
    ///
    /// # Errors
    /// Fails if an agent asks about another one, or if the query names a pattern.
    pub fn query(&self, by: &Principal, query: &AccessQuery) -> Result<AccessState, AccessError> {
        let is_itself = |own: &str| [Some(own), agent_family(own)].contains(&Some(query.agent_id.as_str()));
        if by.role() != PrincipalRole::Operator && !by.agent_name().is_some_and(is_itself) {
            return Err(AccessError::NotAboutItself);
        }
        let (agent, server) = (query.agent_id.as_str(), query.server_id.as_str());
        let tool = query.tool_name.as_ref().map(ToolName::as_str);
        if server.contains('*') || tool.is_some_and(|tool| tool.contains('*')) {
            return Err(AccessError::Malformed("a query is about one server or tool, and a `*` is none"));
        }
        let table = self.0.table.load();
        Ok(match table.deciding(agent, &self.0.groups, server, tool, self.0.moment()) {
            Some((source, stored)) => stored.entry.state(source).with_group(stored.entry.group_of(agent)),
            None => AccessState::by_default(table.default),
        })
    }

    /// Makes an entry in the name of `by`, in place of the one for the same agent, server and tool. Needs a tokio
    /// runtime.
    ///
    /// # Errors
    /// Fails and changes nothing if `by` is not an operator, the grant contradicts itself, or the change could not be
    /// recorded or stored.
    ///
    /// # Cancel safety
    /// Dropping the future makes the change either whole or not at all; it may have been recorded and not made.
    pub async fn grant(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        grant: AccessGrant,
    ) -> Result<Arc<StoredEntry>, AccessError> {
        operator(by)?;
        let entry = AccessEntry::new(by, grant, self.now())?;
        let change = self
            .change(by, trace, EventType::AccessGranted, Some(&entry.key()))
            .with_detail("agent_id", &entry.agent_id)
            .with_detail("entry_type", &entry.entry_type())
            .with_detail("permission", &entry.permission)
            .with_detail("granted_by_label", &entry.label)
            .with_detail("justification", &entry.justification)
            .with_detail("expires_at", &entry.expires_at);
        let turn = Arc::clone(&self.0.turn).lock_owned().await;
        self.make(change, turn, move |inner| {
            let stored = Arc::new(StoredEntry { id: inner.store.put(&entry)?, entry });
            inner.has_ends.fetch_or(stored.entry.expires_at.is_some(), Ordering::Relaxed);
            inner.table.rcu(|table| table.replaced(&stored.entry.key(), Some(&stored)));
            Ok(stored)
        })
        .await
    }

    /// Removes the entry for an agent, a server and a tool in the name of `by`, and returns it, if there was one. Needs a
    /// tokio runtime.
    ///
    /// # Errors
    /// Fails and changes nothing if `by` is not an operator, the request contradicts itself, or the change could not
    /// be recorded or stored.
    ///
    /// # Cancel safety
    /// Dropping the future makes the change either whole or not at all; it may have been recorded and not made.
    pub async fn revoke(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        revoke: AccessRevoke,
    ) -> Result<Option<Arc<StoredEntry>>, AccessError> {
        operator(by)?;
        let key = revoked(revoke)?;
        let turn = Arc::clone(&self.0.turn).lock_owned().await;
        let (policy, wanted) = (Arc::clone(&self.0), key.clone());
        let found = off_the_runtime(move || policy.store.find(&wanted)).await?;
        // Where nothing changes, there is nothing to record.
        let Some(stored) = found.map(Arc::new) else { return Ok(None) };
        let change = self
            .change(by, trace, EventType::AccessRevoked, Some(&key))
            .with_detail("agent_id", &key.0)
            .with_detail("deleted_count", &1);
        self.make(change, turn, move |inner| {
            inner.store.remove(&stored.entry)?;
            inner.table.rcu(|table| table.replaced(&key, None));
            Ok(Some(stored))
        })
        .await
    }

    /// Sets the default policy in the name of `by`. It holds from now on where no entry decides. It is not stored: the
    /// next policy begins with the default that it is given.
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// Fails and changes nothing if `by` is not an operator, or if the change could not be recorded.
    ///
    /// # Cancel safety
    /// Dropping the future makes the change either whole or not at all; it may have been recorded and not made.
    pub async fn set_default_policy(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        policy: DefaultPolicy,
    ) -> Result<(), AccessError> {
        operator(by)?;
        let turn = Arc::clone(&self.0.turn).lock_owned().await;
        if self.default_policy() == policy {
            return Ok(()); // Nothing changes, so there is nothing to record.
        }
        let kind = EventType::Custom(DEFAULT_CHANGED.into());
        let change = self.change(by, trace, kind, None).with_detail("default_policy", &policy);
        self.make(change, turn, move |inner| {
            inner.table.rcu(|table| table.with_default(policy));
            Ok(())
        })
        .await
    }

    /// Returns the event that tells of a change.
    fn change(
        &self,
        by: &Principal,
        trace: Option<TraceId>,
        kind: EventType,
        key: Option<&EntryKey>,
    ) -> AuditEvent {
        let (server, tool) = key.map_or((None, None), |(_, server, tool)| (Some(server), tool.as_ref()));
        let target = AuditTarget::new(server.cloned(), tool.cloned());
        let actor = Actor::new(ActorType::Operator, by.id());
        let trace = trace.unwrap_or_else(TraceId::random);
        AuditEvent::new(self.now(), trace, kind, actor, target, Outcome::Success)
    }

    /// Records `change`, then applies it on a thread that may block.
    ///
    /// The record comes first, because a change without a record must not survive a crash between the two steps.
    /// Storing a change and putting it into effect is one step that cannot be interrupted: an entry revoked on disk
    /// must not hold in memory.
    async fn make<T: Send + 'static>(
        &self,
        mut change: AuditEvent,
        turn: OwnedMutexGuard<()>,
        apply: impl FnOnce(&AccessPolicyInner) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, AccessError> {
        if let Some(audit) = &self.0.audit {
            audit.record(change.clone()).await.map_err(AccessError::Unrecorded)?;
        }
        let outcome = self.apply(turn, apply).await;
        if let (Err(error), Some(audit)) = (&outcome, &self.0.audit) {
            tracing::error!(%error, "a change of access was recorded and could not be stored");
            // The caller learns of the failure either way; without this second record only the log would not show it.
            (change.timestamp, change.result) = (self.now(), Outcome::Failure);
            let _ = audit.record(change).await;
        }
        Ok(outcome?)
    }

    /// Changes the store and the table in one step, on a thread that may block.
    async fn apply<T: Send + 'static>(
        &self,
        turn: OwnedMutexGuard<()>,
        apply: impl FnOnce(&AccessPolicyInner) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.0);
        off_the_runtime(move || {
            let _turn = turn;
            let outcome = apply(&inner)?;
            inner.changes.fetch_add(1, Ordering::Release);
            inner.changed.send_replace(());
            Ok(outcome)
        })
        .await
    }
}

impl AccessPolicyInner {
    /// Has the table be the entries of the store, and returns those that only one of the two had.
    fn reload(&self) -> Result<Vec<Arc<StoredEntry>>, StoreError> {
        let before = self.table.load_full();
        let table = EntryTable::new(self.store.load()?, before.default);
        let different = before.difference(&table);
        self.table.store(Arc::new(table));
        if different.iter().any(|stored| stored.entry.expires_at.is_some()) {
            self.has_ends.store(true, Ordering::Relaxed);
        }
        Ok(different)
    }

    fn moment(&self) -> DecisionTime {
        let now = self.clock.now();
        DecisionTime { now, latest: self.latest.after(now) }
    }
}

impl AccessVerdict {
    /// Returns whether the agent is allowed the use.
    pub fn allows(&self) -> bool {
        self.permission == AccessPermission::Allow
    }

    /// Returns whether the verdict allows the use to `principal`. The default holds for agents: operators, who give access,
    /// need not give it to themselves.
    pub fn allows_to(&self, principal: &Principal) -> bool {
        let is_default = self.source == AccessSource::DefaultPolicy;
        self.allows() || is_default && principal.role() == PrincipalRole::Operator
    }
}

mgp_types::partial_debug!(AccessPolicy, self =>
    default: self.default_policy(),
    store: self.0.store,
    audit: self.0.audit,
);

pub(super) fn operator(by: &Principal) -> Result<(), AccessError> {
    if by.role() == PrincipalRole::Operator { Ok(()) } else { Err(AccessError::NotOperator) }
}

/// The name of the event that reports a change of the default policy.
const DEFAULT_CHANGED: &str = "dev.cloto.mgp.access_default_changed";
