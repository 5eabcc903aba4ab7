//! The table of programs: what each program is, the position of the command that it runs, and the values of its
//! options.
//!
//! `programs.txt` contains the data and describes its own notation. It is read once, and [`reading`] sorts the arguments
//! of a call by it. The rules themselves contain no general knowledge of options.

mod reading;
mod reads;
mod rules;

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use regex::RegexSet;

use crate::Finding;
use crate::named::{Named as _, named};

use super::{Call, Danger, fits, refuse, rows};
use rules::{Patterns, Rule};

pub(super) use reading::{Reading, begins_command};
#[cfg(test)]
pub(in crate::validator) use reads::check_command_reads;
pub(in crate::validator) use reads::check_line_reads;
pub(super) use rules::{RuleEffect, check_value};

/// The facts about a program, or about one of its subcommands.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The position of the command that the program runs.
    pub(super) runs: Option<Runs>,
    /// The options by their names with hyphens, each with what it takes.
    options: HashMap<&'static str, Takes>,
    pub(super) every: Option<Kind>,
    pub(super) first: Option<Kind>,
    pub(super) last: Option<Kind>,
    /// The kind of the program's standard input.
    pub(super) input: Option<Kind>,
    /// The reason why the program or the subcommand is always refused.
    refused: Option<Danger>,
    /// The reason why the program or the subcommand is refused with operands.
    refused_operands: Option<Danger>,
    traits: u32,
    subcommands: HashMap<&'static str, Self>,
    /// The subcommands whose names are patterns, such as `delete-*` or `*`.
    patterns: Vec<(&'static str, Self)>,
    /// The entry for `**`: subcommands that may follow any others.
    deep: Option<Box<Self>>,
}

/// The position at which an inner command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// After the options and this many operands, word by word.
    Words(usize),
    /// After the options and this many operands, as one text for a shell.
    Shell(usize),
    /// After `--`.
    Dashes,
    /// The command begins at the first argument that names a program of the table.
    Search,
}

/// The consequence of an option: a value of some kind, or a refusal.
#[derive(Debug, Clone, Copy)]
enum Takes {
    Value(Kind),
    /// The option stands alone, and is refused.
    Refused(Danger),
}

named! {
    /// The meaning of a value or an operand to the program.
    pub(super) enum Kind {
        /// A name, a number or a pattern: neither a file nor a command.
        "text" => Text,
        /// A file whose contents are read and become visible in some output.
        "file" => File,
        /// A file that is used but not shown, such as a key to log in with, or settings.
        "used" => Used,
        /// A file that is written.
        "out" => Out,
        /// A command line for a shell.
        "cmd" => Command,
        /// `|command`, or a file that is written.
        "pipe" => Pipe,
        /// An action such as `exec=command`.
        "action" => Action,
        /// Code of a scripting language.
        "code" => Code,
        /// A file of code, which runs.
        "script" => Script,
        /// The language of an editor, a pager or a client, in which `!` or `shell` runs a command.
        "escapes" => Escapes,
        /// A library, a plug-in or settings that hold code.
        "lib" => Library,
        /// A setting `key=value`, in which some keys run commands.
        "setting" => Setting,
        /// A package to install: a name, an address or a file.
        "package" => Package,
        /// The source of packages.
        "index" => Index,
        /// A package that a package manager of the system installs: a name, never a file.
        "system-package" => SystemPackage,
        /// A module of Go with its version, or a folder of the working directory.
        "module" => Module,
        /// A socket of the service that the program talks to.
        "socket" => Socket,
        /// A folder that is served to the network.
        "shared" => Shared,
        /// A folder of this machine that is mounted in a container: `source:target`, or `type=bind,source=source`.
        "mount" => Mount,
        /// The target of a deletion, which has to be written out.
        "named" => Named,
        /// The method of a request to a service.
        "method" => Method,
        /// A database to delete, which is refused unless its name says that it is for tests.
        "database" => Database,
        /// A program that does a part of the work: an editor, a pager, a compiler.
        "program" => Program,
        /// The output format of secrets, which may be limited to their names.
        "contents" => Contents,
        /// The groups that a user is added to.
        "groups" => Groups,
        /// The target of a deletion in a bucket.
        "bucket" => Bucket,
        /// A file that the desktop opens, or the program that opens it.
        "opened" => Opened,
        /// An option with which the program changes nothing.
        "asks" => Asks,
        /// An option after which all arguments are a command.
        "rest" => Rest,
        /// An option without a value.
        "flag" => Flag,
        /// A format of `date`, in a call that only reads, as all kinds from here on.
        "stamp" => Stamp,
        /// A method that reads.
        "get" => Get,
        /// The format of an answer.
        "format" => Format,
        /// A URL.
        "url" => Url,
        /// A script of sed.
        "sed" => Sed,
        /// A file to write.
        "written" => Written,
    }
}

