//! The rules of access that the configuration has.

use mgp_discovery::Config;
use mgp_security::access::{AccessError, AccessPolicy};
use mgp_types::Principal;
use mgp_types::mgp::{AccessGrant, AccessRevoke};

/// Makes the entries of the policy that come from the configuration those that it has now. Its rules go before what was
/// decided about the same agent, server and tool before; all other entries stay.
///
/// # Errors
/// An entry cannot be recorded or stored; those before it are made.
pub(crate) async fn apply(access: &AccessPolicy, config: &Config) -> Result<(), AccessError> {
    let by = Principal::operator(FILE);
    let wanted: Vec<AccessGrant> = config
        .access
        .rules
        .iter()
        .map(|rule| {
            let (agent, server) = (rule.agent.as_str().into(), rule.server.as_str().into());
            let grant = AccessGrant::of_server(agent, server, rule.permission);
            match &rule.tool {
                Some(tool) => grant.for_tool(tool.as_str().into()),
                None => grant,
            }
        })
        .collect();
    let entries = access.entries();
    let old: Vec<_> =
        entries.iter().map(|stored| &stored.entry).filter(|entry| entry.granted_by == FILE).collect();
    for grant in &wanted {
        let is_there = old.iter().any(|entry| {
            (&entry.agent_id, &entry.server_id, &entry.tool_name, entry.permission)
                == (&grant.agent_id, &grant.server_id, &grant.tool_name, grant.permission)
        });
        if !is_there {
            access.grant(&by, None, grant.clone()).await?;
        }
    }
    for entry in old {
        let is_wanted = wanted.iter().any(|grant| {
            (&entry.agent_id, &entry.server_id, &entry.tool_name)
                == (&grant.agent_id, &grant.server_id, &grant.tool_name)
        });
        if !is_wanted {
            let revoke = AccessRevoke::of_server(entry.agent_id.clone(), entry.server_id.clone());
            let revoke = match &entry.tool_name {
                Some(tool) => revoke.for_tool(tool.clone()),
                None => revoke,
            };
            access.revoke(&by, None, revoke).await?;
        }
    }
    Ok(())
}

/// In whose name the entries are made.
const FILE: &str = "mgp.toml";
