use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use foldhash::fast::RandomState;
use mgp_types::mgp::{
    Actor, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, Permission, ServerId, Timestamp, TraceId,
    code,
};
use mgp_types::{Error, Principal, Role};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::settings::Say;
use super::{GrantRecord, GrantStore, PermissionSettings, ScopeCheck, Terms, Verdict};
use crate::blocking::off_the_runtime;
use crate::latest::Latest;
use crate::{Clock, StoreError, random};

/// What operators decided about the permissions of servers. Clones share it.
///
/// Reading takes no lock. A decision is recorded in the audit trail and kept in the store before anybody can use
/// it; when either fails, nothing is granted. What is taken back is closed first and recorded then, and stays closed
/// for this process even if the record fails. Opening a book and deciding need a tokio runtime.
///
/// # Cancel safety
/// A decision that has begun is made, whether or not anybody waits for it.
///
/// Time never runs backwards here: a clock that is put back revives nothing.
#[derive(Clone)]
pub struct GrantBook(Arc<Inner>);

struct Inner {
    pages: ArcSwap<Pages>,
    store: Arc<dyn GrantStore>,
    audit: Arc<dyn AuditPort>,
    clock: Clock,
    latest: Latest,
    /// Held while a decision is made, so that they are kept in the order they take effect.
    deciding: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
    /// What somebody needs and nobody has decided; bounded by [`MAX_WAITING`].
    waiting: Mutex<BTreeSet<(ServerId, Permission)>>,
}

type Pages = HashMap<ServerId, Arc<Page>, RandomState>;

/// What is decided about one server.
type Page = HashMap<Permission, Arc<Entry>, RandomState>;

/// A decision, ready to be held against a call.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) record: GrantRecord,
    pub(super) scope: Option<ScopeCheck>,
    /// Whether it is in the trail and in the store; what is closed is so before that.
    kept: bool,
}

/// The decisions as they stand at one moment.
pub(super) struct Standing(Guard<Arc<Pages>>);

/// A state of the decisions.
pub(super) struct Moment(Arc<Pages>);

/// A decision to be made.
pub(super) struct Ruling {
    pub(super) operator: Principal,
    pub(super) server: ServerId,
    pub(super) permission: Permission,
    pub(super) verdict: Verdict,
    /// Whether a grant is taken back, rather than refused in the first place.
    pub(super) revoked: bool,
    pub(super) trace: Option<TraceId>,
}

impl GrantBook {
    /// The decisions in `store`; further ones are recorded in `audit`.
    ///
    /// # Errors
    /// The store cannot be read, or holds a scope that cannot be checked.
    pub async fn open(
        store: impl GrantStore,
        audit: Arc<dyn AuditPort>,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        let mut pages: HashMap<ServerId, Page, RandomState> = HashMap::default();
        let store: Arc<dyn GrantStore> = Arc::new(store);
        let kept = Arc::clone(&store);
        for record in off_the_runtime(move || kept.load()).await? {
            let mut entry = Entry::new(record).map_err(|error| StoreError::Damaged(error.to_string()))?;
            entry.kept = true;
            let page = pages.entry(entry.record.server.clone()).or_default();
            page.insert(entry.record.permission.clone(), Arc::new(entry));
        }
        let pages: Pages = pages.into_iter().map(|(server, page)| (server, Arc::new(page))).collect();
        Ok(Self(Arc::new(Inner {
            pages: ArcSwap::from_pointee(pages),
            store,
            audit,
            clock,
            latest: Latest::default(),
            deciding: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
            waiting: Mutex::default(),
        })))
    }

    /// Lets `operator` grant `permission` to `server`.
    ///
    /// # Errors
    /// The principal is no operator (1000), the scope cannot be checked (-32602), or the decision cannot be recorded:
    /// then nothing is granted.
    pub async fn grant(
        &self,
        operator: &Principal,
        server: &ServerId,
        permission: &Permission,
        terms: Terms,
    ) -> Result<(), Error> {
        self.rule(Ruling::new(operator, server, permission, Verdict::Approved(terms))).await
    }

    /// Lets `operator` deny `permission` to `server`.
    ///
    /// # Errors
    /// As for [`revoke`](Self::revoke).
    pub async fn deny(
        &self,
        operator: &Principal,
        server: &ServerId,
        permission: &Permission,
    ) -> Result<(), Error> {
        self.rule(Ruling::new(operator, server, permission, Verdict::Denied)).await
    }

    /// Lets `operator` take `permission` back from `server`, whoever granted it. The next call is refused.
    ///
    /// # Errors
    /// The principal is no operator (1000), or the decision cannot be recorded: then the permission is closed all the
    /// same until the process ends, and the operator has to look at the store.
    pub async fn revoke(
        &self,
        operator: &Principal,
        server: &ServerId,
        permission: &Permission,
    ) -> Result<(), Error> {
        let ruling = Ruling::new(operator, server, permission, Verdict::Denied);
        self.rule(Ruling { revoked: true, ..ruling }).await
    }

