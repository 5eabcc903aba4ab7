//! Conformance kit of EXT-12: checks MCP and MGP servers, clients and kernels from outside, over stdio and HTTP, in both
//! eras of MCP.
//!
//! The rules are test cases in data files; others [add theirs](Suite::with). The kit writes and reads raw messages itself
//! and uses no SDK, so that what it finds does not depend on the code that it tests. A subject that passes keeps the tested
//! rules. That is necessary for quality, but not enough: no rule looks at behavior under load.
//!
//! ```
//! use mgp_conform::{Level, Suite};
//!
//! let mine = r#"{ "metadata": { "suite_version": "1", "mcp_spec_version": "2025-11-25" }, "tests": [{
//!     "test_id": "mine-1", "proposal_ref": "our handbook", "description": "The server has tools.",
//!     "input": { "protocol": "2025-11-25", "steps": [{ "request": "tools/list" }] },
//!     "expected_output": { "code": "ok" }, "assertion_type": "status_code" }] }"#;
//! let suite = Suite::built_in().with(Suite::parse(mine)?)?;
//! let mine = suite.tests.last().expect("it was added");
//! assert_eq!((mine.test_id.as_str(), mine.input.level), ("mine-1", Level::Core));
//! # Ok::<(), mgp_conform::SuiteError>(())
//! ```
//!
//! | type | what it is |
//! |---|---|
//! | [`Suite`], [`TestCase`], [`Scenario`] | rules as data |
//! | [`check_server`], [`check_client`] | run a suite against a subject |
//! | [`Report`] | the results, as JSON, JUnit XML and badge |

mod assertion;
mod client;
mod facts;
mod kit_server;
mod link;
mod observation;
mod report;
mod scenario;
mod server;
mod session;
mod suite;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

pub use self::assertion::Assertion;
pub use self::client::{ClientSubject, check_client};
pub use self::report::{Report, Status, Summary, TestResult};
pub use self::scenario::{Connection, Level, Role, Scenario, Step, Transport};
pub use self::server::{ServerSubject, check_server};
pub use self::suite::{Category, Suite, SuiteError, SuiteMetadata, TestCase};

/// The limits of a run.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "each member is an option of the command line")]
pub struct RunOptions {
    /// The highest level that is tested.
    pub level: Level,
    /// The time to wait for each answer.
    pub patience: Duration,
    /// Headers that are added to each HTTP request, such as `authorization`.
    pub headers: BTreeMap<String, String>,
    /// A tool that may be called for real, and its arguments. By default one that says it only reads, and needs no arguments.
    pub tool: Option<(String, Value)>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { level: Level::Full, patience: Duration::from_secs(10), headers: BTreeMap::new(), tool: None }
    }
}

/// The result of a test case, before it is known how long it took.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
    Error(String),
}

impl Outcome {
    fn into_result(self, test: &TestCase, took: Duration) -> TestResult {
        let (status, message) = match self {
            Self::Passed => (Status::Passed, None),
            Self::Failed(message) => (Status::Failed, Some(message)),
            Self::Skipped(message) => (Status::Skipped, Some(message)),
            Self::Error(message) => (Status::Error, Some(message)),
        };
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        TestResult { test_id: test.test_id.clone(), status, message, duration_ms, level: test.input.level }
    }

    /// Judges an observation by the assertion of a test case.
    fn judge(test: &TestCase, observed: &Value, facts: &scenario::Facts) -> Self {
        let expected = match scenario::fill(&test.expected_output, facts) {
            Ok(expected) => expected,
            Err(missing) => return Self::missing(&missing),
        };
        let is_whole = test.assertion_type == Assertion::StatusCode;
        let pointer = if is_whole { "" } else { &test.input.observe };
        let part = observed.pointer(pointer).unwrap_or(&Value::Null);
        match test.assertion_type.check(part, &expected) {
            Ok(()) => Self::Passed,
            Err(assertion::Fault::Differs(message)) => Self::Failed(message),
            Err(assertion::Fault::BadTest(message)) => Self::Error(message),
        }
    }

    fn other_transport(only: Transport) -> Self {
        Self::Skipped(format!("this rule is about {}", only.word()))
    }

    fn missing(fact: &str) -> Self {
        Self::Skipped(facts::why_missing(fact))
    }

    /// Returns why a test case is not for a subject with these capabilities.
    fn unfit(test: &TestCase, transport: Transport, capabilities: &Value) -> Option<Self> {
        let input = &test.input;
        if let Some(only) = input.transport
            && only != transport
        {
            return Some(Self::other_transport(only));
        }
        let has = |pointer: &&String| capabilities.pointer(pointer).is_some_and(|value| *value != false);
        if let Some(lacking) = input.needs.iter().find(|pointer| !has(pointer)) {
            return Some(Self::Skipped(format!("the subject does not declare `{lacking}`")));
        }
        let had = input.lacks.iter().find(has)?;
        Some(Self::Skipped(format!("the subject declares `{had}`")))
    }
}
