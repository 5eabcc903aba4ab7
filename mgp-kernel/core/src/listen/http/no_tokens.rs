//! The tokens of a program that was built without identity providers: it accepts none.

use std::io;
use std::sync::Arc;

use mgp_security::oauth::ResourceServer;
use mgp_types::AgentGroups;

use crate::settings::running::RunningConfig;

#[expect(clippy::unnecessary_wraps, reason = "a build with identity providers may not reach one")]
pub(super) fn accepted(_: &Arc<RunningConfig>, _: &AgentGroups) -> io::Result<Option<ResourceServer>> {
    Ok(None)
}
