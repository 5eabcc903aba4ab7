//! The setup of the demo: a folder, a kernel, and the two clients that talk to it.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use mgp_client_sdk::{Client, PlainStack};
use mgp_discovery::Config;
use mgp_kernel_core::admin::list::OperationEntry;
use mgp_kernel_core::admin::operation::Operation;
use mgp_kernel_core::admin::questions::{ListPending, OpenQuestion};
use mgp_kernel_core::listen::socket;
use mgp_kernel_core::{Kernel, ServerView};
use mgp_transport::Wire;
use mgp_types::Principal;
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{DiscoverTools, ExtensionSet, Offer, ServerState, ShutdownReason};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{StepNarration, servers};

/// The kernel, the clients and the folder of the demo.
pub(super) struct DemoSetup {
    pub(super) kernel: Kernel,
    /// A plain MCP client, which has never heard of MGP.
    pub(super) agent: Client<PlainStack<Wire>>,
    operator: Client<PlainStack<Wire>>,
    /// The folder of the demo. Servers may touch `files` in it. It is removed with this value, and the kernel's state
    /// with it.
    folder: TempDir,
}

/// Starts everything, and waits for the servers.
pub(super) async fn open(narration: &mut StepNarration) -> anyhow::Result<DemoSetup> {
    let folder =
        tempfile::Builder::new().prefix("mgp-demo-").tempdir().context("there is no temporary folder")?;
    let files = folder.path().join("files");
    std::fs::create_dir(&files)?;
    std::fs::write(files.join("plan.txt"), "Monday: write the report\nFriday: release\n")?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let config = config(&program, &files)?;
    let kernel = Kernel::start(config, folder.path().join("state")).await?;
    let agent = Client::builder("demo-agent", env!("CARGO_PKG_VERSION")).mgp(None).caching(false);
    let agent = agent.in_process(kernel.accept(Principal::new(AGENT))).await?;
    let operator = Client::builder("demo-operator", env!("CARGO_PKG_VERSION"));
    let operator = operator.mgp(Offer::new(ExtensionSet::standard())).caching(false);
    let operator = operator.in_process(kernel.accept(socket::oneself())).await?;
    let stage = DemoSetup { kernel, agent, operator, folder };
    let views = until("all servers to be connected", async || {
        let views = stage.kernel.servers();
        let here = views.iter().filter(|view| view.state == ServerState::Connected && view.tools > 0);
        (here.count() == servers::ALL.len()).then_some(views)
    })
    .await?;
    let tools: usize = views.iter().map(|view| view.tools).sum();
    // Tools that were listed are found by a search a moment later.
    until("all tools to be indexed", async || {
        let found = stage.operator.discover_tools(&DiscoverTools::new("any")).await.ok()?;
        (found.total_available == tools as u64).then_some(())
    })
    .await?;
    for view in &views {
        let pid = view.pid.with_context(|| format!("`{}` is no process of its own", view.id))?;
        let protocol = if view.mgp.is_some() { "MGP" } else { "MCP" };
        narration.kernel(format!("{:9} {:2} tools, {protocol}, process {pid}", view.id.as_str(), view.tools));
    }
    narration.fact("servers", views.len());
    narration.fact("tools", tools);
    Ok(stage)
}

impl DemoSetup {
    /// Calls a tool as the agent, and returns the text of its answer.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> anyhow::Result<ToolAnswer> {
        let result: CallToolResult = self.agent.call_tool(tool, arguments).await?;
        let failed = result.is_error();
        let text: Vec<_> = result.content.iter().filter_map(|block| block.as_text()).collect();
        Ok(ToolAnswer { text: text.join("\n"), failed })
    }

    /// Sends a request to the kernel as the operator does.
    pub(super) async fn operate<O: Operation + Sync>(&self, operation: &O) -> anyhow::Result<O::Reply> {
        let name = OperationEntry::name_of::<O>();
        let result = self.operator.request(name, operation).await.context(name)?;
        result.to().with_context(|| format!("the answer to {name}"))
    }

    /// Waits for a question to the operator about a server.
    pub(super) async fn question(&self, server: &str) -> anyhow::Result<OpenQuestion> {
        until("a question to the operator", async || {
            let pending = self.operate(&ListPending {}).await.ok()?;
            pending.questions.into_iter().find(|question| question.server_id.as_str() == server)
        })
        .await
    }

    /// Returns the path of a file that servers may touch, or, with `..` in front, of one that they may not.
    pub(super) fn file(&self, name: &str) -> String {
        self.folder.path().join("files").join(name).to_string_lossy().into_owned()
    }

    pub(super) fn server(&self, id: &str) -> anyhow::Result<ServerView> {
        let view = self.kernel.servers().into_iter().find(|view| view.id.as_str() == id);
        view.with_context(|| format!("there is no server `{id}`"))
    }

    /// Ends the clients, the kernel and its servers. Processes that do not end by themselves are killed.
    pub(super) async fn close(self) {
        // The demo has seen what it wanted to see; how its connections end changes nothing.
        let _ = self.agent.close().await;
        let _ = self.operator.close().await;
        self.kernel.shutdown(ShutdownReason::KernelShutdown, GRACE).await;
    }
}

/// The answer of a tool, or the answer in its place.
pub(super) struct ToolAnswer {
    pub(super) text: String,
    failed: bool,
}

impl ToolAnswer {
    /// Returns the text of a call that went well.
    pub(super) fn done(self) -> anyhow::Result<String> {
        ensure!(!self.failed, "the call failed: {}", self.text);
        Ok(self.text)
    }

    /// Returns the text of a call that was refused.
    pub(super) fn refused(self) -> anyhow::Result<String> {
        ensure!(self.failed, "the call went through: {}", self.text);
        Ok(self.text)
    }
}

/// Polls `look` until it returns something, but not for ever.
pub(super) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> anyhow::Result<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return Ok(found);
        }
        if Instant::now() >= end {
            bail!("waited {} s in vain for {what}", PATIENCE.as_secs());
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The agent's name in the record.
pub(super) const AGENT: &str = "agent.demo";
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);
const GRACE: Duration = Duration::from_secs(2);

/// Returns the configuration with the servers, started by `program`, which may touch `folder`.
fn config(program: &Path, folder: &Path) -> anyhow::Result<Config> {
    // Texts of JSON are texts of TOML, too.
    let text = |path: &Path| serde_json::to_string(path).context("a path of the demo is no text");
    let toml =
        include_str!("demo.toml").replace("{program}", &text(program)?).replace("{folder}", &text(folder)?);
    Ok(Config::parse(Path::new("demo.toml"), &toml).context("the demo's configuration")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_this_program() {
        let config = config(Path::new("/bin/mgp"), Path::new("/tmp/demo")).unwrap();
        assert_eq!(config.servers.len(), servers::ALL.len());
        assert!(config.servers.iter().all(|server| server.args == ["demo-server", &*server.id]));
        assert_eq!(config.permissions.grants.len(), 2);
    }
}
