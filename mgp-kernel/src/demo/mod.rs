//! The command `mgp demo`: everything that the kernel does, shown on servers that are part of the program.
//!
//! The servers are processes, the kernel is a kernel, the agent is a plain MCP client, and the operator uses the
//! methods that the commands of `mgp` use. So the demo needs neither configuration nor network, and is a test of the
//! whole at once: it ends well only if each step came out as it tells.

mod narrator;
mod servers;
mod setup;
mod story;

use std::io;

use anyhow::Context as _;

use self::narrator::DemoNarrator;
use self::setup::DemoSetup;

/// The form in which the demo is told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// True if each step is told as a JSON object.
    pub(crate) json: bool,
    /// True if the text has colours.
    pub(crate) color: bool,
}

/// Takes all steps of the demo, and tells them on standard output.
///
/// # Errors
/// Fails if a step did not come out as it should. The steps after it are not taken.
pub(crate) async fn run(options: Options) -> anyhow::Result<()> {
    let mut account = DemoNarrator::new(options, io::stdout());
    account.begin()?;
    let stage =
        account.step("A kernel and its servers", async |said| Box::pin(setup::open(said)).await).await?;
    let walked = walk(&stage, &mut account).await;
    stage.close().await;
    walked?;
    account.end()
}

async fn walk(stage: &DemoSetup, account: &mut DemoNarrator<io::Stdout>) -> anyhow::Result<()> {
    account.step("What tools cost", async |said| story::cost(stage, said).await).await?;
    account.step("Discover", async |said| story::discover(stage, said).await).await?;
    account.step("Call", async |said| story::call(stage, said).await).await?;
    account.step("Permission", async |said| story::permission(stage, said).await).await?;
    account.step("Blocked calls", async |said| story::blocked(stage, said).await).await?;
    account.step("Confirmation", async |said| story::confirmation(stage, said).await).await?;
    account.step("Crash and restart", async |said| story::crash(stage, said).await).await?;
    account.step("The record", async |said| story::record(stage, said).await).await
}

/// Serves one of the demo's servers on standard input and output. The demo starts them, as processes of this program.
///
/// # Errors
/// Fails if there is no server of this name, or if its connection broke.
pub(crate) async fn serve(name: &str) -> anyhow::Result<()> {
    servers::serve(name).await.with_context(|| format!("the demo's server `{name}`"))
}
