//! The right tool out of many, with few definitions in the model's context (MGP §16).

pub mod budget;
pub mod category;
pub mod discovery;
pub mod embed;
pub mod eval;
pub mod index;
mod keyword;
pub mod learn;
pub mod level;
mod rank;
pub mod session;
mod slot;
mod text;
pub mod tool;
mod vector;

pub use self::index::{Found, Hit, Index, IndexBuilder, Search, SentVectors, Sight, Snapshot};
pub use self::tool::{Listing, ServerTools, Tool};
