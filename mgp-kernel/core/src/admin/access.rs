//! The whole list of access entries, the groups of agents, and the server or tool that a command line names, in one word
//! or in two. Single entries are read and changed by the methods of §5.4.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::iter;
use std::sync::Arc;

use clap::Args;
use mgp_security::access::{AccessEntry, StoredEntry};
use mgp_types::mgp::{AccessSource, AgentId, Glob, ServerId, ToolName, ToolPattern};
use mgp_types::{Error, GroupMembership, Principal};
use serde::{Deserialize, Serialize};

use super::audit::callers;
use super::operation::{Operation, OperatorCall, PageRequest};
use super::permissions::known_agents;
use crate::sections::Sections;
use crate::terminal::{Failure, TextForm, TextWriter, line_form, or_dash, word_of};

/// Lists entries in the order in which they were made: all, or those of an agent and its groups, about a server or both.
/// Entries whose servers are a pattern are about each server that it stands for.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ListAccess {
    /// List the entries of this agent and its groups only
    #[arg(long = "agent", value_name = "AGENT")]
    pub agent_id: Option<AgentId>,
    /// List the entries for this server only, patterns that match it included
    #[arg(long = "server", value_name = "SERVER")]
    pub server_id: Option<ServerId>,
    /// The part of the list that is wanted.
    #[command(flatten)]
    #[serde(flatten)]
    pub page: PageRequest,
}

/// A page of the entries.
#[derive(Debug, Serialize, Deserialize)]
pub struct AccessEntries {
    /// The entries.
    pub entries: Vec<StoredEntry>,
    /// The policy that holds where no entry does.
    pub(crate) default_policy: String,
    /// The start of the next part; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

impl Operation for ListAccess {
    type Reply = AccessEntries;

    async fn run(self, call: &OperatorCall) -> Result<AccessEntries, Error> {
        let access = &call.kernel.policies.access;
        let is_about = |entry: &AccessEntry, server: &ServerId| {
            *server == entry.server_id || Glob::new(entry.server_id.as_str()).matches(server.as_str())
        };
        let groups = self.agent_id.as_ref().and_then(|agent| access.groups().of(agent.as_str()));
        let groups = groups.iter().flat_map(|groups| groups.iter());
        let groups: BTreeSet<_> = groups.map(|member| &member.group).collect();
        let is_wanted = |StoredEntry { entry, .. }: &StoredEntry| {
            let is_of = |agent: &AgentId| *agent == entry.agent_id || groups.contains(&entry.agent_id);
            self.agent_id.as_ref().is_none_or(is_of)
                && self.server_id.as_ref().is_none_or(|server| is_about(entry, server))
        };
        let entries = access.entries().into_iter().map(Arc::unwrap_or_clone);
        let (entries, next_offset) = self.page.of(entries.filter(is_wanted));
        Ok(AccessEntries { entries, default_policy: access.default_policy().to_string(), next_offset })
    }
}

impl TextForm for AccessEntries {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.entries.iter().map(|StoredEntry { entry: row, .. }| {
            [
                row.agent_id.to_string(),
                row.server_id.to_string(),
                row.tool_name.as_ref().map_or_else(|| "*".to_owned(), ToString::to_string),
                word_of(row.permission),
                row.granted_by.clone(),
                or_dash(row.expires_at),
            ]
        });
        out.table(&["AGENT", "SERVER", "TOOL", "MAY", "BY", "UNTIL"], rows, "no entries")
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("where no entry decides: {}", self.default_policy)]
    }
}

line_form!(StoredEntry, |stored| {
    let AccessEntry { agent_id, server_id, tool_name, permission, .. } = &stored.entry;
    let tool = tool_name.as_ref().map_or("all tools", ToolName::as_str);
    format!("{}: {tool} of {server_id} for {agent_id}", word_of(permission))
});

/// Lists the groups of agents with the members that are known, and the source of each membership: the entry of the group, a
/// claim of the newest token, or a key. Agents that have not come with a token yet are not known by their claims.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ListGroups {
    #[command(flatten)]
    #[serde(flatten)]
    page: PageRequest,
}

