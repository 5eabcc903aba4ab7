//! The effect of a command line and of code, as far as its text shows. `effects.txt` has the words.
//!
//! Programs whose words are data show nothing. Of a program for a service, a subcommand that is not known to read is
//! taken to change something there. Of all other programs, the verbs among their subcommands count.

use mgp_types::mgp::CallEffect;

use super::values::{mounts_system, of_assignment, of_outputs, of_sed_scripts, of_written};
use super::{deletes_file, first, worst};
use crate::shell;
use crate::shell::syntax::{Body, Direction, Item, Part, Pipeline, Redirect, Simple, Stage, Word, text_of};
use crate::tool::{NameManner, is_listed, list, phrase_effects, words};
use crate::validator::readonly::check_sql;
use crate::validator::sandbox::bare_name;

/// The lists of commands that show an effect by their words alone.
const PHRASES: [(CallEffect, &str); 4] = [
    (CallEffect::GivesAccess, "command that gives access"),
    (CallEffect::Spends, "command that spends"),
    (CallEffect::Destroys, "command that destroys"),
    (CallEffect::Sends, "command that sends"),
];

/// The standard input of a command, as far as the line shows it.
#[derive(Clone)]
enum StandardInput {
    Nothing,
    /// The input is a text that stands in the line, as in `echo ls | sh` or behind `<<`.
    Text(String),
    /// The input is a file, or the output of another command.
    Something,
    /// The input was brought from elsewhere or decoded by a command, or is a text of which parts are not known.
    Foreign,
}

/// Returns the worst effect of the commands of a line.
pub(super) fn of_command(line: &str) -> CallEffect {
    let mut effect = CallEffect::Runs;
    shell::read(line).script.walk(&mut |item| {
        if let Item::Pipeline(pipeline) = item {
            effect = effect.max(of_pipeline(pipeline, line));
        }
    });
    effect
}

/// Returns the effect of running a program, as far as its text shows.
pub(super) fn of_code(text: &str) -> CallEffect {
    let lower = text.to_lowercase();
    let plain: String = lower.replace('\'', "\"").split_whitespace().collect();
    let has = |call: &str| match call.split_once('*') {
        Some((begin, argument)) => plain.split_once(begin).is_some_and(|(_, rest)| rest.contains(argument)),
        None => lower.contains(call),
    };
    let calls = [(CallEffect::Destroys, "code that destroys"), (CallEffect::Sends, "code that sends")];
    first(&calls, |heading| list(heading).any(has)).unwrap_or(CallEffect::Runs).max(of_commands_in(text))
}

/// Returns the effect of the commands that code runs, as in `os.system('git clean')` or `run(["git", "clean"])`.
fn of_commands_in(code: &str) -> CallEffect {
    let behind = list("call that runs a command").flat_map(|call| code.split(call).skip(1));
    worst(behind.filter_map(|behind| {
        let arguments = behind.split(')').next()?;
        let quote = arguments.chars().find(|letter| matches!(letter, '\'' | '"' | '`'))?;
        let words: Vec<_> = arguments.split(quote).skip(1).step_by(2).map(str::to_owned).collect();
        Some(if let [line] = &*words { of_command(line) } else { of_vector(&words) })
    }))
}

fn of_pipeline(pipeline: &Pipeline, line: &str) -> CallEffect {
    let mut input = StandardInput::Nothing;
    worst(pipeline.stages.iter().map(|stage| {
        let read = redirected(stage).unwrap_or_else(|| input.clone());
        let effect = of_stage(stage, line, &read);
        input = output(stage, read);
        effect
    }))
}

/// Returns the input to which a stage is redirected, if it is.
fn redirected(stage: &Stage) -> Option<StandardInput> {
    let read = stage.redirects.iter().rev().find(|redirect| {
        matches!(redirect.direction, Direction::In | Direction::Both | Direction::Text | Direction::Document)
    })?;
    Some(match (read.direction, read.target.text()) {
        (Direction::Text | Direction::Document, Some(text)) => StandardInput::Text(text),
        (Direction::Text | Direction::Document, None) => StandardInput::Foreign,
        _ if runs_within(&read.target, brings_code) => StandardInput::Foreign,
        _ => StandardInput::Something,
    })
}

