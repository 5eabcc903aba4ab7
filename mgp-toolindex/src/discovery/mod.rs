//! Discovery of tools and requests for tools, as methods and as tools (§16.5, §16.6).
//!
//! [`ToolDiscoveryGate`] stands in front of a server with many tools, or of a gateway's way to many servers. A model
//! then gets three tools instead of all of them, and finds and calls the others by these.
//!
//! ```
//! # use mgp_toolindex::embed::{EmbedError, Embedder};
//! # #[derive(Debug)]
//! # struct NoVectors;
//! # impl Embedder for NoVectors {
//! #     fn id(&self) -> &str { "none" }
//! #     fn dimension(&self) -> usize { 1 }
//! #     fn embed(
//! #         &self, _: Vec<String>,
//! #     ) -> mgp_types::BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
//! #         Box::pin(async { Err(EmbedError::new("none")) })
//! #     }
//! # }
//! # #[derive(Clone)]
//! # struct Gateway;
//! # impl tower_service::Service<mgp_types::Request> for Gateway {
//! #     type Response = mgp_types::Response;
//! #     type Error = mgp_types::Error;
//! #     type Future = std::future::Ready<Result<mgp_types::Response, mgp_types::Error>>;
//! #     fn poll_ready(
//! #         &mut self, _: &mut std::task::Context<'_>,
//! #     ) -> std::task::Poll<Result<(), mgp_types::Error>> { std::task::Poll::Ready(Ok(())) }
//! #     fn call(&mut self, _: mgp_types::Request) -> Self::Future {
//! #         std::future::ready(Ok(mgp_types::Response::empty()))
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use mgp_toolindex::budget::default_counter;
//! use mgp_toolindex::discovery::{ToolDiscoveryGate, ToolDiscoverySettings};
//! use mgp_toolindex::session::{SessionSettings, ToolSessions};
//! use mgp_toolindex::{Index, ToolListing, ServerTools};
//! use mgp_types::{Gate, Method, Object, RawJson, Request};
//! use tower_service::Service;
//!
//! let index = Index::new(Arc::new(NoVectors));
//! let tool = RawJson::parse(r#"{"name":"read_file","description":"Read a file","inputSchema":{"type":"object"}}"#)?;
//! index.put_server(ServerTools::new("files", vec![ToolListing::read(&tool)?])).await;
//! index.settled().await;
//!
//! let (settings, counter) = (ToolDiscoverySettings::new(), default_counter());
//! let meta_tools = settings.definitions(&*counter);
//! let sessions = ToolSessions::new(SessionSettings::new(Default::default(), counter).meta_tools(&meta_tools))?;
//! let gate = ToolDiscoveryGate::new(index, Arc::new(sessions), settings);
//!
//! let params = Object::parse(r#"{"name":"mgp.tools.discover","arguments":{"query":"read a file"}}"#)?;
//! let answer = gate.layer(Gateway).call(Request::call(Method::TOOLS_CALL, params)).await?;
//! let result: mgp_types::mcp::CallToolResult = answer.body()?;
//! assert!(result.content[0].as_text().is_some_and(|text| text.contains("read_file")));
//! # Ok(())
//! # }
//! ```
//!
//! A server made with `mgp_server_sdk` lists its own tools, and takes the gate as a layer. The server has to offer the
//! extension, so that clients that speak MGP may use the methods. `Server::handle` reports tools that are added later;
//! the code that adds them puts them into the index.
//!
//! ```ignore
//! let server = Server::new("many", "1.0.0").tool(first, run_first).tool(second, run_second);
//! let tools = server.tools().iter().map(Listing::read).collect::<Result<_, _>>()?;
//! index.put_server(ServerTools::new("many", tools)).await;
//! let offer = Offer::new(ExtensionSet::from_names(["tool_discovery"]));
//! server.mgp(offer).layer(ToolDiscoveryGate::new(index, sessions, settings).into_layer()).serve_stdio().await?;
//! ```
//!
//! | | |
//! |---|---|
//! | [`ToolDiscoveryGate`], [`ToolDiscoverySettings`] | answers `mgp/tools/*` and `tools/list` |
//! | [`UnlistedCallGate`] | makes a call by `mgp.tools.call` one of the named tool |
//! | [`ToolVisibility`] | the tools that a caller may know of, and the permissions it lacks |
//! | [`ToolCreator`] | makes tools on demand |

mod answer;
mod callers;
mod gate;
mod list;
mod meta_tool;
mod notifier;
mod params;
mod request;
mod settings;
mod shared;
mod sizes;

pub use self::gate::ToolDiscoveryGate;
pub use self::meta_tool::UnlistedCallGate;
pub use self::settings::{ToolCreator, ToolDiscoverySettings};
pub use self::shared::ToolVisibility;
pub use self::sizes::Sizes;

#[cfg(test)]
mod tests;
