use super::log::ServerLog;
use super::offered::Offered;
use crate::meter::Meter;

/// What all connections to one server have in common. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct OfServer {
    pub(super) offered: Offered,
    pub(super) log: ServerLog,
    pub(super) meter: Meter,
}
