//! Why a definition must not be used, and what is said to whoever uses it.

use std::borrow::Cow;
use std::fmt;

use mgp_types::mgp::{Recovery, Refusal, ServerId, code};
use mgp_types::{Context, Error, Object, RawJson, UriTemplate};

use super::DefinitionName;
use super::invisible::visible;

/// Why a definition must not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// It waits for its first approval.
    New,
    /// It is not the one that was approved.
    Changed,
    /// It is refused for what is in it, by this rule.
    Refused(&'static str),
    /// The server does not list it.
    Unlisted,
}

impl Hold {
    /// The refusal of whatever uses the definition called `name`, which is pinned for `holder`. Says how it becomes a yes, and
    /// notes it in the trail of the request.
    pub fn refusal(self, holder: &ServerId, name: &DefinitionName, context: &Context) -> Error {
        let rule = match self {
            Self::New | Self::Changed => "quarantined",
            Self::Refused(_) | Self::Unlisted => "not-admitted",
        };
        if let Some(trail) = &context.trail {
            trail.note_refusal(Refusal::new("definition", rule));
        }
        let mut details = Object::new();
        details.set("rule", RawJson::from_text(rule));
        details.set("advice", RawJson::from_text("use something else, or have an operator look at this one"));
        let recovery =
            Recovery::for_code(code::VALIDATION_BLOCKED).unwrap_or_default().with_details(&details);
        let message = Sentence { hold: self, holder, name }.to_string();
        Error::new(code::VALIDATION_BLOCKED, message).with_recovery(recovery)
    }
}

struct Sentence<'a> {
    hold: Hold,
    holder: &'a ServerId,
    name: &'a DefinitionName,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hold, holder, name } = self;
        let shown: String = name.as_str().chars().take(MAX_NAME_CHARS).collect();
        let kind = name.kind();
        write!(f, "the definition of the {kind} `{}` of `{holder}` ", visible(&shown))?;
        let why = match hold {
            Hold::New => "is new",
            Hold::Changed => "changed after it was approved",
            Hold::Refused(rule) => {
                return write!(f, "is refused ({rule}); it is offered again when its server has mended it");
            }
            Hold::Unlisted => return f.write_str("is not offered here, or is refused"),
        };
        let command = name.as_argument();
        write!(
            f,
            "{why} and is held back until an operator has approved it: `mgp pin diff {holder} {command}` shows it, \
             `mgp pin approve {holder} {command}` approves it"
        )
    }
}

/// Which of the templates `held` the resource `uri` is one of, in any spelling that a server may take for the same; none if it
/// is one of the `approved` as it stands.
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

/// `uri` in lower case and decoded, however often it was encoded.
fn plain(uri: &str) -> String {
    let mut text = Cow::Borrowed(uri);
    for _ in 0..MAX_ENCODED {
        let Some(decoded) = decoded(&text) else { break };
        text = Cow::Owned(decoded);
    }
    text.to_lowercase()
}

/// `text` with its percent escapes decoded; `None` if there are none.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    let mut is_other = false;
    while let [first, behind @ ..] = left {
        let escape =
            behind.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            left = &behind[2..];
            is_other = true;
        } else {
            bytes.push(*first);
            left = behind;
        }
    }
    is_other.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

const MAX_NAME_CHARS: usize = 128;
const MAX_ENCODED: usize = 4;

#[cfg(test)]
mod tests {
    use mgp_types::Context;

    use super::*;

    #[test]
    fn a_refusal_names_the_command_that_changes_it() {
        let text = |hold: Hold, name: &str| {
            let error = hold.refusal(&ServerId::new("files"), &name.into(), &Context::default());
            error.message().to_owned()
        };
        let held = text(Hold::Changed, "template:file:///{+path}");
        assert!(held.contains("the template `file:///{+path}` of `files` changed"), "{held}");
        assert!(held.contains("`mgp pin approve files 'template:file:///{+path}'`"), "{held}");
        assert!(text(Hold::New, "read").contains("`mgp pin approve files read`"));
        let refused = text(Hold::Refused("hidden-instruction"), "prompt:a\u{1b}b");
        assert!(!refused.contains("approve") && !refused.contains('\u{1b}'), "{refused}");
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
