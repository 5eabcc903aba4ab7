//! Data of other servers, fetched by reference and only from where the operator expects it.
//!
//! | | |
//! |---|---|
//! | [`ReferenceImporter`] | says what may be fetched, and proves what came |
//! | [`ReferenceSource`] | the port that sends the requests |

mod importer;
mod source;

pub use self::importer::{InvalidOrigin, ReferenceImporter};
pub use self::source::{FetchedData, ReferenceSource};

#[cfg(test)]
mod tests;