/// Returns what the next stage of a pipeline reads, behind a stage that reads `input`.
fn output(stage: &Stage, input: StandardInput) -> StandardInput {
    let Body::Simple(simple) = &stage.body else { return StandardInput::Something };
    let words: Option<Vec<String>> = simple.words.iter().map(Word::text).collect();
    let first = simple.words.first().and_then(Word::text).map(|word| bare_name(&word)).unwrap_or_default();
    match (input, words) {
        _ if brings_code(stage) => StandardInput::Foreign,
        (StandardInput::Foreign, _) => StandardInput::Foreign,
        (_, words) if is_listed("command that prints its words", &first) => {
            words.map_or(StandardInput::Foreign, |words| StandardInput::Text(words[1..].join(" ")))
        }
        (StandardInput::Text(text), _) if first == "cat" => StandardInput::Text(text),
        _ => StandardInput::Something,
    }
}

fn of_stage(stage: &Stage, line: &str, input: &StandardInput) -> CallEffect {
    let of_redirect = |redirect: &Redirect| {
        let sign = line.get(redirect.span.start..redirect.span.end).unwrap_or_default();
        match redirect.direction {
            Direction::Out | Direction::Both => of_written(redirect.target.text(), sign.contains(">>")),
            _ => CallEffect::Runs,
        }
    };
    let of_body = match &stage.body {
        Body::Simple(simple) => of_simple(simple, input),
        _ => CallEffect::Runs,
    };
    worst(stage.redirects.iter().map(of_redirect)).max(of_body)
}

/// Returns whether a stage puts out what comes from elsewhere, or was hidden.
fn brings_code(stage: &Stage) -> bool {
    has_word_of("command that brings code", stage, usize::MAX)
}

/// Returns whether one of the first words of a stage, `most` at most, is the name of a command in a list.
fn has_word_of(heading: &str, stage: &Stage, most: usize) -> bool {
    let Body::Simple(simple) = &stage.body else { return false };
    let mut words = simple.words.iter().take(most).filter_map(Word::text);
    words.any(|word| is_listed(heading, &bare_name(&word)))
}

/// Returns whether a substitution in a word runs a stage of a kind.
fn runs_within(word: &Word, is_of_kind: impl Fn(&Stage) -> bool) -> bool {
    let mut runs = false;
    word.walk(&mut |item| {
        if let Item::Stage(stage) = item {
            runs |= is_of_kind(stage);
        }
    });
    runs
}

fn of_simple(command: &Simple, input: &StandardInput) -> CallEffect {
    if hides_program(&command.words) {
        return CallEffect::Destroys;
    }
    let of_variables =
        worst(command.assignments.iter().map(|it| of_assignment(&it.name, &shown(&it.value.parts))));
    let words: Vec<String> = command.words.iter().map(|word| shown(&word.parts)).collect();
    let has = |is_kind: fn(&str) -> bool| words.iter().any(|word| is_kind(&bare_name(word)));
    if has(is_interpreter) && command.words.iter().any(|word| runs_within(word, brings_code)) {
        return CallEffect::GivesAccess;
    }
    // What a command puts out goes to the host whose name or path it becomes, unless it is a fact about the machine or the time.
    let is_about_machine = |stage: &Stage| has_word_of("command about the machine", stage, 1);
    let tells = has(|name| is_listed("command that reaches a host", name))
        && command.words.iter().any(|word| runs_within(word, |stage| !is_about_machine(stage)));
    let of_told = if tells { CallEffect::Sends } else { CallEffect::Runs };
    of_words(&words, input).max(of_told).max(of_variables)
}

/// Returns a word with the variable `$_` in place of what is known only when the command runs, and nothing in place of
/// what programs print to set up a shell.
fn shown(parts: &[Part]) -> String {
    let sets_up = |name: &String| is_listed("command that sets up a shell", &bare_name(name));
    let text = |part: &Part| match part {
        Part::Double(inner) => shown(inner),
        Part::Command(run) if run.commands().iter().flatten().all(sets_up) => String::new(),
        part => text_of(std::slice::from_ref(part)).unwrap_or_else(|| "$_".to_owned()),
    };
    parts.iter().map(text).collect()
}

