//! Scopes: what a caller may do on a server, checked before a call and negotiated for a session.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::written;
use crate::Object;
use crate::macros::record;
use crate::mgp::Timestamp;

/// The most scopes in one set.
pub const MAX_SCOPES: usize = 256;

const MAX_SCOPE_BYTES: usize = 128;

/// A set of scopes. Each is a text whose meaning the server alone knows, like `read:tickets`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Scopes(BTreeSet<Box<str>>);

/// The reason why a list is no set of scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidScopes {
    /// There are more scopes than [`MAX_SCOPES`].
    #[error("more than 256 scopes")]
    TooMany,
    /// A scope is empty, too long, or has a space or a control character.
    #[error("a scope has 1 to 128 visible characters and no space")]
    InvalidScope,
}

impl Scopes {
    /// Creates a set without scopes.
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    /// Reads a list of scopes.
    ///
    /// # Errors
    ///
    /// A list that is too long, or that has a text which is no scope, is an error.
    pub fn read<T: AsRef<str>>(scopes: impl IntoIterator<Item = T>) -> Result<Self, InvalidScopes> {
        let mut read = BTreeSet::new();
        for scope in scopes {
            let scope = scope.as_ref();
            let is_scope = (1..=MAX_SCOPE_BYTES).contains(&scope.len())
                && scope.chars().all(|c| !c.is_whitespace() && !c.is_control());
            if !is_scope {
                return Err(InvalidScopes::InvalidScope);
            }
            read.insert(scope.into());
            if read.len() > MAX_SCOPES {
                return Err(InvalidScopes::TooMany);
            }
        }
        Ok(Self(read))
    }

    /// Returns whether the set has `scope`.
    pub fn has(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }

    /// Returns the scopes of this set that `held` does not have.
    pub fn missing_from(&self, held: &Self) -> Vec<Box<str>> {
        self.0.difference(&held.0).cloned().collect()
    }

    /// Iterates over the scopes, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|scope| &**scope)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<Box<str>>::deserialize(deserializer)?;
        Self::read(list).map_err(serde::de::Error::custom)
    }
}

crate::write_as!(Display of Scopes, self => "{}", self.iter().collect::<Vec<_>>().join(" "));