named! {
    /// A further trait of a program.
    pub(super) enum Trait {
        /// The program looks at names and properties of files, never at their contents.
        "looks" => Looks,
        /// The operands of the program are texts, whatever they look like.
        "texts" => Texts,
        /// The program shows the files among its operands, and has no other operands.
        "shows" => Shows,
        /// The program talks to other machines.
        "client" => Client,
        /// The program tells facts about this machine and its users.
        "tells" => Tells,
        /// `NAME=value` before the inner command sets variables of the command.
        "assigns" => Assigns,
        /// The name of the program begins no text but a command.
        "name" => Name,
        /// The name of the program is an English word, and makes little sense as a command without arguments.
        "word" => Word,
        /// The name of the program is an English word, or short, and the program runs without arguments too.
        "alone" => Alone,
        /// The program is a shell.
        "is-shell" => Shell,
        /// The program changes decisions of the kernel's operators.
        "decides" => Decides,
        /// The program ends processes by their names.
        "ends" => Ends,
        /// The purpose of the program is to start a shell without commands.
        "enters" => Enters,
        /// The options of the program contain whole commands on purpose.
        "commands" => Commands,
        /// The inner command is a package that is fetched first.
        "fetches" => Fetches,
        /// The program connects its input and output directly to a connection.
        "raw" => Raw,
        /// The program is a database client, and its commands are statements.
        "sql" => Sql,
        /// The options of the program are whole words behind one hyphen.
        "whole" => Whole,
        /// The program only reads with the options that the table knows.
        "plain" => Plain,
        /// The program only reads with all options but the refused ones.
        "any" => Any,
    }
}

impl Facts {
    pub(super) const fn has(&self, one: Trait) -> bool {
        self.traits & (1 << one as u32) != 0
    }

    /// Returns the subcommands that `word` names; those of a pattern come first. A word without an entry of its own
    /// spelling is looked up in lower case.
    fn subcommands(&'static self, word: &str) -> impl Iterator<Item = &'static Self> {
        let lower = word.to_ascii_lowercase();
        let exact = self.subcommands.get(word).or_else(|| self.subcommands.get(lower.as_str()));
        let fitting = self.patterns.iter().filter(move |(pattern, _)| fits(pattern, &lower));
        fitting.map(|(_, facts)| facts).chain(exact)
    }

    /// Returns the entry of a subcommand, which is created if it is new.
    fn subcommand(&mut self, name: &'static str) -> &mut Self {
        if name == "**" {
            return self.deep.get_or_insert_default();
        }
        if !name.contains('*') {
            return self.subcommands.entry(name).or_default();
        }
        let at = self.patterns.iter().position(|(pattern, _)| *pattern == name).unwrap_or_else(|| {
            self.patterns.push((name, Self::default()));
            self.patterns.len() - 1
        });
        &mut self.patterns[at].1
    }

    fn learn(&mut self, fact: &'static str) -> Option<()> {
        if let Some(class) = fact.strip_prefix('!') {
            self.refused = Some(Danger::named(class)?);
        } else if let Some(class) = fact.strip_prefix("all!") {
            self.refused_operands = Some(Danger::named(class)?);
        } else if let Some((option, class)) = fact.split_once('!') {
            let refused = Takes::Refused(Danger::named(class)?);
            for name in option.split(',') {
                if let Some((bare, _)) = name.split_once('=') {
                    self.options.entry(bare).or_insert(Takes::Value(Kind::Text));
                }
                self.options.insert(name, refused);
            }
        } else if let Some((names, kind)) = fact.rsplit_once('=') {
            let kind = Kind::named(kind)?;
            match names {
                // The kind `file` for all operands is less specific than a kind that is known already.
                "all" if kind == Kind::File && self.every.is_some() => {}
                "all" => self.every = Some(kind),
                "first" => self.first = Some(kind),
                "last" => self.last = Some(kind),
                "in" => self.input = Some(kind),
                names => self.options.extend(names.split(',').map(|name| (name, Takes::Value(kind)))),
            }
        } else if let Some(runs) = runs_named(fact) {
            self.runs = Some(runs);
        } else {
            self.traits |= 1 << Trait::named(fact)? as u32;
        }
        Some(())
    }
}

fn runs_named(fact: &str) -> Option<Runs> {
    let (how, skip) = fact.split_once('+').unwrap_or((fact, "0"));
    let skip = skip.parse().ok()?;
    Some(match how {
        "run" => Runs::Words(skip),
        "shell-text" => Runs::Shell(skip),
        "run--" => Runs::Dashes,
        "run?" => Runs::Search,
        _ => return None,
    })
}

/// Returns the facts about `program`, a name in lower case without directories, which may end in a version.
pub(super) fn facts(program: &str) -> Option<&'static Facts> {
    TABLE.programs.get(program).or_else(|| {
        let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        (bare.len() < program.len()).then(|| TABLE.programs.get(bare)).flatten()
    })
}

/// Returns whether the table says this of `program`.
pub(super) fn is_known_as(program: &str, one: Trait) -> bool {
    facts(program).is_some_and(|facts| facts.has(one))
}

/// Returns whether `program` is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    is_known_as(program, Trait::Shell)
}

