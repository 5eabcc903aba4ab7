//! The way to the page.

use std::io::{self, Write as _};
use std::net::SocketAddr;

use mgp_types::Error;
use serde::{Deserialize, Serialize};

use super::operation::{KernelNeed, Operation, OperatorCall};
use crate::lifecycle::page_door::PageOperator;
use crate::terminal::{TextForm, TextWriter};

/// Has the page served, and makes a code with which one browser signs in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenPage {}

/// The address of the page, and a code for one login.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenedPage {
    pub(crate) address: SocketAddr,
    pub(crate) code: String,
}

impl Operation for OpenPage {
    const NEED: KernelNeed = KernelNeed::ANY_SERVERS;
    type Reply = OpenedPage;

    async fn run(self, call: &OperatorCall) -> Result<OpenedPage, Error> {
        let connection = call.connection.as_ref().ok_or_else(|| {
            Error::invalid_request(
                "the page is for operators at the kernel's socket, not for those with a key",
            )
        })?;
        let operator = PageOperator { by: call.by.clone(), is_own: connection.is_own };
        let (address, code) = call.kernel.lifecycle.page.open(operator).await?;
        call.record_act("dev.cloto.mgp.page_opened", &[]).await?;
        Ok(OpenedPage { address, code })
    }
}

impl TextForm for OpenedPage {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "page: http://{}/\ncode: {}", self.address, self.code)
    }
}
