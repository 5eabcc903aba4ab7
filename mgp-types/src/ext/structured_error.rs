//! Errors that say what to do: a word for the error, its class, a time to wait, and a next step.

use std::borrow::Cow;

use super::projection::{ErrorProjection, projection};
use super::written;
use crate::macros::record;
use crate::macros::words::open_words;
use crate::{Error, Object, RawJson, code};

open_words! {
    /// The class of a structured error, which decides what a client does next.
    pub enum ErrorClass {
        /// `transient`: the same request may succeed later.
        Transient = "transient",
        /// `permanent`: the same request never succeeds.
        Permanent = "permanent",
        /// `auth_required`: the client proves who it is, or gets a scope, and then tries again.
        AuthRequired = "auth_required",
        /// `invalid_input`: the request is wrong.
        InvalidInput = "invalid_input",
        /// `rate_limited`: the client waits and then tries again.
        RateLimited = "rate_limited",
    }
}

impl ErrorClass {
    /// Returns whether the same request can succeed later, with nothing changed but the time.
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Transient | Self::RateLimited)
    }
}

record! {
    /// An error that says what to do next: the members of an error's `data`, and of `_meta.error` in a failed result.
    ///
    /// ```
    /// use mgp_types::ext::{ErrorClass, StructuredError};
    /// use mgp_types::mgp::Recovery;
    /// use mgp_types::{Error, code};
    ///
    /// let error = Error::new(code::RATE_LIMITED, "10 requests per minute")
    ///     .with_recovery(Recovery::for_code(code::RATE_LIMITED).unwrap().with_retry_after_ms(4200));
    /// let structured = StructuredError::of(&error);
    /// assert_eq!(structured.code, "RATE_LIMIT_EXCEEDED");
    /// assert_eq!(structured.category, ErrorClass::RateLimited);
    /// assert_eq!(structured.retry_after_seconds, Some(5));
    /// ```
    pub struct StructuredError {
        /// The word for the error, in capitals.
        plain code: Cow<'static, str>;
        /// The error in words.
        plain message: Box<str>;
        /// The class of the error.
        plain category: ErrorClass;
        /// The least time in seconds to wait before the next attempt.
        optional retry_after_seconds: u64 => with_retry_after_seconds;
        /// True if a person can do something about the error, and so should hear of it.
        flag user_actionable;
        /// The next step.
        optional suggestion: Box<str>;
        /// Facts about this error.
        optional details: Object;
        /// An address where the error is explained.
        optional documentation_url: Box<str>;
    }
}

/// The least time to wait where an error passes and does not say when.
const USUAL_WAIT_SECONDS: u64 = 1;

/// The phrases that no suggestion may have.
const UNSAFE_PHRASES: &str = include_str!("unsafe_suggestions.txt");
/// The names of members that describe the inside of a server.
const INTERNAL_MEMBERS: &str = include_str!("internal_members.txt");

/// The reason why a suggestion or an address is not taken into an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsafeAdvice {
    /// The suggestion would weaken somebody's security.
    #[error(
        "a suggestion never tells a user to change credentials or to turn off a check; say what the request needs"
    )]
    Suggestion,
    /// The address is not one of HTTPS.
    #[error("the documentation URL must begin with https://")]
    Address,
}

impl StructuredError {
    /// Returns the data of an error, or `_meta.error` of a failed result, without suggestions that would weaken somebody's
    /// security; `None` if it has none of these.
    pub fn without_unsafe_suggestions(data: &RawJson) -> Option<RawJson> {
        let mut object = Object::from_raw(data).ok()?;
        let is_unsafe = |one: &RawJson| one.to_text().is_some_and(|text| weakens_security(&text));
        let has_one = object.get("suggestion").as_ref().is_some_and(is_unsafe);
        if has_one {
            object.remove("suggestion");
        }
        let all: Vec<RawJson> = object.get("suggestions").and_then(|all| all.to().ok()).unwrap_or_default();
        let safe: Vec<_> = all.iter().filter(|one| !is_unsafe(one)).collect();
        if safe.len() < all.len() {
            object.set("suggestions", written(&safe));
        }
        (has_one || safe.len() < all.len()).then(|| object.to_raw())
    }

    /// Creates an error.
    pub fn new(
        code: impl Into<Cow<'static, str>>,
        category: ErrorClass,
        message: impl Into<Box<str>>,
    ) -> Self {
        let retry_after_seconds = category.passes().then_some(USUAL_WAIT_SECONDS);
        Self {
            code: code.into(),
            message: message.into(),
            category,
            retry_after_seconds,
            user_actionable: false,
            suggestion: None,
            details: None,
            documentation_url: None,
        }
    }

