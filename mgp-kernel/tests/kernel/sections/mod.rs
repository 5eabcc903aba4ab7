//! The rows of `docs/ledger.csv` that bind a kernel, section by section: frames that it writes to clients and servers,
//! and what it does.

mod access;
mod audit;
mod code;
mod discovery;
mod errors;
mod lifecycle;
mod literal;
mod negotiation;
mod permissions;
pub(crate) mod raw;
mod requesting;
mod retries;
mod searching;
mod server_initiated;
mod tool_session;
mod tools;
mod unlisted;

use crate::runner::Test;

pub(crate) fn tests() -> Vec<Test> {
    [
        access::TESTS,
        audit::TESTS,
        code::TESTS,
        discovery::TESTS,
        errors::TESTS,
        lifecycle::TESTS,
        literal::TESTS,
        negotiation::TESTS,
        permissions::TESTS,
        requesting::TESTS,
        retries::TESTS,
        searching::TESTS,
        server_initiated::TESTS,
        tool_session::TESTS,
        tools::TESTS,
        unlisted::TESTS,
    ]
    .concat()
}
