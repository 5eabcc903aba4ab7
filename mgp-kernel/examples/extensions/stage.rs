//! Where the examples play: servers of the server SDK, and a kernel in front of them.

use std::error::Error;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_discovery::Config;
use mgp_kernel::Kernel;
use mgp_server_sdk::Server;
use mgp_types::ext::ExtensionId;
use mgp_types::{Object, Principal, RawJson};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// The lines that an example prints, or why it could not go on.
pub(crate) type Shown = Result<Vec<String>, Box<dyn Error + Send + Sync>>;

/// A kernel in front of one server of the example's.
pub(crate) struct Stage {
    kernel: Kernel,
    _state: TempDir,
}

impl Stage {
    /// Starts a server and a kernel in front of it, which is configured like this in other respects.
    pub(crate) async fn new(server: Server, mut config: Value) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut entry = json!({"id": "shop", "url": format!("http://{}/mcp", listener.local_addr()?)});
        tokio::spawn(async move { server.serve_http(listener).await });
        if let Some(tools) = config.as_object_mut().and_then(|config| config.remove("tool_rules")) {
            entry["tools"] = tools;
        }
        config["servers"] = json!([entry]);
        config["tools"] = json!({"level": "L0"});
        config["permissions"] = json!({"policy": "auto_approve"});
        let config: Config = serde_json::from_value(config)?;
        let state = tempfile::tempdir()?;
        let kernel = Kernel::start(config, state.path().join("state")).await?;
        let end = tokio::time::Instant::now() + Duration::from_mins(1);
        while kernel.servers().iter().all(|server| server.tools == 0) {
            if tokio::time::Instant::now() > end {
                return Err("the server did not list its tools".into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(Self { kernel, _state: state })
    }

    /// Connects a client of the agent `painter` that declares an extension.
    pub(crate) async fn client(&self, extension: ExtensionId) -> Result<Client, mgp_types::Error> {
        let builder = Client::builder("example", "1.0.0").extension(extension.id(), &Object::new());
        Ok(builder.in_process(self.kernel.accept(Principal::new("painter"))).await?.boxed())
    }
}

/// Returns the members of an answer as JSON on one line.
pub(crate) fn line(json: &RawJson) -> String {
    String::from_utf8_lossy(json.as_bytes()).into_owned()
}
