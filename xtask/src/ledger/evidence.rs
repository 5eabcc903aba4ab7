//! The evidence that tests give, by where they lie, and the evidence that rows need.

use super::rows::Row;

/// The part of the product that a test runs. Each kind is stronger evidence than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// A type is read and written; nothing is sent.
    Types,
    /// A layer, a parser or a store runs alone, among doubles.
    Part,
    /// A server or a client of the SDKs runs, with a peer at the other end of a connection.
    Peers,
    /// The kernel runs.
    Kernel,
}

impl Evidence {
    /// Returns the evidence of the tests in a file.
    pub(super) fn of(file: &str, text: &str) -> Self {
        let lies_in = |folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
        if lies_in(&["mgp-types/"]) {
            Self::Types
        } else if lies_in(&RUNS_KERNEL)
            || (lies_in(&["mgp-kernel/core/src/"]) && text.contains(KERNEL_OF_TESTS))
        {
            Self::Kernel
        } else if lies_in(&RUNS_PEERS) || (lies_in(&[PATTERNS]) && text.contains(CLIENT)) {
            Self::Peers
        } else {
            Self::Part
        }
    }

    /// Returns whether the functions in a file are checks that a chore makes, which a command of `xtask` runs.
    pub(super) fn is_of_chores(file: &str) -> bool {
        file.starts_with("xtask/")
            && RUNS_KERNEL.iter().chain(&RUNS_PEERS).any(|folder| file.starts_with(folder))
    }

    /// Returns the least evidence that a row needs.
    ///
    /// A row of the kernel needs the kernel. So does a row of MGP that binds every role: the kernel is a server to its
    /// clients and a client of its servers, and in its tests both of those are written with the SDKs. A row of servers
    /// or clients needs a connection, and so does a row of MCP that binds both. Tools and documents need any test.
    pub(super) fn needed_by(row: &Row) -> Self {
        if row.binds("K") || (row.binds("B") && row.id.starts_with("MGP-")) {
            Self::Kernel
        } else if ["B", "C", "S"].iter().any(|side| row.binds(side)) {
            Self::Peers
        } else {
            Self::Types
        }
    }

    /// Returns the words for a row that has no better evidence than this, though it needs more.
    pub(super) const fn too_weak(self) -> &'static str {
        match self {
            Self::Types => "only types are tested",
            Self::Part => "only a part is tested alone",
            Self::Peers => "only the SDKs are tested",
            Self::Kernel => "tested",
        }
    }
}

/// Where every test runs the kernel, as a library or as `mgp`.
const RUNS_KERNEL: [&str; 4] =
    ["mgp-kernel/tests/", "xtask/src/interop/", "xtask/src/servers/", "xtask/src/walk/"];

/// Where every test runs a server or a client of the SDKs, and talks with it.
const RUNS_PEERS: [&str; 3] = ["mgp-server-sdk/tests/", "mgp-client-sdk/tests/", "xtask/src/bench/"];

/// What the tests within the kernel's crate use that run its stack.
const KERNEL_OF_TESTS: &str = "TestKernel";

/// Where the servers of the application patterns lie, and how the tests begin that talk with one.
const PATTERNS: &str = "mgp-server-sdk/examples/patterns/src/";
const CLIENT: &str = "Client::builder(";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, side: &str) -> Row {
        Row { id: id.into(), level: "rule".into(), side: side.into(), requirement: "It is so.".into() }
    }

    #[test]
    fn a_test_is_judged_by_what_it_runs() {
        for (file, text, evidence) in [
            ("mgp-types/src/mgp/audit.rs", "", Evidence::Types),
            ("mgp-security/src/audit/tests/calls.rs", "", Evidence::Part),
            ("mgp-transport/tests/eras.rs", "", Evidence::Part),
            ("mgp-server-sdk/src/server/mod.rs", "", Evidence::Part),
            ("mgp-client-sdk/tests/sections/wire.rs", "", Evidence::Peers),
            ("mgp-kernel/core/src/settings/mod.rs", "", Evidence::Part),
            ("mgp-kernel/core/src/router/tests.rs", "use super::test_kernel::TestKernel;", Evidence::Kernel),
            ("mgp-kernel/tests/cli/audit.rs", "", Evidence::Kernel),
            ("mgp-server-sdk/examples/patterns/src/audit/export.rs", "", Evidence::Part),
            (
                "mgp-server-sdk/examples/patterns/src/audit/tests.rs",
                r#"Client::builder("kernel", "1")"#,
                Evidence::Peers,
            ),
            ("xtask/src/walk/mod.rs", "", Evidence::Kernel),
            ("xtask/src/bench/audit.rs", "", Evidence::Peers),
        ] {
            assert_eq!(Evidence::of(file, text), evidence, "{file}");
        }
    }

    #[test]
    fn a_row_needs_a_test_of_the_side_that_it_binds() {
        for (id, side, needed) in [
            ("MGP-5.4-01", "K", Evidence::Kernel),
            ("P-1-01", "K", Evidence::Kernel),
            ("GGEN-1-01", "S+K", Evidence::Kernel),
            ("MGP-14.3-01", "B", Evidence::Kernel),
            ("BASE-01", "B", Evidence::Peers),
            ("BASE-07", "C+S", Evidence::Peers),
            ("P-4-02", "S", Evidence::Peers),
            ("ENV-2-03", "X", Evidence::Types),
        ] {
            assert_eq!(Evidence::needed_by(&row(id, side)), needed, "{id}");
        }
    }
}