/// A page of the members of groups.
#[derive(Debug, Serialize, Deserialize)]
pub struct GroupMembers {
    members: Vec<GroupMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

/// A member of a group; or a group of which no member is known.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct GroupMember {
    /// The group, as `@name`.
    group: AgentId,
    agent_id: Option<String>,
    /// The source of the membership, in words.
    through: Option<String>,
}

impl Operation for ListGroups {
    type Reply = GroupMembers;

    async fn run(self, call: &OperatorCall) -> Result<GroupMembers, Error> {
        let groups = call.kernel.policies.access.groups();
        let mut agents = known_agents(&call.kernel);
        agents.extend(groups.known());
        let mut empty: BTreeSet<_> = groups.ids().into_iter().collect();
        let mut rows = BTreeSet::new();
        for agent in agents {
            for GroupMembership { group, through, .. } in groups.of(&agent).iter().flat_map(|of| of.iter()) {
                empty.remove(group);
                let (agent_id, through) = (Some(agent.clone()), Some(through.to_string()));
                rows.insert(GroupMember { group: group.clone(), agent_id, through });
            }
        }
        rows.extend(empty.into_iter().map(|group| GroupMember { group, agent_id: None, through: None }));
        let (members, next_offset) = self.page.of(rows);
        Ok(GroupMembers { members, next_offset })
    }
}

impl TextForm for GroupMembers {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let rows = self.members.iter().map(|row| {
            [row.group.to_string(), or_dash(row.agent_id.as_deref()), or_dash(row.through.as_deref())]
        });
        out.table(&["GROUP", "MEMBER", "THROUGH"], rows, "no groups: `[[groups]]` in mgp.toml describes them")
    }
}

/// Asks the policy about agents at servers: all that are known or, where a server is named, at that server and its tools.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ReadAccessMatrix {
    agent_id: Option<AgentId>,
    server_id: Option<ServerId>,
    /// The number of agents to skip.
    agents: u64,
    /// The number of rows to skip.
    rows: u64,
}

/// A part of the decisions about agents.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccessMatrix {
    pub(crate) agents: Vec<String>,
    pub(crate) rows: Vec<AccessRow>,
    pub(crate) next_agents: Option<u64>,
    pub(crate) next_rows: Option<u64>,
}

/// The decisions about a server or a tool, one for each agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccessRow {
    pub(crate) server_id: ServerId,
    /// The name by which clients call the tool; `None` for the server as a whole.
    pub(crate) tool: Option<String>,
    pub(crate) cells: Vec<AccessCell>,
}

/// A decision about an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccessCell {
    pub(crate) allows: bool,
    pub(crate) source: AccessSource,
    /// The group of the agent whose rule decides, as `@name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<AgentId>,
    /// The number of the agent's rules about tools of the server.
    pub(crate) tool_rules: usize,
}

impl Operation for ReadAccessMatrix {
    type Reply = AccessMatrix;

