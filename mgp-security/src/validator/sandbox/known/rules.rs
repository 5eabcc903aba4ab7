//! The rules of the table: the conditions under which a call is refused, writes to its operands, or marks its output.

use crate::Finding;
use crate::named::{Named as _, named};

use super::super::sed::effects;
use super::super::{Arg, Call, Danger, HOLE, Marks, Text, fits, is_listed, lies_in, refuse};
use super::{Kind, TABLE, is_shell, matched};

/// A rule of `rules.txt` about one program.
#[derive(Debug)]
pub(in super::super) struct Rule {
    /// The words behind the first of which the conditions look; empty if they look at all arguments.
    after: Vec<&'static str>,
    /// The conditions, each with whether it is negated.
    conditions: Vec<(bool, ArgumentTest)>,
    pub(in super::super) effect: RuleEffect,
}

/// The consequence of a rule whose conditions hold.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum RuleEffect {
    Refuse(Danger),
    /// The call writes to all of its operands.
    Writes,
    /// The output of the call gets the first marks and loses the second.
    Prints(Marks, Marks),
}

#[derive(Debug)]
enum ArgumentTest {
    /// The rule wants one of these options.
    Given(&'static str),
    /// The rule wants one of these options with a value that fits.
    Valued(&'static str, Patterns),
    /// Some of the texts that the part of the call holds fits.
    Any(CallPart, Patterns),
    /// There are arguments, and all of them fit.
    All(Patterns),
    /// Some of the arguments that the part of the call holds has all of these marks.
    Marked(CallPart, Marks),
    /// The input of the call has the marks, or is fed at all.
    Input(Option<Marks>),
}

named! {
    /// The part of a call that a condition looks at.
    pub(super) enum CallPart {
        "has" => Arguments,
        /// The arguments in lower case, as they are and without blanks.
        "said" => Said,
        /// All arguments as one text.
        "line" => Line,
        "first" => First,
        /// The operands: all, the first one, the last one, those before the last one.
        "operand" => Operands,
        "verb" => Verb,
        "last" => Last,
        "source" => Sources,
    }
}

/// Patterns for a text, of which the first that fits decides: it refuses the text if it begins with `!`. A text that
/// fits none of them is refused, unless the last pattern begins with `!`. A pattern `@NAME` fits what is in a class or
/// a list of that name, and a pattern behind `~` fits in any case.
#[derive(Debug)]
pub(super) struct Patterns(Vec<String>);

impl Patterns {
    pub(super) fn named(patterns: &str) -> Self {
        Self(patterns.split('|').map(|pattern| pattern.replace('␣', " ")).collect())
    }

    fn allow(&self, text: &str, call: &Call<'_>) -> bool {
        let fit = |pattern: &str| match (pattern.strip_prefix('@'), pattern.strip_prefix('~')) {
            (Some(class), _) if class.starts_with(|c: char| c.is_ascii_lowercase()) => {
                belongs(call, text, class)
            }
            (_, Some(pattern)) => fits(pattern, &text.to_ascii_lowercase()),
            _ => fits(pattern, text),
        };
        for pattern in &self.0 {
            let refused = pattern.strip_prefix('!');
            if fit(refused.unwrap_or(pattern)) {
                return refused.is_none();
            }
        }
        self.0.last().is_none_or(|last| last.starts_with('!'))
    }
}

impl Rule {
    /// Reads a rule: `[after WORDS] [if CONDITIONS]`, with the effect behind the arrow.
    pub(super) fn named(head: &'static str, effect: &'static str) -> Option<Self> {
        let (after, conditions) = head.split_once("if ").unwrap_or((head, ""));
        let after = after.trim().strip_prefix("after ").unwrap_or_default();
        Some(Self {
            after: after.split('|').filter(|word| !word.is_empty()).collect(),
            conditions: conditions.split_whitespace().map(condition).collect::<Option<_>>()?,
            effect: match effect.split_once(' ') {
                Some(("prints", marks)) => {
                    let (lost, got): (Vec<_>, Vec<_>) =
                        marks.split(',').partition(|mark| mark.starts_with('-'));
                    RuleEffect::Prints(marks_named(got)?, marks_named(lost.iter().map(|mark| &mark[1..]))?)
                }
                Some(_) => return None,
                None if effect == "writes" => RuleEffect::Writes,
                None => RuleEffect::Refuse(Danger::named(effect)?),
            },
        })
    }

    /// Returns whether all conditions hold for `call`.
    pub(in super::super) fn holds(&self, call: &Call<'_>) -> bool {
        let mut args = call.args;
        if !self.after.is_empty() {
            let Some(at) = args.iter().position(|arg| self.after.contains(&arg.text.as_str())) else {
                return false;
            };
            args = &args[at + 1..];
        }
        let scope = Call { args, ..*call };
        self.conditions.iter().all(|(is_negated, test)| test.holds(&scope) != *is_negated)
    }
}

/// Reads a condition, and whether it is negated.
fn condition(text: &'static str) -> Option<(bool, ArgumentTest)> {
    let (is_negated, text) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let condition = match text.split_once('=') {
        None if text == "none" => {
            return Some((!is_negated, ArgumentTest::Any(CallPart::Arguments, Patterns::named("*"))));
        }
        None => ArgumentTest::Given(text),
        Some(("all", patterns)) => ArgumentTest::All(Patterns::named(patterns)),
        Some(("input", "fed")) => ArgumentTest::Input(None),
        Some(("input", marks)) => ArgumentTest::Input(Some(marks_named(marks.split('+'))?)),
        Some((name @ ("mark" | "last-mark"), marks)) => {
            let part = if name == "mark" { CallPart::Arguments } else { CallPart::Last };
            ArgumentTest::Marked(part, marks_named(marks.split('+'))?)
        }
        Some((name, patterns)) => match CallPart::named(name) {
            Some(part) => ArgumentTest::Any(part, Patterns::named(patterns)),
            None => ArgumentTest::Valued(name, Patterns::named(patterns)),
        },
    };
    Some((is_negated, condition))
}

impl CallPart {
    fn args<'a>(self, call: &Call<'a>) -> Vec<&'a Arg> {
        let mut operands: Vec<&Arg> = call.operands().collect();
        match self {
            Self::Operands => operands,
            Self::Verb => operands.into_iter().take(1).collect(),
            Self::Last => operands.pop().into_iter().collect(),
            Self::Sources => {
                operands.pop();
                operands
            }
            Self::First => call.args.iter().take(1).collect(),
            Self::Arguments | Self::Said | Self::Line => call.args.iter().collect(),
        }
    }