/// Returns whether the program of a command, or the one that it wraps, is known only when the command runs.
fn hides_program(words: &[Word]) -> bool {
    let is_wrapper = |word: &&Word| {
        let name = word.text().map(|text| bare_name(&text)).unwrap_or_default();
        is_listed("command that wraps", &name) && !is_listed("command that wraps behind a word", &name)
    };
    let program = words.iter().find(|word| !is_wrapper(word));
    // The name is known if only its folder is not, as in `$HOME/bin/report`.
    let hides_name = |path: &str| path.rsplit_once('/').is_none_or(|(_, name)| name.contains("$_"));
    program.is_some_and(|word| word.text().is_none() && hides_name(&shown(&word.parts)))
}

/// Returns the effect of a program and its arguments, which no shell reads.
pub(super) fn of_vector(words: &[String]) -> CallEffect {
    of_words(words, &StandardInput::Nothing)
}

fn of_words(words: &[String], input: &StandardInput) -> CallEffect {
    let programs = programs(words);
    if programs.len() > MAX_PROGRAMS {
        return CallEffect::Destroys;
    }
    let of_programs = programs.iter().map(|(at, name)| of_program(name, &words[at + 1..], input));
    let runs = |heading: &str| {
        let is_called =
            |phrase: &str| programs.iter().any(|(at, name)| is_command(name, &words[at + 1..], phrase));
        list(heading).any(is_called)
    };
    let read = if let StandardInput::Text(text) = input { Some(text) } else { None };
    let of_texts = if programs.first().is_some_and(|(_, name)| name == "alias") {
        worst(words.iter().filter_map(|word| Some(of_command(word.split_once('=')?.1))))
    } else if runs("command that runs text") {
        let is_shell = |word: &String| is_listed("command that is a shell", &bare_name(word));
        let run = operands(words).skip_while(|word| !is_shell(word)).nth(1).filter(|run| *run == "$_");
        let texts = words.iter().filter(|word| word.contains(char::is_whitespace)).chain(run).chain(read);
        worst(texts.map(|text| of_command(text)))
    } else if runs("command that patches") && words.iter().chain(read).any(|text| deletes_file(text)) {
        CallEffect::Destroys
    } else if runs("command that runs code") {
        worst(words.iter().chain(read).map(|text| of_code(text)))
    } else {
        CallEffect::Runs
    };
    let sets = runs("command that sets variables");
    let set = words.iter().filter(|_| sets).filter_map(|word| word.split_once('='));
    let of_variables = set.map(|(name, value)| of_assignment(name, value));
    worst(of_programs.chain(of_variables)).max(of_texts).max(CallEffect::Runs)
}

/// Returns the places and names of the words of a command that may be programs: the first one, those somewhere behind a
/// wrapper, and the first word behind an interpreter that is no option. Words that are data of a program are none.
fn programs(words: &[String]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut is_wrapped, mut is_run, mut is_data) = (true, false, false);
    let (mut machine_at, mut begun_at, mut is_next) = (None, None, true);
    for (at, word) in words.iter().enumerate() {
        let (name, is_option) = (bare_name(word), word.starts_with('-'));
        let begins = stands_at("word that begins a command", words, at);
        if is_data && !begins {
            continue;
        }
        // The first word behind some wrappers is a subcommand, or the name of a machine.
        is_wrapped |= machine_at.is_some_and(|machine| at > machine + 1);
        let may_begin = is_wrapped || is_run;
        is_run = is_interpreter(&name) || is_run && is_option;
        is_wrapped &= at > 0;
        // A word behind an option may be its value, and that behind some wrappers an operand of them.
        let is_value =
            || words[at - 1].starts_with('-') && !is_listed("option without a value", &words[at - 1]);
        let is_first = at == 0 || begun_at == Some(at - 1) || is_next && !is_value();
        is_data = false;
        if is_listed("command that wraps behind a word", &name) {
            machine_at.get_or_insert(at);
            is_next = false;
        } else if begins {
            (is_wrapped, is_next, begun_at) = (true, true, Some(at));
        } else if stands_at("command that wraps", words, at) {
            is_wrapped = true;
            is_next &= is_listed("command that wraps the next command", &name);
        } else {
            is_data = may_begin && is_first && is_listed("command whose words are data", &name);
            is_next &= is_option || !is_first || word.contains('=') || word.starts_with(char::is_numeric);
        }
        if may_begin && !is_option {
            found.push((at, name));
        }
    }
    found
}

