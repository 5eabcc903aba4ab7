//! What was found and then called brings the two together.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::Context;
use mgp_types::mgp::{ServerId, ToolName};
use parking_lot::Mutex;

use crate::learn::{Confirmed, Learned, TenantShift};
use crate::session::SessionKey;
use crate::{Found, Snapshot, Tool};

/// Remembers what sessions searched lately, and learns from what they call then.
#[derive(Debug)]
pub(super) struct Learning {
    learned: Arc<Learned>,
    /// For whom it is learned, instead of for each agent.
    tenant: Option<Arc<str>>,
    sessions: Mutex<Sessions>,
    definitions: Mutex<Definitions>,
}

#[derive(Debug, Default)]
struct Sessions {
    known: HashMap<SessionKey, Recent, RandomState>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Recent {
    /// The latest in front.
    answers: VecDeque<Answer>,
    at: u64,
}

/// An answer to a search, as the session got it.
#[derive(Debug)]
struct Answer {
    meaning: Arc<[f32]>,
    tools: Vec<(Arc<Tool>, f32)>,
}

/// The tools as they were when it was learned of them. One that is defined otherwise now may be another one.
#[derive(Debug, Default)]
struct Definitions {
    tools: HashMap<(ServerId, ToolName), Arc<Tool>, RandomState>,
    /// The snapshots that what was learned for each tenant was held against.
    checked: HashMap<Arc<str>, u64, RandomState>,
}

impl Learning {
    pub(super) fn new(learned: Arc<Learned>, tenant: Option<Arc<str>>) -> Self {
        Self { learned, tenant, sessions: Mutex::default(), definitions: Mutex::default() }
    }

    /// What was learned for the caller, if it is of use with the vectors of this snapshot.
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

    /// A session got an answer.
    pub(super) fn found(
        &self,
        key: &SessionKey,
        context: &Context,
        snapshot: &Snapshot,
        found: &Found,
        is_given: impl Fn(&Tool) -> bool,
    ) {
        let Some(meaning) = found.meaning.as_deref().filter(|_| self.is_of(snapshot)) else { return };
        if self.tenant(context).is_none() {
            return;
        }
        let hits = found.hits.iter().filter(|hit| is_given(&hit.tool));
        let tools = hits.map(|hit| (Arc::clone(&hit.tool), hit.likeness)).collect();
        self.sessions.lock().put(key, Answer { meaning: meaning.into(), tools });
    }

    /// A session called a tool, with success.
    pub(super) fn used(&self, key: &SessionKey, context: &Context, snapshot: &Snapshot, tool: &Tool) {
        let Some(tenant) = self.tenant(context).filter(|_| self.is_of(snapshot)) else { return };
        let Some((query, found, score)) = self.sessions.lock().answer_with(key, tool) else { return };
        if found.definition != tool.definition {
            return;
        }
        let mut definitions = self.definitions.lock();
        match definitions.tools.get(&(found.server.clone(), found.name.clone())) {
            // What was learned of the other definition is forgotten with the next search.
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
        let confirmed = Confirmed {
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

    /// Callers that nobody knows teach nothing: they would teach all others like them.
    fn tenant(&self, context: &Context) -> Option<Arc<str>> {
        self.tenant.clone().or_else(|| Some(context.principal.as_ref()?.access_id().into()))
    }

    fn is_of(&self, snapshot: &Snapshot) -> bool {
        self.learned.embedder() == snapshot.embedder.id()
    }
}

impl Sessions {
    fn put(&mut self, key: &SessionKey, answer: Answer) {
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

    /// The latest question whose answer had the tool, the tool as it was then, and how like the two were.
    fn answer_with(&self, key: &SessionKey, tool: &Tool) -> Option<(Arc<[f32]>, Arc<Tool>, f32)> {
        self.known.get(key)?.answers.iter().find_map(|answer| {
            let is_same = |found: &Tool| found.server == tool.server && found.name == tool.name;
            let (found, likeness) = answer.tools.iter().find(|(found, _)| is_same(found))?;
            Some((Arc::clone(&answer.meaning), Arc::clone(found), *likeness))
        })
    }
}

impl Definitions {
    /// Of the tools that something was learned of, those that are defined otherwise now, or of which nobody could tell.
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
                // What was learned before the program started: nobody knows how the tool was defined then.
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

    /// Makes room for another tool. Of the one that went nothing may be known any more.
    fn drop_any(&mut self) -> Option<(ServerId, ToolName)> {
        let any = self.tools.keys().next()?.clone();
        self.tools.remove(&any);
        Some(any)
    }
}

fn is_defined_alike(one: &Arc<Tool>, other: &Arc<Tool>) -> bool {
    Arc::ptr_eq(one, other) || one.definition == other.definition
}

const MOST_SESSIONS: usize = 1024;
/// A call follows one of the last few searches.
const MOST_ANSWERS: usize = 4;
const MOST_TENANTS: usize = 1024;
const MOST_TOOLS: usize = 16 * 1024;
