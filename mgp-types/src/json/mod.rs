//! JSON as bytes: one scan over a frame finds what a gateway needs, the rest stays untouched.

mod changes;
mod object;
mod object_writer;
mod raw;
mod scan;
mod text;

pub use self::object::Object;
pub(crate) use self::object::{range, scan_members};
pub use self::object_writer::ObjectWriter;
pub use self::raw::{JsonError, JsonFault, RawJson};
pub(crate) use self::scan::Scanner;
pub use self::text::write_string;
pub(crate) use self::text::{FrameText, read_string, unescape};
