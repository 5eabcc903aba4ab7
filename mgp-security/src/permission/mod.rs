//! Permissions (MGP §3): what a server may do on the host, asked for, decided, held and taken back.

mod scope;

pub use self::scope::{ScopeCheck, ScopeError};
