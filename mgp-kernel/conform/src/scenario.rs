//! The input of a test case: conditions, the messages to send, and the part of the traffic that is judged.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The input of a test case.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Scenario {
    /// The kind of program that is tested.
    #[serde(default)]
    pub role: Role,
    /// The level that needs the rule.
    #[serde(default)]
    pub level: Level,
    /// The revision of MCP that is spoken.
    pub protocol: String,
    /// The only transport that the rule is about; any if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// JSON pointers into the capabilities of the subject that have to be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// JSON pointers into the capabilities of the subject that must not be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// The capabilities that the kit declares as a client, on a connection of its own.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub declare: Map<String, Value>,
    /// Whether the kit begins on a connection of its own, and whether it shakes hands first.
    #[serde(default)]
    pub connection: Connection,
    /// What the kit does, in order. For a client: what the kit does when the client asks.
    pub steps: Vec<Step>,
    /// The JSON pointer to the part of the observation that is judged.
    #[serde(default = "answer", skip_serializing_if = "is_answer")]
    pub observe: String,
}

fn answer() -> String {
    "/answer".to_owned()
}

fn is_answer(pointer: &str) -> bool {
    pointer == "/answer"
}

/// The kind of program that a test case is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a connection has two sides")]
pub enum Role {
    /// The kit is the client.
    #[default]
    Server,
    /// The kit is the server.
    Client,
}

/// How much of the specification a subject keeps. Each level includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the proposal")]
pub enum Level {
    /// What the base protocol requires.
    #[default]
    Core,
    /// What the base protocol recommends, and its optional features.
    Extended,
    /// MGP and the extension proposals.
    Full,
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Self; 3] = [Self::Core, Self::Extended, Self::Full];

    /// Returns the word for the level, as reports have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extended => "extended",
            Self::Full => "full",
        }
    }
}

/// A transport of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by MCP")]
pub enum Transport {
    /// Lines on standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Transport {
    /// Returns the word for the transport, as suites have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// The connection on which a scenario for a server begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "each is a way of the runner")]
pub enum Connection {
    /// The connection that scenarios share, after the handshake.
    #[default]
    Shared,
    /// A connection of its own, after the handshake.
    Fresh,
    /// A connection of its own on which nothing was sent.
    Silent,
}

/// One thing that the kit does.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Step {
    /// The method of a request, whose answer the kit waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The method of a notification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notification: Option<String>,
    /// The method of a list, whose pages the kit reads to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// A text that is sent as it is; the kit waits for an answer to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// A method of HTTP, sent without a body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// The parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// The id of the request in place of the next number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Headers of HTTP in place of the usual ones; null leaves one out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Option<String>>,
    /// Members of `_meta` in place of those that 2026-07-28 requires; null leaves one out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, Value>,
    /// Placeholders for later steps and the expected output, by JSON pointers into the observation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub keep: BTreeMap<String, String>,
    /// The notification that the kit waits for in place of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// For a client: the method whose request or notification makes the kit do the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// For a client: the answer in place of the usual one, a member `result` or `error`; a member `http` is the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
}

/// What is known about a subject and fills the placeholders of scenarios, by name.
pub(crate) type Facts = BTreeMap<String, Value>;

/// Replaces `${name}` in a value: a text that is only a placeholder by the fact itself, and within a text by its text.
///
/// # Errors
///
/// The name of a fact that is not known.
pub(crate) fn fill(value: &Value, facts: &Facts) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => return fill_text(text, facts),
        Value::Array(items) => items.iter().map(|item| fill(item, facts)).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let filled = members.iter().map(|(name, value)| Ok((name.clone(), fill(value, facts)?)));
            Value::Object(filled.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, facts: &Facts) -> Result<Value, String> {
    let Some((before, rest)) = text.split_once("${") else { return Ok(text.into()) };
    let (name, after) = rest.split_once('}').unwrap_or((rest, ""));
    let fact = facts.get(name).ok_or_else(|| name.to_owned())?;
    if before.is_empty() && after.is_empty() {
        return Ok(fact.clone());
    }
    let fact = fact.as_str().map_or_else(|| fact.to_string(), ToOwned::to_owned);
    let after = fill_text(after, facts)?;
    Ok(format!("{before}{fact}{}", after.as_str().unwrap_or_default()).into())
}
