//! Checks of `[[groups]]`, and of the places that name a group.

use std::collections::BTreeSet;

use super::super::model::{AgentSettings, Config, GroupSettings};
use super::super::problem::Problem;
use super::super::source::{ConfigSource, FileProblems, ValuePath};
use super::mistakable;
use crate::catalog::{LONGEST_ID, is_written_as_id};
use crate::nearest::nearest;

/// Returns an error for each group that a place in the file names and that is none of `known`.
pub(in crate::config) fn check_groups(
    config: &Config,
    source: &ConfigSource,
    known: &BTreeSet<&str>,
) -> Vec<Problem> {
    let (mut checks, root) = (FileProblems::of(source), ValuePath::default());
    let mut check = |agent: &str, place: ValuePath| {
        let Some(name) = agent.strip_prefix('@').filter(|name| !known.contains(name)) else { return };
        let instead = match nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `@{meant}`?"),
            None => "describe the group under `[[groups]]`".to_owned(),
        };
        checks.error(&place, format!("there is no group `{name}`"), instead);
    };
    for (at, agent) in config.agents.iter().enumerate() {
        check(&agent.id, root.key("agents").index(at).key("id"));
    }
    for (at, rule) in config.access.rules.iter().enumerate() {
        check(&rule.agent, root.key("access").key("rules").index(at).key("agent"));
    }
    for (at, rule) in config.ask.iter().enumerate() {
        check(rule.agent.as_deref().unwrap_or_default(), root.key("ask").index(at).key("agent"));
    }
    for (at, agent) in config.registration.agents.iter().enumerate() {
        check(agent, root.key("registration").key("agents").index(at));
    }
    for (at, server) in config.servers.iter().enumerate() {
        let place = root.key("servers").index(at).key("agents");
        server.agents.keys().for_each(|agent| check(agent, place.key(agent)));
    }
    checks.found
}

impl FileProblems<'_> {
    /// Checks `[[groups]]`, and that groups under `[[agents]]` have only what groups can have.
    pub(super) fn groups(&mut self, config: &Config) {
        let issuers = config.listen.oauth.iter().flat_map(|oauth| &oauth.issuers);
        let issuers: BTreeSet<&str> = issuers.map(|issuer| issuer.issuer.as_str()).collect();
        let mut names = BTreeSet::new();
        for (index, group) in config.groups.iter().enumerate() {
            let place = ValuePath::default().key("groups").index(index);
            if group.name.is_empty() {
                self.error(&place, "this group has no `name`", "write `name = \"name\"`");
            } else if !is_written_as_id(&group.name) {
                let instead =
                    format!("use up to {LONGEST_ID} letters, digits, `.`, `_` and `-`, without `@`");
                self.error(&place.key("name"), "this is not a name of a group", instead);
            } else if !names.insert(mistakable(&group.name)) {
                let what = "another group is called so too, or could be mistaken for it";
                self.error(&place.key("name"), what, "give one of the two groups another name");
            }
            self.group(group, &issuers, &place);
        }
        let of_groups = config.agents.iter().enumerate().filter(|(_, agent)| agent.id.starts_with('@'));
        for (index, agent) in of_groups {
            let &AgentSettings { calls_per_minute, calls_per_day, budget, .. } = agent;
            let (id, scopes) = (agent.id.clone(), agent.scopes.clone());
            let none = AgentSettings::default();
            let of_group = AgentSettings { id, scopes, calls_per_minute, calls_per_day, budget, ..none };
            if *agent != of_group {
                let place = ValuePath::default().key("agents").index(index);
                let what = "a group has only `budget`, `calls_per_minute`, `calls_per_day` and `scopes`";
                self.error(&place, what, "write the other keys for each agent");
            }
        }
    }

    fn group(&mut self, group: &GroupSettings, issuers: &BTreeSet<&str>, place: &ValuePath) {
        for (at, agent) in group.agents.iter().enumerate() {
            if agent.is_empty() || agent.starts_with('@') {
                let instead = "write the ids of agents, or patterns of them such as `ci.*`";
                self.error(&place.key("agents").index(at), "a group has agents as members", instead);
            }
        }
        let of_claim = [("values", !group.values.is_empty()), ("issuer", group.issuer.is_some())];
        for (key, _) in of_claim.into_iter().filter(|(_, is_set)| *is_set && group.claim.is_none()) {
            let instead = format!("write the `claim` to which it belongs, or remove `{key}`");
            self.error(&place.key(key), "this is about no claim", instead);
        }
        if group.issuer.as_deref().is_some_and(|issuer| !issuers.contains(issuer)) {
            let instead = "write an issuer exactly as `listen.oauth.issuers` has it";
            self.error(&place.key("issuer"), "tokens of this issuer are not accepted", instead);
        }
    }
}
