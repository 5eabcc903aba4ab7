//! The sections of MGP from end to end.
//!
//! | file | holds |
//! |---|---|
//! | `server`, `tools` | the server of these tests |
//! | `raw` | a client that is written line by line, for what is on the wire |

mod callbacks;
mod cancelling;
mod events;
mod lifecycle;
mod progress;
mod raw;
pub(crate) mod server;
mod slow;
mod streaming;
mod tools;
mod wire;

use mgp_types::mgp::{ExtensionSet, Offer};

use crate::host::{self, Host, Kind};
use crate::leg::{Builder, Connected, Leg};
use crate::runner::Test;

/// Returns the tests of all sections.
pub(crate) fn tests() -> Vec<Test> {
    [
        callbacks::TESTS,
        cancelling::TESTS,
        events::TESTS,
        lifecycle::TESTS,
        progress::TESTS,
        slow::TESTS,
        streaming::TESTS,
        wire::TESTS,
    ]
    .concat()
}

/// Returns a client with all sections of a server with all sections.
async fn connect(leg: Leg) -> (Host, Connected) {
    let mut host = leg.host(Kind::Sections).await;
    let client = host.client(builder()).await;
    (host, client)
}

/// Returns a client that speaks MGP, without handlers.
fn builder() -> Builder {
    // All sections but callbacks, which come with their handler.
    host::builder().mgp(Offer::new(ExtensionSet::from_names(["streaming", "events", "lifecycle"])))
}

/// Returns a client that does not speak MGP.
fn plain_builder() -> Builder {
    host::builder().mgp(None)
}