    /// Returns the structured form of `error`, from its code and its recovery advice.
    pub fn of(error: &Error) -> Self {
        let ErrorProjection { word, class, .. } = projection(error.code());
        let recovery = error.recovery();
        let details = recovery.as_ref().and_then(|recovery| recovery.details.as_ref());
        let details = details.and_then(|details| Object::from_raw(details).ok());
        let retry_after_ms = recovery.as_ref().and_then(|recovery| recovery.retry_after_ms);
        let may_come_again = recovery.as_ref().is_some_and(|recovery| recovery.retryable == Some(true));
        let lacks_scope = details.as_ref().is_some_and(|details| details.contains("missing_scopes"));
        let (word, class) = match error.code() {
            code::PERMISSION_DENIED if lacks_scope => ("SCOPE_INSUFFICIENT", ErrorClass::AuthRequired),
            code::QUOTA_EXCEEDED if retry_after_ms.is_some() => (word, ErrorClass::RateLimited),
            // The same request succeeds once a person has decided.
            _ if class == ErrorClass::Permanent && may_come_again => (word, ErrorClass::Transient),
            _ => (word, class),
        };
        let mut structured = Self::new(word, class, error.message());
        structured.suggestion = match error.code() {
            code::SESSION_STATE_INVALID | code::SESSION_STATE_EXPIRED => {
                Some("Start a new session without a state token.".into())
            }
            code::CHECKPOINT_INVALID | code::CHECKPOINT_EXPIRED => {
                Some("Make the call again without `resume`.".into())
            }
            _ if structured.code == "SCOPE_INSUFFICIENT" => {
                Some("negotiate the missing scopes, or ask an operator for them".into())
            }
            _ => None,
        };
        if let Some(milliseconds) = retry_after_ms.filter(|_| structured.category.passes()) {
            structured.retry_after_seconds = Some(milliseconds.div_ceil(1000));
        }
        structured.details = details;
        structured
    }

    /// Reads the structured error in the data of an error, or in `_meta.error` of a failed result.
    pub fn read(data: &RawJson) -> Option<Self> {
        data.to().ok()
    }

    crate::setters! { #[must_use] self =>
        /// Says that a person can do something about the error.
        pub fn user_actionable() => self.user_actionable = true;

        /// Sets facts about the error. What describes the inside of the server is left out: traces of a stack, queries,
        /// and private addresses.
        pub fn with_details(details: &Object) => self.details = Some(without_internals(details));
    }

    /// Sets the next step.
    ///
    /// # Errors
    ///
    /// A suggestion that would weaken somebody's security is refused.
    pub fn with_suggestion(mut self, suggestion: impl Into<Box<str>>) -> Result<Self, UnsafeAdvice> {
        let suggestion = suggestion.into();
        if weakens_security(&suggestion) {
            return Err(UnsafeAdvice::Suggestion);
        }
        self.suggestion = Some(suggestion);
        Ok(self)
    }

    /// Sets the address where the error is explained.
    ///
    /// # Errors
    ///
    /// An address that is not one of HTTPS is refused.
    pub fn with_documentation_url(mut self, url: impl Into<Box<str>>) -> Result<Self, UnsafeAdvice> {
        let url = url.into();
        if host(&url).is_none() {
            return Err(UnsafeAdvice::Address);
        }
        self.documentation_url = Some(url);
        Ok(self)
    }

    /// Returns the address where the error is explained, if it belongs to the server: its host is that of `homepage`
    /// or below it. An address elsewhere may lead a user anywhere.
    pub fn documentation_of(&self, homepage: &str) -> Option<&str> {
        let url = self.documentation_url.as_deref()?;
        let (theirs, ours) = (host(url)?, host(homepage)?);
        let is_below =
            theirs.strip_suffix(ours).is_some_and(|front| front.is_empty() || front.ends_with('.'));
        is_below.then_some(url)
    }

    /// Returns the error as an object.
    pub fn to_object(&self) -> Object {
        Object::from_value(self).unwrap_or_default()
    }

    /// Adds the members of the error to the data of an error; members that are there already stay, and data that are no
    /// object stay as they are. Data that are a structured error get at most the time to wait that they lack.
    pub fn add_to(&self, data: Option<&RawJson>) -> RawJson {
        let Some(data) = data.filter(|data| !data.is_null()) else { return self.to_object().to_raw() };
        let Ok(mut object) = Object::from_raw(data) else { return data.clone() };
        match Self::read(data) {
            None => object.followed_by(&self.to_object()),
            Some(own) if own.category.passes() && own.retry_after_seconds.is_none() => {
                let wait = self.retry_after_seconds.unwrap_or(USUAL_WAIT_SECONDS);
                object.set("retry_after_seconds", written(&wait));
                object.to_raw()
            }
            Some(_) => data.clone(),
        }
    }
}

fn weakens_security(suggestion: &str) -> bool {
    let lower = suggestion.to_lowercase();
    lines(UNSAFE_PHRASES).any(|phrase| lower.contains(phrase))
}

/// Returns the host of an address of HTTPS.
fn host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit_once(':').map_or(host, |(name, _)| name);
    (!host.is_empty() && !host.contains('@')).then_some(host)
}

fn without_internals(details: &Object) -> Object {
    let public = details.iter().filter(|(name, _)| {
        let lower = name.to_lowercase();
        !lines(INTERNAL_MEMBERS).any(|internal| lower.contains(internal))
    });
    public.filter_map(|(name, value)| Some((name.into_owned(), without_internal_values(value)?))).collect()
}

/// Returns the value without what describes the inside of the server; `None` if nothing else is in it.
fn without_internal_values(value: RawJson) -> Option<RawJson> {
    if let Ok(object) = Object::from_raw(&value) {
        return Some(without_internals(&object).to_raw());
    }
    if let Ok(list) = value.to::<Vec<RawJson>>() {
        let kept: Vec<_> = list.into_iter().filter_map(without_internal_values).collect();
        return Some(written(&kept));
    }
    let is_internal = value.to_text().as_deref().is_some_and(names_a_private_address);
    (!is_internal).then_some(value)
}

fn names_a_private_address(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|word| word.parse::<std::net::Ipv4Addr>().ok())
        .any(|address| address.is_private() || address.is_loopback() || address.is_link_local())
}

fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests;
