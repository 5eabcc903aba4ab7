//! Standard input and output on systems other than Unix.

use std::io;

use super::{Sink, Source};

impl Source {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self::Other(tokio::io::stdin()))
    }
}

impl Sink {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self::Other(tokio::io::stdout()))
    }
}
