//! The status of definitions that are not simply used, and the messages that explain it.

use std::borrow::Cow;
use std::fmt::Write as _;

use mgp_types::mgp::{Refusal, ServerId, code};
use mgp_types::{Context, Error, UriTemplate};

use super::{DefinitionFindings, DefinitionName, server_of};
use crate::percent::percent_decoded;
use crate::refusal::advice;
use crate::visible::visible;

/// The status of a definition that is not simply used, in the words that all messages share. With any status but the last
/// the definition is held: it is not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DefinitionStatus {
    /// The definition waits for its first approval.
    New,
    /// The definition is not the one that was approved.
    Changed,
    /// The definition differs from the one that was approved by the order of lists and by figures only.
    Varied,
    /// The definition is not the one that was approved, and changed together with its server's configuration.
    Reconfigured,
    /// This rule found something in the definition that an operator can accept.
    Found(&'static str),
    /// This rule found something in the definition that only its server can correct.
    Refused(&'static str),
    /// The server does not list the definition.
    Unlisted,
    /// The definition is offered, and operators are told that this rule found something in it.
    Flagged(&'static str),
}

impl DefinitionStatus {
    /// Returns the error that refuses a request which uses the definition called `name`, pinned for `holder`. The error
    /// says how the request can be admitted, and the refusal is noted in the trail of the request.
    pub fn refusal(self, holder: &ServerId, name: &DefinitionName, context: &Context) -> Error {
        let rule = match self {
            Self::New | Self::Changed | Self::Varied | Self::Reconfigured => "quarantined",
            Self::Found(_) | Self::Refused(_) | Self::Unlisted | Self::Flagged(_) => "not-admitted",
        };
        context.note_refusal(Refusal::new("definition", rule));
        let mut members = vec![("rule", rule)];
        if let Self::Found(found) | Self::Refused(found) = self {
            members.push(("found", found));
        }
        members.push(("advice", "use something else, or have an operator look at this one"));
        let shown: String = name.as_str().chars().take(MAX_NAME_CHARS).collect();
        let mut message =
            format!("the definition of the {} `{}` of `{holder}` ", name.kind(), visible(&shown));
        if self == Self::Unlisted {
            message.push_str("is not offered here, or is refused");
        } else {
            // The server wrote the text in which something was found, so the caller is told the rule alone.
            let _ = write!(message, "{}; {}", self.reason(holder, None), self.way(holder, name));
        }
        Error::new(code::VALIDATION_BLOCKED, message)
            .with_recovery(advice(code::VALIDATION_BLOCKED, &members))
    }

    /// Returns whether the definition is held, and not only flagged.
    pub const fn is_held(self) -> bool {
        !matches!(self, Self::Flagged(_))
    }

    /// Returns why a definition has this status, with the findings in it, if the reader may be shown them.
    pub fn reason(self, holder: &ServerId, found: Option<&DefinitionFindings>) -> String {
        let held_back = |what: &str| format!("{what} and is held back until an operator has approved it");
        let held = match self {
            Self::New => held_back("is new"),
            Self::Changed => held_back("changed after it was approved"),
            Self::Varied => held_back("differs from what was approved by figures only"),
            Self::Reconfigured => {
                held_back(&format!("changed since the configuration of `{}` changed", server_of(holder)))
            }
            Self::Found(rule) => format!("is held back by the rule {rule} until an operator has approved it"),
            Self::Refused(rule) => format!("is left out until its server corrects it (rule {rule})"),
            Self::Unlisted => "is not listed".to_owned(),
            Self::Flagged(rule) => format!("is flagged by the rule {rule}, and is offered"),
        };
        let found = found.map(|found| format!(": {}", found.describe())).unwrap_or_default();
        format!("{held}{found}")
    }

    /// Returns the command that changes the status.
    pub fn command(self, holder: &ServerId, name: &DefinitionName) -> Option<String> {
        let name = name.as_argument();
        match self {
            Self::Reconfigured => Some("mgp pin approve --since-config".to_owned()),
            Self::Varied => Some(format!("mgp pin approve {holder} {name} --any-order")),
            Self::New | Self::Changed | Self::Found(_) | Self::Flagged(_) => {
                Some(format!("mgp pin approve {holder} {name}"))
            }
            Self::Refused(_) => Some(format!("mgp pin show {holder} {name}")),
            Self::Unlisted => None,
        }
    }

    /// Returns the commands that show the definition and change its status, and the setting that would also change it.
    pub fn way(self, holder: &ServerId, name: &DefinitionName) -> String {
        let argument = name.as_argument();
        let show = match self {
            Self::Changed | Self::Varied | Self::Reconfigured => "diff",
            _ => "show",
        };
        let mut way = format!("`mgp pin {show} {holder} {argument}` shows it");
        if let (Some(command), false) = (self.command(holder, name), matches!(self, Self::Refused(_))) {
            let _ = write!(way, ", `{command}` approves ");
            way.push_str(match self {
                Self::Reconfigured => "all that changed so",
                Self::Varied => "it with any order of its lists and any figures",
                _ => "it",
            });
        }
        if let Self::Found(rule) | Self::Flagged(rule) = self {
            let _ = write!(
                way,
                ", and `[servers.definitions] allow = [{{ tool = {}, rule = \"{rule}\" }}]` in the table of the server \
                 `{}` in `mgp.toml` ends the rule for it",
                quoted(name),
                server_of(holder)
            );
        }
        way
    }
}

/// Returns the name as a TOML string, with invisible characters written as escapes.
fn quoted(name: &DefinitionName) -> String {
    let text: String = name.to_string().chars().take(MAX_NAME_CHARS).collect();
    let quote = if text.contains(['"', '\\']) { '\'' } else { '"' };
    format!("{quote}{}{quote}", visible(&text))
}

/// Returns the first of the templates `held` that matches the resource `uri`, in any spelling that a server may treat
/// as the same; `None` if one of the `approved` matches it as it is written.
pub(super) fn template_of<'a>(uri: &str, held: &'a [Box<str>], approved: &[Box<str>]) -> Option<&'a str> {
    if held.is_empty() || approved.iter().any(|template| UriTemplate::read(template).matches(uri).is_some()) {
        return None;
    }
    let plain = plain(uri);
    let is_of = |template: &str| {
        UriTemplate::read(template).matches(uri).is_some()
            || UriTemplate::read(&self::plain(template)).matches(&plain).is_some()
    };
    held.iter().map(|template| &**template).find(|template| is_of(template))
}