    async fn run(self, call: &OperatorCall) -> Result<AccessMatrix, Error> {
        let Sections { policies, tools, fleet, config, audit, .. } = &*call.kernel;
        let part = |offset| PageRequest { offset, limit: Some(PART) };
        let only = self.agent_id.map(|agent| BTreeSet::from([agent.to_string()]));
        let recorded = callers(audit).await?.agents.into_iter().map(|caller| caller.agent_id);
        let agents = only.unwrap_or_else(|| known_agents(&call.kernel).into_iter().chain(recorded).collect());
        let (agents, next_agents) = part(self.agents).of(agents);
        let (snapshot, mut targets) = (tools.catalog.snapshot(), Vec::new());
        if let Some(server) = self.server_id {
            let of_server = snapshot.of_server(server.as_str()).iter().map(Some);
            targets.extend(iter::once(None).chain(of_server).map(|tool| (server.clone(), tool)));
        } else {
            let mut servers: BTreeSet<_> = fleet.all().iter().map(|server| server.id().clone()).collect();
            servers.extend(config.load().servers.iter().map(|server| ServerId::from(&*server.id)));
            targets.extend(servers.into_iter().map(|server| (server, None)));
        }
        let (targets, next_rows) = part(self.rows).of(targets);
        let mut tool_rules = BTreeMap::<AgentId, Vec<Glob>>::new();
        for stored in policies.access.entries().iter().filter(|stored| stored.entry.tool_name.is_some()) {
            let rules = tool_rules.entry(stored.entry.agent_id.clone()).or_default();
            rules.push(Glob::new(stored.entry.server_id.as_str()));
        }
        let decision = |agent: &str, server: &str, tool: Option<&str>| {
            // Rules name an operator so; the default policy does not hold for operators.
            let operator = agent.strip_prefix("operator:").map(Principal::operator);
            let verdict = policies.access.decide(agent, server, tool);
            let mut count = 0;
            policies.access.groups().find::<()>(agent, |name| {
                let rules = tool_rules.get(name).into_iter().flatten();
                count += rules.filter(|rule| rule.matches(server)).count();
                None
            });
            AccessCell {
                allows: verdict.allows_to(&operator.unwrap_or_else(|| Principal::new(agent))),
                source: verdict.source,
                group: verdict.group,
                tool_rules: count,
            }
        };
        let rows = targets.into_iter().map(|(server_id, tool)| {
            let name = tool.map(|tool| tool.resolved.name.as_str());
            let cells = agents.iter().map(|agent| decision(agent, server_id.as_str(), name)).collect();
            AccessRow { tool: tool.map(|tool| tool.shown.to_string()), server_id, cells }
        });
        Ok(AccessMatrix { rows: rows.collect(), agents, next_agents, next_rows })
    }
}

/// The largest numbers of agents and of rows of a part.
const PART: u32 = 50;

/// A server or a tool, each of which may be a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NamedTarget {
    #[serde(rename = "server_id")]
    pub(crate) server: String,
    /// The tool, or `None` for all tools of the server.
    #[serde(rename = "tool_name")]
    pub(crate) tool: Option<String>,
}

impl NamedTarget {
    /// Names a tool, or a whole server.
    pub fn new(server: &ServerId, tool: Option<&ToolName>) -> Self {
        Self { server: server.to_string(), tool: tool.map(ToString::to_string) }
    }

    /// Returns the target that two words name. No dot in either word separates a server from a tool.
    pub fn in_two(server: String, tool: String) -> Self {
        Self { server, tool: Some(tool).filter(|tool| tool != "*") }
    }

    /// Returns the target of one word whose form is unambiguous: `server`, `server.*`, `*.tool` or `server/tool`.
    /// Returns `None` for a word with dots and without `*` or `/`.
    pub fn in_one(word: &str) -> Result<Option<Self>, Failure> {
        if !word.contains(['.', '/']) {
            return Ok(Some(Self { server: word.to_owned(), tool: None }));
        }
        if !word.contains(['*', '/']) {
            return Ok(None);
        }
        Self::pattern(word).map(Some)
    }

    /// Returns the target of one word with dots and without a `*`: the server with that id, or else the tool of a
    /// server whose id is the beginning of the word. `known` are the servers and tools that there are, because the id of
    /// a server may contain dots. A word that is both is refused. A word that is neither is taken as a server, or refused
    /// if `unseen` says that the rule is to be made even for unknown names.
    pub fn by(word: &str, known: &[Self], unseen: bool) -> Result<Self, Failure> {
        let whole = Self { server: word.to_owned(), tool: None };
        let of_server = Self::pattern(word)?;
        let server = Self { server: of_server.server.clone(), tool: None };
        match (known.contains(&whole), known.contains(&of_server), known.contains(&server)) {
            (true, false, _) => Ok(whole),
            (false, _, true) => Ok(of_server),
            (false, _, false) if !unseen => Ok(whole),
            _ => {
                let (server, tool) = (server.server, of_server.tool.unwrap_or_default());
                Err(Failure::usage(format!("`{word}` is either a server or a tool of `{server}`"))
                    .hint(format!("write `{word}.*` for the server, or `{server}/{tool}` for the tool")))
            }
        }
    }

