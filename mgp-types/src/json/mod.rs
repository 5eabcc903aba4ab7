//! JSON as bytes: one scan over a frame finds what a gateway needs, the rest stays untouched.

mod error;
mod raw;
mod scan;

pub use self::error::{JsonError, JsonFault};
pub use self::raw::RawJson;
pub use self::scan::Limits;
