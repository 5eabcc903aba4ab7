//! The program `mgp`: the command line of MGP's [kernel](Kernel), which other programs embed.
//!
//! ```
//! use mgp_client_sdk::Client;
//! use mgp_discovery::Config;
//! use mgp_kernel::Kernel;
//! use mgp_types::Principal;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let state = tempfile::tempdir()?;
//! # let folder = state.path().join("state");
//! let kernel = Kernel::start(Config::default(), folder).await?;
//! let client = Client::builder("example", "1.0.0").in_process(kernel.accept(Principal::new("agent.one"))).await?;
//! let result = client.call_tool("mgp.health.ping", serde_json::json!({})).await?;
//! assert!(result.content[0].as_text().is_some_and(|text| text.contains(r#""status":"healthy""#)));
//! # Ok(())
//! # }
//! ```

pub mod cli;
mod demo;
#[cfg(feature = "self-update")]
mod releases;
mod restore;
#[cfg(all(test, feature = "self-update"))]
#[path = "../core/src/test_disk.rs"]
mod test_disk;

pub use mgp_kernel_core::{
    AppliedConfig, Kernel, MgpView, ProtocolView, ServerView, StartError, Telemetry, check_confinement,
    set_confinement_launcher,
};
