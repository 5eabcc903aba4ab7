//! The record of the grants that a server holds for each session.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_types::Session;
use mgp_types::mgp::{Decision, Grant, PermissionResponse, Timestamp};

/// The grants of each session, kept as long as the session lasts. Reading takes no lock.
#[derive(Default)]
pub(super) struct GrantLedger(ArcSwap<HashMap<usize, SessionGrants, RandomState>>);

/// The grants of one session.
#[derive(Clone)]
struct SessionGrants {
    /// The session that the grants belong to; its address may be that of another session later.
    session: Weak<Session>,
    grants: Arc<GrantSet>,
}

/// A set of decisions that came at different times and end at different times.
#[derive(Clone, Default)]
pub(super) struct GrantSet {
    /// The decisions by the permission's requested name, each with its own end.
    grants: BTreeMap<String, (Grant, Option<Timestamp>)>,
    approved_by: Option<String>,
    request_id: String,
    /// The decisions combined into one, which holds until the first of them ends.
    whole: Option<Arc<PermissionResponse>>,
}

impl GrantLedger {
    /// Returns the grants of `session` that hold at `now`.
    pub(super) fn held(&self, session: &Arc<Session>, now: Timestamp) -> Option<Arc<PermissionResponse>> {
        let accounts = self.0.load();
        let account = accounts.get(&key(session))?;
        if !std::ptr::eq(account.session.as_ptr(), Arc::as_ptr(session)) {
            return None;
        }
        account.grants.at(now)
    }

    /// Adds the decisions made in `session` at `now`; a newer decision about a permission replaces an older one.
    pub(super) fn add(&self, session: &Arc<Session>, decided: &PermissionResponse, now: Timestamp) {
        self.0.rcu(|accounts| {
            let mut accounts = HashMap::clone(accounts);
            accounts.retain(|_, account| account.session.strong_count() > 0);
            let account = accounts.entry(key(session)).or_insert_with(|| SessionGrants {
                session: Arc::downgrade(session),
                grants: Arc::default(),
            });
            account.grants = Arc::new(account.grants.with(decided, now));
            accounts
        });
    }
}

impl GrantSet {
    fn with(&self, decided: &PermissionResponse, now: Timestamp) -> Self {
        let mut grants = self.grants.clone();
        grants.retain(|_, (_, end)| end.is_none_or(|end| now < end));
        for (name, grant) in &decided.grants {
            if grants.len() < MAX_GRANTS || grants.contains_key(name) {
                grants.insert(name.clone(), (grant.clone(), decided.expires_at));
            }
        }
        let mut granted = Self {
            grants,
            approved_by: decided.approved_by.clone(),
            request_id: decided.request_id.clone(),
            whole: None,
        };
        granted.whole = granted.combine(now).map(Arc::new);
        granted
    }

    fn at(&self, now: Timestamp) -> Option<Arc<PermissionResponse>> {
        let whole = self.whole.as_ref()?;
        if whole.expires_at.is_none_or(|end| now < end) {
            return Some(whole.clone());
        }
        self.combine(now).map(Arc::new)
    }

    fn combine(&self, now: Timestamp) -> Option<PermissionResponse> {
        let holds = |end: &Option<Timestamp>| end.is_none_or(|end| now < end);
        let held = self.grants.iter().filter(|(_, (_, end))| holds(end));
        let end =
            held.clone().filter_map(|(_, (grant, end))| end.filter(|_| grant.decision == Decision::Approved));
        let end = end.min();
        let grants: BTreeMap<_, _> = held.map(|(name, (grant, _))| (name.clone(), grant.clone())).collect();
        if grants.is_empty() {
            return None;
        }
        let whole = PermissionResponse::new(self.request_id.clone(), grants).with_expires_at(end);
        Some(match &self.approved_by {
            Some(approver) => whole.with_approved_by(approver.clone()),
            None => whole,
        })
    }
}

fn key(session: &Arc<Session>) -> usize {
    Arc::as_ptr(session).addr()
}

/// The largest number of grants of a session: more than there are types, with room for custom ones.
const MAX_GRANTS: usize = 256;
