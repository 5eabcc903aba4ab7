//! Checks of single inputs, each judged by itself and without a kernel: for scripts, and to measure how much is
//! stopped.
//!
//! ```
//! use mgp_security::check::{CheckAnswer, InputCheck};
//! use mgp_types::RawJson;
//!
//! let check: InputCheck = "shell_command".parse()?;
//! assert!(matches!(check.judge(&RawJson::from_value("rm -rf ~")?), CheckAnswer::Deny { .. }));
//! assert_eq!(check.judge(&RawJson::from_value("ls -l")?), CheckAnswer::Allow);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, BufRead, Read, Write};
use std::str::FromStr;

use mgp_types::mgp::{CallEffect, CodeSafety, SafetyLevel};
use mgp_types::{Object, RawJson};
use serde::{Deserialize, Serialize};

use crate::code_safety::{CodePolicy, scan};
use crate::command;
use crate::definition::{Definition, DefinitionKind, is_flag, judge_definition, keep_signs, scan_text};
use crate::tool::Profile;
use crate::{Finding, Schema, network, path, text};

/// One kind of check, chosen by its name, like `shell_command` or `tool_def`.
#[derive(Clone, Copy)]
pub struct InputCheck {
    name: &'static str,
    judge: fn(&RawJson) -> Result<CheckAnswer, String>,
}

/// The verdict on one input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
#[non_exhaustive]
pub enum CheckAnswer {
    /// The input passes.
    Allow,
    /// A person is asked before the input passes.
    Ask {
        /// The reason why a person is asked.
        reason: String,
    },
    /// The input passes, and an operator is told why it looks suspicious.
    Flag {
        /// The reason why the input looks suspicious.
        reason: String,
    },
    /// The input is denied, or is not of the kind that the check reads.
    Deny {
        /// The reason why the input is denied.
        reason: String,
    },
    /// The input is the definition of a tool, and this is its security profile.
    #[serde(untagged)]
    Profile(Profile),
}

/// The error that there is no check of the given name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind `{asked}`; there are {}", InputCheck::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownCheck {
    /// The name that was given.
    pub asked: String,
}

/// The reason why some or all rows were not judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A line that is not a row.
    #[error("line {line} is not a row such as {{\"id\":1,\"input\":\"text\"}}")]
    Malformed {
        /// The number of the line, from 1.
        line: u64,
        /// The reason why the line could not be read.
        source: serde_json::Error,
    },
    /// A line that is longer than any input may be.
    #[error("line {line} is longer than {LONGEST_LINE} bytes")]
    TooLong {
        /// The number of the line, from 1.
        line: u64,
    },
    /// An error while reading the rows or writing the verdicts.
    #[error("the rows cannot be read, or the verdicts not be written")]
    Io(#[from] io::Error),
}

impl InputCheck {
    /// Returns the names of all checks.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|check| check.name)
    }

    /// Judges one input.
    pub fn judge(self, input: &RawJson) -> CheckAnswer {
        (self.judge)(input).unwrap_or_else(|reason| CheckAnswer::Deny { reason })
    }

    /// Judges the rows `{"id", "input"}` of `rows`, one in each line, and writes one line for each to `out`: `{"id",
    /// "verdict": "allow" | "ask" | "flag" | "deny", "reason"}`, or for the check `tool_profile` `{"id", "permissions", "risk",
    /// "arguments"}`. Returns how many rows were denied, and how many were judged.
    ///
    /// # Errors
    /// Fails if a line is not a row, or on an I/O error. The verdicts on the lines before it are written.
    pub fn judge_rows(self, mut rows: impl BufRead, out: &mut impl Write) -> Result<(u64, u64), CheckError> {
        let (mut denied, mut judged) = (0, 0);
        let _signs = keep_signs();
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            if rows.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            if bytes.len() as u64 > LONGEST_LINE {
                return Err(CheckError::TooLong { line });
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let row = serde_json::from_slice(&bytes);
            let CheckRow { id, input } = row.map_err(|source| CheckError::Malformed { line, source })?;
            let answer = self.judge(&input);
            denied += u64::from(matches!(answer, CheckAnswer::Deny { .. }));
            judged += 1;
            serde_json::to_writer(&mut *out, &JudgedRow { id, answer }).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok((denied, judged))
    }
}

impl FromStr for InputCheck {
    type Err = UnknownCheck;

    fn from_str(name: &str) -> Result<Self, UnknownCheck> {
        let known = KINDS.iter().find(|check| check.name == name).copied();
        known.ok_or_else(|| UnknownCheck { asked: name.chars().take(64).collect() })
    }
}

mgp_types::partial_debug!(InputCheck, self => name: self.name);

#[derive(Deserialize)]
struct CheckRow {
    id: RawJson,
    input: RawJson,
}

#[derive(Serialize)]
struct JudgedRow {
    id: RawJson,
    #[serde(flatten)]
    answer: CheckAnswer,
}

fn on_text(input: &RawJson, check: impl Fn(&str) -> Result<(), Finding>) -> Result<CheckAnswer, String> {
    let raw = plain(input)?;
    found(text::check(&raw).and_then(|()| check(&raw)).and_then(|()| check(&text::fold(&raw))))
}

fn shell_command(input: &RawJson) -> Result<CheckAnswer, String> {
    let line = plain(input)?;
    command::check_command(&line, &command::CommandPolicy::default())
        .map_err(|finding| finding.to_string())?;
    Ok(command::question_about(&line, CallEffect::Writes)
        .map_or(CheckAnswer::Allow, |reason| CheckAnswer::Ask { reason }))
}

