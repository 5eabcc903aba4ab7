//! The bundles of a program that was built without them: there are none.

use std::io;
use std::path::Path;

use mgp_security::network::Fetcher;

use super::registry::ServerRegistry;

/// A bundle, which does not exist in this build.
pub(super) enum Bundle {}

impl Bundle {
    #[expect(clippy::unused_async, reason = "a build with bundles brings them")]
    pub(super) async fn bring(
        url: &str,
        _: &str,
        _: &str,
        _: &ServerRegistry,
        _: &Fetcher,
    ) -> Result<Self, String> {
        Err(format!("{url} is a bundle, and this build unpacks none: build `mgp` with `--features bundles`"))
    }

    pub(super) fn folder(&self) -> &Path {
        match *self {}
    }

    pub(super) fn manifest(&self) -> Result<String, String> {
        match *self {}
    }

    pub(super) fn unpack(&self) -> io::Result<()> {
        match *self {}
    }
}
