//! The decisions about permissions at one moment, and the choice of the one that applies to a use of a permission.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use arc_swap::Guard;
use foldhash::fast::RandomState;
use mgp_types::mgp::{AgentId, ApprovalPolicy, Permission, ServerId, Timestamp};
use mgp_types::{AgentGroups, Context, Principal, Session, agent_family};

use crate::permission::settings::PermissionJudgement;
use crate::permission::store::{ALL_AGENTS, covers};
use crate::permission::{GrantRecord, GrantVerdict, PermissionSettings, ScopeCheck, ScopeError};

pub(in crate::permission) type GrantsByServer = HashMap<ServerId, Arc<ServerGrants>, RandomState>;

/// The decisions about the permissions of one server.
pub(in crate::permission) type ServerGrants = HashMap<Permission, PermissionDecisions, RandomState>;

/// The decisions about one permission of a server.
#[derive(Debug, Clone, Default)]
pub(in crate::permission) struct PermissionDecisions {
    /// The decisions by agent; that for all agents that have none of their own is under [`ALL_AGENTS`].
    by_agent: BTreeMap<Box<str>, Arc<GrantEntry>>,
    /// The number of running calls for each of which the permission was granted once.
    pub(super) running_once: usize,
}

/// A decision with its scope ready for checks against calls.
#[derive(Debug)]
pub(in crate::permission) struct GrantEntry {
    pub(super) record: GrantRecord,
    pub(super) scope: Option<ScopeCheck>,
    /// The sessions for which the decision holds; all sessions if empty.
    pub(super) sessions: Vec<Weak<Session>>,
    /// True if the decision is in the trail and in the store; a permission is closed before that.
    pub(super) kept: bool,
}

/// The decisions at one moment.
pub(in crate::permission) struct CurrentGrants {
    pub(super) pages: Guard<Arc<GrantsByServer>>,
    pub(super) groups: Option<AgentGroups>,
}

impl PermissionDecisions {
    pub(super) fn put(&mut self, entry: Arc<GrantEntry>) {
        self.remove(entry.record.agent.as_ref());
        self.by_agent.insert(entry.record.agent.as_ref().map_or(ALL_AGENTS, AgentId::as_str).into(), entry);
    }

    /// Returns the decision for this agent, or for all agents if `agent` is `None`.
    pub(super) fn of(&self, agent: Option<&AgentId>) -> Option<&Arc<GrantEntry>> {
        self.by_agent.get(agent.map_or(ALL_AGENTS, AgentId::as_str))
    }

    /// Removes the decisions in place of which one for this agent [stands](covers).
    pub(super) fn remove(&mut self, agent: Option<&AgentId>) {
        self.by_agent.retain(|_, entry| !covers(agent, entry.record.agent.as_ref()));
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<GrantEntry>> {
        self.by_agent.values()
    }
}

impl CurrentGrants {
    /// Returns the decision for a use of a permission: that for the agent and its session, or else that for a group of it,
    /// of several a denial, or else that for its family (`local` for all clients of the user), or else that for all agents. Without a `call`, the server itself uses the
    /// permission, and has every one granted for any agent: the gate holds single calls to their own grants.
    pub(in crate::permission) fn entry(
        &self,
        server: &ServerId,
        permission: &Permission,
        call: Option<&Context>,
        now: Timestamp,
    ) -> Option<&GrantEntry> {
        let decisions = self.decisions(server, permission)?;
        let for_all = decisions.of(None).map(|entry| &**entry);
        let Some(context) = call else {
            let holds = |entry: &&GrantEntry| entry.grants_at(now);
            // The decision for all agents comes first.
            return decisions.entries().map(|entry| &**entry).find(holds).or(for_all);
        };
        let agent = context.principal.as_ref().map(Principal::access_id);
        let of = |agent: &str| {
            let entry = decisions.by_agent.get(agent)?;
            entry.is_for(context.session.as_ref().map(Arc::as_ptr)).then_some(&**entry)
        };
        let own = agent.as_deref().and_then(of);
        let is_of_agents = decisions.by_agent.len() > usize::from(for_all.is_some());
        let asked = self.groups.as_ref().filter(|_| is_of_agents);
        let groups = agent.as_deref().and_then(|agent| asked?.of(agent));
        let of_family = agent.as_deref().and_then(agent_family).and_then(of);
        // A decision that has ended gives way to one for more agents.
        let decides = |entry: &&GrantEntry| entry.denies_at(now) || entry.grants_at(now);
        let of_groups = || {
            let groups = groups.iter().flat_map(|groups| groups.iter());
            let found = groups.filter_map(|member| of(member.group.as_str())).filter(decides);
            found.max_by_key(|entry| entry.denies_at(now))
        };
        let deciding = own.filter(decides).or_else(of_groups).or_else(|| of_family.filter(decides));
        deciding.or(for_all).or(own).or(of_family)
    }

