//! The bodies of MCP: every method, notification, capability and content type of every revision.
//!
//! There is one type for each object, with the members of all revisions; members that some revision lacks are an
//! `Option`, and [`ForRevision`] makes a body legal for the revision that a peer speaks. Members and values that no
//! revision known here defines survive a round trip: members in `extra`, values in `Unknown`.
//!
//! ```
//! use mgp_types::mcp::{CallToolResult, ForRevision};
//! use mgp_types::{RawJson, Revision};
//!
//! let result: CallToolResult = RawJson::parse(r#"{"content":[{"type":"text","text":"7"}],"x":1}"#)?.to()?;
//! assert_eq!(result.content[0].as_text(), Some("7"));
//!
//! let result = result.for_revision(Revision::V2026_07_28);
//! let json = r#"{"resultType":"complete","content":[{"type":"text","text":"7"}],"x":1}"#;
//! assert_eq!(RawJson::from_value(&result)?.as_bytes(), json.as_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The folder `testdata/wire` holds each body as the wire has it, with a folder for each revision; the tests read and
//! write every file there without changing a byte. A call of 2025-11-25, its result, and the same of 2026-07-28:
//!
//! ```json
#![doc = include_str!("../../testdata/wire/2025-11-25/tools-call.request.json")]
#![doc = include_str!("../../testdata/wire/2025-11-25/tools-call.result.json")]
#![doc = include_str!("../../testdata/wire/2026-07-28/tools-call.request.json")]
#![doc = include_str!("../../testdata/wire/2026-07-28/tools-call.result.json")]
//! ```
//!
//! Bodies are read from bytes or text in memory; some cannot be read from a `std::io::Read`.

mod body;
mod capability;
mod completion;
mod content;
mod elicitation;
mod elicitation_schema;
mod elicited;
mod lifecycle;
mod map;
pub mod meta;
mod meta_value;
pub mod method;
mod mirrored;
mod notification;
mod number;
mod prompt;
mod resource;
mod result;
mod roots;
mod sampling;
pub(crate) mod shape;
pub mod task;
pub mod task_extension;
mod tool;
mod union;

pub use self::body::ForRevision;
pub use self::capability::*;
pub use self::completion::*;
pub use self::content::*;
pub use self::elicitation::*;
pub use self::elicitation_schema::*;
pub use self::elicited::Elicited;
pub use self::lifecycle::*;
pub use self::map::{Extra, Map};
#[doc(no_inline)]
pub use self::meta::Meta;
pub use self::meta_value::MetaValue;
pub use self::method::{NotificationBody, RequestBody, notification_name};
pub use self::mirrored::MirroredArgument;
pub use self::notification::*;
pub use self::number::Number;
pub use self::prompt::*;
pub use self::resource::*;
pub use self::result::*;
pub use self::roots::*;
pub use self::sampling::*;
pub use self::tool::*;
