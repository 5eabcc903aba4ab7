//! Optional extensions of MCP beside those of MGP: envelopes, manifests, hints, scopes, and errors that say what to do.
//!
//! A side declares an extension in its capabilities under its [id](ExtensionId); where one side does not, the
//! extension is silent. Fields of a request travel in the `_meta` of its params, fields of a result in its `_meta`,
//! and what a tool declares stands on the top level of its definition.

mod compensation;
mod confirmation;
mod data_reference;
mod declared_bounds;
mod envelope;
mod id;
mod idempotency;
mod intent;
mod manifest;
mod projection;
mod provenance;
mod recommendation;
mod reference;
mod registry_error;
pub mod scope;
mod session_state;
mod structured_error;
mod subscription;
mod tool_declaration;
pub mod transaction;

use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use self::registry_error::recovery_of;
use crate::RawJson;

pub use self::compensation::*;
pub use self::confirmation::*;
pub use self::data_reference::*;
pub use self::envelope::*;
pub use self::id::*;
pub use self::idempotency::*;
pub use self::intent::*;
pub use self::manifest::*;
pub use self::projection::*;
pub use self::provenance::*;
pub use self::recommendation::*;
pub use self::reference::*;
pub use self::registry_error::registry_error_data;
pub use self::session_state::*;
pub use self::structured_error::*;
pub use self::subscription::*;
pub use self::tool_declaration::*;

/// Returns a value of texts, numbers and JSON as JSON, which it always can be written as.
fn written<T: Serialize + ?Sized>(value: &T) -> RawJson {
    RawJson::from_value(value).unwrap_or(RawJson::null())
}

/// Returns a number of seconds, for members that have it where they are absent.
const fn seconds<const USUAL: u32>() -> u32 {
    USUAL
}

/// Reads a number of seconds, from 1 to `MAX`; another number stands for the nearest one.
fn nearest_seconds<'de, const MAX: u32, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let seconds = i64::deserialize(deserializer)?.clamp(1, i64::from(MAX));
    Ok(u32::try_from(seconds).unwrap_or(MAX))
}
