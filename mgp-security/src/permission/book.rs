//! The book of operators' decisions about permissions.

mod current_grants;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwap;
use mgp_types::mgp::{AgentId, AuditEvent, AuditPort, Outcome, Permission, ServerId, Timestamp, code};
use mgp_types::{AgentGroups, Context, Error, Principal, PrincipalRole};
use parking_lot::Mutex;
use tokio::sync::watch;

pub(super) use self::current_grants::{CurrentGrants, GrantsByServer};
use self::current_grants::{GrantEntry, PermissionDecisions, is_open};
use super::record::Ruling;
use super::settings::PermissionJudgement;
use super::store::{GrantStore, covers};
use super::{GrantLifetime, GrantRecord, GrantTerms, GrantVerdict, PermissionSettings};
use crate::latest_time::LatestTime;
use crate::{Clock, StoreError};
use mgp_store::{Database, off_the_runtime};

/// The decisions of operators about the permissions of servers. Clones share them.
///
/// Reading takes no lock. A decision is recorded in the audit trail and kept in the store before it takes effect; if
/// either fails, nothing is granted. A permission that is taken back is closed first and recorded then, and stays
/// closed in this process even if the record fails. Opening a book and deciding need a tokio runtime.
///
/// Times never run backwards here: setting the clock back revives no grant.
///
/// # Cancel safety
/// A decision that has begun is made, whether or not its caller still waits for it.
#[derive(Clone)]
pub struct GrantBook(Arc<GrantBookInner>);

struct GrantBookInner {
    pages: ArcSwap<GrantsByServer>,
    store: Arc<GrantStore>,
    audit: Arc<dyn AuditPort>,
    clock: Clock,
    latest: LatestTime,
    /// The groups of agents, whose decisions hold for their members.
    groups: OnceLock<AgentGroups>,
    /// The decisions in the store. The lock is held while one is made, so that decisions are stored in the order in which
    /// they take effect.
    deciding: tokio::sync::Mutex<Vec<GrantRecord>>,
    changes: watch::Sender<u64>,
    /// The permissions that are needed and undecided; bounded by [`MAX_WAITING`].
    waiting: Mutex<BTreeSet<(ServerId, Permission)>>,
}

impl GrantBook {
    /// Opens the book with the decisions in `database`; further decisions are recorded in `audit`.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if it holds a scope that cannot be checked.
    pub async fn open(
        database: Database,
        audit: Arc<dyn AuditPort>,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let store = off_the_runtime(move || GrantStore::new(database)).await?;
        let book = Self(Arc::new(GrantBookInner {
            pages: ArcSwap::default(),
            store: Arc::new(store),
            audit,
            clock,
            latest: LatestTime::default(),
            groups: OnceLock::new(),
            deciding: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
            waiting: Mutex::default(),
        }));
        book.reload().await?;
        Ok(book)
    }

