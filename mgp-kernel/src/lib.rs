//! MGP's kernel: one server between any MCP client and any number of MCP and MGP servers.
//!
//! The kernel finds the right tool, asks before danger, records everything and keeps servers alive. [`Kernel`] is the
//! whole of it; the program `mgp` is its command line. The order of the layers stands in `stack.rs`.
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

mod admin;
mod approvals;
mod call;
mod catalog;
mod changes;
pub mod cli;
mod config_import;
mod counts;
mod data;
mod demo;
mod error;
mod front;
mod install;
mod json_receiver;
mod kernel;
mod kernel_note;
mod lifecycle;
mod listen;
mod log_positions;
mod methods;
mod notifications;
mod paths;
mod pattern_servers;
mod peer;
#[cfg_attr(windows, path = "platform_windows.rs")]
mod platform;
mod policies;
mod program_files;
mod proof;
mod record;
mod record_push;
mod registration;
#[cfg(feature = "self-update")]
mod releases;
mod reload;
mod replicas;
mod restore;
mod router;
mod rules;
mod running;
mod sections;
mod server_inventory;
mod servers;
mod settings;
mod stack;
mod state_copy;
mod state_folder;
mod telemetry;
mod terminal;
#[cfg(all(test, any(feature = "bundles", feature = "self-update")))]
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
