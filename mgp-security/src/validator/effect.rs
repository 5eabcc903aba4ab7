//! The effect of a call, by the definition of its tool and its arguments. `effects.txt` has the words.
//!
//! Arguments only make an effect worse: a tool that writes destroys if it is called with `force`, and a query destroys
//! unless its statement is known to read. Nothing of what a server says makes an effect better.

mod command;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::LazyLock;

use mgp_types::mgp::{CallEffect, ResolvedTool};
use serde_json::Value;

use self::command::{of_code, of_command};
use super::readonly::check_sql;
use crate::tool::{ArgumentNature, ArgumentNatures, NameManner};
use mgp_types::{WordLists, word_lists, words};

static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("effects.txt")));

fn list(heading: &str) -> impl Iterator<Item = &'static str> {
    LISTS[heading].iter().copied()
}

/// Returns whether a word is in the list of `effects.txt` with this heading.
pub(super) fn is_listed(heading: &str, word: &str) -> bool {
    list(heading).any(|listed| listed == word)
}

/// The rules for the effects of calls of one tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallEffects {
    /// The effect of a call whose arguments tell nothing.
    of_tool: CallEffect,
    /// True if the name of the tool says that it reads, so that words among its arguments only select.
    is_reader: bool,
    /// True if the tool starts programs in containers and clusters, so that its arguments may give them power.
    starts_programs: bool,
    replaced: ReplacedFiles,
}

/// The files of which a tool loses what they had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplacedFiles {
    None,
    Destinations,
    AllButSources,
}

impl CallEffects {
    /// Returns the rules for a tool, unless a trusted server declares its security.
    pub(super) fn of(tool: &ResolvedTool) -> Option<Self> {
        let name = words(&tool.definition.text("name").unwrap_or_default());
        let has = |heading| name.iter().any(|word| is_listed(heading, word));
        let of_tool = tool.security.effect?;
        let is_reader = NameManner::of(tool.name.as_str()) == NameManner::Reads;
        Some(Self {
            of_tool,
            is_reader,
            starts_programs: !is_reader && has("word of containers"),
            replaced: if has("verb that moves files") {
                ReplacedFiles::Destinations
            } else if has("verb that replaces files") {
                ReplacedFiles::AllButSources
            } else {
                ReplacedFiles::None
            },
        })
    }

    /// Returns the effect of a call with these arguments.
    pub(super) fn of_call(self, arguments: &Value, natures: &ArgumentNatures) -> CallEffect {
        self.of_value("", arguments, natures).max(self.of_tool)
    }

    /// Returns the worst effect that `value` shows, which is that of the member `name` or stands in it.
    fn of_value(self, name: &str, value: &Value, natures: &ArgumentNatures) -> CallEffect {
        match value {
            Value::Null => CallEffect::Reads,
            Value::Array(values) => {
                let invites = !self.is_reader && !values.is_empty() && names(name, "member that invites");
                let of_name = if invites { CallEffect::Sends } else { CallEffect::Reads };
                worst(values.iter().map(|value| self.of_value(name, value, natures))).max(of_name)
            }
            Value::Object(members) => worst(members.iter().map(|(member, value)| {
                // Mounts are also written as an object with a member for each folder.
                let is_mounted = self.starts_programs && is_mount(name, member);
                let of_name = if is_mounted {
                    CallEffect::GivesAccess
                } else if is_listed("member that destroys", member) {
                    CallEffect::Destroys
                } else {
                    CallEffect::Reads
                };
                self.of_value(member, value, natures).max(of_name)
            })),
            Value::String(text) => self.of_text(name, text, natures),
            _ if self.is_reader => CallEffect::Reads,
            Value::Bool(true) if names(name, "flag that gives access") => CallEffect::GivesAccess,
            Value::Bool(true) if names(name, "flag that destroys") => CallEffect::Destroys,
            Value::Number(count)
                if count.as_f64() == Some(0.0) && names(name, "count that destroys at zero") =>
            {
                CallEffect::Destroys
            }
            Value::Bool(_) | Value::Number(_) => CallEffect::Reads,
        }
    }

