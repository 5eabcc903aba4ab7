//! The groups of agents, and which agents are known to be their members.
//!
//! Membership is found when an agent is authenticated, or when somebody first asks about it, and is looked up from then on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use crate::client_session::agent_family;
use crate::json::{Object, RawJson};
use crate::mgp::{AgentId, AgentPattern};

/// A group of agents, as the configuration describes it. Rules name it by its name behind an `@`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a group is what its configuration says")]
pub struct AgentGroup {
    /// The name, without the `@`.
    pub name: String,
    /// The ids of members, and patterns of them.
    pub agents: Vec<String>,
    /// The claim of tokens whose holders are members; a dot leads to a member of a nested claim.
    pub claim: Option<String>,
    /// The values of which the claim has to have one; the name of the group if there are none.
    pub values: Vec<String>,
    /// The only issuer whose tokens count; any accepted one if there is none.
    pub issuer: Option<String>,
}

/// The membership of an agent in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMembership {
    /// The id by which rules name the group: its name behind an `@`.
    pub group: AgentId,
    /// The ground of the membership, in words: what the agent is a member through.
    pub through: Box<str>,
}

/// The part of a verified token that concerns groups.
#[derive(Debug)]
#[non_exhaustive]
pub struct TokenStatement {
    issuer: Box<str>,
    /// The times at which the token was issued and verified. Of two statements about an agent, the later one counts.
    made_at: (i64, i64),
    /// The revision of the groups for which the claims were read.
    rules: u64,
    /// The claims that matter, each with a value that some group names.
    claims: Vec<(Box<str>, Box<str>)>,
    /// The claims that were not read, each with the reason.
    pub ignored: Vec<(Box<str>, &'static str)>,
}

/// The groups of agents, and their known members. Clones share them.
///
/// Membership is an agent's, whatever connection it uses: by its id, by its newest token, and by all its keys.
#[derive(Clone, Default)]
pub struct AgentGroups(Arc<AgentGroupsInner>);

#[derive(Default)]
struct AgentGroupsInner {
    rules: ArcSwap<GroupRules>,
    known: RwLock<HashMap<Box<str>, KnownAgent>>,
    /// The number of times that the groups changed, or the memberships of an agent did.
    changes: AtomicU64,
    listeners: Mutex<Vec<ChangeListener>>,
}

/// A function that is called after each change.
type ChangeListener = Box<dyn Fn() + Send>;

/// The groups in the order of the configuration, and tables that lead from an agent to them.
#[derive(Default)]
struct GroupRules {
    revision: u64,
    groups: Vec<AgentGroup>,
    ids: Vec<AgentId>,
    by_name: HashMap<Box<str>, usize>,
    listed: HashMap<Box<str>, Vec<usize>>,
    patterns: Vec<(AgentPattern, Box<str>, usize)>,
    /// The groups that the values of each claim name.
    by_claim: HashMap<Box<str>, HashMap<Box<str>, Vec<usize>>>,
}

/// What is known of an agent, and the memberships that follow from it.
#[derive(Default)]
struct KnownAgent {
    /// The revision of the groups by which the memberships were found.
    rules: u64,
    memberships: Memberships,
    token: Option<Arc<TokenStatement>>,
    /// The names of the groups that its keys are for.
    keys: Vec<Box<str>>,
}

/// The groups of an agent, in their order; `None` if it is in no group.
type Memberships = Option<Arc<[GroupMembership]>>;

impl AgentGroups {
    /// Sets the groups from now on. Returns whether they are others than before.
    pub fn set(&self, groups: Vec<AgentGroup>) -> bool {
        let before = self.0.rules.load();
        if before.groups == groups {
            return false;
        }
        self.0.rules.store(Arc::new(GroupRules::new(groups, before.revision + 1)));
        self.note_change();
        true
    }

    /// Calls `listener` after each change of the groups, or of the memberships of a known agent. The listener must not ask
    /// about groups itself.
    pub fn on_change(&self, listener: impl Fn() + Send + 'static) {
        self.0.listeners.lock().push(Box::new(listener));
    }

    fn note_change(&self) {
        self.0.changes.fetch_add(1, Ordering::Release);
        self.0.listeners.lock().iter().for_each(|listener| listener());
    }