/// Returns whether the word at a place is in a list, or ends a phrase of it that begins among the words before.
fn stands_at(heading: &str, words: &[String], at: usize) -> bool {
    let name = bare_name(&words[at]);
    let is_there = |part: &str| words[..=at].iter().any(|word| bare_name(word) == part);
    list(heading).any(|phrase| phrase.rsplit(' ').next() == Some(&*name) && phrase.split(' ').all(is_there))
}

/// The largest number of words of one command that are judged as programs; a command with more of them is not read.
const MAX_PROGRAMS: usize = 64;

/// Returns whether a program runs text that it is given, be it a shell or the interpreter of a language.
fn is_interpreter(program: &str) -> bool {
    is_listed("command that runs text", program) || is_listed("command that runs code", program)
}

/// Returns the effect of a program with its arguments, without that of the text which it runs.
fn of_program(name: &str, words: &[String], input: &StandardInput) -> CallEffect {
    let is = |heading| is_listed(heading, name);
    let called = |heading| list(heading).any(|phrase| is_command(name, words, phrase));
    if changes_nothing(name, words) {
        return CallEffect::Runs;
    }
    // Data of a query stands in the address, unless it is the content of a file.
    let is_query = called("command that asks with its data") && !words.iter().any(|word| word.contains('@'));
    let is_sent = !is_query && called("command that sends unless it asks");
    let of_data = if is_sent { CallEffect::Sends } else { CallEffect::Runs };
    let of_phrases = first(&PHRASES, called);
    let of_kind = if is_interpreter(name) {
        let reads_input = operands(words).next().is_none() || words.iter().any(|word| word == "-s");
        let is_fed = matches!(input, StandardInput::Foreign) && reads_input;
        if is_fed { CallEffect::GivesAccess } else { CallEffect::Runs }
    } else if called("command that copies to its last word") {
        let is_remote = words.last().is_some_and(|last| last.contains(':'));
        if is_remote { CallEffect::Sends } else { CallEffect::Runs }
    } else if is("command of a service") {
        of_service(words)
    } else if is("command that runs a statement") {
        of_statements(words, input)
    } else if is("command whose words are data") {
        CallEffect::Runs
    } else {
        of_subcommands(name, words)
    };
    let of_files = if is("command that replaces its last word") {
        let keeps = words.iter().any(|word| matches!(word.as_str(), "-n" | "--no-clobber"));
        words.last().map_or(CallEffect::Runs, |last| of_written(Some(last.clone()), keeps))
    } else if is("command that replaces its words") {
        let appends = words.iter().any(|word| matches!(word.as_str(), "-a" | "--append"));
        worst(operands(words).map(|word| of_written(Some(word.clone()), appends)))
    } else if is("command of containers") && words.iter().any(|word| mounts_system(word)) {
        CallEffect::GivesAccess
    } else if is("command that runs scripts of sed") {
        of_sed_scripts(words)
    } else {
        of_outputs(name, words)
    };
    of_phrases.unwrap_or(CallEffect::Runs).max(of_kind).max(of_files).max(of_data)
}

