//! The check of whether a rule names something that exists. A rule that matches nothing protects from nothing, so it
//! is refused or reported.
//!
//! Servers that are switched off and tools that are pinned exist: a server that is away is no reason for a refusal.

use std::collections::{BTreeMap, BTreeSet};

use mgp_discovery::config::nearest;
use mgp_security::access::{KnownTargets, UnmatchedTarget};
use mgp_security::auth::ApiPermission;
use mgp_security::definition::{DefinitionKind, server_of};
use mgp_types::mgp::{AccessPermission, AskRule, Glob, ToolName, ToolPattern, method};
use serde::{Deserialize, Serialize};

use crate::sections::Sections;
use crate::sections::rules::CONFIGURATION;
use crate::terminal::word_of;
use crate::visibility::Visibility;

/// The existing servers and their known tools. A server whose tools nobody has seen may have any.
#[derive(Debug, Default)]
pub(crate) struct ServerInventory {
    servers: BTreeMap<String, ToolInventory>,
}

#[derive(Debug, Default)]
struct ToolInventory {
    names: BTreeSet<String>,
    /// True if the server has listed its tools, now or before.
    are_known: bool,
}

/// A rule in effect that matches nothing, for operators to read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnmatchedRule {
    pub rule: String,
    #[serde(rename = "told")]
    pub reason: String,
    /// True if the rule stands in `mgp.toml`; else an operator insisted on it, or its target is gone.
    pub is_configured: bool,
}

/// The rules of access, permissions and keys that match nothing, and those about questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnmatchedRules {
    pub rules: Vec<UnmatchedRule>,
}

/// Returns the rules in effect that match nothing.
pub(crate) fn unmatched_rules(kernel: &Sections) -> UnmatchedRules {
    let (targets, now) = (ServerInventory::of(kernel), kernel.audit.clock.now());
    let mut rules = Vec::new();
    let mut look = |rule: String, outcome: Result<(), UnmatchedTarget>, is_configured: bool| {
        if let Err(unmatched) = outcome {
            rules.push(UnmatchedRule { rule, reason: unmatched.to_string(), is_configured });
        }
    };
    for stored in kernel.policies.access.entries() {
        let entry = &stored.entry;
        if entry.expires_at.is_some_and(|end| end <= now) {
            continue;
        }
        let (server, tool) = (entry.server_id.as_str(), entry.tool_name.as_ref().map(ToolName::as_str));
        let verb = if entry.permission == AccessPermission::Deny { "deny" } else { "grant" };
        let what = tool.map_or_else(|| server.to_owned(), |tool| format!("{server} {tool}"));
        let rule = format!("access: {verb} {} {what}", entry.agent_id);
        look(rule, targets.check_entry(server, tool), entry.granted_by == CONFIGURATION);
    }
    for AskRule { tool, ask, .. } in &kernel.config.load().ask {
        look(format!("ask: {} {tool}", word_of(ask)), targets.check_pattern(tool), true);
    }
    for grant in &kernel.config.load().permissions.grants {
        if let Some(server) = &grant.server {
            let rule = format!("permissions.grants: {} for {server}", grant.permission);
            look(rule, targets.check_server(server), true);
        }
    }
    for key in kernel.policies.keys.keys() {
        let is_over = key.terms.expires_at.is_some_and(|end| end <= now);
        for permission in key.terms.permissions.iter().filter(|_| !is_over) {
            if let ApiPermission::ToolInvoke(tools) | ApiPermission::ToolRead(tools) = permission {
                let rule = format!("key {} of {}: {tools}", key.id, key.terms.owner.as_str());
                look(rule, targets.check_pattern(tools), false);
            }
        }
    }
    UnmatchedRules { rules }
}

/// Logs the rules of the configuration that match nothing.
pub(crate) fn warn_of_unmatched(kernel: &Sections) {
    let rules = unmatched_rules(kernel).rules.into_iter();
    for UnmatchedRule { rule, reason, .. } in rules.filter(|rule| rule.is_configured) {
        tracing::warn!(rule, reason, "a rule of the configuration matches nothing");
    }
}

