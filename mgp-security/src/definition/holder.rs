//! Under which id definitions are pinned where agents have connections of their own to a server.

use super::ServerId;

/// What lies between a server and an agent. No id of a server has it.
const OF: char = '@';

/// The id under which the definitions are pinned that `server` lists on the connection of `agent`: what one agent is
/// shown neither approves nor holds up what another is.
pub fn pinned_for(server: &ServerId, agent: &str) -> ServerId {
    ServerId::new(format!("{server}{OF}{agent}"))
}

/// The server whose definitions are pinned under `holder`.
pub fn server_of(holder: &ServerId) -> &str {
    let holder = holder.as_str();
    holder.split_once(OF).map_or(holder, |(server, _)| server)
}
