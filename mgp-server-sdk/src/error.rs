//! The errors of making and running a server.

use mgp_types::mgp::ChannelError;
use thiserror::Error;

/// The reasons why a server cannot be made or run.
///
/// `Debug` shows the same text as `Display`: a `main` that returns the error prints it.
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// A registered entry cannot be served; every fault is named.
    #[error("the server cannot be built: {0}")]
    Invalid(Faults),
    /// The transport could not be opened.
    #[error("the transport could not be opened: {0}")]
    Io(#[from] std::io::Error),
    /// The server was to be changed before it was built.
    #[error("the server does not run yet")]
    NotRunning,
    /// Other changes of the server take too long. A tool that returns this answers its call with -32603, to be tried
    /// again.
    #[error("the server is being changed: try again")]
    Busy,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Connection(#[from] mgp_types::Error),
}

mgp_types::write_as!(Debug of Error, self => "{}", self.to_string());

/// The fault of one entry that cannot be served as it was registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{subject}: {reason}")]
#[non_exhaustive]
pub struct Fault {
    /// The entry at fault, like `` tool `add` ``.
    pub subject: String,
    /// The fault, in words.
    pub reason: String,
}

/// The faults found while a server was put together, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Fault {
    pub(crate) fn new(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { subject: subject.into(), reason: reason.into() }
    }
}

impl Faults {
    /// Returns the faults in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }

    /// Returns an error if there are faults.
    pub(crate) fn check(faults: Vec<Fault>) -> Result<(), Error> {
        if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(Self(faults))) }
    }
}

mgp_types::write_as!(
    Display of Faults, self => "{}", self.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
);

mgp_types::convert!(Fault => Error, fault => Self::Invalid(Faults(vec![fault])));

mgp_types::convert!(
    ChannelError => Error, error => Fault::new("the channels of events", error.to_string()).into()
);
