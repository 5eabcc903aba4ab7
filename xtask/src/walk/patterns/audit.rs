//! The steps of `docs/patterns/audit.md`.

use anyhow::ensure;

use super::Pattern;

pub(super) fn steps(pattern: &mut Pattern) {
    pattern.step("the server is connected", |pattern| {
        let servers = pattern.home.servers()?;
        ensure!(servers.iter().all(|server| server.state == "connected"), "{servers:?}");
        Ok(String::new())
    });
}
