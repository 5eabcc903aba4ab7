//! Write MCP and MGP servers: typed tools, resources and prompts, over any transport.

mod accept;
mod base64;
mod catalog;
mod change;
mod completion;
mod cx;
mod error;
mod handle;
mod method;
mod preset;
mod prompt;
mod random;
mod resource;
mod router;
mod schema;
mod server;
mod shared;
mod strings;
mod task;
mod tool;

pub use mgp_transport::era::VersionMismatch;
#[cfg(feature = "http")]
pub use mgp_transport::http::{HttpConfig, Listen};
pub use mgp_transport::mrtr::SealingKey;
pub use mgp_types::{self as types, mcp};
pub use schemars;

pub use self::accept::{Core, ServerAccept};
pub use self::base64::encode as base64;
pub use self::completion::{Complete, CompletionHandler, IntoCompletion};
pub use self::cx::{Ask, AskAll, Cx, Elicited};
pub use self::error::{Error, Fault, Faults};
pub use self::handle::ServerHandle;
pub use self::method::{MethodHandler, NotificationHandler};
pub use self::prompt::{IntoPrompt, Prompt, PromptHandler};
pub use self::resource::{Blob, IntoContents, Resource, ResourceHandler, ResourceTemplate, Uri};
pub use self::router::{Router, RouterFuture};
pub use self::server::Server;
pub use self::task::TaskLimits;
pub use self::tool::{IntoToolResult, Json, TaskMode, Tool, ToolError, ToolHandler, ToolResult};
