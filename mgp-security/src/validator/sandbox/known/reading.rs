//! The arguments of one call, sorted by the table: options with their values, operands, and the inner command.

use super::super::{Arg, Call, Danger, bare_name, is_listed};
use super::{Facts, Kind, Runs, Takes, Trait, facts};

/// An option with its value.
pub(in super::super) struct Given {
    pub(in super::super) name: &'static str,
    pub(in super::super) kind: Kind,
    pub(in super::super) value: Arg,
}

/// The arguments of a call, as its program reads them.
pub(in super::super) struct Reading<'a> {
    /// The facts about the program itself.
    pub(in super::super) program: &'static Facts,
    /// The facts about the innermost subcommand; those of the program if there is no subcommand.
    pub(in super::super) facts: &'static Facts,
    pub(in super::super) given: Vec<Given>,
    pub(in super::super) operands: Vec<&'a Arg>,
    /// The options that the table does not know.
    pub(in super::super) others: Vec<&'a Arg>,
    /// The inner command, and whether a shell reads it as one text.
    pub(in super::super) command: Option<(&'a [Arg], bool)>,
    refused: Option<Danger>,
    /// True if an option makes the program change nothing.
    asks: bool,
    /// True if options that the table does not know are refused, unless the program reads with any option.
    strict: bool,
    /// The program and the subcommands that were named, the innermost last.
    chain: Vec<&'static Facts>,
    /// The entries among whose subcommands the next one is looked for.
    level: Vec<&'static Facts>,
    /// The entries whose subcommands may follow at any depth.
    deep: Vec<&'static Facts>,
}

impl<'a> Reading<'a> {
    /// Sorts the arguments of `call`; returns `None` if the table does not know the program.
    pub(in super::super) fn of(call: &Call<'a>) -> Option<Self> {
        Some(Self::by(facts(call.program)?, call.args, false))
    }

    /// Sorts the arguments of a call of `program`; if it is strict, options that are not known are refused.
    pub(super) fn by(program: &'static Facts, args: &'a [Arg], strict: bool) -> Self {
        let mut reading = Self {
            program,
            facts: program,
            given: Vec::new(),
            operands: Vec::new(),
            others: Vec::new(),
            command: None,
            refused: program.refused,
            asks: false,
            strict,
            chain: vec![program],
            level: vec![program],
            deep: program.deep.as_deref().into_iter().collect(),
        };
        reading.sort(args);
        reading
    }

    /// Returns the reason why the call is refused, whatever its other arguments are.
    pub(in super::super) fn refused(&self) -> Option<Danger> {
        self.refused_though_asked().filter(|_| !self.asks)
    }

    /// Returns the reason why the call is refused even with an option that makes it change nothing.
    pub(super) fn refused_though_asked(&self) -> Option<Danger> {
        self.refused.or_else(|| self.facts.refused_operands.filter(|_| !self.operands.is_empty()))
    }

    /// Returns the values of the options that take a value of this kind.
    pub(in super::super) fn values(&self, kind: Kind) -> impl Iterator<Item = &Arg> {
        self.given.iter().filter(move |given| given.kind == kind).map(|given| &given.value)
    }

    /// Returns the operands, each with its kind.
    pub(in super::super) fn kinds(&self) -> impl Iterator<Item = (&'a Arg, Option<Kind>)> {
        let count = self.operands.len();
        self.operands.iter().enumerate().map(move |(at, arg)| {
            let kind = match (at, self.facts.first, self.facts.last) {
                (0, Some(first), _) => Some(first),
                (at, _, Some(last)) if at + 1 == count && at > 0 => Some(last),
                _ => self.facts.every,
            };
            (*arg, kind)
        })
    }

