//! The report of a run, and its forms: JSON as the proposal has it, JUnit XML, and a badge.

use std::fmt::Write as _;

use mgp_types::mgp::Timestamp;
use serde::{Deserialize, Serialize};

use crate::scenario::Level;

/// The report of a run. A subject without failures keeps the rules that were tested; that shows nothing about what no
/// message reveals, such as reliability under load.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The name that the subject gives itself.
    pub server_name: String,
    /// The version that the subject gives itself.
    pub server_version: String,
    /// The version of the suite.
    pub suite_version: String,
    /// The RFC 3339 time at which the run began.
    pub tested_at: String,
    /// One result for each test case.
    pub results: Vec<TestResult>,
    /// The number of results of each kind.
    pub summary: Summary,
    /// The highest level whose rules are all kept; absent if a rule of the lowest one is broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

/// The result of one test case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TestResult {
    /// The id of the test case.
    pub test_id: String,
    /// Whether the rule is kept.
    pub status: Status,
    /// Why it is not, or why the test was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The time that the test took.
    pub duration_ms: u64,
    /// The level that needs the rule.
    pub level: Level,
}

/// Whether a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the schema of reports")]
pub enum Status {
    /// The rule is kept.
    Passed,
    /// The rule is broken.
    Failed,
    /// The subject does not have what the rule is about.
    Skipped,
    /// The test case could not be judged.
    Error,
}

impl Status {
    /// Returns the word for the status, as reports have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }
}

/// The number of results of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Rules that are kept.
    pub passed: usize,
    /// Rules that are broken, or could not be judged.
    pub failed: usize,
    /// Rules about what the subject does not have.
    pub skipped: usize,
}

impl Report {
    pub(crate) fn new(subject: (String, String), suite_version: String, results: Vec<TestResult>) -> Self {
        let count =
            |wanted: &[Status]| results.iter().filter(|result| wanted.contains(&result.status)).count();
        let summary = Summary {
            passed: count(&[Status::Passed]),
            failed: count(&[Status::Failed, Status::Error]),
            skipped: count(&[Status::Skipped]),
        };
        let level = reached(&results);
        let (server_name, server_version) = subject;
        let tested_at = Timestamp::now().to_string();
        Self { server_name, server_version, suite_version, tested_at, results, summary, level }
    }

    /// Returns whether a rule was kept and none was broken.
    pub fn is_passing(&self) -> bool {
        self.summary.failed == 0 && self.summary.passed > 0
    }

    /// Returns the report as JUnit XML, which continuous integration reads.
    pub fn junit(&self) -> String {
        let errors = self.results.iter().filter(|result| result.status == Status::Error).count();
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" \
             errors=\"{errors}\" skipped=\"{}\" timestamp=\"{}\">\n",
            escape(&self.server_name),
            self.results.len(),
            self.summary.failed - errors,
            self.summary.skipped,
            escape(&self.tested_at),
        );
        for result in &self.results {
            let (level, id) = (result.level.word(), escape(&result.test_id));
            let millis = result.duration_ms;
            let time = format!("{}.{:03}", millis / 1000, millis % 1000);
            let message = escape(result.message.as_deref().unwrap_or_default());
            let inner = match result.status {
                Status::Passed => String::new(),
                Status::Skipped => format!("<skipped message=\"{message}\"/>"),
                Status::Failed => format!("<failure message=\"{message}\"/>"),
                Status::Error => format!("<error message=\"{message}\"/>"),
            };
            // Writing into memory cannot fail.
            let _ = writeln!(
                out,
                "  <testcase classname=\"{level}\" name=\"{id}\" time=\"{time}\">{inner}</testcase>"
            );
        }
        out + "</testsuite>\n"
    }

    /// Returns the badge of a passing subject as an SVG image that names the level; `None` if a rule is broken.
    pub fn badge(&self) -> Option<String> {
        let level = self.level.filter(|_| self.is_passing())?.word();
        let version = escape(&self.suite_version);
        Some(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"172\" height=\"20\" role=\"img\" \
             aria-label=\"MCP conformance: {level}\">\
             <title>MCP conformance {level}, suite {version}: {passed} rules kept. Necessary for quality, not \
             sufficient.</title>\
             <rect width=\"112\" height=\"20\" fill=\"#555\"/>\
             <rect x=\"112\" width=\"60\" height=\"20\" fill=\"#2a7f3f\"/>\
             <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,sans-serif\" font-size=\"11\">\
             <text x=\"56\" y=\"14\">MCP conformance</text><text x=\"142\" y=\"14\">{level}</text></g></svg>\n",
            passed = self.summary.passed,
        ))
    }
}

/// Returns the highest level up to which no rule is broken, and of which one is kept.
fn reached(results: &[TestResult]) -> Option<Level> {
    let is_broken = |result: &TestResult| matches!(result.status, Status::Failed | Status::Error);
    let broken = results.iter().filter(|result| is_broken(result)).map(|result| result.level).min();
    let kept = results.iter().filter(|result| result.status == Status::Passed).map(|result| result.level);
    kept.filter(|level| broken.is_none_or(|broken| *level < broken)).max()
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML 1.0 has no other control characters.
            other if other.is_control() && !matches!(other, '\n' | '\t') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
