//! Judges inputs one by one: `check --kind KIND` reads JSON lines `{"id", "input"}` and prints, for each,
//! `{"id", "verdict": "allow" | "deny", "reason"}`.
//!
//! ```sh
//! echo '{"id":1,"input":"rm -rf ~"}' | cargo run -p mgp-security --all-features --example check -- --kind shell_command
//! ```

use std::error::Error;
use std::io::{self, BufRead, Write};

use mgp_security::code_safety::{CodePolicy, scan};
use mgp_security::definition::{fingerprint, scan_definition, scan_text};
use mgp_security::validator::{network, path, sandbox, text};
use mgp_security::{Finding, Schema};
use mgp_types::mgp::{CodeSafety, SafetyLevel};
use mgp_types::{Object, RawJson};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Row {
    id: RawJson,
    input: RawJson,
}

#[derive(Serialize)]
struct Judged {
    id: RawJson,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

type Judge = fn(&RawJson) -> Result<(), String>;

fn main() -> Result<(), Box<dyn Error>> {
    let judge = judge()?;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Row { id, input } = serde_json::from_str(&line?)?;
        let reason = judge(&input).err();
        let verdict = if reason.is_some() { "deny" } else { "allow" };
        serde_json::to_writer(&mut out, &Judged { id, verdict, reason })?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn judge() -> Result<Judge, String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [flag, kind] = &args[..] else { return Err(format!("usage: check --kind {}", names())) };
    let known = KINDS.iter().find(|(name, _)| flag == "--kind" && name == kind);
    known.map(|(_, judge)| *judge).ok_or_else(|| format!("unknown kind; expected {}", names()))
}

const KINDS: &[(&str, Judge)] = &[
    ("shell_arg", |input| on_text(input, sandbox::check_word)),
    ("shell_command", |input| {
        on_text(input, |line| sandbox::check_command(line, &sandbox::CommandPolicy::default()))
    }),
    ("ssrf_url", |input| on_text(input, |url| network::check_url(url, &network::NetworkPolicy::default()))),
    ("path", |input| on_text(input, path::check_text)),
    ("python_code", |input| on_code(input, "python")),
    ("js_code", |input| on_code(input, "javascript")),
    ("tool_def", |input| found(scan_definition(&object(input)?))),
    ("rug_pull", rug_pull),
    ("prompt_injection", |input| found(scan_text(&plain(input)?))),
    ("json_schema", json_schema),
];

fn on_text(input: &RawJson, check: impl Fn(&str) -> Result<(), Finding>) -> Result<(), String> {
    let raw = plain(input)?;
    found(text::check(&raw).and_then(|()| check(&raw)).and_then(|()| check(&text::fold(&raw))))
}

fn on_code(input: &RawJson, language: &str) -> Result<(), String> {
    let policy = CodePolicy::new(&CodeSafety::new(SafetyLevel::Strict).with_language(language));
    scan(&plain(input)?, &policy).map(drop).map_err(|rejection| rejection.to_string())
}

fn rug_pull(input: &RawJson) -> Result<(), String> {
    let both = object(input)?;
    let of = |member: &str| -> Result<_, String> {
        let definition = both.get(member).ok_or_else(|| format!("`{member}` is missing"))?;
        fingerprint(&object(&definition)?).map_err(|error| error.to_string())
    };
    if of("before")? == of("after")? { Ok(()) } else { Err("the definition changed".into()) }
}

/// Whether every value of a group gets the verdict that the group says.
fn json_schema(input: &RawJson) -> Result<(), String> {
    let group = object(input)?;
    let schema = group.get("schema").ok_or("`schema` is missing")?;
    let schema = Schema::compile(&schema).map_err(|fault| fault.to_string())?;
    let tests: Vec<(RawJson, bool)> =
        group.get("tests").ok_or("`tests` is missing")?.to().map_err(|error| error.to_string())?;
    match tests.iter().position(|(value, valid)| schema.check(value.as_bytes()).is_ok() != *valid) {
        None => Ok(()),
        Some(index) => Err(format!("value {index} gets the wrong verdict")),
    }
}

fn found(checked: Result<(), Finding>) -> Result<(), String> {
    checked.map_err(|finding| finding.to_string())
}

fn plain(input: &RawJson) -> Result<String, String> {
    input.to_text().ok_or_else(|| "the input is no text".into())
}

fn object(input: &RawJson) -> Result<Object, String> {
    Object::from_raw(input).map_err(|error| error.to_string())
}

fn names() -> String {
    KINDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}