    /// Returns whether a call is running for which the permission was granted once.
    pub(in crate::permission) fn is_used_once(&self, server: &ServerId, permission: &Permission) -> bool {
        self.decisions(server, permission).is_some_and(|decisions| decisions.running_once > 0)
    }

    pub(super) fn decisions(
        &self,
        server: &ServerId,
        permission: &Permission,
    ) -> Option<&PermissionDecisions> {
        self.pages.get(server)?.get(permission)
    }

    pub(in crate::permission) fn permissions(&self, server: &ServerId) -> impl Iterator<Item = &Permission> {
        self.pages.get(server).into_iter().flat_map(|page| page.keys())
    }
}

impl GrantEntry {
    pub(super) fn new(record: GrantRecord) -> Result<Self, ScopeError> {
        let scope = match &record.verdict {
            GrantVerdict::Approved(terms) => terms.scope.as_deref().map(ScopeCheck::new).transpose()?,
            GrantVerdict::Denied { .. } => None,
        };
        Ok(Self { record, scope, sessions: Vec::new(), kept: false })
    }

    /// Returns the decision at `now`; `None` if it does not count under these settings, or is a denial that has ended.
    pub(in crate::permission) fn judge(
        &self,
        settings: &PermissionSettings,
        now: Timestamp,
    ) -> Option<PermissionJudgement<'_>> {
        let GrantRecord { verdict, decided_at, approver, .. } = &self.record;
        let holds = verdict.holds_at(*decided_at, now);
        match verdict {
            GrantVerdict::Denied { until } => holds.then_some(PermissionJudgement::Denied { until: *until }),
            GrantVerdict::Approved(_) if settings.policy == ApprovalPolicy::ConfigOnly => None,
            GrantVerdict::Approved(_) if !holds => Some(PermissionJudgement::Expired),
            GrantVerdict::Approved(terms) => {
                Some(PermissionJudgement::Approved { terms, scope: self.scope.as_ref(), by: approver })
            }
        }
    }

    /// Returns whether the decision is a denial that holds at `now`.
    pub(super) fn denies_at(&self, now: Timestamp) -> bool {
        let verdict = &self.record.verdict;
        matches!(verdict, GrantVerdict::Denied { .. }) && verdict.holds_at(self.record.decided_at, now)
    }

    /// Returns whether the decision is a grant that holds at `now`, for at least one session.
    pub(super) fn grants_at(&self, now: Timestamp) -> bool {
        match &self.record.verdict {
            GrantVerdict::Approved(terms) => self.is_live() && terms.hold_at(self.record.decided_at, now),
            GrantVerdict::Denied { .. } => false,
        }
    }

    /// Returns whether the decision is for all sessions, or for one that has not ended.
    pub(super) fn is_live(&self) -> bool {
        self.sessions.is_empty() || self.sessions.iter().any(is_open)
    }

    /// Returns whether the decision holds for calls of this session, by its address.
    pub(super) fn is_for(&self, session: Option<*const Session>) -> bool {
        self.sessions.is_empty() || self.sessions.iter().any(|own| Some(own.as_ptr()) == session)
    }
}

/// Returns whether a session has not ended.
pub(super) fn is_open(session: &Weak<Session>) -> bool {
    session.strong_count() > 0
}
