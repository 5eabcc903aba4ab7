//! Instructions and allocations a call, under valgrind.

use std::process::Command;

use anyhow::Result;

use super::gateway::{Gateway, Upstream};
use super::load;
use super::programs::Programs;
use crate::bench::callgrind::{self, Total};
use crate::process::Background;

/// Returns the cost of a call for a gateway, as the difference between a run of many calls and one of few.
pub(super) fn each(
    programs: &Programs,
    upstream: Upstream,
    gateway: impl Fn(&Programs, Upstream, u16) -> Result<Gateway>,
) -> Result<Total> {
    callgrind::each([FEW, MANY], |calls| {
        let server = load::Server::start(programs)?;
        let gateway = gateway(programs, upstream, server.port)?;
        let profile = programs.kernel.folder.join("callgrind.out");
        let mut valgrind = callgrind::profiled(gateway.command.iter().map(String::as_str), &profile);
        let log = programs.kernel.folder.join("valgrind.log");
        let running = Background::start(&mut valgrind, gateway.port, &log)?;
        gateway.wait_for(1)?;
        let scenarios = ["--scenarios".to_owned(), format!("n{calls}x1")];
        let mut driver = Command::new(programs.peers.join("mcp-load"));
        load::drive(programs, &gateway, running.id(), &mut driver, &scenarios)?;
        running.end()?;
        callgrind::read(&profile)
    })
}

const FEW: u32 = 500;
const MANY: u32 = 2500;