impl KnownTargets for Sections {
    fn check(&self, server: &str, tool: Option<&str>) -> Result<(), UnmatchedTarget> {
        ServerInventory::of(self).check_entry(server, tool)
    }
}

impl ServerInventory {
    /// Returns the servers and tools that are configured, registered, listed or pinned.
    pub(crate) fn of(kernel: &Sections) -> Self {
        let Visibility { fleet, catalog, policies } = &*kernel.visibility;
        let mut targets = Self::default();
        for server in &kernel.config.load().servers {
            let tools = targets.servers.entry(server.id.clone()).or_default();
            // A tool that is switched off is listed nowhere, and a rule may name it.
            let off = server.tools.iter().filter(|(name, rule)| !rule.enabled && !name.contains('*'));
            tools.names.extend(off.map(|(name, _)| name.clone()));
        }
        for view in fleet.views() {
            targets.servers.entry(view.id.to_string()).or_default();
        }
        for tool in catalog.snapshot().tools() {
            targets.listed(tool.resolved.server.as_str(), tool.resolved.name.as_str());
        }
        for (holder, state) in policies.definitions.pins().all() {
            // The former lists of a server that is gone do not count: a rule about them matches nothing.
            let (server, name) = (server_of(&holder), state.name());
            if name.kind() == DefinitionKind::Tool && targets.servers.contains_key(server) {
                targets.listed(server, name.as_str());
            }
        }
        targets
    }

    fn listed(&mut self, server: &str, tool: &str) {
        let tools = self.servers.entry(server.to_owned()).or_default();
        tools.are_known = true;
        tools.names.insert(tool.to_owned());
    }

    /// Checks whether there is such a server and, of servers whose tools are known, such a tool.
    pub(crate) fn check_entry(&self, server: &str, tool: Option<&str>) -> Result<(), UnmatchedTarget> {
        let found = self.matching(server);
        if found.is_empty() {
            return Err(self.no_server(server, tool));
        }
        let Some(wanted) = tool else { return Ok(()) };
        let glob = Glob::new(wanted);
        let may_match =
            |tools: &&ToolInventory| !tools.are_known || tools.names.iter().any(|name| glob.matches(name));
        if found.iter().any(may_match) {
            return Ok(());
        }
        let unmatched = UnmatchedTarget::new(format!("no tool of `{server}` is called `{wanted}`"));
        let names = found.iter().flat_map(|tools| &tools.names).map(String::as_str);
        let meant = near(wanted, names).into_iter();
        Err(meant.fold(unmatched, |unmatched, meant| unmatched.meant(server, Some(meant))))
    }

    /// Checks the tools that a key is for like [`check_entry`](Self::check_entry). The kernel's own tools belong to no
    /// server.
    pub(crate) fn check_pattern(&self, pattern: &ToolPattern) -> Result<(), UnmatchedTarget> {
        let (server, tool) = (pattern.server().as_str(), pattern.tool().as_str());
        let own_name = format!("{server}/{tool}").replace('.', "/");
        let is_own = method::of_tool(&own_name).is_some() || method::of_tool(tool).is_some();
        if is_own || server == "mgp" || server.starts_with("mgp.") {
            return Ok(());
        }
        if server == "*" && self.servers.is_empty() {
            return Ok(()); // All that will be there, which nobody mistypes.
        }
        self.check_entry(server, Some(tool).filter(|tool| *tool != "*")).map_err(UnmatchedTarget::of_tools)
    }

    /// Checks whether there is this one server, for entries that are never about several.
    pub(crate) fn check_server(&self, server: &str) -> Result<(), UnmatchedTarget> {
        if self.servers.contains_key(server) { Ok(()) } else { Err(self.no_server(server, None)) }
    }

