//! Resources: data that a server lets clients read.

mod contents;
mod describe;
mod entry;
mod handler;
mod template;

pub use self::contents::{Blob, IntoContents};
pub use self::describe::{Resource, ResourceTemplate};
pub(crate) use self::entry::{ResourceEntry, TemplateEntry, read};
pub use self::handler::{ResourceHandler, Uri};
