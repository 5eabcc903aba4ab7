//! What a tool declares about its costs, its scopes and the media it takes, beside its schemas.

use std::fmt;

use crate::macros::record;
use crate::macros::words::words;
use crate::mcp::Tool;
use crate::mgp::{RiskLevel, Timestamp};
use crate::{Object, RawJson};

words! {
    /// The time that a call of a tool usually takes; an estimate.
    LatencyClass {
        /// The call is done before a person notices.
        Instant = "instant",
        /// The call takes seconds.
        Seconds = "seconds",
        /// The call takes minutes.
        Minutes = "minutes",
    }

    /// The kind of costs that a call has.
    CostCategory {
        /// Calls cost nothing.
        Free = "free",
        /// Each call uses units.
        Metered = "metered",
        /// Somebody has to agree to the costs of each call.
        RequiresApproval = "requires_approval",
    }

    /// The harm that a call can do, in the words of service manifests.
    Impact {
        /// Nothing is changed.
        Safe = "safe",
        /// The call changes something, and the change can be taken back.
        Reversible = "reversible",
        /// Something can be lost for good.
        Destructive = "destructive",
    }
}

impl LatencyClass {
    /// Returns the time to wait for the answer to such a call.
    pub const fn timeout(self) -> std::time::Duration {
        std::time::Duration::from_secs(match self {
            Self::Instant => 10,
            Self::Seconds => 60,
            Self::Minutes => 600,
        })
    }
}

crate::convert!(RiskLevel => Impact, level => match level {
    RiskLevel::Safe => Self::Safe,
    RiskLevel::Moderate => Self::Reversible,
    RiskLevel::Dangerous => Self::Destructive,
});

record! {
    /// The estimated costs of a call.
    pub struct Cost {
        /// The kind of the costs.
        optional category: CostCategory;
        /// The units that a call uses, as far as the server can tell before.
        optional estimated_units: f64;
        /// The name of the unit, for people.
        optional unit_label: Box<str>;
    }

    /// The rest of a quota.
    pub struct Quota: Copy, Eq {
        /// The calls that are left.
        required remaining: u64;
        /// The moment at which the quota begins anew.
        #[serde(skip_serializing_if = "Option::is_none")]
        required resets_at: Option<Timestamp>;
    }

    /// The members by which a tool declares its costs, its scopes and its media, on the top level of its definition.
    ///
    /// ```
    /// use mgp_types::ext::{Cost, LatencyClass, ToolDeclaration};
    ///
    /// let declaration = ToolDeclaration {
    ///     latency: Some(LatencyClass::Minutes),
    ///     cost: Some(Cost::metered(5.0, "credits")),
    ///     ..ToolDeclaration::default()
    /// };
    /// assert_eq!(
    ///     serde_json::to_string(&declaration)?,
    ///     r#"{"latency":"minutes","cost":{"category":"metered","estimated_units":5.0,"unit_label":"credits"}}"#,
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct ToolDeclaration as exhaustive: Default {
        /// The time that a call usually takes.
        optional latency: LatencyClass;
        /// The estimated costs of a call.
        optional cost: Cost;
        /// The rest of the tool's quota.
        optional quota: Quota;
        /// True if repeating a call changes nothing more.
        flag idempotent;
        /// True if a person has to agree to each call.
        flag requires_confirmation;
        /// The question to that person; `{parameter}` stands for the value of an argument.
        optional confirmation_message: Box<str>;
        /// The harm that a call can do; none if absent.
        optional risk_level: Impact;
        /// The scopes that the caller needs.
        list required_scopes: Box<str>;
        /// The media types that the tool takes; a hint, and no list of all.
        list input_types: Box<str>;
        /// The media types that the tool gives back; a hint, and no list of all.
        list output_types: Box<str>;
        /// The most bytes that the arguments may have, binary ones decoded.
        optional max_input_size_bytes: u64;
        /// The most bytes that a result has, binary ones decoded.
        optional max_output_size_bytes: u64;
        /// The way in which binary arguments may come beside base64: `multipart`.
        optional binary_transport: Box<str>;
        /// True if results can come in parts.
        flag supports_streaming;
        /// True if an interrupted call can go on from a checkpoint.
        flag supports_checkpoint;
        /// True if results come in pages.
        flag supports_pagination;
        /// True if one call can do many things.
        flag supports_batch;
    }
}

impl Cost {
    /// Creates costs of this kind.
    pub const fn new(category: CostCategory) -> Self {
        Self { category: Some(category), estimated_units: None, unit_label: None }
    }