    /// Returns a number that grows with each change of the groups, or of the memberships of a known agent.
    pub fn revision(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// Returns the ids of all groups, in the order of the configuration.
    pub fn ids(&self) -> Vec<AgentId> {
        self.0.rules.load().ids.clone()
    }

    /// Returns the agents that groups list by their ids, and those that were seen.
    pub fn known(&self) -> BTreeSet<String> {
        let (rules, known) = (self.0.rules.load(), self.0.known.read());
        rules.listed.keys().chain(known.keys()).map(ToString::to_string).collect()
    }

    /// Returns the memberships of an agent, in the order of the groups; `None` if it is in no group.
    pub fn of(&self, agent: &str) -> Option<Arc<[GroupMembership]>> {
        let rules = self.0.rules.load();
        // Operators and groups are no agents.
        if rules.groups.is_empty() || agent.starts_with("operator:") || agent.starts_with('@') {
            return None;
        }
        if let Some(known) = self.0.known.read().get(agent).filter(|known| known.rules == rules.revision) {
            return known.memberships.clone();
        }
        self.change(agent, &rules, |_| {})
    }

    /// Returns what `look` finds under the names by which rules name an agent: its own, then those of its groups, then that
    /// of its family.
    pub fn find<T>(&self, agent: &str, mut look: impl FnMut(&str) -> Option<T>) -> Option<T> {
        look(agent)
            .or_else(|| self.of(agent)?.iter().find_map(|member| look(member.group.as_str())))
            .or_else(|| look(agent_family(agent)?))
    }

    /// Reads the claims of a verified token, which was issued and verified at these times in milliseconds.
    pub fn read_claims(&self, issuer: &str, claims: &Object, made_at: (i64, i64)) -> Arc<TokenStatement> {
        let rules = self.0.rules.load();
        let mut statement = TokenStatement {
            issuer: issuer.into(),
            made_at,
            rules: rules.revision,
            claims: Vec::new(),
            ignored: Vec::new(),
        };
        for (claim, by_value) in &rules.by_claim {
            match values(claims, claim) {
                Ok(values) => {
                    let values: BTreeSet<_> =
                        values.into_iter().filter(|value| by_value.contains_key(&**value)).collect();
                    let values = values.into_iter().map(|value| (claim.clone(), value.into()));
                    statement.claims.extend(values);
                }
                Err(reason) => statement.ignored.push((claim.clone(), reason)),
            }
        }
        Arc::new(statement)
    }

    /// Returns whether the claims were read for the groups that there are now.
    pub fn is_current(&self, statement: &TokenStatement) -> bool {
        statement.rules == self.0.rules.load().revision
    }

    /// Notes that an agent came with a token. An older token than the one that is noted changes nothing.
    pub fn note_token(&self, agent: &str, statement: &Arc<TokenStatement>) {
        let rules = self.0.rules.load();
        if rules.by_claim.is_empty() {
            return;
        }
        let is_noted = |known: &KnownAgent| {
            let noted = known.token.as_ref();
            noted.is_some_and(|noted| Arc::ptr_eq(noted, statement) || noted.made_at > statement.made_at)
        };
        if self.0.known.read().get(agent).is_some_and(is_noted) {
            return;
        }
        self.change(agent, &rules, |known| {
            if !is_noted(known) {
                known.token = Some(Arc::clone(statement));
            }
        });
    }

    /// Forgets the token of an agent, which has none that holds.
    pub fn forget_token(&self, agent: &str) {
        if self.0.known.read().get(agent).is_some_and(|known| known.token.is_some()) {
            self.change(agent, &self.0.rules.load(), |known| known.token = None);
        }
    }

    /// Sets the names of the groups that the keys of agents are for; other agents have no such keys.
    pub fn set_keys(&self, mut by_owner: HashMap<Box<str>, Vec<Box<str>>>) {
        for (agent, known) in &*self.0.known.read() {
            if !known.keys.is_empty() {
                by_owner.entry(agent.clone()).or_default();
            }
        }
        let rules = self.0.rules.load();
        for (agent, groups) in by_owner {
            if self.0.known.read().get(&agent).is_none_or(|known| known.keys != groups) {
                self.change(&agent, &rules, |known| known.keys = groups);
            }
        }
    }

    /// Changes what is known of an agent, and counts that as a change if its memberships are others then. Returns them.
    fn change(&self, agent: &str, rules: &GroupRules, edit: impl FnOnce(&mut KnownAgent)) -> Memberships {
        let mut all = self.0.known.write();
        // Who can be found again by its id is forgotten where there is no room for another agent.
        if all.len() >= MAX_KNOWN {
            all.retain(|_, agent| agent.token.is_some() || !agent.keys.is_empty());
        }
        let known = all.entry(agent.into()).or_default();
        let before = known.memberships.take();
        let was_known = known.rules == rules.revision;
        edit(known);
        known.find(agent, rules);
        if was_known && before != known.memberships {
            self.note_change();
        }
        known.memberships.clone()
    }
}

crate::partial_debug!(AgentGroups, self => groups: self.ids());

impl GroupRules {
    fn new(groups: Vec<AgentGroup>, revision: u64) -> Self {
        let mut rules = Self { revision, ..Self::default() };
        for (at, group) in groups.iter().enumerate() {
            rules.ids.push(AgentId::new(format!("@{}", group.name)));
            rules.by_name.insert(group.name.as_str().into(), at);
            for agent in &group.agents {
                if agent.contains('*') {
                    rules.patterns.push((AgentPattern::new(agent), agent.as_str().into(), at));
                } else {
                    rules.listed.entry(agent.as_str().into()).or_default().push(at);
                }
            }
            let Some(claim) = &group.claim else { continue };
            let by_value = rules.by_claim.entry(claim.as_str().into()).or_default();
            let own = std::slice::from_ref(&group.name);
            for value in if group.values.is_empty() { own } else { &group.values[..] } {
                by_value.entry(value.as_str().into()).or_default().push(at);
            }
        }
        Self { groups, ..rules }
    }
}

impl KnownAgent {
    /// Finds the memberships by these groups.
    fn find(&mut self, agent: &str, rules: &GroupRules) {
        let mut found = BTreeMap::new();
        let of_agents = |entry: &str| format!("the entry `{entry}` of its agents");
        for name in [Some(agent), agent_family(agent)].into_iter().flatten() {
            for group in rules.listed.get(name).into_iter().flatten() {
                found.entry(*group).or_insert_with(|| of_agents(name));
            }
        }
        for (pattern, text, group) in &rules.patterns {
            if may_stand_for(text, agent) && pattern.matches(agent) {
                found.entry(*group).or_insert_with(|| of_agents(text));
            }
        }
        if let Some(token) = &self.token {
            for (claim, value) in &token.claims {
                let counts = |group: &&usize| {
                    let issuer = rules.groups[**group].issuer.as_deref();
                    issuer.is_none_or(|issuer| issuer == &*token.issuer)
                };
                let named = rules.by_claim.get(claim).and_then(|by_value| by_value.get(value));
                for group in named.into_iter().flatten().filter(counts) {
                    found.entry(*group).or_insert_with(|| format!("the claim `{claim}`"));
                }
            }
        }
        for group in self.keys.iter().filter_map(|name| rules.by_name.get(name)) {
            found.entry(*group).or_insert_with(|| "a key".to_owned());
        }
        let membership = |(at, through): (usize, String)| {
            let (group, through) = (rules.ids[at].clone(), through.into());
            GroupMembership { group, through }
        };
        self.memberships = (!found.is_empty()).then(|| found.into_iter().map(membership).collect());
        self.rules = rules.revision;
    }
}

/// Returns whether a pattern may stand for an agent. Who chooses a part of its own name, such as a client of the user, is
/// met by patterns that say so only: `*-admin` is nobody who calls itself that.
fn may_stand_for(pattern: &str, agent: &str) -> bool {
    pattern == "*"
        || agent
            .split_once('/')
            .is_none_or(|(family, _)| pattern.strip_prefix(family).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns the texts of a claim, which is a text or a list.
///
/// # Errors
/// The claim is something else, or has too many values.
fn values(claims: &Object, claim: &str) -> Result<Vec<String>, &'static str> {
    let Some(value) = claim_at(claims, claim).filter(|value| !value.is_null()) else { return Ok(Vec::new()) };
    if let Some(text) = value.to_text() {
        return Ok(vec![text]);
    }
    let items: Vec<RawJson> = value.to().map_err(|_| "it is neither a text nor a list")?;
    if items.len() > MAX_VALUES {
        return Err("it has too many values");
    }
    // What is no text names no group.
    Ok(items.iter().filter_map(RawJson::to_text).collect())
}

/// Returns the claim of this name or, where there is none, the one to which the parts between dots lead.
fn claim_at(claims: &Object, path: &str) -> Option<RawJson> {
    claims.get(path).or_else(|| {
        path.match_indices('.').find_map(|(dot, _)| claim_at(&claims.object(&path[..dot])?, &path[dot + 1..]))
    })
}

/// The number of agents of which something is known; those with tokens that hold are fewer.
const MAX_KNOWN: usize = 131_072;
/// The number of values that are read of a claim.
const MAX_VALUES: usize = 16_384;

#[cfg(test)]
mod tests;
