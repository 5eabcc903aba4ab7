//! The table as it lies in memory.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::super::finding::{Danger, danger};

/// What is known of a program, or of one of its subcommands.
#[derive(Debug, Default)]
pub(in super::super) struct Facts {
    /// Where the command stands that the program runs.
    pub(in super::super) runs: Option<Runs>,
    /// What an option takes, by its name with its hyphens.
    pub(super) options: HashMap<&'static str, Takes>,
    pub(in super::super) every: Option<Kind>,
    pub(in super::super) first: Option<Kind>,
    pub(in super::super) last: Option<Kind>,
    /// What the program does with its standard input.
    pub(in super::super) input: Option<Kind>,
    /// Why the program or the subcommand is never run.
    pub(super) refused: Option<Danger>,
    /// Why it is not run with operands.
    pub(super) refused_operands: Option<Danger>,
    traits: u32,
    subcommands: HashMap<&'static str, Self>,
    /// Subcommands whose names are patterns, `delete-*` or `*`.
    patterns: Vec<(&'static str, Self)>,
    /// What `**` stands before: subcommands that may follow any others.
    pub(super) deep: Option<Box<Self>>,
}

/// Where an inner command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Runs {
    /// Behind the options and this many operands, word by word.
    Words(usize),
    /// Behind the options and this many operands, as one text for a shell.
    Shell(usize),
    /// Behind `--`.
    Dashes,
    /// At the first argument that names a program of the table.
    Search,
}

/// What an option takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Takes {
    Value(Kind),
    /// The option stands alone, and is refused.
    Refused(Danger),
}

/// What a value or an operand is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// Neither a file nor a command: a name, a number, a pattern.
    Text,
    /// A file whose contents are read and come out somewhere.
    File,
    /// A file that is used and not shown: a key to log in with, settings.
    Used,
    /// A file that is written.
    Out,
    /// A command line for a shell.
    Command,
    /// `|command`, or a file that is written.
    Pipe,
    /// `exec=command`, or an action of another kind.
    Action,
    /// Code of a scripting language.
    Code,
    /// A file of code, which runs.
    Script,
    /// The language of an editor, a pager or a client, in which `!` or `shell` runs a command.
    Escapes,
    /// A library, a plug-in or settings that hold code.
    Library,
    /// `key=value` in which some keys run commands.
    Setting,
    /// What is installed: a name, or an address, or a file.
    Package,
    /// Where packages come from.
    Index,
    /// What a package manager of the system installs: a name, never a file.
    SystemPackage,
    /// A module of Go with its version, or a folder of the working directory.
    Module,
    /// A socket of the service that the program talks to.
    Socket,
    /// A folder that is opened to the network.
    Shared,
    /// A folder of this machine that a container gets: `source:target`, or `type=bind,source=source`.
    Mount,
    /// What is deleted, which has to be written out.
    Named,
    /// The method of a request to a service.
    Method,
    /// What is deleted, unless its name says that it is for tests.
    Database,
    /// One program that does a part of the work: an editor, a pager, a compiler.
    Program,
    /// The form in which secrets come out, or only their names.
    Contents,
    /// Groups that a user enters.
    Groups,
    /// What is deleted of a bucket.
    Bucket,
    /// A file that the desktop opens, or the program it opens it with.
    Opened,
    /// With this option the program changes nothing.
    Asks,
    /// Everything that follows the option is a command.
    Rest,
    /// The option stands alone.
    Flag,
}

/// What else is known of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(in super::super) enum Trait {
    /// It looks at names and properties of files, never at what they hold.
    Looks = 1,
    /// Its operands are texts, whatever they look like.
    Texts = 1 << 1,
    /// It shows the files among its operands, and has no other operands.
    Shows = 1 << 2,
    /// It talks to other machines.
    Client = 1 << 3,
    /// It tells facts about this machine and who uses it.
    Tells = 1 << 4,
    /// `NAME=value` before the inner command are variables of it.
    Assigns = 1 << 5,
    /// Its name begins no text but a command.
    Name = 1 << 6,
    /// Its name is a word of English that makes little sense without arguments.
    Word = 1 << 7,
    /// Its name is a word of English, or short, and the program runs without arguments too.
    Alone = 1 << 8,
    /// It is a shell.
    Shell = 1 << 9,
    /// It changes what the operators of the kernel decide.
    Decides = 1 << 10,
    /// It ends processes by their names.
    Ends = 1 << 11,
    /// A shell without commands is what it is there for.
    Enters = 1 << 12,
    /// Its options hold whole commands on purpose.
    Commands = 1 << 13,
    /// The inner command is a package that is fetched first.
    Fetches = 1 << 14,
    /// It joins its input and output to a connection as they are.
    Raw = 1 << 15,
    /// It is a client of a database, and its commands are statements.
    Sql = 1 << 16,
}

impl Facts {
    pub(in super::super) const fn has(&self, one: Trait) -> bool {
        self.traits & one as u32 != 0
    }

