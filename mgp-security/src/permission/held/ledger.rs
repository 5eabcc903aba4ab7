//! The record of the grants that a server holds for each session.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use foldhash::fast::RandomState;
use mgp_types::Session;
use mgp_types::mgp::{Decision, Grant, PermissionResponse, Timestamp};
use parking_lot::Mutex;

/// The grants of each session, kept as long as the session lasts.
#[derive(Default)]
pub(super) struct GrantLedger(Mutex<HashMap<usize, SessionGrants, RandomState>>);

/// The grants of one session.
struct SessionGrants {
    /// The session that the grants belong to; its address may be that of another session later.
    session: Weak<Session>,
    /// The decisions by the permission's requested name, each with its own end.
    grants: BTreeMap<String, (Grant, Option<Timestamp>)>,
}

impl GrantLedger {
    /// Returns the grants of `session` that hold at `now`, until the first of them ends.
    pub(super) fn held(&self, session: &Arc<Session>, now: Timestamp) -> Option<PermissionResponse> {
        let accounts = self.0.lock();
        let account = accounts
            .get(&key(session))
            .filter(|account| std::ptr::eq(account.session.as_ptr(), Arc::as_ptr(session)))?;
        let held = account.grants.iter().filter(|(_, (_, end))| holds(*end, now));
        let end =
            held.clone().filter_map(|(_, (grant, end))| end.filter(|_| grant.decision == Decision::Approved));
        let end = end.min();
        let grants = held.map(|(name, (grant, _))| (name.clone(), grant.clone())).collect();
        Some(PermissionResponse::new(String::new(), grants).with_expires_at(end))
    }

    /// Adds the decisions made in `session` at `now`; a newer decision about a permission replaces an older one.
    pub(super) fn add(&self, session: &Arc<Session>, decided: PermissionResponse, now: Timestamp) {
        let mut accounts = self.0.lock();
        accounts.retain(|_, account| account.session.strong_count() > 0);
        let account = accounts
            .entry(key(session))
            .or_insert_with(|| SessionGrants { session: Arc::downgrade(session), grants: BTreeMap::new() });
        account.grants.retain(|_, (_, end)| holds(*end, now));
        for (name, grant) in decided.grants {
            if account.grants.len() < MAX_GRANTS || account.grants.contains_key(&name) {
                account.grants.insert(name, (grant, decided.expires_at));
            }
        }
    }
}

/// Returns whether a decision with this end holds at `now`.
pub(super) fn holds(end: Option<Timestamp>, now: Timestamp) -> bool {
    end.is_none_or(|end| now < end)
}

fn key(session: &Arc<Session>) -> usize {
    Arc::as_ptr(session).addr()
}

/// The largest number of grants of a session: more than there are types, with room for custom ones.
const MAX_GRANTS: usize = 256;