    fn texts(self, call: &Call<'_>) -> Vec<String> {
        let texts = self.args(call).into_iter().map(|arg| arg.text.clone());
        match self {
            Self::Line => vec![texts.collect::<Vec<_>>().join(" ")],
            Self::Said => {
                let dense = |text: &String| text.chars().filter(|c| !c.is_whitespace()).collect();
                texts.map(|text| text.to_ascii_lowercase()).flat_map(|text| [dense(&text), text]).collect()
            }
            _ => texts.collect(),
        }
    }
}

impl ArgumentTest {
    fn holds(&self, call: &Call<'_>) -> bool {
        match self {
            Self::Given(names) => call.gives(names),
            Self::Valued(names, patterns) => {
                names.split(',').any(|name| call.value(name).is_some_and(|value| patterns.allow(value, call)))
            }
            Self::Any(part, patterns) => part.texts(call).iter().any(|text| patterns.allow(text, call)),
            Self::All(patterns) => {
                !call.args.is_empty() && call.args.iter().all(|arg| patterns.allow(&arg.text, call))
            }
            Self::Marked(part, marks) => {
                part.args(call).iter().any(|arg| arg.marks.without(*marks).and(*marks) == arg.marks)
            }
            Self::Input(None) => call.input.text != Text::Absent,
            Self::Input(Some(marks)) => call.input.marks.has(*marks),
        }
    }
}

