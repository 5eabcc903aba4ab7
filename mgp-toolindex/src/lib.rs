//! Search for the right tool among many, with few definitions in the model's context (MGP §16).
//!
//! An [`Index`] holds the tools of all servers and finds those that fit a request: by words, by meaning, or by both,
//! which is better than either. Everything runs on this machine and nothing is downloaded.
//!
//! ```
//! use mgp_toolindex::embed::StaticEmbedder;
//! use mgp_toolindex::{Index, ToolListing, Search, ServerTools};
//! use mgp_types::RawJson;
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tool = |definition: &'static str| -> Result<ToolListing, Box<dyn std::error::Error>> {
//!     Ok(ToolListing::read(&RawJson::parse(definition)?)?)
//! };
//! let read = tool(r#"{"name":"read_text","description":"Returns the contents of a text file"}"#)?;
//! let trash = tool(r#"{"name":"trash_path","description":"Removes a file or folder"}"#)?;
//!
//! let index = Index::new(Arc::new(StaticEmbedder::new()));
//! index.put_server(ServerTools::new("files", vec![read, trash])).await;
//! index.settled().await;
//! let found = index.search(&Search::new("what does this document say?")).await;
//! assert_eq!(found.hits[0].tool.name.as_str(), "read_text");
//! # Ok(())
//! # }
//! ```
//!
//! | module | section | what is in it |
//! |---|---|---|
//! | [`Index`] | §16.4 | the tools, changed by one writer, read without waiting; searches |
//! | [`ToolListing`], [`Tool`] | §16.4 | a tool as its server lists it, and as the index keeps it |
//! | [`embed`] | §16.4 | embedders: a built-in table of words, sentence encoders (`fastembed`) |
//! | [`category`] | §16.4 | the categories of tools |
//! | [`discovery`] | §16.5, §16.6 | searches and requests for tools, as methods and as tools: a layer |
//! | [`session`] | §16.7 | the tools of a session: pinned, used, found |
//! | [`budget`] | §16.8 | tokens of definitions, and shorter forms |
//! | [`level`] | §16.3 | the number of definitions in the context from the start |
//! | [`rows`] | | tools and questions in files, for searches without a server |
//!
//! | feature | what it adds |
//! |---|---|
//! | `store` (default) | vectors that take long to make survive a restart, in SQLite |
//! | `tiktoken` | tokens are counted as OpenAI's models count them, instead of estimated |
//! | `fastembed` | sentence encoders by onnxruntime, which is loaded on demand |

pub mod budget;
pub mod category;
pub mod discovery;
pub mod embed;
mod index;
mod keyword;
pub mod level;
mod rank;
pub mod rows;
mod server_tools;
pub mod session;
mod slot;
mod text;
mod tool;
mod vector;

pub use self::index::{EmbeddingProgress, Index, Search, SearchHit, SearchResult, Snapshot, VisibleTools};
pub use self::rank::FusionWeights;
pub use self::server_tools::{Server, ServerTools, ToolListing, ToolListingError};
pub use self::tool::Tool;