    fn sort(&mut self, args: &'a [Arg]) {
        let mut at = 0;
        let mut ended = false;
        while let Some(arg) = args.get(at) {
            let text = arg.text.as_str();
            let runs = self.facts.runs;
            if !ended && text == "--" {
                ended = true;
                at += 1;
                if runs == Some(Runs::Dashes) {
                    return self.begin(&args[at..], false);
                }
                continue;
            }
            if !ended && let Some((_, Takes::Value(Kind::Rest))) = self.takes(text) {
                return self.begin(&args[at + 1..], false);
            }
            let named = text.starts_with('-') && self.facts.subcommands.contains_key(text);
            if !ended && named && self.enter(text) {
                at += 1;
                continue;
            }
            if !ended && let Some(used) = self.option(args, at) {
                at += used;
                continue;
            }
            let is_assigned = self.facts.has(Trait::Assigns) && is_assignment(text);
            if !is_assigned && !self.enter(text) {
                let begins = match runs {
                    Some(Runs::Words(skip) | Runs::Shell(skip)) => skip <= self.operands.len(),
                    Some(Runs::Search) => !self.completes(text) && begins_command(args, at),
                    _ => false,
                };
                if begins {
                    return self.begin(&args[at..], matches!(runs, Some(Runs::Shell(_))));
                }
                self.operands.push(arg);
            }
            at += 1;
        }
    }

    /// Returns whether the program prints code that completes or sets up a shell: such a word is followed by the name
    /// of the shell.
    fn completes(&self, next: &str) -> bool {
        let is_word = |text: &str| is_listed("completes", text);
        is_word(next) || self.operands.iter().chain(&self.others).any(|arg| is_word(&arg.text))
    }

    fn begin(&mut self, command: &'a [Arg], shell: bool) {
        if !command.is_empty() {
            self.command = Some((command, shell));
        }
    }

    /// Descends to the subcommands that `word` names; returns whether there are any.
    fn enter(&mut self, word: &str) -> bool {
        let own = self.level.iter().copied().filter(|_| self.operands.is_empty());
        // After an unknown option, a word may be the value of that option.
        let deep =
            self.deep.iter().copied().filter(|_| self.others.is_empty() && self.operands.len() < MAX_DEPTH);
        let found: Vec<&'static Facts> = deep.chain(own).flat_map(|facts| facts.subcommands(word)).collect();
        let Some(innermost) = found.last() else { return false };
        self.facts = innermost;
        self.refused = found.iter().fold(self.refused, |refused, facts| refused.or(facts.refused));
        if innermost.every == Some(Kind::Text) {
            self.deep.clear();
        }
        self.deep.extend(found.iter().filter_map(|facts| facts.deep.as_deref()));
        self.chain.extend(&found);
        self.level = found;
        true
    }

    fn takes(&self, name: &str) -> Option<(&'static str, Takes)> {
        let exact = |name: &str| self.chain.iter().rev().find_map(|facts| facts.options.get_key_value(name));
        let found = exact(name).or_else(|| {
            // Options with a slash are in the table in lower case.
            let lower = name.starts_with('/').then(|| name.to_ascii_lowercase())?;
            exact(&lower)
        });
        found.map(|(name, takes)| (*name, *takes))
    }

