//! References to data that other servers fetch directly, so that it does not pass through the client.

mod answer;
mod data;
mod signature;
mod store;

pub use self::answer::{ReferenceAnswer, ReferenceBody, ReferenceRequest};
pub use self::data::ReferenceData;
pub use self::store::{ReferenceAccess, ReferenceStore};

#[cfg(test)]
mod tests;
