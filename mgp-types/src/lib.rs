//! Data types, errors and the one service trait of MGP, the Model General Protocol.

pub mod json;

pub use json::{JsonError, JsonFault, Object, RawJson};
