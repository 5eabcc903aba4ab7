//! MGP's kernel: one server between any MCP client and any number of MCP and MGP servers.
//!
//! The kernel finds the right tool, asks before danger, records everything and keeps servers alive. [`Kernel`] is the
//! whole of it; the program `mgp` (`mgp-kernel`) is its command line. The order of the layers stands in `kernel/stack.rs`.
//!
//! ```
//! use mgp_client_sdk::Client;
//! use mgp_discovery::Config;
//! use mgp_kernel_core::Kernel;
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

pub mod admin;
mod approvals;
mod call;
mod catalog;
mod changes;
mod data;
mod error;
mod front;
pub mod install;
pub mod kernel;
pub mod lifecycle;
pub mod listen;
mod methods;
pub mod peer;
pub mod platform;
pub mod policies;
pub mod proof;
pub mod record;
mod registration;
pub mod replicas;
mod router;
pub mod sections;
pub mod servers;
pub mod settings;
pub mod state;
mod telemetry;
pub mod terminal;
#[cfg(all(test, feature = "bundles"))]
mod test_disk;
#[cfg(test)]
mod test_kernel;
mod visibility;

pub use self::error::StartError;
pub use self::kernel::Kernel;
pub use self::servers::confine::{check_confinement, set_confinement_launcher};
pub use self::servers::fleet::AppliedConfig;
pub use self::servers::upstream::{MgpView, ProtocolView, ServerView};
pub use self::telemetry::Telemetry;
