//! References to data that other servers fetch directly, so that it does not pass through the client.

mod answer;
mod store;

pub use self::answer::{ReferenceAnswer, ReferenceBody, ReferenceRequest};
pub use self::store::{ReferenceAccess, ReferenceData, ReferenceStore};

#[cfg(test)]
mod tests;