    /// What operators decided about `server`.
    pub fn records(&self, server: &ServerId) -> Vec<GrantRecord> {
        let pages = self.0.pages.load();
        pages
            .get(server)
            .map(|page| page.values().map(|entry| entry.record.clone()).collect())
            .unwrap_or_default()
    }

    /// What operators decided about all servers, by server and permission.
    pub fn all_records(&self) -> Vec<GrantRecord> {
        let pages = self.0.pages.load();
        let entries = pages.values().flat_map(|page| page.values());
        let mut records: Vec<_> = entries.map(|entry| entry.record.clone()).collect();
        records.sort_by(|one, other| (&one.server, &one.permission).cmp(&(&other.server, &other.permission)));
        records
    }

    /// Whether an operator granted `permission` to `server`, and it still holds.
    pub fn is_granted(&self, server: &ServerId, permission: &Permission) -> bool {
        let standing = self.standing();
        standing.entry(server, permission).is_some_and(|entry| match &entry.record.verdict {
            Verdict::Approved(terms) => terms.hold_at(entry.record.decided_at, self.now()),
            Verdict::Denied => false,
        })
    }

    /// Returns the terms on which `server` has `permission` now, by what operators decided and by what `settings` say;
    /// nothing if it has not.
    pub fn terms(
        &self,
        settings: &PermissionSettings,
        server: &ServerId,
        permission: &Permission,
    ) -> Option<Terms> {
        let (standing, now) = (self.standing(), self.now());
        match standing.entry(server, permission).map(|entry| &entry.record) {
            Some(GrantRecord { verdict: Verdict::Denied, .. }) => return None,
            Some(GrantRecord { verdict: Verdict::Approved(terms), decided_at, .. })
                if settings.heeds_operators()
                    && !settings.denies(permission)
                    && terms.hold_at(*decided_at, now) =>
            {
                return Some(terms.clone());
            }
            _ => {}
        }
        match settings.say(permission, now) {
            Say::Approved(terms, _) => Some(terms.clone()),
            Say::Denied | Say::Ask => None,
        }
    }

    /// What servers need and nobody has decided yet.
    pub fn waiting(&self) -> Vec<(ServerId, Permission)> {
        self.0.waiting.lock().iter().cloned().collect()
    }

    /// Counts the decisions, for those who wait for one.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// What the clock says, and never less than it said before.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.latest.after(self.0.clock.now())
    }

    pub(super) fn standing(&self) -> Standing {
        Standing(self.0.pages.load())
    }

    /// The state of the decisions, to see later whether it is still the same.
    pub(super) fn moment(&self) -> Moment {
        Moment(self.0.pages.load_full())
    }

    pub(super) fn is_still(&self, moment: &Moment) -> bool {
        Arc::ptr_eq(&moment.0, &self.0.pages.load())
    }

    /// Notes that somebody needs a permission about which nobody has decided.
    pub(super) fn note_waiting(&self, server: &ServerId, permission: &Permission) {
        let mut waiting = self.0.waiting.lock();
        let of_server = waiting.iter().filter(|(other, _)| other == server).count();
        if waiting.len() < MAX_WAITING && of_server < MAX_WAITING_OF_SERVER {
            waiting.insert((server.clone(), permission.clone()));
        }
    }

    /// Records an event that is no decision of an operator.
    pub(crate) async fn record(&self, event: AuditEvent) -> Result<(), Error> {
        self.0.audit.record(event).await
    }

    /// Makes a decision, on a task of its own.
    ///
    /// A grant that is half made when nobody waits for it any more could be written to the store after the revocation
    /// that follows it, and a revocation could stay out of the store; so what has begun is brought to its end.
    pub(super) async fn rule(&self, ruling: Ruling) -> Result<(), Error> {
        check_operator(&ruling.operator)?;
        let book = self.clone();
        let decided = tokio::spawn(async move { book.decide(ruling).await }).await;
        decided.unwrap_or_else(|panic| Err(Error::internal("the decision was not made").with_source(panic)))
    }

    async fn decide(&self, ruling: Ruling) -> Result<(), Error> {
        let _alone = self.0.deciding.lock().await;
        let record = GrantRecord::new(
            ruling.server.clone(),
            ruling.permission.clone(),
            ruling.verdict.clone(),
            ruling.operator.id(),
            self.now(),
        );
        let mut entry =
            Entry::new(record.clone()).map_err(|error| Error::invalid_params(error.to_string()))?;
        // Several calls may have waited for one answer, which is one decision.
        let is_decided = |old: &Entry| old.kept && old.record.says_the_same(&record, record.decided_at);
        if !ruling.revoked
            && self.standing().entry(&ruling.server, &ruling.permission).is_some_and(is_decided)
        {
            return Ok(());
        }
        if ruling.verdict == Verdict::Denied {
            self.publish(Entry { record: record.clone(), scope: None, kept: false });
        }
        self.0.audit.record(ruling.event(record.decided_at, Outcome::Success)).await?;
        let (store, kept) = (Arc::clone(&self.0.store), record.clone());
        if let Err(error) = off_the_runtime(move || store.put(&kept)).await {
            tracing::error!(%error, server = %ruling.server, "a decision about a permission cannot be kept");
            // The trail says that it was decided; it has to say as well that nothing came of it.
            let _ = self.0.audit.record(ruling.event(record.decided_at, Outcome::Failure)).await;
            return Err(error.into());
        }
        entry.kept = true;
        self.publish(entry);
        Ok(())
    }

    fn publish(&self, entry: Entry) {
        let (server, permission) = (entry.record.server.clone(), entry.record.permission.clone());
        let mut pages = Pages::clone(&self.0.pages.load());
        Arc::make_mut(pages.entry(server.clone()).or_default()).insert(permission.clone(), Arc::new(entry));
        self.0.pages.store(Arc::new(pages));
        self.0.waiting.lock().remove(&(server, permission));
        self.0.changes.send_modify(|version| *version += 1);
    }
}