/// Reads the time in a scope like `temp:30min`: how long the scopes that are asked for with it are to last.
///
/// The unit is `s`, `min` or `h`. Returns `None` for any other scope.
pub fn temporary(scope: &str) -> Option<Duration> {
    let span = scope.strip_prefix("temp:")?;
    let digits = span.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = span.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let seconds = match unit {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

record! {
    /// The params of `mgp/permission/check`: may this tool be called?
    pub struct CheckPermission {
        /// The name of the tool.
        required tool: into Box<str>;
        /// The scopes that the caller believes to hold. They are advice: those of the caller's session decide.
        default scopes_held: Vec<Box<str>>;
        /// The arguments that the call would have. They decide nothing: a tool requires the same scopes for all arguments.
        optional parameters: Object;
    }

    /// The result of `mgp/permission/check`.
    pub struct PermissionChecked: Eq {
        /// True if the call would not be refused.
        plain allowed: bool;
        /// The scopes that are missing.
        list missing_scopes: Box<str>;
        /// The address at which a person can give the missing scopes.
        optional elevation_url: Box<str>;
        /// The reason in words.
        optional reason: Box<str>;
    }

    /// The params of `mgp/permission/negotiate`.
    pub struct NegotiateScopes: Eq {
        /// The wanted scopes; [`temporary`] ones bound the time of the others.
        required requested_scopes: Scopes;
        /// The reason for which the scopes are wanted, in words.
        optional justification: Box<str>;
        /// The wanted time in seconds.
        optional ttl_seconds: u64;
    }

    /// A scope that was not granted.
    pub struct DeniedScope: Eq {
        /// The scope.
        required scope: into Box<str>;
        /// The reason.
        required reason: into Box<str>;
    }

    /// A session of scopes: a token, the scopes that its holder has, and its end.
    pub struct ScopeSession shows scopes, expires_at: Eq {
        /// The token.
        required token: into Box<str>;
        /// The scopes.
        required scopes: Scopes;
        /// The end of the session.
        required expires_at: Timestamp;
        /// The token for a new session with the same scopes.
        optional refresh_token: Box<str>;
        /// The time in seconds without a call after which the session ends.
        optional inactivity_timeout_seconds: u64;
    }

    /// The result of `mgp/permission/negotiate`.
    pub struct ScopesNegotiated: Eq {
        /// The scopes that the caller has now.
        plain granted_scopes: Scopes;
        /// The scopes that the caller does not get.
        list denied_scopes: DeniedScope;
        /// The session.
        plain session: ScopeSession;
    }
}

impl PermissionChecked {
    /// Creates the answer that a call is allowed.
    pub const fn allowed() -> Self {
        Self { allowed: true, missing_scopes: Vec::new(), elevation_url: None, reason: None }
    }

    /// Creates the answer that a call is refused for this reason.
    pub fn refused(reason: impl Into<Box<str>>) -> Self {
        Self { allowed: false, missing_scopes: Vec::new(), elevation_url: None, reason: Some(reason.into()) }
    }

    /// Creates the answer that these scopes are missing.
    pub fn missing(scopes: Vec<Box<str>>) -> Self {
        let reason = format!("missing required scopes: {}", scopes.join(", "));
        Self { missing_scopes: scopes, ..Self::refused(reason) }
    }
}

impl ScopesNegotiated {
    /// Creates the result for a session that was granted.
    pub fn new(session: ScopeSession, denied_scopes: Vec<DeniedScope>) -> Self {
        Self { granted_scopes: session.scopes.clone(), denied_scopes, session }
    }
}

/// Tells people what a caller can do and cannot do with the scopes `held`, a line for each tool: `can call search`,
/// `cannot call edit: it needs write:tickets`.
pub fn report<'a>(tools: impl IntoIterator<Item = (&'a str, &'a [Box<str>])>, held: &Scopes) -> String {
    let (mut can, mut cannot) = (String::new(), String::new());
    for (tool, required) in tools {
        let missing: Vec<_> =
            required.iter().filter(|scope| !held.has(scope)).map(|scope| &**scope).collect();
        // Writing to a `String` does not fail.
        let _ = if missing.is_empty() {
            writeln!(can, "can call {tool}")
        } else {
            writeln!(cannot, "cannot call {tool}: it needs {}", missing.join(", "))
        };
    }
    can + &cannot
}

/// Returns the data of the error about missing scopes.
pub fn missing_scopes_details(missing: &[Box<str>]) -> Object {
    Object::from([("missing_scopes", written(missing))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(list: &[&str]) -> Scopes {
        Scopes::read(list).unwrap()
    }

    // covers: EXT-04-02
    #[test]
    fn a_scope_is_any_text_that_the_server_understands() {
        for list in [&["read:github_repoX", "channels:read"][..], &["admin"], &["日本"], &[]] {
            let read = scopes(list);
            assert!(list.iter().all(|scope| read.has(scope)));
        }
        for wrong in ["", "a b", "a\n", &"x".repeat(129)] {
            assert_eq!(Scopes::read([wrong]), Err(InvalidScopes::InvalidScope), "{wrong:?}");
        }
        assert_eq!(Scopes::read((0..257).map(|n| n.to_string())), Err(InvalidScopes::TooMany));
    }

    // covers: EXT-04-15
    #[test]
    fn a_time_is_read_from_a_scope() {
        let of = |scope| temporary(scope).map(|span| span.as_secs());
        assert_eq!([of("temp:30min"), of("temp:45s"), of("temp:2h")], [Some(1800), Some(45), Some(7200)]);
        for none in ["temp:", "temp:min", "temp:5d", "temp:-1s", "read:x", "temp:99999999999999999999h"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn a_token_is_no_text_for_logs() {
        let session = ScopeSession::new("t", scopes(&["read:tickets"]), Timestamp::EPOCH);
        assert!(!format!("{session:?}").contains("\"t\""));
    }

    #[test]
    fn a_refusal_names_what_is_missing() {
        let refused = PermissionChecked::missing(vec!["delete:tickets".into()]);
        assert_eq!(refused.reason.as_deref(), Some("missing required scopes: delete:tickets"));
    }

    // covers: EXT-04-12
    #[test]
    fn what_is_in_reach_and_what_is_not_can_be_told() {
        let read = ["read:tickets".into()];
        let write = ["read:tickets".into(), "write:tickets".into()];
        let report =
            report([("search", &read[..]), ("edit", &write[..]), ("help", &[])], &scopes(&["read:tickets"]));
        let expected = "can call search\ncan call help\ncannot call edit: it needs write:tickets\n";
        assert_eq!(report, expected);
    }
}
