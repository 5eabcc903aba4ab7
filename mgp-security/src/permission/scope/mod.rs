//! The check of calls against the scope of a grant: the patterns of a [`Scope`] are matched with the arguments of a
//! call.
//!
//! The name of an argument tells whether it is a path, a command or a host (`path`, `file`, `cwd`; `command`, `argv`;
//! `url`, `host`); beyond that, the look of a text does. Denials are checked first. Where a scope bounds something
//! that the arguments do not show, the call is refused: a bound that cannot be enforced would be none. The rules in
//! full:
//!
//! * An absolute path is compared as it is written. A path with `..`, encoded slashes, backslashes or control
//!   characters could be judged only by the file system, so it is refused. A relative path is matched with relative
//!   patterns only. Links are not visible here: bounding what lies behind an allowed path is the task of the sandbox.
//! * A command is split into words as a POSIX shell does it. A command that chains, redirects or substitutes is
//!   refused, and so is one that runs another, unless the patterns allow that one too. A pattern without a blank is
//!   the name of a command, and a pattern with blanks is a whole line.
//! * A host is read as browsers read it, so all spellings of an address are one address.
//! * Neither a command nor code shows which paths or hosts it touches, so a scope that bounds these refuses both.

mod arguments;
mod command;
mod glob;
mod host;
mod path;

use mgp_types::RawJson;
use mgp_types::mgp::Scope;

use self::arguments::ArgumentFacts;
use self::command::CommandScope;
use self::host::HostScope;
use self::path::PathScope;
use crate::Finding;

/// A [`Scope`] that is ready to be checked against arguments.
#[derive(Debug, Clone)]
pub(crate) struct ScopeCheck {
    paths: PathScope,
    commands: CommandScope,
    hosts: HostScope,
    languages: Box<[Box<str>]>,
    max_execution_time_ms: Option<u64>,
}

/// The reason why a scope cannot be checked: one of its patterns is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no pattern: empty, too long, or with a bracket or backslash that leads nowhere")]
pub struct ScopeError(String);

impl ScopeCheck {
    /// Reads the patterns of `scope`.
    ///
    /// # Errors
    /// Fails if one of them is malformed; a grant with such a scope must not be made.
    pub(crate) fn new(scope: &Scope) -> Result<Self, ScopeError> {
        Ok(Self {
            paths: PathScope::new(&scope.paths, &scope.deny_paths)?,
            commands: CommandScope::new(&scope.commands, &scope.deny_commands, scope.allow_sudo)?,
            hosts: HostScope::new(&scope.hosts, &scope.deny_hosts, &scope.ports)?,
            languages: scope.languages.iter().map(|language| language.to_lowercase().into()).collect(),
            max_execution_time_ms: scope.max_execution_time_ms,
        })
    }

    /// Checks that a call with these arguments stays within the scope.
    ///
    /// # Errors
    /// Fails if it does not, or if the arguments do not show whether it does.
    pub(crate) fn check(&self, arguments: Option<&RawJson>) -> Result<(), Finding> {
        let unreadable = |_| Finding::new("scope-unreadable", "the arguments cannot be read");
        let value = arguments.map(RawJson::to::<serde_json::Value>).transpose().map_err(unreadable)?;
        let value = value.unwrap_or_default();
        let facts = ArgumentFacts::read(&value);
        self.paths.check(&facts)?;
        self.commands.check(&facts)?;
        self.hosts.check(&facts)?;
        self.check_language(&facts)?;
        let is_longer = |limit: &u64| facts.times_ms.iter().any(|time| time > limit);
        let exceeded = self.max_execution_time_ms.filter(is_longer);
        let message = |limit: u64| format!("the time asked for is longer than the {limit} ms granted");
        exceeded.map_or(Ok(()), |limit| Err(Finding::new("scope-time", message(limit))))
    }

    fn check_language(&self, facts: &ArgumentFacts<'_>) -> Result<(), Finding> {
        if self.languages.is_empty() {
            return Ok(());
        }
        let missing = "say in `language` which language the code is in";
        refuse_if(facts.languages.is_empty(), ("scope-language", missing))?;
        let granted =
            |language: &&str| self.languages.iter().any(|known| **known == *language.to_lowercase());
        let is_granted = facts.languages.iter().all(granted);
        refuse_if(!is_granted, ("scope-language", "code in this language was not granted"))
    }
}

/// Refuses a call if the condition holds, with a class and a message.
fn refuse_if(condition: bool, (rule, message): (&'static str, &'static str)) -> Result<(), Finding> {
    if condition { Err(Finding::new(rule, message)) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