/// Returns the effects of the rules that hold for `call`, in their order.
pub(super) fn rules(call: &Call<'_>) -> impl Iterator<Item = RuleEffect> {
    let family = call.program.split_once('.').map(|(family, _)| format!("{family}.*"));
    let places = TABLE.ruled.get(call.program).or_else(|| TABLE.ruled.get(family?.as_str()));
    let rules = places.into_iter().flatten().map(|at| &TABLE.rules[*at]);
    rules.filter(move |rule| rule.holds(call)).map(|rule| rule.effect)
}

/// Refuses `text` if a pattern of the group `name` matches it.
pub(super) fn matched(name: &str, text: &str) -> Result<(), Finding> {
    let Some((rows, built)) = PATTERNS.get(name) else { return Ok(()) };
    let built = built.get_or_init(|| {
        RegexSet::new(rows.iter().map(|(_, pattern)| *pattern)).expect("a test compiles all of them")
    });
    built.matches(text).iter().next().map_or(Ok(()), |at| Err(refuse(rows[at].0)))
}

/// The rows of `patterns.txt` by their groups: each pattern with its danger.
type Groups = HashMap<&'static str, (Vec<(Danger, &'static str)>, OnceLock<RegexSet>)>;

static PATTERNS: LazyLock<Groups> = LazyLock::new(|| {
    let mut groups = Groups::new();
    for line in rows(include_str!("patterns.txt")) {
        let mut words = line.splitn(3, ' ');
        if let (Some(group), Some(class), Some(pattern)) = (words.next(), words.next(), words.next())
            && let Some(danger) = Danger::named(class)
        {
            groups.entry(group).or_default().0.push((danger, pattern));
        }
    }
    groups
});

static TABLE: LazyLock<ProgramTable> = LazyLock::new(|| {
    parse(concat!(include_str!("programs.txt"), include_str!("rules.txt")))
        .expect("the table is part of the program, and a test reads all of it")
});

#[derive(Debug, Default)]
struct ProgramTable {
    programs: HashMap<&'static str, Facts>,
    /// The programs that only read if they are called in this way.
    reading: HashMap<&'static str, Facts>,
    /// The values of each kind that are refused.
    values: Vec<(Kind, Patterns, Danger)>,
    rules: Vec<Rule>,
    /// The places of the rules about each program; the names of programs may be patterns.
    ruled: HashMap<&'static str, Vec<usize>>,
}

/// Parses the table; the error is the line that cannot be parsed.
fn parse(text: &'static str) -> Result<ProgramTable, &'static str> {
    let mut table = ProgramTable::default();
    for line in rows(text) {
        if let Some((head, effect)) = line.split_once(" => ") {
            let (names, head) = head.split_once(' ').unwrap_or((head, ""));
            if let Some(kind) = names.strip_prefix('=') {
                let row = Kind::named(kind).zip(Danger::named(effect)).ok_or(line)?;
                table.values.push((row.0, Patterns::named(head), row.1));
                continue;
            }
            table.rules.push(Rule::named(head, effect).ok_or(line)?);
            for name in names.split('|') {
                table.ruled.entry(name).or_default().push(table.rules.len() - 1);
            }
            continue;
        }
        let (names, facts) = line.split_once(" : ").ok_or(line)?;
        let path: Vec<&'static str> = names.split_whitespace().collect();
        let facts: Vec<&'static str> = facts.split_whitespace().collect();
        let (programs, path) = match path.as_slice() {
            ["reads", path @ ..] => (&mut table.reading, path),
            path => (&mut table.programs, path),
        };
        let (names, subcommands) = path.split_first().ok_or(line)?;
        for name in names.split('|') {
            enter(programs.entry(name).or_default(), subcommands, &facts).ok_or(line)?;
        }
    }
    Ok(table)
}

/// Adds `facts` to every subcommand of `entry` that `path` names, or to the entry itself if the path is empty. Each
/// step of the path holds alternatives.
fn enter(entry: &mut Facts, path: &[&'static str], facts: &[&'static str]) -> Option<()> {
    let Some((names, rest)) = path.split_first() else {
        return facts.iter().try_for_each(|fact| entry.learn(fact));
    };
    names.split('|').try_for_each(|name| enter(entry.subcommand(name), rest, facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_can_be_read() {
        for text in [include_str!("programs.txt"), include_str!("rules.txt")] {
            assert_eq!(parse(text).map(|_| ()), Ok(()));
        }
    }

    #[test]
    fn every_pattern_is_one_of_a_class_and_can_be_built() {
        let count: usize = PATTERNS.values().map(|(rows, _)| rows.len()).sum();
        assert_eq!(count, rows(include_str!("patterns.txt")).count());
        assert!(PATTERNS.keys().all(|group| matched(group, "").is_ok()));
    }

    #[test]
    fn a_line_with_an_unknown_fact_is_named() {
        assert_eq!(parse("ls : looks\nrm : flies").map(|_| ()), Err("rm : flies"));
    }

    #[test]
    fn a_version_behind_the_name_is_the_same_program() {
        assert!(facts("python3.12").is_some());
        assert!(facts("no-such-program").is_none());
    }
}
