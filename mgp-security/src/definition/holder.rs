//! The ids under which definitions are pinned where agents have connections of their own to a server.

use super::ServerId;

/// The separator between the id of a server and that of an agent. No server id contains it.
const OF: char = '@';

/// Returns the id under which the definitions are pinned that `server` lists on the connection of `agent`: a list shown
/// to one agent neither approves nor holds definitions shown to another.
pub fn pinned_for(server: &ServerId, agent: &str) -> ServerId {
    ServerId::new(format!("{server}{OF}{agent}"))
}

/// Returns the server whose definitions are pinned under `holder`.
pub fn server_of(holder: &ServerId) -> &str {
    let holder = holder.as_str();
    holder.split_once(OF).map_or(holder, |(server, _)| server)
}