    /// Reads the decisions anew, after another kernel made some, which then take effect as if they were made here. Grants for
    /// sessions stay where none is in their place.
    ///
    /// # Errors
    /// Fails if the store cannot be read, or if it holds a scope that cannot be checked; the decisions then hold as before.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let mut known = self.0.deciding.lock().await;
        let store = Arc::clone(&self.0.store);
        let records = off_the_runtime(move || store.load()).await?;
        let key = |of: &GrantRecord| (of.server.clone(), of.permission.clone(), of.agent.clone());
        let mut gone: HashMap<_, _> = known.iter().map(|record| (key(record), record)).collect();
        let mut new = Vec::new();
        for record in &records {
            if gone.remove(&key(record)) != Some(record) {
                let entry = GrantEntry::new(record.clone());
                let entry = entry.map_err(|error| StoreError::Damaged(error.to_string()))?;
                new.push(Arc::new(GrantEntry { kept: true, ..entry }));
            }
        }
        self.replace(&gone.into_values().collect::<Vec<_>>(), &new);
        *known = records;
        Ok(())
    }

    /// Finds the groups of agents in `groups` from now on. Only the first call counts.
    pub fn find_groups_in(&self, groups: AgentGroups) {
        let _ = self.0.groups.set(groups);
    }

    /// Lets `operator` grant `permission` to `server` for the calls of `agent`, or of all agents if it is `None`.
    ///
    /// # Errors
    /// Fails and grants nothing if the principal is not an operator (1000), the scope cannot be checked (-32602), or
    /// the decision cannot be recorded.
    pub async fn grant(
        &self,
        operator: &Principal,
        agent: Option<AgentId>,
        server: &ServerId,
        permission: &Permission,
        terms: GrantTerms,
    ) -> Result<(), Error> {
        self.rule(Ruling::new(operator, agent, server, permission, GrantVerdict::Approved(terms))).await
    }

    /// Lets `operator` take `permission` back from `server` for the calls of `agent`, whoever granted it. If `agent` is
    /// `None`, decisions for single agents are taken back as well. The next call is refused.
    ///
    /// # Errors
    /// Fails if the principal is not an operator (1000), or if the decision cannot be recorded. In the second case
    /// the permission is still closed until the process ends, and the operator has to check the store.
    pub async fn revoke(
        &self,
        operator: &Principal,
        agent: Option<AgentId>,
        server: &ServerId,
        permission: &Permission,
    ) -> Result<(), Error> {
        let denial = GrantVerdict::Denied { until: None };
        let ruling = Ruling::new(operator, agent, server, permission, denial);
        self.rule(Ruling { revoked: true, ..ruling }).await
    }

    /// Lets `operator` remove the decision about `permission` of `server` for `agent`, or those for all agents and
    /// for each if it is `None`. The permission is then asked about again. Returns whether there was a decision.
    ///
    /// # Errors
    /// Fails if the principal is not an operator (1000), or if the change cannot be recorded or stored; the decision
    /// then still holds.
    pub async fn reset(
        &self,
        operator: &Principal,
        agent: Option<AgentId>,
        server: &ServerId,
        permission: &Permission,
    ) -> Result<bool, Error> {
        check_operator(operator)?;
        let denial = GrantVerdict::Denied { until: None };
        let (book, ruling) = (self.clone(), Ruling::new(operator, agent, server, permission, denial));
        let forgotten = tokio::spawn(async move { book.forget(ruling).await }).await;
        forgotten.unwrap_or_else(|panic| Err(Error::internal("nothing was forgotten").with_source(panic)))
    }

    /// Returns the decisions about `server`.
    pub fn records(&self, server: &ServerId) -> Vec<GrantRecord> {
        let pages = self.0.pages.load();
        let decisions = pages.get(server).into_iter().flat_map(|page| page.values());
        decisions.flat_map(PermissionDecisions::entries).map(|entry| entry.record.clone()).collect()
    }

    /// Returns the decisions about all servers, ordered by server, permission and agent. A grant whose sessions have all
    /// ended is none of them.
    pub fn all_records(&self) -> Vec<GrantRecord> {
        let pages = self.0.pages.load();
        let entries = pages.values().flat_map(|page| page.values()).flat_map(PermissionDecisions::entries);
        let mut records: Vec<_> =
            entries.filter(|entry| entry.is_live()).map(|entry| entry.record.clone()).collect();
        records
            .sort_by(|a, b| (&a.server, &a.permission, &a.agent).cmp(&(&b.server, &b.permission, &b.agent)));
        records
    }

    /// Returns whether an operator granted `permission` to `server` for all agents, and the grant still holds.
    pub fn is_granted(&self, server: &ServerId, permission: &Permission) -> bool {
        self.is_granted_for(server, permission, &Context::default())
    }

    /// Returns whether an operator granted `permission` to `server` for a call of this context, and the grant still
    /// holds.
    pub fn is_granted_for(&self, server: &ServerId, permission: &Permission, call: &Context) -> bool {
        let (standing, now) = (self.standing(), self.now());
        standing.entry(server, permission, Some(call), now).is_some_and(|entry| entry.grants_at(now))
    }

    /// Returns the terms on which `server` has `permission` now, by the decisions of operators and by `settings`;
    /// `None` if it does not have it.
    pub fn terms(
        &self,
        settings: &PermissionSettings,
        server: &ServerId,
        permission: &Permission,
    ) -> Option<GrantTerms> {
        let (standing, now) = (self.standing(), self.now());
        let entry = standing.entry(server, permission, None, now);
        let decided = entry.and_then(|entry| entry.judge(settings, now));
        let decided = decided.filter(|decided| !matches!(decided, PermissionJudgement::Expired));
        let decided = decided.unwrap_or_else(|| settings.judge(permission, now));
        if let PermissionJudgement::Approved { terms, .. } = decided { Some(terms.clone()) } else { None }
    }

    /// Returns whether a decision that holds answers a use of `permission`, by a call or by the server itself; with
    /// `is_for_all`, whether that is so at all kernels that share the store.
    pub(super) fn has_decided(
        &self,
        server: &ServerId,
        permission: &Permission,
        call: Option<&Context>,
        is_for_all: bool,
    ) -> bool {
        let (standing, now) = (self.standing(), self.now());
        let entry = standing.entry(server, permission, call, now);
        let entry = entry.filter(|entry| !is_for_all || entry.kept && entry.record.is_lasting());
        entry.is_some_and(|entry| entry.denies_at(now) || entry.grants_at(now))
    }

    /// Returns the permissions that servers need and nobody has decided about yet.
    pub fn waiting(&self) -> Vec<(ServerId, Permission)> {
        self.0.waiting.lock().iter().cloned().collect()
    }

    /// Returns a receiver that counts the decisions, to wait for the next one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Returns the time of the clock, but never less than a time returned before.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.latest.after(self.0.clock.now())
    }

    pub(super) fn standing(&self) -> CurrentGrants {
        CurrentGrants { pages: self.0.pages.load(), groups: self.0.groups.get().cloned() }
    }

    /// Returns the current state of the decisions, to see later whether it is still the same.
    pub(super) fn moment(&self) -> Arc<GrantsByServer> {
        self.0.pages.load_full()
    }

    pub(super) fn is_still(&self, moment: &Arc<GrantsByServer>) -> bool {
        Arc::ptr_eq(moment, &self.0.pages.load())
    }

    /// Notes that a permission is needed about which nobody has decided.
    pub(super) fn note_waiting(&self, server: &ServerId, permission: &Permission) {
        let mut waiting = self.0.waiting.lock();
        let of_server = waiting.iter().filter(|(other, _)| other == server).count();
        if waiting.len() < MAX_WAITING && of_server < MAX_WAITING_OF_SERVER {
            waiting.insert((server.clone(), permission.clone()));
        }
    }

    /// Records an event that is not a decision of an operator.
    pub(crate) async fn record(&self, event: AuditEvent) -> Result<(), Error> {
        self.0.audit.record(event).await
    }

    /// Makes a decision, on a task of its own.
    ///
    /// The task brings the decision to its end even if its caller is gone: otherwise a half-made grant could be
    /// written to the store after the revocation that follows it, or a revocation could be missing in the store.
    pub(super) async fn rule(&self, ruling: Ruling) -> Result<(), Error> {
        check_operator(&ruling.operator)?;
        let book = self.clone();
        let decided = tokio::spawn(async move { book.decide(ruling).await }).await;
        decided.unwrap_or_else(|panic| Err(Error::internal("the decision was not made").with_source(panic)))
    }

    async fn decide(&self, mut ruling: Ruling) -> Result<(), Error> {
        let mut known = self.0.deciding.lock().await;
        ruling.record.decided_at = self.now();
        let record = &ruling.record;
        let mut entry =
            GrantEntry::new(record.clone()).map_err(|error| Error::invalid_params(error.to_string()))?;
        entry.sessions.extend(ruling.session.clone());
        // Several calls may have waited for one answer, which is one decision.
        let old = self
            .standing()
            .decisions(&record.server, &record.permission)
            .and_then(|decisions| decisions.of(record.agent.as_ref()).filter(|old| old.kept).cloned());
        if let Some(old) = old.filter(|old| old.record.says_the_same(record, record.decided_at)) {
            // A grant for single sessions is none for a client without sessions, or for all of them.
            let is_decided = old.is_for(ruling.session.as_ref().map(Weak::as_ptr));
            if is_decided && !ruling.revoked {
                return Ok(());
            }
            // The same decision is made for another session of the agent.
            if ruling.session.is_some() {
                entry.sessions.extend(old.sessions.iter().filter(|session| is_open(session)).cloned());
            }
        }
        if matches!(record.verdict, GrantVerdict::Denied { .. }) {
            let closed =
                GrantEntry { record: record.clone(), scope: None, sessions: Vec::new(), kept: false };
            self.replace(&[], &[Arc::new(closed)]);
        }
        self.0.audit.record(ruling.event(Outcome::Success)).await?;
        let (store, kept) = (Arc::clone(&self.0.store), record.clone());
        let stored =
            if record.is_lasting() { off_the_runtime(move || store.put(&kept)).await } else { Ok(()) };
        if let Err(error) = stored {
            tracing::error!(%error, server = %record.server, "a decision about a permission cannot be kept");
            // The trail says that the decision was made, so it also has to say that it did not take effect.
            let _ = self.0.audit.record(ruling.event(Outcome::Failure)).await;
            return Err(error.into());
        }
        if record.is_lasting() {
            known.retain(|other| !other.gives_way_to(record));
            known.push(record.clone());
        }
        entry.kept = true;
        self.replace(&[], &[Arc::new(entry)]);
        Ok(())
    }

    async fn forget(&self, ruling: Ruling) -> Result<bool, Error> {
        let mut known = self.0.deciding.lock().await;
        let GrantRecord { server, permission, agent, .. } = &ruling.record;
        let is_known = |decisions: &PermissionDecisions| {
            decisions.entries().any(|entry| covers(agent.as_ref(), entry.record.agent.as_ref()))
        };
        if !self.standing().decisions(server, permission).is_some_and(is_known) {
            return Ok(false);
        }
        self.0.audit.record(ruling.reset_event(self.now())).await?;
        let (store, kept) = (Arc::clone(&self.0.store), (server.clone(), permission.clone(), agent.clone()));
        off_the_runtime(move || store.remove(&kept.0, &kept.1, kept.2.as_ref())).await?;
        known.retain(|other| !other.gives_way_to(&ruling.record));
        self.replace(&[&ruling.record], &[]);
        Ok(true)
    }

    /// Removes decisions in memory, those of sessions as well, and puts others there.
    fn replace(&self, gone: &[&GrantRecord], new: &[Arc<GrantEntry>]) {
        self.change(|pages| {
            for GrantRecord { server, permission, agent, .. } in gone {
                decisions(pages, server, permission).remove(agent.as_ref());
            }
            for entry in new {
                decisions(pages, &entry.record.server, &entry.record.permission).put(Arc::clone(entry));
            }
        });
        let mut waiting = self.0.waiting.lock();
        for entry in new {
            waiting.remove(&(entry.record.server.clone(), entry.record.permission.clone()));
        }
    }

    /// Changes the decisions in memory, and tells those who wait for a change.
    fn change(&self, change: impl Fn(&mut GrantsByServer)) {
        self.0.pages.rcu(|pages| {
            let mut pages = GrantsByServer::clone(pages);
            change(&mut pages);
            pages
        });
        self.0.changes.send_modify(|version| *version += 1);
    }

    /// Records the decision that grants a permission for one call.
    pub(super) async fn record_once(&self, mut ruling: Ruling) -> Result<(), Error> {
        ruling.record.decided_at = self.now();
        self.0.audit.record(ruling.event(Outcome::Success)).await
    }

    /// Counts the start (`runs`) or the end of a call that uses `permissions` granted for it alone.
    pub(super) fn count_once(&self, server: &ServerId, permissions: &[Permission], runs: bool) {
        self.change(|pages| {
            for permission in permissions {
                let count = &mut decisions(pages, server, permission).running_once;
                *count = if runs { *count + 1 } else { count.saturating_sub(1) };
            }
        });
    }
}