/// Returns `uri` in lower case and with its percent escapes decoded, also if it was encoded several times.
fn plain(uri: &str) -> String {
    let mut text = Cow::Borrowed(uri);
    for _ in 0..MAX_ENCODED {
        let Some(decoded) = percent_decoded(&text) else { break };
        text = Cow::Owned(decoded);
    }
    text.to_lowercase()
}

/// The largest number of characters of a name that messages show.
const MAX_NAME_CHARS: usize = 128;
/// The largest number of times that the percent escapes of a URI are decoded.
const MAX_ENCODED: usize = 4;

#[cfg(test)]
mod tests {
    use mgp_types::Context;

    use super::*;

    #[test]
    fn a_refusal_names_the_command_that_changes_it() {
        let text = |hold: DefinitionStatus, name: &str| {
            let error = hold.refusal(&ServerId::new("files"), &name.into(), &Context::default());
            error.message().to_owned()
        };
        let held = text(DefinitionStatus::Changed, "template:file:///{+path}");
        assert!(held.contains("the template `file:///{+path}` of `files` changed"), "{held}");
        assert!(held.contains("`mgp pin approve files 'template:file:///{+path}'`"), "{held}");
        assert!(text(DefinitionStatus::New, "read").contains("`mgp pin approve files read`"));
        assert!(text(DefinitionStatus::Reconfigured, "read").contains("`mgp pin approve --since-config`"));
        let found = text(DefinitionStatus::Found("hidden-instruction"), "prompt:a\u{1b}b");
        assert!(found.contains("`mgp pin approve files") && !found.contains('\u{1b}'), "{found}");
        assert!(found.contains("rule = \"hidden-instruction\" }]`"), "{found}");
        let refused = text(DefinitionStatus::Refused("shadowed-name"), "read");
        assert!(!refused.contains("pin approve") && refused.contains("corrects"), "{refused}");
    }

    #[test]
    fn templates_are_found_in_all_spellings_of_a_uri() {
        let held = ["file:///{+path}".into()];
        for uri in ["file:///a", "FILE:///a", "file:%2f//a", "file:%252F//a"] {
            assert!(template_of(uri, &held, &[]).is_some(), "{uri}");
        }
        assert!(template_of("files:///a", &held, &[]).is_none());
        assert!(template_of("file:///a", &held, &["file:///{x}".into()]).is_none());
    }
}
