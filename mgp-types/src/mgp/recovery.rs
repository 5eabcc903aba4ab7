//! The advice in errors on trying again (§14.4, §14.5).

use super::members::leftover;
use super::{MEMBER, code};
use crate::json::ObjectWriter;
use crate::macros::setter;
use crate::macros::words::open_words;
use crate::{Object, RawJson};

/// The advice of an error on trying again: the member `_mgp` of its data (§14.4, §14.5).
///
/// Reading is lenient, because half of the advice is better than none: a member of another type counts as missing, and
/// unknown members are kept.
///
/// ```
/// use mgp_types::mgp::{Recovery, RetryStrategy, code};
///
/// let recovery = Recovery::for_code(code::RATE_LIMITED)
///     .expect("the code is one of MGP")
///     .with_retry_after_ms(5000)
///     .with_retry_strategy(RetryStrategy::ExponentialBackoff);
/// assert_eq!(
///     recovery.into_error_data(None).as_bytes(),
///     concat!(
///         r#"{"_mgp":{"category":"resource","retryable":true,"#,
///         r#""retry_after_ms":5000,"retry_strategy":"exponential_backoff"}}"#
///     ).as_bytes(),
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Recovery {
    /// The category of the error.
    pub category: Option<Category>,
    /// True if the client should try again. [`may_retry`](Self::may_retry) decides where the member is missing.
    pub retryable: Option<bool>,
    /// The least time in milliseconds to wait before the next attempt.
    pub retry_after_ms: Option<u64>,
    /// The spacing of the attempts.
    pub retry_strategy: Option<RetryStrategy>,
    /// The number of further attempts, without the first one.
    pub max_retries: Option<u32>,
    /// The tool to call once all attempts have failed.
    pub fallback_tool: Option<Box<str>>,
    /// An object that the server defines.
    pub details: Option<RawJson>,
    /// The members that this version does not know, in order.
    pub unknown: Object,
}

const NESTED: &str = "recovery";
const KNOWN: [&str; 7] =
    ["category", "retryable", "retry_after_ms", "retry_strategy", "max_retries", "fallback_tool", "details"];

impl Recovery {
    /// Creates the advice for an error of this category.
    pub fn new(category: Category, retryable: bool) -> Self {
        Self { category: Some(category), retryable: Some(retryable), ..Self::default() }
    }

    /// Returns the advice that is true of every error with this MGP code; `None` for a number outside of MGP's ranges.
    ///
    /// The category is that of the [range](code::category). The same call can succeed later where time alone changes
    /// the outcome:
    ///
    /// * 2000, 2001, 2002: the server will be ready, or replaced by another instance.
    /// * 3000, 3001, 3003: load passes. After 3003 the call may have had its effect all the same, so a retry may run
    ///   the tool twice.
    /// * 5001, 5002: the external service was not there; it did not refuse.
    ///
    /// A retry makes no sense where somebody has to act first. For 1xxx a person must grant, log in or change the
    /// request; 3002 ends only when a quota is renewed or raised, long after any backoff; 4xxx fails the same way every
    /// time; 5000 is an answer of the external service, which a server that knows it to be passing can overrule.
    /// Numbers without a name are not tried again, because nothing is known of them.
    pub fn for_code(code: i64) -> Option<Self> {
        let passing = matches!(
            code,
            code::SERVER_NOT_READY..=code::SERVER_RESTARTING
                | code::RATE_LIMITED..=code::RESOURCE_EXHAUSTED
                | code::TIMEOUT
                | code::UPSTREAM_TIMEOUT..=code::UPSTREAM_UNAVAILABLE
        );
        code::category(code).map(|category| Self::new(category, passing))
    }

    /// Reads the recovery in the data of an error; returns `None` if the data have no object `_mgp`.
    pub fn from_error_data(data: &RawJson) -> Option<Self> {
        let member = Object::from_raw(data).ok()?.get(MEMBER)?;
        Object::from_raw(&member).ok().map(|object| Self::from_object(&object))
    }