    /// The subcommands that `word` names, in small letters where no other spelling is known; those by a pattern come
    /// first.
    pub(super) fn subcommands(&'static self, word: &str) -> impl Iterator<Item = &'static Self> {
        let lower = word.to_ascii_lowercase();
        let exact = self.subcommands.get(word).or_else(|| self.subcommands.get(lower.as_str()));
        let fitting = self.patterns.iter().filter(move |(pattern, _)| fits(pattern, &lower));
        fitting.map(|(_, facts)| facts).chain(exact)
    }

    /// The entry of a subcommand, which is made if it is new.
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
            self.refused = Some(danger(class)?);
        } else if let Some(class) = fact.strip_prefix("all!") {
            self.refused_operands = Some(danger(class)?);
        } else if let Some((option, class)) = fact.split_once('!') {
            let refused = Takes::Refused(danger(class)?);
            for name in option.split(',') {
                if let Some((bare, _)) = name.split_once('=') {
                    self.options.entry(bare).or_insert(Takes::Value(Kind::Text));
                }
                self.options.insert(name, refused);
            }
        } else if let Some((names, kind)) = fact.rsplit_once('=') {
            let kind = kind_named(kind)?;
            match names {
                // That files are read says less than what else is known.
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
            self.traits |= trait_named(fact)? as u32;
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

fn kind_named(name: &str) -> Option<Kind> {
    Some(match name {
        "text" => Kind::Text,
        "file" => Kind::File,
        "used" => Kind::Used,
        "out" => Kind::Out,
        "cmd" => Kind::Command,
        "pipe" => Kind::Pipe,
        "action" => Kind::Action,
        "code" => Kind::Code,
        "script" => Kind::Script,
        "escapes" => Kind::Escapes,
        "lib" => Kind::Library,
        "setting" => Kind::Setting,
        "package" => Kind::Package,
        "index" => Kind::Index,
        "system-package" => Kind::SystemPackage,
        "module" => Kind::Module,
        "shared" => Kind::Shared,
        "mount" => Kind::Mount,
        "named" => Kind::Named,
        "method" => Kind::Method,
        "database" => Kind::Database,
        "program" => Kind::Program,
        "contents" => Kind::Contents,
        "groups" => Kind::Groups,
        "bucket" => Kind::Bucket,
        "opened" => Kind::Opened,
        "asks" => Kind::Asks,
        "socket" => Kind::Socket,
        "rest" => Kind::Rest,
        "flag" => Kind::Flag,
        _ => return None,
    })
}

fn trait_named(name: &str) -> Option<Trait> {
    Some(match name {
        "looks" => Trait::Looks,
        "texts" => Trait::Texts,
        "shows" => Trait::Shows,
        "client" => Trait::Client,
        "tells" => Trait::Tells,
        "assigns" => Trait::Assigns,
        "name" => Trait::Name,
        "word" => Trait::Word,
        "alone" => Trait::Alone,
        "is-shell" => Trait::Shell,
        "decides" => Trait::Decides,
        "ends" => Trait::Ends,
        "enters" => Trait::Enters,
        "commands" => Trait::Commands,
        "fetches" => Trait::Fetches,
        "raw" => Trait::Raw,
        "sql" => Trait::Sql,
        _ => return None,
    })
}

/// Returns what is known of `program`, a name in lower case without directories; a version may follow it.
pub(in super::super) fn facts(program: &str) -> Option<&'static Facts> {
    TABLE.programs.get(program).or_else(|| {
        let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        (bare.len() < program.len()).then(|| TABLE.programs.get(bare)).flatten()
    })
}

/// Whether `word` is in the list `name` of the table, whose words may be patterns.
pub(in super::super) fn is_listed(name: &str, word: &str) -> bool {
    TABLE.lists.get(name).is_some_and(|list| list.words.contains(word) || list.fits(word))
}

/// Whether a word of the list `name` stands somewhere in `text`.
pub(in super::super) fn holds_listed(name: &str, text: &str) -> bool {
    TABLE.lists.get(name).is_some_and(|list| list.words.iter().any(|word| text.contains(word)))
}

/// What the list `name` says of `key`: it stands there as `key:what`.
pub(in super::super) fn told(name: &str, key: &str) -> Option<&'static str> {
    let list = TABLE.lists.get(name)?;
    list.words
        .iter()
        .find_map(|word| word.split_once(':').filter(|(own, _)| *own == key))
        .map(|(_, what)| what)
}

/// Whether `pattern`, in which stars stand for any text, fits `text`.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, "")) => text.starts_with(head),
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|text| {
            (0..=text.len()).filter(|at| text.is_char_boundary(*at)).any(|at| fits(rest, &text[at..]))
        }),
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    parse(include_str!("programs.txt")).expect("the table is part of the program, and a test reads all of it")
});

#[derive(Debug, Default)]
struct Table {
    programs: HashMap<&'static str, Facts>,
    lists: HashMap<&'static str, List>,
}

#[derive(Debug, Default)]
struct List {
    words: HashSet<&'static str>,
    patterns: Vec<&'static str>,
}

impl List {
    fn fits(&self, word: &str) -> bool {
        self.patterns.iter().any(|pattern| fits(pattern, word))
    }
}

/// Reads the table; the error is the line that cannot be read.
fn parse(text: &'static str) -> Result<Table, &'static str> {
    let mut table = Table::default();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (names, facts) = line.split_once(" : ").ok_or(line)?;
        if let Some(list) = names.strip_prefix('@') {
            let list = table.lists.entry(list).or_default();
            let (patterns, words): (Vec<_>, Vec<_>) =
                facts.split_whitespace().partition(|word| word.contains('*'));
            list.words.extend(words);
            list.patterns.extend(patterns);
            continue;
        }
        let path: Vec<&'static str> = names.split_whitespace().collect();
        let facts: Vec<&'static str> = facts.split_whitespace().collect();
        let (names, subcommands) = path.split_first().ok_or(line)?;
        for name in names.split('|') {
            enter(table.programs.entry(name).or_default(), subcommands, &facts).ok_or(line)?;
        }
    }
    Ok(table)
}

/// Adds `facts` to every subcommand of `entry` that `path` names, to itself if it names none; each step of the path
/// holds alternatives.
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
        assert_eq!(parse(include_str!("programs.txt")).map(|_| ()), Ok(()));
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