    /// Creates costs of `estimated_units` for each call; their unit is called `unit_label`.
    pub fn metered(estimated_units: f64, unit_label: impl Into<Box<str>>) -> Self {
        Self {
            category: Some(CostCategory::Metered),
            estimated_units: Some(estimated_units),
            unit_label: Some(unit_label.into()),
        }
    }
}

impl fmt::Display for Cost {
    /// Writes the costs for people, marked as the estimate that they are: `about 5 credits (an estimate)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.estimated_units, &self.category) {
            (Some(units), _) => {
                let label = self.unit_label.as_deref().unwrap_or("units");
                write!(f, "about {units} {label} (an estimate)")
            }
            (None, Some(CostCategory::Free)) => f.write_str("nothing (an estimate)"),
            (None, _) => f.write_str("something, without an estimate"),
        }
    }
}

impl ToolDeclaration {
    /// Reads what a tool declares. A member of another type counts as missing, so that one mistake does not hide the
    /// rest.
    pub fn of_tool(tool: &Tool) -> Self {
        let mut declaration = Self::of_definition(&Object::from_value(&tool.extra).unwrap_or_default());
        let hints = tool.annotations.as_deref();
        declaration.idempotent |= hints.and_then(|hints| hints.idempotent_hint) == Some(true);
        declaration
    }

    /// Reads what the definition of a tool declares, as in [`of_tool`](Self::of_tool).
    pub fn of_definition(definition: &Object) -> Self {
        definition.to().unwrap_or_else(|_| {
            let members = definition.iter().map(|(name, value)| (name.into_owned(), value));
            let is_readable = |one: &(String, RawJson)| Object::from([one.clone()]).to::<Self>().is_ok();
            members.filter(is_readable).collect::<Object>().to().unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(json: &str) -> ToolDeclaration {
        ToolDeclaration::of_definition(&Object::parse(json.to_owned()).unwrap())
    }

    // covers: EXT-01-14
    #[test]
    fn members_that_are_missing_have_the_values_of_the_specification() {
        let none = declared(r#"{"name":"x"}"#);
        assert_eq!(none, ToolDeclaration::default());
        assert!(!none.idempotent && !none.requires_confirmation && none.required_scopes.is_empty());
        assert_eq!(serde_json::to_string(&none).unwrap(), "{}");
    }

    // covers: EXT-03-01, EXT-03-02, EXT-03-03, EXT-10-01, EXT-10-02, EXT-10-03
    #[test]
    fn costs_latency_quota_scopes_and_media_are_read_and_written() {
        let json = concat!(
            r#"{"latency":"minutes","cost":{"category":"metered","estimated_units":5.0,"unit_label":"credits"},"#,
            r#""quota":{"remaining":12,"resets_at":"2026-03-16T00:00:00.000Z"},"required_scopes":["read:tickets"],"#,
            r#""input_types":["image/png"],"output_types":["application/json"],"max_input_size_bytes":10485760,"#,
            r#""binary_transport":"multipart","supports_streaming":true}"#
        );
        let read = declared(json);
        assert_eq!(read.latency, Some(LatencyClass::Minutes));
        assert_eq!(read.cost.as_ref().unwrap().category, Some(CostCategory::Metered));
        assert_eq!(read.quota.unwrap().remaining, 12);
        assert_eq!(read.max_input_size_bytes, Some(10_485_760));
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn costs_are_told_as_an_estimate() {
        let describe = |cost: Cost| cost.to_string();
        assert_eq!(describe(Cost::metered(2.5, "credits")), "about 2.5 credits (an estimate)");
        assert_eq!(describe(Cost::new(CostCategory::Free)), "nothing (an estimate)");
        assert_eq!(describe(Cost::new(CostCategory::RequiresApproval)), "something, without an estimate");
    }

    #[test]
    fn one_wrong_member_does_not_hide_the_others() {
        let read = declared(r#"{"latency":"eons","quota":{"remaining":-1},"cost":{"category":"free"}}"#);
        assert_eq!((read.latency, read.quota), (None, None));
        assert_eq!(read.cost, Some(Cost::new(CostCategory::Free)));
    }

    // covers: EXT-03-08
    #[test]
    fn a_call_of_minutes_is_waited_for_longer_than_half_a_minute() {
        let waits = LatencyClass::ALL.iter().map(|class| class.timeout().as_secs()).collect::<Vec<_>>();
        assert_eq!(waits, [10, 60, 600]);
    }

    #[test]
    fn the_hint_of_mcp_that_a_tool_is_idempotent_counts() {
        let mut tool = Tool::new("x", crate::RawJson::empty_object());
        assert!(!ToolDeclaration::of_tool(&tool).idempotent);
        tool.annotations.get_or_insert_default().idempotent_hint = Some(true);
        assert!(ToolDeclaration::of_tool(&tool).idempotent);
    }
}