    /// Returns whether the tool replaces the file that the member `name` names.
    fn replaces(self, name: &str) -> bool {
        match self.replaced {
            ReplacedFiles::None => false,
            ReplacedFiles::Destinations => names(name, "destination of a file"),
            ReplacedFiles::AllButSources => !names(name, "source of a file"),
        }
    }

    fn of_text(self, name: &str, text: &str, natures: &ArgumentNatures) -> CallEffect {
        let of_nature = match natures.nature(name) {
            ArgumentNature::Sql if check_sql(text).is_err() => CallEffect::Destroys,
            ArgumentNature::Command => of_command(text),
            ArgumentNature::Code => of_code(text),
            ArgumentNature::Path if self.replaces(name) && may_be_there(Path::new(text)) => {
                CallEffect::Destroys
            }
            _ => CallEffect::Reads,
        };
        if self.is_reader {
            of_nature
        } else if self.starts_programs && (is_mount(name, text) || gives_power(text)) {
            CallEffect::GivesAccess
        } else {
            of_nature.max(chosen(name, text)).max(of_member(name, text))
        }
    }
}

/// Returns whether there may be a file at a path. A path that is relative to a folder of the server, or cannot be looked
/// at, may have one.
fn may_be_there(path: &Path) -> bool {
    !path.is_absolute()
        || path.metadata().map_or_else(|error| error.kind() != ErrorKind::NotFound, |found| !found.is_dir())
}

fn worst(effects: impl Iterator<Item = CallEffect>) -> CallEffect {
    effects.max().unwrap_or_default()
}

/// Returns whether the name of a member has a word of the list.
fn names(name: &str, heading: &str) -> bool {
    let words = words(name);
    let whole = words.concat();
    list(heading).any(|listed| whole == listed || words.iter().any(|word| word == listed))
}

/// Returns the effect of a member that says who pays, who sees something, or to whom it goes on.
fn of_member(name: &str, text: &str) -> CallEffect {
    let is_everybody = || words(text).iter().any(|word| is_listed("choice of everybody", word));
    if (names(name, "member that forwards") && text.contains('@'))
        || (text.len() <= MAX_CHOICE_BYTES && names(name, "member of who sees") && is_everybody())
    {
        CallEffect::GivesAccess
    } else if names(name, "member of a purchase") && !text.is_empty() {
        CallEffect::Spends
    } else {
        CallEffect::Reads
    }
}

/// Returns the effect that is chosen by the value of a member like `operation`.
fn chosen(name: &str, text: &str) -> CallEffect {
    let of_name = words(name);
    let chooses = |word: &str| is_listed("member that chooses", word);
    let is_choice = of_name.last().is_some_and(|last| chooses(last)) || chooses(&of_name.concat());
    if text.len() > MAX_CHOICE_BYTES || !is_choice {
        return CallEffect::Reads;
    }
    let words = words(text);
    let has = |heading| words.iter().any(|word| is_listed(heading, word));
    if has("choice that gives access") {
        CallEffect::GivesAccess
    } else if has("choice that destroys") {
        CallEffect::Destroys
    } else if has("choice that sends") {
        CallEffect::Sends
    } else {
        CallEffect::Reads
    }
}

/// The length of the longest text that is read as a choice between operations.
const MAX_CHOICE_BYTES: usize = 40;

/// Returns whether a member mounts a folder of the system into a container, which gives it the machine.
fn is_mount(name: &str, text: &str) -> bool {
    let source = text.to_lowercase();
    let is_of_system = |folder: &str| {
        let rest = source.strip_prefix(folder);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(':') || folder != "/" && rest.starts_with('/')
        })
    };
    names(name, "mount") && list("folder of the system").any(is_of_system)
}

/// Returns whether a text describes a program with power over its machine.
fn gives_power(text: &str) -> bool {
    let mut text = text.to_lowercase();
    text.retain(|letter| !letter.is_whitespace() && !matches!(letter, '"' | '\''));
    list("text that gives access").any(|phrase| text.contains(phrase))
}

#[cfg(test)]
pub(super) mod tests;
