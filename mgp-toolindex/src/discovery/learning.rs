//! Learning from calls that follow a search.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::Context;
use mgp_types::mgp::{ServerId, ToolName};
use parking_lot::Mutex;

use crate::learn::{ConfirmedCall, LearnedUses, TenantShift};
use crate::session::SessionKey;
use crate::{SearchResult, Snapshot, Tool};

/// The recent searches of sessions, and learning from the calls that follow them.
#[derive(Debug)]
pub(super) struct Learning {
    learned: Arc<LearnedUses>,
    /// The tenant for whom searches learn, in place of each agent.
    tenant: Option<Arc<str>>,
    sessions: Mutex<Sessions>,
    definitions: Mutex<LearnedDefinitions>,
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
    meaning: Arc<[f32]>,
    tools: Vec<(Arc<Tool>, f32)>,
}

/// The tools as they were when searches learned from them. A tool with another definition may be another tool.
#[derive(Debug, Default)]
struct LearnedDefinitions {
    tools: HashMap<(ServerId, ToolName), Arc<Tool>, RandomState>,
    /// The generation of the snapshot against which each tenant's learned tools were last checked.
    checked: HashMap<Arc<str>, u64, RandomState>,
}

const MOST_TOOLS: usize = 16 * 1024;

impl Learning {
    pub(super) fn new(learned: Arc<LearnedUses>, tenant: Option<Arc<str>>) -> Self {
        Self { learned, tenant, sessions: Mutex::default(), definitions: Mutex::default() }
    }

    /// Returns the learned shifts for the caller, if they fit the vectors of this snapshot.
    pub(super) fn shift(&self, context: &Context, snapshot: &Snapshot) -> Option<Arc<TenantShift>> {
        if !self.is_of(snapshot) {
            return None;
        }
        let tenant = self.tenant(context)?;
        let shift = self.learned.shift(&tenant)?;
        let changed = self.definitions.lock().changed(&tenant, &shift, snapshot);
        if changed.is_empty() {
            return Some(shift);
        }
        for (server, tool) in &changed {
            self.learned.forget_tool(server, tool);
        }
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
        let Some(meaning) = found.meaning.as_deref().filter(|_| self.is_of(snapshot)) else { return };
        if self.tenant(context).is_none() {
            return;
        }
        let hits = found.hits.iter().filter(|hit| is_given(&hit.tool));
        let tools = hits.map(|hit| (Arc::clone(&hit.tool), hit.likeness)).collect();
        self.sessions.lock().put(key, SearchAnswer { meaning: meaning.into(), tools });
    }

    /// Learns from a tool that a session called with success.
    pub(super) fn used(&self, key: &SessionKey, context: &Context, snapshot: &Snapshot, tool: &Tool) {
        let Some(tenant) = self.tenant(context).filter(|_| self.is_of(snapshot)) else { return };
        let Some((query, found, score)) = self.sessions.lock().answer_with(key, tool) else { return };
        if found.definition != tool.definition {
            return;
        }
        let mut definitions = self.definitions.lock();
        match definitions.tools.get(&(found.server.clone(), found.name.clone())) {
            // The shifts learned from the other definition are forgotten with the next search.
            Some(then) if !is_defined_alike(then, &found) => return,
            None if definitions.tools.len() >= MOST_TOOLS => {
                if let Some((server, name)) = definitions.drop_any() {
                    self.learned.forget_tool(&server, &name);
                }
            }
            _ => {}
        }
        // Agents without a connection have one voice each, wherever they come from.
        let session = format!("{} {}", key.session(), key.agent().map_or("", |agent| agent.as_str()));
        let confirmed = ConfirmedCall {
            tenant: &tenant,
            session: &session,
            server: &found.server,
            tool: &found.name,
            query: &query,
            score,
        };
        if self.learned.confirm(&confirmed) {
            definitions.tools.insert((found.server.clone(), found.name.clone()), found);
        }
    }

    /// Returns the tenant of the caller. Unknown callers teach nothing: they would teach for all others like them.
    fn tenant(&self, context: &Context) -> Option<Arc<str>> {
        self.tenant.clone().or_else(|| Some(context.principal.as_ref()?.access_id().into()))
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

    /// Returns the latest query whose answer had the tool, the tool as it was then, and their likeness.
    fn answer_with(&self, key: &SessionKey, tool: &Tool) -> Option<(Arc<[f32]>, Arc<Tool>, f32)> {
        self.known.get(key)?.answers.iter().find_map(|answer| {
            let is_same = |found: &Tool| found.server == tool.server && found.name == tool.name;
            let (found, likeness) = answer.tools.iter().find(|(found, _)| is_same(found))?;
            Some((Arc::clone(&answer.meaning), Arc::clone(found), *likeness))
        })
    }
}

const MOST_TENANTS: usize = 1024;

impl LearnedDefinitions {
    /// Returns the learned tools that have another definition now, or whose definition is not known any more.
    fn changed(
        &mut self,
        tenant: &Arc<str>,
        shift: &TenantShift,
        snapshot: &Snapshot,
    ) -> Vec<(ServerId, ToolName)> {
        if self.checked.get(tenant) == Some(&snapshot.generation()) {
            return Vec::new();
        }
        if self.checked.len() >= MOST_TENANTS {
            self.checked.clear();
        }
        self.checked.insert(Arc::clone(tenant), snapshot.generation());
        let mut changed = Vec::new();
        for tool in shift.known() {
            let Some(now) = snapshot.tool(tool.0.as_str(), tool.1.as_str()) else { continue };
            match self.tools.get(tool) {
                Some(then) if is_defined_alike(then, now) => {}
                // The tool was learned before the program started, so that its definition then is not known.
                None if self.tools.len() < MOST_TOOLS => {
                    self.tools.insert(tool.clone(), Arc::clone(now));
                }
                _ => changed.push(tool.clone()),
            }
        }
        for tool in &changed {
            self.tools.remove(tool);
        }
        changed
    }

    /// Makes room for another tool. The shifts of the tool that is dropped have to be forgotten.
    fn drop_any(&mut self) -> Option<(ServerId, ToolName)> {
        let any = self.tools.keys().next()?.clone();
        self.tools.remove(&any);
        Some(any)
    }
}

fn is_defined_alike(one: &Arc<Tool>, other: &Arc<Tool>) -> bool {
    Arc::ptr_eq(one, other) || one.definition == other.definition
}