fn shell_arg(input: &RawJson) -> Result<CheckAnswer, String> {
    let word = plain(input)?;
    command::check_word(&word).map_err(|finding| finding.to_string())?;
    let asks = command::is_more_than_data(&word);
    let reason = || "a shell would read more than one word of data in it".to_owned();
    Ok(if asks { CheckAnswer::Ask { reason: reason() } } else { CheckAnswer::Allow })
}

fn on_code(input: &RawJson, language: &str) -> Result<CheckAnswer, String> {
    let policy = CodePolicy::new(&CodeSafety::new(SafetyLevel::Standard).with_language(language));
    let asks = || CheckAnswer::Ask { reason: "it is code, which mgp does not judge".to_owned() };
    scan(&plain(input)?, &policy).map(|_| asks()).map_err(|rejection| rejection.to_string())
}

fn definition(input: &RawJson) -> Result<CheckAnswer, String> {
    let findings = judge_definition(DefinitionKind::Tool, &object(input)?);
    if let Some(hold) = findings.iter().find(|finding| !is_flag(finding.rule)) {
        return Err(hold.to_string());
    }
    let flag = findings.first();
    Ok(flag.map_or(CheckAnswer::Allow, |finding| CheckAnswer::Flag { reason: finding.to_string() }))
}

fn rug_pull(input: &RawJson) -> Result<CheckAnswer, String> {
    let both = object(input)?;
    let of = |member: &str| -> Result<_, String> {
        let definition = both.get(member).ok_or_else(|| format!("`{member}` is missing"))?;
        let definition = Definition::read(DefinitionKind::Tool, &object(&definition)?);
        definition.map(|definition| definition.digest()).map_err(|error| error.to_string())
    };
    if of("before")? == of("after")? { Ok(CheckAnswer::Allow) } else { Err("the definition changed".into()) }
}

/// Checks that every value of a group gets the verdict that the group expects of it.
fn json_schema(input: &RawJson) -> Result<CheckAnswer, String> {
    let group = object(input)?;
    let schema = group.get("schema").ok_or("`schema` is missing")?;
    let schema = Schema::compile(&schema).map_err(|fault| fault.to_string())?;
    let tests: Vec<(RawJson, bool)> =
        group.get("tests").ok_or("`tests` is missing")?.to().map_err(|error| error.to_string())?;
    let wrong = tests.iter().position(|(value, valid)| schema.check(value.as_bytes()).is_ok() != *valid);
    wrong.map_or(Ok(CheckAnswer::Allow), |index| Err(format!("value {index} gets the wrong verdict")))
}

fn found(checked: Result<(), Finding>) -> Result<CheckAnswer, String> {
    checked.map(|()| CheckAnswer::Allow).map_err(|finding| finding.to_string())
}

fn plain(input: &RawJson) -> Result<String, String> {
    input.to_text().ok_or_else(|| "the input is no text".into())
}

fn object(input: &RawJson) -> Result<Object, String> {
    Object::from_raw(input).map_err(|error| error.to_string())
}

const fn kind(name: &'static str, judge: fn(&RawJson) -> Result<CheckAnswer, String>) -> InputCheck {
    InputCheck { name, judge }
}

const KINDS: &[InputCheck] = &[
    kind("shell_arg", shell_arg),
    kind("shell_command", shell_command),
    kind("ssrf_url", |input| {
        on_text(input, |url| network::check_url(url, &network::NetworkPolicy::default()))
    }),
    kind("path", |input| on_text(input, path::check_text)),
    kind("python_code", |input| on_code(input, "python")),
    kind("js_code", |input| on_code(input, "javascript")),
    kind("tool_def", definition),
    kind("tool_profile", |input| Ok(CheckAnswer::Profile(Profile::of(&object(input)?)))),
    kind("rug_pull", rug_pull),
    kind("prompt_injection", |input| found(scan_text(&plain(input)?))),
    kind("json_schema", json_schema),
];

/// The largest length of a row, in bytes.
const LONGEST_LINE: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(kind: &str, rows: &str) -> Result<(String, (u64, u64)), CheckError> {
        let mut out = Vec::new();
        let check: InputCheck = kind.parse().unwrap();
        let counts = check.judge_rows(rows.as_bytes(), &mut out)?;
        Ok((String::from_utf8(out).unwrap(), counts))
    }

    #[test]
    fn each_row_gets_one_verdict_under_its_id() {
        let rows = "{\"id\":1,\"input\":\"ls\"}\n\n{\"id\":\"b\",\"kind\":\"x\",\"input\":\"rm -rf ~\"}\n";
        let (out, counts) = judged("shell_command", rows).unwrap();
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines[0], r#"{"id":1,"verdict":"allow"}"#);
        assert!(lines[1].starts_with(r#"{"id":"b","verdict":"deny","reason":""#), "{out}");
        assert_eq!((lines.len(), counts), (2, (1, 2)));
    }

    #[test]
    fn what_is_no_input_of_the_kind_is_denied_and_what_is_no_row_is_an_error() {
        assert!(judged("path", "{\"id\":1,\"input\":{}}").unwrap().0.contains("\"deny\""));
        assert!(matches!(judged("path", "\n{}").unwrap_err(), CheckError::Malformed { line: 2, .. }));
        let unknown = "shell".parse::<InputCheck>().unwrap_err();
        assert!(unknown.to_string().contains("shell_command"), "{unknown}");
    }
}
