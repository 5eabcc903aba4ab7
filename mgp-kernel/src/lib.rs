//! MGP's kernel: one server between any MCP client and any number of MCP and MGP servers.
//!
//! It finds the right tool, asks before danger, records everything and keeps servers alive. [`Kernel`] is the whole of
//! it; the program `mgp` is its command line. The order of the layers stands in `stack.rs`.
//!
//! ```no_run
//! use mgp_client_sdk::Client;
//! use mgp_discovery::Config;
//! use mgp_kernel::Kernel;
//! use mgp_types::Principal;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let (config, _) = Config::parse("mgp.toml".as_ref(), "servers = [{ id = \"files\", command = \"file-server\" }]")?;
//! let kernel = Kernel::start(config, "state".into()).await?;
//! let agent = kernel.accept(Principal::new("my-agent"));
//! let client = Client::builder("my-app", "1.0.0").in_process(agent).await?;
//! for tool in client.list_tools().await? {
//!     println!("{}", tool.name);
//! }
//! # Ok(())
//! # }
//! ```

mod asking;
mod changes;
#[cfg(unix)]
pub mod cli;
#[cfg(unix)]
pub mod demo;
mod erased;
mod error;
mod fleet;
mod http;
mod kernel;
mod meter;
mod methods;
mod operator;
mod parts;
mod registration;
mod reload;
mod resolve;
mod router;
mod rules;
mod serve;
mod settings;
mod speaker;
mod stack;
mod telemetry;
mod upstream;

pub use self::error::StartError;
pub use self::fleet::Applied;
pub use self::kernel::Kernel;
pub use self::telemetry::Telemetry;
pub use self::upstream::{MgpView, ServerView};