impl Standing {
    pub(super) fn entry(&self, server: &ServerId, permission: &Permission) -> Option<&Entry> {
        self.0.get(server)?.get(permission).map(|entry| &**entry)
    }

    pub(super) fn permissions(&self, server: &ServerId) -> impl Iterator<Item = &Permission> {
        self.0.get(server).into_iter().flat_map(|page| page.keys())
    }
}

impl Entry {
    fn new(record: GrantRecord) -> Result<Self, super::ScopeError> {
        let scope = match &record.verdict {
            Verdict::Approved(terms) => terms.scope.as_deref().map(ScopeCheck::new).transpose()?,
            Verdict::Denied => None,
        };
        Ok(Self { record, scope, kept: false })
    }
}

impl GrantRecord {
    /// Whether `other` would change nothing at `now`. What does not hold any more can be said again.
    fn says_the_same(&self, other: &Self, now: Timestamp) -> bool {
        let holds = match &self.verdict {
            Verdict::Approved(terms) => terms.hold_at(self.decided_at, now),
            Verdict::Denied => true,
        };
        holds && self.verdict == other.verdict && self.approver == other.approver
    }
}

impl Ruling {
    pub(super) fn new(
        operator: &Principal,
        server: &ServerId,
        permission: &Permission,
        verdict: Verdict,
    ) -> Self {
        let (operator, server, permission) = (operator.clone(), server.clone(), permission.clone());
        Self { operator, server, permission, verdict, revoked: false, trace: None }
    }

    fn event(&self, at: Timestamp, outcome: Outcome) -> AuditEvent {
        let kind = match &self.verdict {
            Verdict::Approved(_) => EventType::PermissionGranted,
            Verdict::Denied if self.revoked => EventType::PermissionRevoked,
            Verdict::Denied => EventType::PermissionDenied,
        };
        let actor = Actor::of(&self.operator);
        event(kind, actor, &self.server, &self.permission, &self.verdict, at, self.trace, outcome)
    }
}

/// An event about a permission.
#[expect(clippy::too_many_arguments, reason = "each is a member of the event")]
pub(super) fn event(
    kind: EventType,
    actor: Actor,
    server: &ServerId,
    permission: &Permission,
    verdict: &Verdict,
    at: Timestamp,
    trace: Option<TraceId>,
    outcome: Outcome,
) -> AuditEvent {
    let target = AuditTarget::new(Some(server.clone()), None);
    let event = AuditEvent::new(at, trace.unwrap_or_else(random::trace_id), kind, actor, target, outcome)
        .with_detail("permission", permission)
        .with_detail("risk_level", &permission.risk());
    let Verdict::Approved(terms) = verdict else { return event };
    let event = match &terms.scope {
        Some(scope) => event.with_detail("scope", scope),
        None => event,
    };
    match &terms.expires_at {
        Some(end) => event.with_detail("expires_at", end),
        None => event,
    }
}

/// Whether `principal` may decide what others may do.
pub(crate) fn check_operator(principal: &Principal) -> Result<(), Error> {
    if principal.role() == Role::Operator {
        return Ok(());
    }
    tracing::warn!(?principal, "somebody who is no operator tried to decide about a permission");
    Err(Error::new(code::PERMISSION_DENIED, "only an operator decides about permissions"))
}

impl fmt::Debug for GrantBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantBook").field("servers", &self.0.pages.load().len()).finish_non_exhaustive()
    }
}

const MAX_WAITING: usize = 1024;
/// A server thinks up names as it likes, and must not take the room of all others.
const MAX_WAITING_OF_SERVER: usize = 64;

#[cfg(test)]
mod tests;
