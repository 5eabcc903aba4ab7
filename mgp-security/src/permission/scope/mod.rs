//! How far a grant reaches: the patterns of a [`Scope`] held against the arguments of a call.
//!
//! Which argument is a path, a command or a host is told by its name (`path`, `file`, `cwd`; `command`, `argv`;
//! `url`, `host`), and beyond that by what a text looks like. What is denied is looked for first. Where a scope
//! bounds something that the arguments do not show, the call is refused: a bound that cannot be held is none.
//! The rules in full:
//!
//! * An absolute path is compared as it is written; `..`, encoded slashes, backslashes and control characters make
//!   it one that only the file system could judge, and it is refused. A relative path is judged by relative patterns
//!   alone. Links are not seen here: what lies behind a path that may be touched is the sandbox's to bound.
//! * A command is split into words as a POSIX shell does. One that chains, redirects or substitutes is refused, and
//!   so is one that runs another, unless the patterns name that one too. A pattern without a blank is the name of a
//!   command, one with blanks is the whole line.
//! * A host is read as browsers read it, so every spelling of an address is one address.
//! * Neither a command nor code shows which paths or hosts it touches, so a scope that bounds these refuses both.

mod arguments;
mod command;
mod glob;
mod host;
mod path;
mod words;

use mgp_types::RawJson;
use mgp_types::mgp::Scope;

use self::arguments::ArgumentFacts;
use self::command::CommandScope;
use self::host::HostScope;
use self::path::PathScope;
use crate::Finding;

/// A [`Scope`] that is ready to be held against arguments.
#[derive(Debug, Clone)]
pub(crate) struct ScopeCheck {
    paths: PathScope,
    commands: CommandScope,
    hosts: HostScope,
    languages: Box<[Box<str>]>,
    max_execution_time_ms: Option<u64>,
}

/// Why a scope bounds nothing that can be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// A pattern is malformed.
    #[error("`{pattern}` is no pattern: empty, too long, or with a bracket or backslash that leads nowhere")]
    Pattern {
        /// The pattern.
        pattern: String,
    },
}

impl ScopeCheck {
    /// Reads the patterns of `scope`.
    ///
    /// # Errors
    /// One of them is malformed; a grant with such a scope must not be made.
    pub(crate) fn new(scope: &Scope) -> Result<Self, ScopeError> {
        Ok(Self {
            paths: PathScope::new(&scope.paths, &scope.deny_paths)?,
            commands: CommandScope::new(&scope.commands, &scope.deny_commands, scope.allow_sudo)?,
            hosts: HostScope::new(&scope.hosts, &scope.deny_hosts, &scope.ports)?,
            languages: scope.languages.iter().map(|language| language.to_lowercase().into()).collect(),
            max_execution_time_ms: scope.max_execution_time_ms,
        })
    }

    /// Whether a call with these arguments stays within the scope.
    ///
    /// # Errors
    /// It does not, or the arguments do not show whether it does.
    pub(crate) fn check(&self, arguments: Option<&RawJson>) -> Result<(), Finding> {
        let value = match arguments {
            None => serde_json::Value::Null,
            Some(arguments) => arguments
                .to()
                .map_err(|_| Finding::new("scope-unreadable", "the arguments cannot be read"))?,
        };
        let facts = ArgumentFacts::read(&value);
        self.paths.check(&facts)?;
        self.commands.check(&facts)?;
        self.hosts.check(&facts)?;
        self.check_language(&facts)?;
        match self.max_execution_time_ms {
            Some(limit) if facts.times_ms.iter().any(|time| *time > limit) => Err(Finding::new(
                "scope-time",
                format!("the time asked for is longer than the {limit} ms granted"),
            )),
            _ => Ok(()),
        }
    }

    fn check_language(&self, facts: &ArgumentFacts<'_>) -> Result<(), Finding> {
        if self.languages.is_empty() {
            return Ok(());
        }
        if facts.languages.is_empty() {
            return Err(Finding::new("scope-language", "say in `language` which language the code is in"));
        }
        let granted =
            |language: &&str| self.languages.iter().any(|known| **known == *language.to_lowercase());
        match facts.languages.iter().find(|language| !granted(language)) {
            None => Ok(()),
            Some(_) => Err(Finding::new("scope-language", "code in this language was not granted")),
        }
    }
}

#[cfg(test)]
mod tests;
