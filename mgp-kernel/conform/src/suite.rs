//! Suites of test cases, as data files: the built-in ones, and those that others add.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assertion::Assertion;
use crate::scenario::Scenario;

/// A suite document: what it tests against, and its test cases.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Suite {
    /// The versions of the suite and of the specification.
    pub metadata: SuiteMetadata,
    /// The test cases, in the order in which they run.
    pub tests: Vec<TestCase>,
}

/// The versions of a suite and of the specification that it tests against: a suite changes with its specification.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SuiteMetadata {
    /// The version of the suite.
    pub suite_version: String,
    /// The revisions of MCP that the suite tests against.
    pub mcp_spec_version: String,
    /// The RFC 3339 time at which the suite was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// The number of test cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tests: Option<usize>,
}

/// One rule, and the scenario that shows whether the subject keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TestCase {
    /// The id, unique in all suites of a run.
    pub test_id: String,
    /// The place in the specification that states the rule.
    pub proposal_ref: String,
    /// The rule in one sentence.
    pub description: String,
    /// The area of the extension proposals; rules of the base protocol have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// What is sent, and what of the traffic is judged.
    pub input: Scenario,
    /// What the assertion compares with what was observed; placeholders are filled in.
    pub expected_output: Value,
    /// The comparison.
    pub assertion_type: Assertion,
}

/// An area of the extension proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the schema of suites")]
pub enum Category {
    /// Structure and completeness of the service manifest.
    Manifest,
    /// Structured errors.
    ErrorHandling,
    /// Calls that are repeated with the same key.
    Idempotency,
    /// Scopes and checks of permissions.
    Permissions,
    /// Streams of results.
    Streaming,
    /// Calls that are undone together.
    Transactions,
}

/// A suite that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// The text is not a suite document.
    #[error("not a suite of test cases")]
    Invalid(#[from] serde_json::Error),
    /// Two test cases have the same id.
    #[error("two test cases have the id `{0}`")]
    Repeated(String),
}

impl Suite {
    /// Returns the test cases for MCP in both eras, for MGP and its extensions, and for clients.
    ///
    /// # Panics
    ///
    /// Never: a test reads the built-in files.
    pub fn built_in() -> Self {
        let [first, others @ ..] = BUILT_IN.map(|text| Self::parse(text).expect("a built-in suite is valid"));
        others.into_iter().try_fold(first, Self::with).expect("built-in ids are unique")
    }

    /// Reads a suite document.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        Self { tests: Vec::new(), ..serde_json::from_str(text)? }.with(serde_json::from_str(text)?)
    }

    /// Adds the test cases of another suite. The metadata stay those of the first, with the new number of test cases.
    pub fn with(mut self, other: Self) -> Result<Self, SuiteError> {
        for test in other.tests {
            if self.tests.iter().any(|known| known.test_id == test.test_id) {
                return Err(SuiteError::Repeated(test.test_id));
            }
            self.tests.push(test);
        }
        self.metadata.total_tests = Some(self.tests.len());
        Ok(self)
    }
}

const BUILT_IN: [&str; 4] = [
    include_str!("../suites/server-2025.json"),
    include_str!("../suites/server-2026.json"),
    include_str!("../suites/extensions.json"),
    include_str!("../suites/client.json"),
];
