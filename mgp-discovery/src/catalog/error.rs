use mgp_types::mgp::ServerId;

/// Why a server was not taken into the catalog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The names of its tools would be those of the kernel.
    #[error(
        "the server id {0:?} is reserved: choose one that is not `mgp` and does not begin with `mgp.`, `mgp/` or `mgp_`"
    )]
    Reserved(ServerId),
    /// It has no id.
    #[error("a server id must not be empty")]
    Unnamed,
}
