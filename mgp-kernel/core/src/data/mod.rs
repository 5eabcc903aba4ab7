//! Data that goes from server to server by reference. The kernel takes over the references in the results of one server, fetches
//! and checks their data when an agent names one to another server, and serves it to that server alone.
//!
//! | | |
//! |---|---|
//! | [`DataReferencesGate`] | stands in front of each server: takes references over, and hands them on |
//! | [`DataBroker`] | fetches data, holds it for its reader, and answers the readers' requests |

mod broker;
mod delivery;
mod gate;
mod grants;

pub(crate) use self::broker::DataBroker;
pub(crate) use self::delivery::empty;
pub(crate) use self::gate::DataReferencesGate;

/// Returns the settings of the extension `data_references`: the ways in which data is handed over.
pub(crate) fn transports() -> mgp_types::Object {
    [("transports", mgp_types::RawJson::from_written(br#"["broker"]"#.to_vec()))].into()
}