/// Returns the decisions about a permission, to be changed.
fn decisions<'p>(
    pages: &'p mut GrantsByServer,
    server: &ServerId,
    permission: &Permission,
) -> &'p mut PermissionDecisions {
    let page = Arc::make_mut(pages.entry(server.clone()).or_default());
    page.entry(permission.clone()).or_default()
}

impl GrantRecord {
    /// Returns whether `other`, when it is made, takes the place of this decision.
    fn gives_way_to(&self, other: &Self) -> bool {
        (&self.server, &self.permission) == (&other.server, &other.permission)
            && covers(other.agent.as_ref(), self.agent.as_ref())
    }

    /// Returns whether the decision outlives the process.
    fn is_lasting(&self) -> bool {
        !matches!(&self.verdict, GrantVerdict::Approved(terms) if terms.lasts != GrantLifetime::Always)
    }

    /// Returns whether `other` would change nothing at `now`. A decision that no longer holds can be made again.
    fn says_the_same(&self, other: &Self, now: Timestamp) -> bool {
        self.verdict.holds_at(self.decided_at, now)
            && self.verdict == other.verdict
            && self.approver == other.approver
    }
}

/// Checks that `principal` is an operator, who may decide what others may do.
pub(crate) fn check_operator(principal: &Principal) -> Result<(), Error> {
    if principal.role() == PrincipalRole::Operator {
        return Ok(());
    }
    tracing::warn!(?principal, "somebody who is no operator tried to decide about a permission");
    Err(Error::new(code::PERMISSION_DENIED, "only an operator decides about permissions"))
}

mgp_types::partial_debug!(GrantBook, self => servers: self.0.pages.load().len());

/// The largest number of undecided permissions that are noted.
const MAX_WAITING: usize = 1024;
/// The largest number of undecided permissions per server. A server invents names as it likes, and must not take the
/// room of all others.
const MAX_WAITING_OF_SERVER: usize = 64;

#[cfg(test)]
mod tests;
