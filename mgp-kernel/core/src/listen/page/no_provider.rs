//! The identity provider of a program that was built without them: there is none.
#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "a provider that is there is asked over the network"
)]

use std::io;
use std::sync::Arc;

use mgp_discovery::config::Secret;
use mgp_types::Error;

use crate::lifecycle::page_door::PageHolder;
use crate::settings::running::RunningConfig;

/// The identity provider at which people sign in, which does not exist in this build.
pub(super) enum PageProvider {}

impl PageProvider {
    pub(super) fn of(_: &Arc<RunningConfig>) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub(super) fn name(&self) -> &str {
        match *self {}
    }

    pub(super) async fn begin(&self, _: &str) -> Result<(String, String), Error> {
        match *self {}
    }

    pub(super) async fn token(&self, _: &str, _: &str, _: &str) -> Result<Secret, Error> {
        match *self {}
    }

    pub(super) async fn holder(&self, _: &Secret) -> Result<PageHolder, Error> {
        match *self {}
    }
}