    /// Returns the known tools of each server that `server` stands for.
    fn matching(&self, server: &str) -> Vec<&ToolInventory> {
        let glob = Glob::new(server);
        self.servers.iter().filter(|(id, _)| glob.matches(id)).map(|(_, tools)| tools).collect()
    }

    fn no_server(&self, server: &str, tool: Option<&str>) -> UnmatchedTarget {
        let unmatched = UnmatchedTarget::new(format!("no server is called `{server}`"));
        if tool.is_none() {
            // A tool may have been written where a server belongs.
            let pattern = server.parse().ok().or_else(|| ToolPattern::new("*", server).ok());
            let is_there = |pattern: &ToolPattern| {
                let mut names = self.matching(pattern.server().as_str()).into_iter().flat_map(|of| &of.names);
                names.any(|name| pattern.tool().matches(name))
            };
            if let Some(pattern) = pattern.filter(is_there) {
                return unmatched.meant(pattern.server().as_str(), Some(pattern.tool().as_str()));
            }
        }
        match near(server, self.servers.keys().map(String::as_str)) {
            Some(meant) => unmatched.meant(meant, tool),
            None if tool.is_none() && server.contains('*') => unmatched.meant("*", Some(server)),
            None => unmatched,
        }
    }
}

/// Returns the name that is most likely meant, by its letters; stars are no letters.
fn near<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest(&written.replace('*', ""), known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> ServerInventory {
        let mut targets = ServerInventory::default();
        for (server, tools) in
            [("files", &["read", "delete_all"][..]), ("one", &["admin"]), ("one.admin", &["x"]), ("off", &[])]
        {
            targets.servers.entry(server.to_owned()).or_default();
            for tool in tools {
                targets.listed(server, tool);
            }
        }
        targets
    }

    #[test]
    fn what_stands_for_something_or_may_is_let_through() {
        for (server, tool) in [
            ("files", None),
            ("files", Some("read")),
            ("files", Some("delete_*")),
            ("*", Some("delete_*")),
            ("f*", None),
            ("*", None),
            ("off", Some("whatever")),
            ("o*", Some("whatever")),
        ] {
            assert_eq!(targets().check_entry(server, tool), Ok(()), "{server} {tool:?}");
        }
    }

    #[test]
    fn what_stands_for_nothing_is_told_with_what_is_probably_meant() {
        for (server, tool, meant) in [
            ("fiels", None, Some("files")),
            ("Files", Some("read"), Some("files.read")),
            ("fiels*", None, Some("files")),
            ("delete_*", None, Some("*.delete_*")),
            ("delete_all", None, Some("*.delete_all")),
            ("remove_*", None, Some("*.remove_*")),
            ("files.delete_*", None, Some("files.delete_*")),
            ("files/read", None, Some("files.read")),
            ("files", Some("raed"), Some("files.read")),
            ("files", Some("delete_al"), Some("files.delete_all")),
            ("files", Some("remove_*"), None),
            ("git", None, None),
            ("one*", Some("read"), None),
        ] {
            let unmatched = targets().check_entry(server, tool).unwrap_err();
            assert_eq!(unmatched.suggestion().as_deref(), meant, "{server} {tool:?}: {unmatched}");
        }
    }

    #[test]
    fn a_key_is_for_tools_of_servers_or_of_the_kernel() {
        for text in ["*", "files.*", "*.read", "off.x", "mgp.access.query", "*.mgp_access_query", "mgp.*"] {
            assert_eq!(targets().check_pattern(&text.parse().unwrap()), Ok(()), "{text}");
        }
        for text in ["fiels.*", "one.read", "git*.x"] {
            assert!(targets().check_pattern(&text.parse().unwrap()).is_err(), "{text}");
        }
        assert_eq!(ServerInventory::default().check_pattern(&ToolPattern::every()), Ok(()));
    }

    #[test]
    fn what_is_said_of_one_server_is_said_of_no_pattern() {
        assert_eq!(targets().check_server("off"), Ok(()));
        assert!(targets().check_server("*").is_err() && targets().check_server("of*").is_err());
    }
}
