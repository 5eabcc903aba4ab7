//! The command `mgp demo`: everything that the kernel does, shown on servers that are part of the program.
//!
//! The servers are processes, the kernel is a kernel, the agent is a plain MCP client, and the operator uses the
//! methods that the commands of `mgp` use. So the demo needs neither configuration nor network, and is a test of the
//! whole at once: it ends well only if each step came out as it tells.

mod config;
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
#[non_exhaustive]
pub struct Options {
    /// True if each step is told as a JSON object.
    pub json: bool,
    /// True if the text has colours.
    pub color: bool,
}

impl Options {
    /// Returns the options for a text without colours.
    pub const fn new() -> Self {
        Self { json: false, color: false }
    }

    /// Sets whether the steps are told as JSON.
    #[must_use]
    pub const fn json(mut self, json: bool) -> Self {
        self.json = json;
        self
    }

    /// Sets whether the text has colours.
    #[must_use]
    pub const fn color(mut self, color: bool) -> Self {
        self.color = color;
        self
    }
}

/// Takes all steps of the demo, and tells them on standard output.
///
/// # Errors
/// Fails if a step did not come out as it should. The steps after it are not taken.
pub async fn run(options: Options) -> anyhow::Result<()> {
    let mut account = DemoNarrator::new(options, io::stdout());
    account.begin()?;
    let stage = account.step("A kernel and its servers", Box::pin(setup::open())).await?;
    let walked = walk(&stage, &mut account).await;
    stage.close().await;
    walked?;
    account.end()
}

async fn walk(stage: &DemoSetup, account: &mut DemoNarrator<io::Stdout>) -> anyhow::Result<()> {
    account.step("What tools cost", story::cost(stage)).await?;
    account.step("Discover", story::discover(stage)).await?;
    account.step("Call", story::call(stage)).await?;
    account.step("Permission", story::permission(stage)).await?;
    account.step("Blocked calls", story::blocked(stage)).await?;
    account.step("Confirmation", story::confirmation(stage)).await?;
    account.step("Crash and restart", story::crash(stage)).await?;
    account.step("The record", story::record(stage)).await
}

/// Serves one of the demo's servers on standard input and output. The demo starts them, as processes of this program.
///
/// # Errors
/// Fails if there is no server of this name, or if its connection broke.
pub async fn serve(name: &str) -> anyhow::Result<()> {
    servers::serve(name).await.with_context(|| format!("the demo's server `{name}`"))
}