    /// Returns the data of an error with the recovery in it, in place of an earlier one.
    ///
    /// Data that are no object have no room for the recovery and stay as they are, because their readers expect that
    /// shape.
    pub fn into_error_data(&self, data: Option<&RawJson>) -> RawJson {
        let empty = RawJson::empty_object();
        let data = data.filter(|data| !data.is_null()).unwrap_or(&empty);
        let Ok(mut object) = Object::from_raw(data) else { return data.clone() };
        object.set(MEMBER, self.to_raw());
        object.to_raw()
    }

    /// Returns the recovery as JSON: the object that stands under `_mgp`.
    pub fn to_raw(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        out.optional("category", self.category.as_ref());
        out.optional("retryable", self.retryable.as_ref());
        out.optional("retry_after_ms", self.retry_after_ms.as_ref());
        out.optional("retry_strategy", self.retry_strategy.as_ref());
        out.optional("max_retries", self.max_retries.as_ref());
        out.optional("fallback_tool", self.fallback_tool.as_ref());
        out.optional("details", self.details.as_ref());
        out.others(&self.unknown, &KNOWN);
        out.finish().to_raw()
    }

    /// Returns whether the client may try again. It may only if the error says so, because a wrong retry can do harm.
    pub fn may_retry(&self) -> bool {
        self.retryable == Some(true)
    }

    setter!(retryable: bool => with_retryable);
    setter!(retry_after_ms: u64 => with_retry_after_ms);
    setter!(retry_strategy: RetryStrategy => with_retry_strategy);
    setter!(max_retries: u32 => with_max_retries);
    setter!(fallback_tool: Box<str> => into with_fallback_tool);

    crate::setters! { #[must_use] self =>
        /// Sets facts about this one error. They reach the peer, so they hold nothing about paths, queries or other
        /// agents.
        pub fn with_details(details: &Object) => self.details = Some(details.to_raw());
    }

    fn from_object(object: &Object) -> Self {
        // Some peers put the members into one more object. Its members count where the flat ones are missing.
        let nested = object.object(NESTED);
        let get = |name| object.get(name).or_else(|| nested.as_ref()?.get(name));
        let mut recovery = Self {
            category: get("category").and_then(|raw| raw.to().ok()),
            retryable: get("retryable").and_then(|raw| raw.to().ok()),
            retry_after_ms: get("retry_after_ms").and_then(|raw| whole(&raw, f64::ceil)),
            retry_strategy: get("retry_strategy").and_then(|raw| raw.to().ok()),
            max_retries: get("max_retries")
                .and_then(|raw| whole(&raw, f64::floor))
                .map(|retries| u32::try_from(retries).unwrap_or(u32::MAX)),
            fallback_tool: get("fallback_tool").and_then(|raw| raw.to().ok()),
            details: get("details").filter(RawJson::is_object),
            unknown: leftover(object, &KNOWN),
        };
        if let Some(nested) = nested {
            let rest = leftover(&nested, &KNOWN);
            if rest.is_empty() {
                recovery.unknown.remove(NESTED);
            } else {
                recovery.unknown.set(NESTED, rest.to_raw());
            }
        }
        recovery
    }
}

open_words! {
    /// The category of an error (§14.2).
    pub enum Category {
        /// `security`: the caller lacks a right.
        Security = "security",
        /// `lifecycle`: the server is not in the right state.
        Lifecycle = "lifecycle",
        /// `resource`: a resource is used up.
        Resource = "resource",
        /// `validation`: the request is wrong.
        Validation = "validation",
        /// `external`: a service behind the server is at fault. Some peers write `upstream`.
        External = "external" | "upstream",
    }
}

open_words! {
    /// The spacing of further attempts (§14.5).
    pub enum RetryStrategy {
        /// `immediate`: without a pause beyond the minimum.
        Immediate = "immediate",
        /// `fixed_delay`: with the same pause each time.
        FixedDelay = "fixed_delay",
        /// `exponential_backoff`: with a pause that doubles. Some peers write `exponential`.
        ExponentialBackoff = "exponential_backoff" | "exponential",
    }
}

/// Reads a number that is not negative; a fraction is rounded, because some languages write `5000.0`.
fn whole(raw: &RawJson, round: fn(f64) -> f64) -> Option<u64> {
    raw.to().ok().or_else(|| without_fraction(round(raw.to().ok()?)))
}

/// Returns a number without its fraction; `None` if it is negative.
pub(super) fn without_fraction(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and `as` saturates"
    )]
    (number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests;