    /// Finds a long option by the beginning of its name, which many programs accept.
    fn abbreviated(&self, name: &str) -> Option<(&'static str, Takes)> {
        use Kind::{Action, Code, Command, Library, Package};

        let shortest = if self.facts.has(Trait::Any) { 3 } else { 5 };
        if name.len() < shortest || !name.starts_with("--") {
            return None;
        }
        let matters = |takes: &Takes| {
            matches!(takes, Takes::Refused(_) | Takes::Value(Command | Code | Action | Library | Package))
        };
        let begins = |facts: &&'static Facts| {
            let mut options = facts.options.iter().map(|(long, takes)| (*long, *takes));
            options.find(|(long, takes)| matters(takes) && long.starts_with(name) && !long.contains('='))
        };
        self.chain.iter().rev().find_map(begins)
    }

    /// Reads an option at `args[at]`; returns the number of arguments it takes up, `None` if it is an operand.
    fn option(&mut self, args: &'a [Arg], at: usize) -> Option<usize> {
        let arg = &args[at];
        let text = arg.text.as_str();
        if let Some(found) = self.takes(text) {
            return Some(self.note_next(found, args, at));
        }
        let strict = self.strict;
        let attached = move |sign: char| sign == '=' || sign == ':' && !strict;
        let signs = if strict && !text.starts_with("--") { 0 } else { MAX_SIGNS };
        for (end, _) in text.match_indices(attached).take(signs) {
            if let Some(found) = self.takes(&text[..=end]).or_else(|| self.takes(&text[..end])) {
                self.note(found, Some(Arg { text: text[end + 1..].to_owned(), marks: arg.marks }));
                return Some(1);
            }
        }
        if !arg.is_option() {
            // A program without such options takes `/option`, an option on Windows, for an operand.
            return None;
        }
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            let Some(found) = self.abbreviated(name) else {
                self.asks |= is_asking(text);
                self.other(arg);
                return Some(1);
            };
            return match text.split_once('=') {
                Some((_, value)) => {
                    self.note(found, Some(Arg { text: value.to_owned(), marks: arg.marks }));
                    Some(1)
                }
                None => Some(self.note_next(found, args, at)),
            };
        }
        let mut known = !self.program.has(Trait::Whole);
        let cluster = if known { text } else { "" };
        for (position, letter) in cluster.char_indices().skip(1) {
            let Some(found) = self.takes(&format!("-{letter}")) else {
                known = false;
                continue;
            };
            let rest = &text[position + letter.len_utf8()..];
            if matches!(found.1, Takes::Refused(_) | Takes::Value(Kind::Flag)) {
                self.note(found, None);
                continue;
            }
            if !known {
                self.other(arg);
            }
            if rest.is_empty() {
                return Some(self.note_next(found, args, at));
            }
            let value = if self.strict { rest } else { rest.trim_start_matches('=') };
            self.note(found, Some(Arg { text: value.to_owned(), marks: arg.marks }));
            return Some(1);
        }
        if !known {
            self.other(arg);
        }
        Some(1)
    }

    /// Records an option that the table does not know.
    fn other(&mut self, arg: &'a Arg) {
        if self.strict && !self.facts.has(Trait::Any) {
            self.refused = self.refused.or(Some(Danger::Writes));
        }
        self.others.push(arg);
    }

    /// Records the option at `args[at]` with the next argument; returns the number of arguments it takes up.
    fn note_next(&mut self, found: (&'static str, Takes), args: &[Arg], at: usize) -> usize {
        1 + usize::from(self.note(found, args.get(at + 1).cloned()))
    }

    /// Records an option; returns whether it takes its value.
    fn note(&mut self, (name, takes): (&'static str, Takes), value: Option<Arg>) -> bool {
        match (takes, value) {
            (Takes::Refused(danger), _) => {
                self.refused = self.refused.or(Some(danger));
                false
            }
            (Takes::Value(Kind::Asks), _) => {
                self.asks = true;
                false
            }
            (Takes::Value(kind), Some(value)) if kind != Kind::Flag => {
                // An entry `--pid=host` of the table applies to `--pid host` as well.
                if let Some((_, Takes::Refused(danger))) = self.takes(&format!("{name}={}", value.text)) {
                    self.refused = self.refused.or(Some(danger));
                }
                self.given.push(Given { name, kind, value });
                true
            }
            (Takes::Value(_), _) => false,
        }
    }
}

/// Returns whether a long option makes most programs only report what they would do.
fn is_asking(option: &str) -> bool {
    let name = option.split('=').next().unwrap_or(option);
    matches!(name, "--help" | "--version" | "--dry-run" | "--dryrun" | "--what-if")
        && !matches!(option, "--dry-run=none" | "--dry-run=false")
}

/// Returns whether a command begins at `args[at]`: a program of the table with arguments, or a shell.
pub(in super::super) fn begins_command(args: &[Arg], at: usize) -> bool {
    facts(&bare_name(&args[at].text)).is_some_and(|facts| facts.has(Trait::Shell) || at + 1 < args.len())
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The largest number of separators in an argument at which the name of an option may end.
const MAX_SIGNS: usize = 3;

/// The number of operands after which no further subcommand is looked for; no service has its commands deeper.
const MAX_DEPTH: usize = 4;
