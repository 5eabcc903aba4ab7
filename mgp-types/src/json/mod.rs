//! JSON as bytes: one scan over a frame finds what a gateway needs, the rest stays untouched.

mod error;
mod object;
mod raw;
mod scan;
mod text;

pub use self::error::{JsonError, JsonFault};
pub use self::object::Object;
pub(crate) use self::object::scan_members;
pub use self::raw::RawJson;
pub use self::scan::Limits;
pub(crate) use self::scan::Scanner;
pub(crate) use self::text::unescape;
pub use self::text::write_string;