/// Returns whether a command only shows or tries something, as with `--dry-run`, or asks for nothing but help.
///
/// An option tells nothing as the value of another one, as in `git push -o --dry-run`, or behind the end of the options.
fn changes_nothing(name: &str, words: &[String]) -> bool {
    let takes_nothing = |word: &String| {
        let is_free = |option: &str| is_listed("option without a value", option);
        !word.starts_with('-') || word.contains('=') || is_free(word) || is_free(&format!("{name} {word}"))
    };
    let tells = |at: &usize| {
        let word = &words[*at];
        let turns_on = word.split_once('=').is_none_or(|(_, value)| is_listed("value that turns on", value));
        let is_alone = word.starts_with("--") || word.len() == 2 || takes_nothing(word);
        !word.starts_with('-') || is_alone && turns_on && (*at == 0 || takes_nothing(&words[at - 1]))
    };
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let telling: Vec<String> = (0..end).filter(tells).map(|at| words[at].clone()).collect();
    words.len() == 1 && matches!(&*words[0], "--help" | "--version")
        || list("command that changes nothing").any(|phrase| is_command(name, &telling, phrase))
}

/// Returns the effect of a program that speaks to a service, in which somebody may depend on what it changes.
fn of_service(words: &[String]) -> CallEffect {
    let is_in = |heading: &str, word: &str| is_listed(heading, &word.to_ascii_lowercase());
    let manner = |word: &String| {
        let changes_nothing = is_in("subcommand that changes nothing", word);
        if changes_nothing { Some(NameManner::Reads) } else { verb(word) }
    };
    // As in `gcloud compute instances delete`.
    let is_thing = words.first().is_some_and(|first| is_in("subcommand that is also a thing", first));
    let reads = |word: &String| !is_thing && manner(word) == Some(NameManner::Reads);
    if operands(words).next().is_none() || words.first().is_some_and(reads) {
        return CallEffect::Runs;
    }
    if words.iter().any(|word| verb(word).is_some_and(|manner| manner >= NameManner::Ends)) {
        return CallEffect::Destroys;
    }
    // `run` is also the name of what runs, as in `gh run view`.
    let is_telling = |manner: &NameManner| !matches!(manner, NameManner::Unclear | NameManner::Runs);
    let mut operations = operands(words).take(MAX_OPERATION_WORDS).filter_map(manner).filter(is_telling);
    let (first, second) = (operations.next(), operations.next());
    let operation = second.filter(|_| is_thing).or(first);
    if operation == Some(NameManner::Reads) { CallEffect::Runs } else { CallEffect::Sends }
}

/// The number of words behind a program that may name its operation, as in `aws --profile p s3api list-buckets`.
const MAX_OPERATION_WORDS: usize = 5;

/// Returns the effect of a program that runs statements for a database.
fn of_statements(words: &[String], input: &StandardInput) -> CallEffect {
    let is_statement = |word: &String| word.contains(char::is_whitespace) || word.contains('(');
    let changes = |word: &String| {
        let begin = word.split_whitespace().next().filter(|begin| begin.len() < word.len());
        let is_assignment = begin.is_none_or(|begin| begin.contains('='));
        check_sql(word).is_err()
            && (!is_assignment || of_code(word) == CallEffect::Destroys || calls_change(word))
    };
    let of_input = match input {
        StandardInput::Nothing => false,
        StandardInput::Text(text) => check_sql(text).is_err(),
        // A statement among the words is run in place of the input.
        StandardInput::Something | StandardInput::Foreign => !words.iter().any(is_statement),
    };
    if of_input || words.iter().any(changes) { CallEffect::Destroys } else { CallEffect::Runs }
}

/// Returns whether a method is called that changes rows, as in `db.users.updateMany(…)`.
fn calls_change(statement: &str) -> bool {
    statement.split('(').any(|before| {
        let method = before.rsplit(['.', ' ', ';']).next().unwrap_or_default();
        before.contains('.')
            && (NameManner::of(method) >= NameManner::Ends
                || list("method that changes rows").any(|begin| method.starts_with(begin)))
    })
}

/// Returns the worst effect of the verbs among the subcommands of a program, of its options, and of its own name, such
/// as `telegram-send`.
fn of_subcommands(name: &str, words: &[String]) -> CallEffect {
    let mut of_verbs = if name.contains(['-', '_']) { of_name(name) } else { CallEffect::Runs };
    for word in operands(words).take(MAX_SUBCOMMANDS) {
        of_verbs = of_verbs.max(of_verb(word));
        if takes_data(word) || is_listed("command whose words are data", word) {
            break;
        }
    }
    let of_option = |word: &String| {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('/'));
        let option = option.map_or("", |rest| rest.split('=').next().unwrap_or(rest));
        let sends = word.starts_with("--") && is_listed("option that sends", option);
        let effect = if sends { CallEffect::Sends } else { CallEffect::Runs };
        if is_listed("option that destroys", option) { CallEffect::Destroys } else { effect }
    };
    worst(words.iter().map(of_option)).max(of_verbs)
}