/// Returns whether `text` belongs to a class: of places, of texts, or of a list of words.
fn belongs(call: &Call<'_>, text: &str, class: &str) -> bool {
    let place = || call.place(text);
    match class {
        "vast" => place().is_vast(),
        "system" => place().is_system(),
        "system-file" => place().is_system() && !place().as_str().starts_with("/dev"),
        "system-root" => place().is_vast() && place().is_system() && !lies_in("optional", place().as_str()),
        "device" => place().is_device(),
        "log" => place().is_log(),
        "accounts" => place().is_accounts(),
        "climbing" => place().climbs(),
        "everything" => matches!(text, "." | ":/" | "*" | "./" | ":"),
        "secret" => place().is_secret(),
        "sed-that-reads" => effects(text) == (Vec::new(), true),
        "for-tests" => is_for_tests(text),
        "whole-bucket" => is_whole_bucket(text),
        "computed" => text.contains(HOLE),
        "empty" => text.is_empty(),
        "shell-path" => is_shell_path(text),
        "sets-user" => matched("sets-user", text).is_err(),
        list => text.split(',').any(|part| is_listed(list, part)),
    }
}

/// Refuses a value of `kind` that a row of the table refuses.
pub(in super::super) fn check_value(call: &Call<'_>, kind: Kind, text: &str) -> Result<(), Finding> {
    let mut rows = TABLE.values.iter().filter(|(own, ..)| *own == kind);
    let refused = rows.find(|(_, patterns, _)| patterns.allow(text, call));
    refused.map_or(Ok(()), |(.., danger)| Err(refuse(*danger)))
}

/// Returns whether `text` is the path of a shell.
fn is_shell_path(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    text.strip_prefix('/').is_some_and(|rest| is_shell(rest.rsplit('/').next().unwrap_or("")))
        || lower.ends_with("cmd.exe")
        || lower.ends_with("powershell.exe")
}

/// Returns whether the name of a database says that it is only for tests.
fn is_for_tests(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| matches!(word, "test" | "tests" | "tmp" | "temp" | "scratch" | "sandbox"))
}

/// Returns whether the address names a whole bucket, and not an object in it.
fn is_whole_bucket(address: &str) -> bool {
    address.split_once("://").is_some_and(|(_, rest)| {
        rest.split_once('/').is_none_or(|(_, key)| key.is_empty() || key.starts_with('*'))
    })
}

/// Returns the marks with these names.
fn marks_named<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Marks> {
    names.into_iter().try_fold(Marks::NONE, |marks, name| {
        Some(marks.and(match name {
            "crafted" => Marks::CRAFTED,
            "process" => Marks::PROCESS,
            "telling" => Marks::TELLING,
            "fetched" => Marks::FETCHED,
            "endless" => Marks::ENDLESS,
            "sensitive" => Marks::SENSITIVE,
            "everything" => Marks::EVERYTHING,
            "bulk" => Marks::BULK,
            "kernel" => Marks::KERNEL,
            _ => return None,
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::lists::is_list;

    #[test]
    fn every_class_in_the_rules_is_known() {
        const CLASSES: [&str; 17] = [
            "vast", "system", "system-file", "system-root", "device", "log", "accounts", "climbing",
            "everything", "secret", "sed-that-reads", "for-tests", "whole-bucket", "computed", "empty",
            "shell-path", "sets-user",
        ];
        let rules = include_str!("rules.txt").lines().filter(|line| line.contains(" => "));
        let classes =
            rules.flat_map(|line| line.split(['|', '=', ' ', '!'])).filter_map(|word| word.strip_prefix('@'));
        for class in classes.filter(|class| class.starts_with(|c: char| c.is_ascii_lowercase())) {
            assert!(CLASSES.contains(&class) || is_list(class), "{class}");
        }
    }
}
