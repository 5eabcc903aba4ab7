//! What clients of the tool registry get from a kernel: its messages, its errors, its times and its limits.

mod errors;
mod load;
mod messages;
mod resources;
mod sources;
mod workflow;

use crate::runner::Test;

pub(crate) fn tests() -> Vec<Test> {
    [errors::TESTS, load::TESTS, messages::TESTS, resources::TESTS, sources::TESTS, workflow::TESTS].concat()
}