    /// Splits the target into its server and, if it names only one, its tool.
    pub fn ids(self) -> (ServerId, Option<ToolName>) {
        (self.server.as_str().into(), self.tool.as_deref().map(ToolName::new))
    }

    fn pattern(word: &str) -> Result<Self, Failure> {
        let pattern: ToolPattern = word.parse().map_err(|error| Failure::usage(format!("{error}")))?;
        Ok(Self::in_two(pattern.server().as_str().to_owned(), pattern.tool().as_str().to_owned()))
    }
}

/// The data of the error by which the kernel refuses a rule that matches nothing.
#[derive(Debug, Deserialize)]
struct RuleSuggestion {
    /// The reason of the refusal, without advice.
    reason: Option<String>,
    /// The target that is probably meant. A refusal without this member, which may be `null`, has another reason.
    #[serde(deserialize_with = "Option::deserialize")]
    did_you_mean: Option<NamedTarget>,
}

/// Adds a hint to the refusal of a rule that matches nothing: the command that is probably meant, and the option that
/// accepts the name as written. `command` returns the command for the suggested target, which it gets as one word.
pub fn advised(failure: Failure, command: impl Fn(&str) -> String) -> Failure {
    let Some(RuleSuggestion { reason, did_you_mean }) = failure.data() else { return failure };
    // The hint contains the suggestion, so the message need not.
    let failure = reason.into_iter().fold(failure, Failure::with_message);
    let Some(NamedTarget { server, tool }) = did_you_mean else {
        return failure
            .hint("`mgp servers` and `mgp tools` show the names; `--force` accepts the name as written");
    };
    let word = match &tool {
        None => server,
        Some(tool) => ToolPattern::new(&server, tool).map_or(server, |pattern| pattern.to_string()),
    };
    failure.hint(format!("did you mean `{}`? `--force` accepts the name as written", command(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(word: &str, unseen: bool) -> Result<NamedTarget, Failure> {
        let known = |server: &str, tool: Option<&str>| NamedTarget {
            server: server.to_owned(),
            tool: tool.map(str::to_owned),
        };
        let servers = ["one", "one.admin", "one.two", "mind.cerebras"].map(|server| known(server, None));
        let known = [&servers[..], &[known("one", Some("two"))]].concat();
        NamedTarget::in_one(word)
            .and_then(|named| named.map_or_else(|| NamedTarget::by(word, &known, unseen), Ok))
    }

    #[test]
    fn a_word_is_a_server_or_a_tool_by_what_there_is() {
        for (word, server, tool) in [
            ("one", "one", None),
            ("delete_*", "delete_*", None),
            ("*", "*", None),
            ("one.*", "one", None),
            ("*.delete_*", "*", Some("delete_*")),
            ("one.read*", "one", Some("read*")),
            ("one/a.b", "one", Some("a.b")),
            ("one.admin", "one.admin", None),
            ("one.admin.*", "one.admin", None),
            ("one.read", "one", Some("read")),
            ("mind.cerebras.think", "mind.cerebras", Some("think")),
            ("mind.cerebra", "mind.cerebra", None),
        ] {
            let expected = NamedTarget { server: server.to_owned(), tool: tool.map(str::to_owned) };
            assert_eq!(named(word, false).unwrap(), expected, "{word}");
        }
    }

    #[test]
    fn what_may_be_both_is_refused_with_both_ways_to_write_it() {
        for (word, unseen) in [("one.two", false), ("one.two", true), ("later.x", true)] {
            let failure = named(word, unseen).unwrap_err();
            let advice = failure.advice().unwrap_or_default();
            let slash = word.replace('.', "/");
            assert!(advice.contains(&format!("`{word}.*`")) && advice.contains(&slash), "{advice}");
        }
    }
}
