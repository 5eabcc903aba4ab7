//! The status of definitions that are held or flagged, in the words that all commands show.

use mgp_security::definition::{
    DefinitionFindings, DefinitionGuard, DefinitionKind, DefinitionName, DefinitionStatus, pinned_for,
    server_of,
};
use mgp_types::mgp::{NameStyle, ServerId, ToolName};
use serde::{Deserialize, Serialize};

/// The status of a definition that is held or flagged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShownDefinitionStatus {
    /// The status: `held` or `flagged`.
    pub(crate) is: String,
    /// The rules that found something, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The reason, with the findings.
    pub reason: String,
    /// The command that changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The commands that show the definition and change its status.
    pub way: String,
    /// True if the definition changed with the configuration of its server.
    pub since_config: bool,
    /// True if an operator can approve the definition; else its server has to correct it.
    pub is_approvable: bool,
}

/// The status of a definition that is held.
const HELD: &str = "held";

/// A tool that is not offered because its definition is held.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HeldTool {
    /// The name by which clients would call the tool.
    pub(crate) name: String,
    /// The server; with an agent, that agent's own connection to it.
    pub server_id: ServerId,
    /// The name of the tool at its server.
    pub tool_name: ToolName,
    /// The reason why it is held.
    pub standing: ShownDefinitionStatus,
}

impl ShownDefinitionStatus {
    /// Returns the status of the definition called `name`; `None` if it is used without reservation, or not known.
    pub(super) fn of(guard: &DefinitionGuard, holder: &ServerId, name: &DefinitionName) -> Option<Self> {
        let found = guard.found_in(holder, name);
        let standing = guard.status(holder, name).filter(|status| *status != DefinitionStatus::Unlisted)?;
        let is = if standing.is_held() { HELD } else { "flagged" };
        Some(Self {
            is: is.to_owned(),
            rules: found.iter().flat_map(DefinitionFindings::rules).map(str::to_owned).collect(),
            reason: standing.reason(holder, found.as_ref()),
            command: standing.command(holder, name),
            way: standing.way(holder, name),
            since_config: standing == DefinitionStatus::Reconfigured,
            is_approvable: !matches!(standing, DefinitionStatus::Refused(_)),
        })
    }

    /// Returns whether the definition is held back.
    pub fn is_held(&self) -> bool {
        self.is == HELD
    }

    /// Returns a sentence about the status of the definition called `name`.
    pub fn sentence(&self, holder: &ServerId, name: &DefinitionName) -> String {
        format!("the {} `{}` of `{holder}` {}", name.kind(), name.as_str(), self.reason)
    }
}

/// Returns the tools that are held: all, those of a server, or those that a name stands for.
pub(super) fn held_tools(
    definitions: &DefinitionGuard,
    server: Option<&ServerId>,
    meant: Option<&str>,
) -> Vec<HeldTool> {
    let held = definitions.held(DefinitionKind::Tool).into_iter();
    let held = held.filter(|(holder, name)| {
        let (of, own) = (server_of(holder), name.as_str());
        server.is_none_or(|server| server.as_str() == of)
            && meant.is_none_or(|meant| meant == own || NameStyle::any_is(meant, of, own))
    });
    held.filter_map(|(holder, name)| {
        Some(HeldTool {
            name: NameStyle::DOTS.write(server_of(&holder), name.as_str()),
            tool_name: name.as_str().into(),
            standing: ShownDefinitionStatus::of(definitions, &holder, &name)?,
            server_id: holder,
        })
    })
    .collect()
}

/// The servers of definitions that are held and flagged, to be counted.
pub(super) struct HeldCounts {
    held: Vec<ServerId>,
    flagged: Vec<ServerId>,
    /// The servers of definitions that only their servers can correct, each with a sentence about it.
    left_out: Vec<(ServerId, String)>,
}

impl HeldCounts {
    pub(super) fn of(definitions: &DefinitionGuard) -> Self {
        let held = DefinitionKind::ALL.into_iter().flat_map(|kind| definitions.held(kind));
        let found = definitions.found();
        let flagged = found.iter().filter(|(_, _, found)| !found.is_held);
        let flagged = flagged.filter(|(server, name, _)| definitions.hold(server, name).is_none());
        let left_out = found.iter().filter(|(_, _, found)| found.is_held && found.definition.is_none());
        let left_out = left_out.map(|(server, name, found)| {
            let (kind, name) = (name.kind(), name.as_str());
            (server.clone(), format!("{kind} `{name}` is left out: {}", found.describe()))
        });
        Self {
            held: held.map(|(holder, _)| holder).collect(),
            flagged: flagged.map(|(server, ..)| server.clone()).collect(),
            left_out: left_out.collect(),
        }
    }

    /// Returns how many definitions of a server are held, and how many are flagged; on the connection of `agent`, if
    /// there is one.
    pub(super) fn of_server(&self, server: &ServerId, agent: Option<&str>) -> (u64, u64) {
        let is_of = is_of(server, agent);
        let count = |holders: &[ServerId]| holders.iter().filter(|holder| is_of(holder)).count() as u64;
        (count(&self.held), count(&self.flagged))
    }

    /// Returns a sentence about each definition of a server that only the server can correct; on the connection of
    /// `agent`, if there is one.
    pub(super) fn left_out(&self, server: &ServerId, agent: Option<&str>) -> Vec<String> {
        let is_of = is_of(server, agent);
        let of_server = self.left_out.iter().filter(|(holder, _)| is_of(holder));
        of_server.map(|(_, sentence)| sentence.clone()).collect()
    }
}

/// Returns a test for whether definitions pinned for a holder are those of a server; of the connection of `agent`, if there
/// is one.
fn is_of(server: &ServerId, agent: Option<&str>) -> impl Fn(&ServerId) -> bool {
    let own = agent.map(|agent| pinned_for(server, agent));
    move |holder| match &own {
        Some(own) => holder == own,
        None => server_of(holder) == server.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use mgp_security::definition::RULES;
    use serde_json::Value;

    #[test]
    fn the_configuration_ends_the_rules_that_there_are() {
        let schema: Value = serde_json::from_str(&mgp_discovery::config::schema()).unwrap();
        let rules = &schema["$defs"]["AllowedRule"]["properties"]["rule"]["enum"];
        let mut rules: Vec<_> = rules.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
        let mut known = RULES.to_vec();
        rules.sort_unstable();
        known.sort_unstable();
        assert_eq!(rules, known);
    }
}