/// Returns the effect that a name tells which is no single word, such as `telegram-send` or `keyvault_secret_get`.
fn of_name(name: &str) -> CallEffect {
    phrase_effects(&words(name)).fold(of_verb(name), CallEffect::max)
}

/// The number of words behind a program that may be a subcommand of it, as in `docker volume rm`.
const MAX_SUBCOMMANDS: usize = 3;

/// Returns the effect that a subcommand tells by its verb.
fn of_verb(word: &str) -> CallEffect {
    let last = word.rsplit(':').next().unwrap_or(word);
    match verb(word) {
        _ if is_listed("subcommand that removes what is made anew", last) => CallEffect::Runs,
        Some(NameManner::Spends) => CallEffect::Spends,
        Some(NameManner::Destroys | NameManner::Ends) => CallEffect::Destroys,
        Some(NameManner::Sends) => CallEffect::Sends,
        _ => CallEffect::Runs,
    }
}

/// Returns whether the words behind a subcommand are data or another program, as those of `test` and `run`.
fn takes_data(subcommand: &str) -> bool {
    let reads_or_runs = verb(subcommand).is_some_and(|manner| {
        matches!(manner, NameManner::Reads | NameManner::Writes | NameManner::Sends | NameManner::Runs)
    });
    reads_or_runs || is_listed("subcommand whose words are data", subcommand)
}

/// Returns the manner of a word that is written as a subcommand, such as `remove`, `delete-queue` or `db:drop`.
fn verb(word: &str) -> Option<NameManner> {
    let is_verb = word.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b':'));
    let manners = word.split(':').map(NameManner::of);
    manners.max().filter(|_| is_verb && !word.starts_with('-'))
}

/// Returns the words that are no options.
pub(super) fn operands(words: &[String]) -> impl Iterator<Item = &String> {
    words.iter().filter(|word| !word.starts_with('-'))
}

/// Returns whether a program is the one that `phrase` begins with, called with all other words of it but those behind a `!`.
fn is_command(name: &str, words: &[String], phrase: &str) -> bool {
    let mut parts = phrase.split(' ');
    let called = parts.next().unwrap_or_default();
    let is_program = called.strip_suffix('*').map_or(name == called, |begin| name.starts_with(begin));
    let is_option = |word: &String| word.starts_with('-');
    let is_subcommand = |at: usize| {
        // A word behind an option may be its value.
        let mut before = (0..at).map(|at| is_option(&words[at]) || at > 0 && is_option(&words[at - 1]));
        !is_listed("command whose subcommand comes first", name) || before.all(|is_value| is_value)
    };
    let comes_first = |part: &str| {
        let is_at = |at: usize| is_word(&words[at], part) && (part.starts_with('-') || is_subcommand(at));
        (0..words.len()).any(is_at)
    };
    let has = |part: &str| words.iter().any(|word| is_word(word, part));
    is_program
        && parts.next().is_none_or(comes_first)
        && parts.all(|part| part.strip_prefix('!').map_or_else(|| has(part), |other| !has(other)))
}

/// Returns whether a word of a command is `part`, which may be the beginning of it with a `*`, or a group of short options
/// that has it.
pub(super) fn is_word(word: &str, part: &str) -> bool {
    let word = word.split_once('=').map_or(word, |(option, _)| option);
    if let Some(begin) = part.strip_suffix('*') {
        return word.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin));
    }
    let Some(option) = part.strip_prefix('-').filter(|option| option.len() == 1 && *option != "-") else {
        return word.eq_ignore_ascii_case(part);
    };
    let group = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    // What stands behind `X` in a group is the value of that option, as in `curl -XGET`.
    let end = group.find('X').map_or(group.len(), |at| at + 1);
    group[..end].contains(option)
}
