//! Learning from calls that follow a search.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::{ServerId, ToolName};
use mgp_types::{Context, agent_family};
use parking_lot::Mutex;

use crate::learn::{ConfirmedCall, DefinitionDigest, LearnedUses, TenantShift};
use crate::session::SessionKey;
use crate::{SearchHit, SearchResult, Snapshot, Tool};

/// The recent searches of sessions, and learning from the calls that follow them.
#[derive(Debug)]
pub(super) struct Learning {
    learned: Arc<LearnedUses>,
    /// The tenant for whom searches learn, in place of each agent.
    tenant: Option<Arc<str>>,
    sessions: Mutex<Sessions>,
    checked: Mutex<CheckedTenants>,
}

#[derive(Debug, Default)]
struct Sessions {
    known: HashMap<SessionKey, Recent, RandomState>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Recent {
    /// The answers, the latest first.
    answers: VecDeque<SearchAnswer>,
    at: u64,
}

/// An answer to a search, as the session got it.
#[derive(Debug)]
struct SearchAnswer {
    tools: Vec<AnsweredTool>,
}

/// A tool in an answer.
#[derive(Debug)]
struct AnsweredTool {
    tool: Arc<Tool>,
    /// The vector of what it answers: the query, or the need in it that it is most like.
    meaning: Arc<[f32]>,
    /// Their likeness.
    likeness: f32,
}

/// The generation of the snapshot against which each tenant's learned tools were last checked.
#[derive(Debug, Default)]
struct CheckedTenants(HashMap<Arc<str>, u64, RandomState>);

impl Learning {
    pub(super) fn new(learned: Arc<LearnedUses>, tenant: Option<Arc<str>>) -> Self {
        Self { learned, tenant, sessions: Mutex::default(), checked: Mutex::default() }
    }

    /// Returns the learned shifts for the caller, if they fit the vectors of this snapshot.
    pub(super) fn shift(&self, context: &Context, snapshot: &Snapshot) -> Option<Arc<TenantShift>> {
        if !self.is_of(snapshot) {
            return None;
        }
        let tenant = self.tenant(context)?;
        let shift = self.learned.shift(&tenant)?;
        let mut checked = self.checked.lock();
        if !checked.begins(&tenant, snapshot.generation()) {
            return Some(shift);
        }
        let changed = changed(&shift, snapshot);
        if changed.is_empty() {
            return Some(shift);
        }
        let is_changed = |server: &ServerId, tool: &ToolName| {
            changed.iter().any(|(of, name)| of == server && name == tool)
        };
        self.learned.forget_tools(is_changed);
        self.learned.shift(&tenant)
    }

    /// Notes the answer that a session got.
    pub(super) fn found(
        &self,
        key: &SessionKey,
        context: &Context,
        snapshot: &Snapshot,
        found: &SearchResult,
        is_given: impl Fn(&Tool) -> bool,
    ) {
        if found.meanings.is_empty() || !self.is_of(snapshot) || self.tenant(context).is_none() {
            return;
        }
        let meanings: Vec<Option<Arc<[f32]>>> =
            found.meanings.iter().map(|meaning| meaning.as_deref().map(Arc::from)).collect();
        let answered = |hit: &SearchHit| {
            let meaning = Arc::clone(meanings.get(hit.nearest)?.as_ref()?);
            Some(AnsweredTool { tool: Arc::clone(&hit.tool), meaning, likeness: hit.likeness })
        };
        let tools = found.hits.iter().filter(|hit| is_given(&hit.tool)).filter_map(answered).collect();
        self.sessions.lock().put(key, SearchAnswer { tools });
    }

    /// Learns from a tool that a session called with success.
    pub(super) fn used(&self, key: &SessionKey, context: &Context, snapshot: &Snapshot, tool: &Tool) {
        let Some(tenant) = self.tenant(context).filter(|_| self.is_of(snapshot)) else { return };
        let Some((query, found, score)) = self.sessions.lock().answer_with(key, tool) else { return };
        // The tool may have been defined otherwise since it was found, or while it was called.
        let now = snapshot.tool(found.server.as_str(), found.name.as_str());
        let is_found = |other: &Tool| other.definition == found.definition;
        if !is_found(tool) || !now.is_some_and(|now| is_found(now)) {
            return;
        }
        // Agents without a connection have one voice each, wherever they come from.
        let session = format!("{} {}", key.session(), key.agent().map_or("", |agent| agent.as_str()));
        let confirmed = ConfirmedCall {
            tenant: &tenant,
            session: &session,
            server: &found.server,
            tool: &found.name,
            definition: DefinitionDigest::of(&found.definition),
            query: &query,
            score,
        };
        self.learned.confirm(&confirmed);
    }

    /// Returns the tenant of the caller; the clients of the user are one. Unknown callers teach nothing: they would teach
    /// for all others like them.
    fn tenant(&self, context: &Context) -> Option<Arc<str>> {
        let of_caller = || {
            let id = context.principal.as_ref()?.access_id();
            Some(agent_family(&id).unwrap_or(&id).into())
        };
        self.tenant.clone().or_else(of_caller)
    }

    fn is_of(&self, snapshot: &Snapshot) -> bool {
        *self.learned.embedder() == *snapshot.embedder.id()
    }
}

/// The number of searches after which a call counts as following.
const MOST_ANSWERS: usize = 4;

const MOST_SESSIONS: usize = 1024;

impl Sessions {
    fn put(&mut self, key: &SessionKey, answer: SearchAnswer) {
        self.clock += 1;
        if self.known.len() >= MOST_SESSIONS && !self.known.contains_key(key) {
            let oldest = self.known.iter().min_by_key(|(_, recent)| recent.at).map(|(key, _)| key.clone());
            oldest.and_then(|oldest| self.known.remove(&oldest));
        }
        let recent = self.known.entry(key.clone()).or_default();
        recent.at = self.clock;
        recent.answers.truncate(MOST_ANSWERS - 1);
        recent.answers.push_front(answer);
    }

    /// Returns what the latest answer with the tool was to, the tool as it was then, and their likeness.
    fn answer_with(&self, key: &SessionKey, tool: &Tool) -> Option<(Arc<[f32]>, Arc<Tool>, f32)> {
        self.known.get(key)?.answers.iter().find_map(|answer| {
            let is_same = |found: &Tool| found.server == tool.server && found.name == tool.name;
            let found = answer.tools.iter().find(|found| is_same(&found.tool))?;
            Some((Arc::clone(&found.meaning), Arc::clone(&found.tool), found.likeness))
        })
    }
}

const MOST_TENANTS: usize = 1024;

impl CheckedTenants {
    /// Returns whether the tenant is checked for the first time against this generation.
    fn begins(&mut self, tenant: &Arc<str>, generation: u64) -> bool {
        if self.0.get(tenant) == Some(&generation) {
            return false;
        }
        if self.0.len() >= MOST_TENANTS {
            self.0.clear();
        }
        self.0.insert(Arc::clone(tenant), generation);
        true
    }
}

/// Returns the learned tools that have another definition now. A tool that is away keeps what was learned of it.
fn changed(shift: &TenantShift, snapshot: &Snapshot) -> Vec<(ServerId, ToolName)> {
    let is_changed = |(server, tool): &(ServerId, ToolName), then: DefinitionDigest| {
        let now = snapshot.tool(server.as_str(), tool.as_str());
        now.is_some_and(|now| DefinitionDigest::of(&now.definition) != then)
    };
    shift.known().filter(|(tool, then)| is_changed(tool, *then)).map(|(tool, _)| tool.clone()).collect()
}
