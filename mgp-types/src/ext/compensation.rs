//! The call that takes a step of a transaction back.

use serde::{Deserialize, Serialize};

use crate::canonical::digest;
use crate::macros::setter;
use crate::{Object, RawJson};

/// The call that takes a step back: the tool, its arguments, and what it does in words.
///
/// Programs differ in the name of the arguments: both are written, either is read, and two that differ are refused.
///
/// ```
/// use mgp_types::Object;
/// use mgp_types::ext::Compensation;
///
/// let undo = Compensation::new("delete_issue", Object::parse(r#"{"ticket_id":"PROJ-42"}"#)?);
/// assert_eq!(
///     serde_json::to_string(&undo)?,
///     r#"{"tool":"delete_issue","arguments":{"ticket_id":"PROJ-42"},"parameters":{"ticket_id":"PROJ-42"}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compensation {
    /// The name of the tool.
    pub tool: Box<str>,
    /// The arguments of the call.
    pub arguments: Object,
    /// The effect of the call in words.
    pub description: Option<Box<str>>,
}

impl Compensation {
    /// Creates the call of `tool` with `arguments`.
    pub fn new(tool: impl Into<Box<str>>, arguments: Object) -> Self {
        Self { tool: tool.into(), arguments, description: None }
    }

    setter!(description: Box<str> => into with_description);
}

#[derive(Serialize, Deserialize)]
struct WrittenCompensation {
    tool: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parameters: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Box<str>>,
}

impl Serialize for Compensation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arguments = Some(self.arguments.to_raw());
        let (tool, description) = (self.tool.clone(), self.description.clone());
        WrittenCompensation { tool, parameters: arguments.clone(), arguments, description }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Compensation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenCompensation::deserialize(deserializer)?;
        let arguments = match (written.arguments, written.parameters) {
            (Some(one), Some(other)) if !is_same(&one, &other) => {
                return Err(serde::de::Error::custom("`arguments` and `parameters` differ"));
            }
            (Some(arguments), _) | (None, Some(arguments)) => {
                Object::from_raw(&arguments).map_err(serde::de::Error::custom)?
            }
            (None, None) => Object::new(),
        };
        Ok(Self { tool: written.tool, arguments, description: written.description })
    }
}

fn is_same(one: &RawJson, other: &RawJson) -> bool {
    one.as_bytes() == other.as_bytes() || matches!((digest(one), digest(other)), (Ok(a), Ok(b)) if a == b)
}
