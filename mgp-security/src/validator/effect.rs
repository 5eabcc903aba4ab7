//! The effect of a call, by the definition of its tool and its arguments. `effects.txt` has the words.
//!
//! Arguments only make an effect that is known worse: a tool that writes destroys if it is called with `force`, and a
//! query destroys unless its statement is known to read. Nothing of what a server says makes an effect better.

mod command;
mod values;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use mgp_types::mgp::{CallEffect, ResolvedTool};
use serde_json::Value;

use self::command::{of_code, of_command, of_vector};
use super::readonly::check_sql;
use crate::named::{Named as _, named};
use crate::tool::{
    ArgumentNature, ArgumentNatures, NameManner, effect_if_told_to_read, is_listed, list, phrase_effects,
    stems,
};
use mgp_types::words;

named! {
    /// A list in `effects.txt` of words in names of members.
    enum MemberList {
        "flag that destroys" => Destroys,
        "flag that gives access" => GivesAccess,
        "flag that hides" => Hides,
        "flag that sends" => Sends,
        "flag that reveals" => Reveals,
        "member that invites" => Invites,
        "member of a purchase" => Purchase,
        "member that forwards" => Forwards,
        "member of who sees" => WhoSees,
        "member that chooses" => Chooses,
        "member of a kind" => Kind,
        "member of a place" => Place,
        "member of what is replaced" => Replaced,
        "count that destroys at zero" => DestroysAtZero,
        "mount" => Mount,
        "destination of a file" => Destination,
        "source of a file" => Source,
        "patch" => Patch,
    }
}

/// The lists that a name stands in, with all or with one of its words. Names of declared arguments are looked up once,
/// when a tool is prepared.
#[derive(Debug, Clone, Copy, Default)]
struct MemberLists(u32);

impl MemberLists {
    fn of(name: &str) -> Self {
        let words = words(name);
        let whole = words.concat();
        let has = |kind: MemberList, word: &str| {
            // What is chosen is named last: `mode`, but not `mode_of_transport`.
            let from = if kind == MemberList::Chooses { words.len().saturating_sub(1) } else { 0 };
            word == whole || words[from..].iter().any(|one| one == word)
        };
        let lists =
            MemberList::NAMES.iter().filter(|(heading, kind)| list(heading).any(|word| has(*kind, word)));
        Self(lists.fold(0, |bits, (_, kind)| bits | 1 << *kind as u16))
    }

    const fn has(self, list: MemberList) -> bool {
        self.0 & 1 << list as u16 != 0
    }
}

/// The rules for the effects of calls of one tool.
#[derive(Debug)]
pub(super) struct CallEffects {
    /// The words of the tool's name.
    name: Vec<String>,
    /// The effect of a call whose arguments tell nothing.
    of_tool: CallEffect,
    /// The effect of a call whose arguments tell that it reads; `None` if they do not tell what a call does.
    if_told_to_read: Option<CallEffect>,
    /// True if the name of the tool says that it reads, so that words among its arguments only select.
    is_reader: bool,
    /// True if the tool starts programs in containers and clusters, so that its arguments may give them power.
    starts_programs: bool,
    /// The program in the name of the tool, whose subcommands its arguments may be.
    program: Option<Box<str>>,
    /// True if the tool presses what is shown, such as a button with a text.
    presses: bool,
    /// The list of names of the members whose files the tool replaces, and whether they are those in the list or all others;
    /// `None` if the tool replaces no files.
    replaced: Option<(MemberList, bool)>,
    /// The lists in which the names of declared arguments stand, by name.
    declared: HashMap<Box<str>, MemberLists>,
}

impl CallEffects {
    /// Returns the rules for a tool, unless a trusted server declares its security.
    pub(super) fn of(tool: &ResolvedTool, natures: &ArgumentNatures) -> Option<Self> {
        let name = words(&tool.definition.text("name").unwrap_or_default());
        let has = |heading| name.iter().any(|word| is_listed(heading, word));
        let server = words(tool.server.as_str());
        let mut names = name.iter().chain(&server);
        let program = names.find(|word| is_listed("program in the name of a tool", word));
        let of_tool = tool.security.effect?;
        let is_reader = NameManner::of(tool.name.as_str()) == NameManner::Reads;
        let moves = has("verb that moves files").then_some((MemberList::Destination, true));
        let replaces = has("verb that replaces files") && !has("word of what is not replaced");
        Some(Self {
            of_tool,
            if_told_to_read: effect_if_told_to_read(&tool.definition, natures),
            is_reader,
            starts_programs: !is_reader && has("word of containers"),
            program: program.map(|word| word.as_str().into()),
            presses: has("verb that presses"),
            replaced: moves.or_else(|| replaces.then_some((MemberList::Source, false))),
            declared: natures.declared().map(|name| (name.into(), MemberLists::of(name))).collect(),
            name,
        })
    }

    /// Returns the effect of a call with these arguments.
    pub(super) fn of_call(&self, arguments: &Value, natures: &ArgumentNatures) -> CallEffect {
        let of_value = self.of_value(&Member::default(), arguments, natures);
        let of_tool = match (self.of_told_verb(arguments), self.if_told_to_read) {
            (Some(CallEffect::Reads), Some(of_tool)) => of_tool,
            (Some(told), Some(of_tool)) if !self.is_named("powers") => of_tool.max(told),
            (told, _) => self.of_tool.max(told.filter(|_| !self.is_reader).unwrap_or_default()),
        };
        of_value.max(of_tool).max(self.of_program_and_arguments(arguments, natures))
    }

    /// Returns the effect of the verbs that a tool of several operations is called with, as in `{"operation":"list"}`.
    fn of_told_verb(&self, arguments: &Value) -> Option<CallEffect> {
        let members = arguments.as_object()?;
        let told = members.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let told = told.filter(|(name, verb)| {
            is_listed("member that tells the verb", name) && verb.len() <= MAX_CHOICE_BYTES
        });
        let effects = told.filter_map(|(name, verb)| {
            let manner = NameManner::of(verb).effect();
            let words = [words(verb), self.name.clone()].concat();
            let effect = phrase_effects(&words).fold(manner, CallEffect::max);
            // A mode may be anything.
            (effect != CallEffect::Unknown || name != "mode").then_some(effect)
        });
        effects.max()
    }

    /// Returns the worst effect that `value` shows, which is that of the member or stands in it.
    fn of_value(&self, member: &Member<'_>, value: &Value, natures: &ArgumentNatures) -> CallEffect {
        let is_in = |list| member.lists.has(list);
        match value {
            Value::Array(values) => {
                let invites = !self.is_reader && !values.is_empty() && is_in(MemberList::Invites);
                let of_name = match values.is_empty() {
                    _ if invites => CallEffect::Sends,
                    true if !self.is_reader && is_in(MemberList::Hides) => CallEffect::GivesAccess,
                    _ => CallEffect::Reads,
                };
                let is_command = natures.nature(member.name) == ArgumentNature::Command;
                let of_vector = if is_command { of_vector(&texts(values)) } else { CallEffect::Reads };
                let of_values = worst(values.iter().map(|value| self.of_value(member, value, natures)));
                of_values.max(of_name).max(of_vector)
            }
            Value::Object(members) => self.of_members(member, members, natures),
            Value::String(text) => self.of_text(member, text, natures),
            Value::Bool(true) if is_in(MemberList::Reveals) => CallEffect::GivesAccess,
            _ if self.is_reader => CallEffect::Reads,
            Value::Bool(true) if is_in(MemberList::GivesAccess) => CallEffect::GivesAccess,
            Value::Bool(true) if is_in(MemberList::Destroys) => CallEffect::Destroys,
            Value::Bool(true) if is_in(MemberList::Sends) && !self.is_named("verb that types") => {
                CallEffect::Sends
            }
            Value::Bool(false) if is_in(MemberList::Hides) => CallEffect::GivesAccess,
            Value::Number(count) if count.as_f64() == Some(0.0) && is_in(MemberList::DestroysAtZero) => {
                CallEffect::Destroys
            }
            _ => CallEffect::Reads,
        }
    }

    /// Returns the worst effect of the members of an object, which is the value of `member`.
    fn of_members(&self, member: &Member<'_>, members: &Members, natures: &ArgumentNatures) -> CallEffect {
        let replaces_part = members.keys().any(|name| self.member(name).lists.has(MemberList::Replaced));
        let of_member = |(name, value): (&String, &Value)| {
            // Mounts are also written as an object with a member for each folder.
            let is_mounted =
                self.starts_programs && member.lists.has(MemberList::Mount) && is_folder_of_system(name);
            // As in `{"deleteSheet":{"sheetId":1}}`, and in `{"command":{"dropDatabase":1}}`.
            let is_operation = value.is_object() || is_listed("name of command", member.name);
            let is_destroyed = is_listed("member that destroys", name)
                || is_operation && !self.is_reader && NameManner::of(name) == NameManner::Destroys;
            let of_name = match (is_mounted, is_destroyed) {
                (true, _) => CallEffect::GivesAccess,
                (false, true) => CallEffect::Destroys,
                (false, false) => CallEffect::Reads,
            };
            // As in `{"op":"replace","path":"/title"}` of a JSON patch.
            let is_edit =
                value == "replace" && (replaces_part || name == "op" && members.contains_key("path"));
            let of_value = || self.of_value(&self.member(name), value, natures);
            if is_edit { of_name } else { of_name.max(of_value()) }
        };
        worst(members.iter().map(of_member)).max(self.of_setting(members, natures))
    }

    /// Returns the effect of a setting whose name and value stand in two members, as in `{"key":"require_2fa","value":false}`.
    fn of_setting(&self, members: &Members, natures: &ArgumentNatures) -> CallEffect {
        let find =
            |heading| members.iter().find(|(name, _)| is_listed(heading, name)).map(|(_, value)| value);
        let name = find("name of a setting").and_then(Value::as_str);
        let both = name.zip(find("value of a setting").filter(|value| !value.is_string()));
        both.map_or(CallEffect::Reads, |(name, value)| self.of_value(&self.member(name), value, natures))
    }

    /// Returns whether a word of the tool's name is in a list.
    fn is_named(&self, heading: &str) -> bool {
        self.name.iter().any(|word| is_listed(heading, word))
    }

    fn member<'n>(&self, name: &'n str) -> Member<'n> {
        let lists = self.declared.get(name).copied();
        Member { name, lists: lists.unwrap_or_else(|| MemberLists::of(name)) }
    }

    /// Returns whether the tool replaces the file that a member names.
    fn replaces(&self, member: &Member<'_>) -> bool {
        self.replaced.is_some_and(|(list, is_in)| member.lists.has(list) == is_in)
    }

    /// Returns the effect of a program in the name of the tool or in one argument with its arguments in another one, as in
    /// `{"command":"git","args":["clean"]}`.
    fn of_program_and_arguments(&self, arguments: &Value, natures: &ArgumentNatures) -> CallEffect {
        let Some(members) = arguments.as_object() else { return CallEffect::Reads };
        let further = members.iter().filter(|(name, _)| is_listed("member of further words", name));
        let further: Vec<String> = further
            .flat_map(|(_, value)| match value {
                Value::Array(values) => texts(values),
                Value::String(line) => line.split_whitespace().map(str::to_owned).collect(),
                _ => Vec::new(),
            })
            .collect();
        let is_program = |name: &str| natures.nature(name) == ArgumentNature::Command;
        let called = |program: &str| {
            let words = self.program.as_deref().into_iter().chain(program.split_whitespace());
            of_vector(&words.map(str::to_owned).chain(further.iter().cloned()).collect::<Vec<_>>())
        };
        let has_more = !further.is_empty() || self.program.is_some();
        let programs = members.iter().filter(|(name, _)| has_more && is_program(name));
        let mut of_programs = programs.filter_map(|(_, value)| value.as_str()).map(called).peekable();
        if of_programs.peek().is_none() && self.program.is_some() {
            // As in `run_gcloud_command` with `{"args":["sql","instances","delete"]}`.
            return Some(called("")).filter(|effect| *effect > CallEffect::Runs).unwrap_or_default();
        }
        worst(of_programs)
    }

    fn of_text(&self, member: &Member<'_>, text: &str, natures: &ArgumentNatures) -> CallEffect {
        let of_nature = match natures.nature(member.name) {
            ArgumentNature::Sql if check_sql(text).is_err() => CallEffect::Destroys,
            // What is typed into a program may be read by a shell or by an interpreter.
            ArgumentNature::Command if member.name == "input" => of_command(text).max(of_code(text)),
            ArgumentNature::Command => of_command(text),
            ArgumentNature::Code => of_code(text),
            ArgumentNature::HttpMethod => chosen(member.lists, text),
            _ if self.presses && is_listed("what is pressed", member.name) => of_pressed(text),
            _ if !self.is_reader
                && self.is_named("verb that opens")
                && text.len() <= MAX_CHOICE_BYTES
                && says(text, "thing that guards") =>
            {
                CallEffect::GivesAccess
            }
            _ if member.lists.has(MemberList::Kind)
                && is_listed("kind that reveals", &text.to_lowercase()) =>
            {
                CallEffect::GivesAccess
            }
            _ if is_mutation(text) => CallEffect::Sends,
            _ if writes_graph(text) => CallEffect::Destroys,
            _ if !self.is_reader && deletes(member.lists, text) => CallEffect::Destroys,
            _ if self.program.is_some() && is_option(member, text) => CallEffect::Destroys,
            ArgumentNature::Path if self.replaces(member) && may_be_there(Path::new(text)) => {
                CallEffect::Destroys
            }
            _ => CallEffect::Reads,
        };
        let mounts = || member.lists.has(MemberList::Mount) && is_folder_of_system(text);
        if self.is_reader {
            of_nature
        } else if self.starts_programs && (mounts() || gives_power(text)) {
            CallEffect::GivesAccess
        } else {
            of_nature.max(chosen(member.lists, text)).max(of_member(member.lists, text))
        }
    }
}

type Members = serde_json::Map<String, Value>;

/// A member of an object among the arguments: its name, and the lists in which the name stands.
#[derive(Default)]
struct Member<'n> {
    name: &'n str,
    lists: MemberLists,
}

/// Returns the effect of pressing what has this text, such as `Delete account`.
fn of_pressed(text: &str) -> CallEffect {
    let lists = [
        (CallEffect::Spends, "pressed that spends"),
        (CallEffect::Destroys, "pressed that destroys"),
        (CallEffect::Sends, "pressed that sends"),
    ];
    first(&lists, |heading| says(text, heading)).unwrap_or(CallEffect::Reads)
}

/// Returns whether a text has a phrase of a list among its words.
fn says(text: &str, heading: &str) -> bool {
    let text = format!(" {} ", words(text).join(" "));
    list(heading).any(|phrase| text.contains(&format!(" {phrase} ")))
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
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

/// Returns whether a text is a document of GraphQL with an operation that changes something.
fn is_mutation(text: &str) -> bool {
    let is_document =
        list("begin of a document of graphql").any(|begin| text.trim_start().starts_with(begin));
    let is_operation = |behind: &str| !behind.starts_with(char::is_alphanumeric) && behind.contains('{');
    is_document && text.split("mutation").skip(1).any(is_operation)
}

/// Returns whether a text is a statement for a graph that changes something.
fn writes_graph(text: &str) -> bool {
    let first =
        text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let begins = |begin: &&str| begin.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(first));
    let mut possible = list("begin of a statement for a graph").filter(begins).peekable();
    if possible.peek().is_none() {
        return false;
    }
    let spaced = text.to_lowercase().replace('(', " (");
    let text = format!(" {} ", spaced.split_whitespace().collect::<Vec<_>>().join(" "));
    possible.any(|begin| text[1..].starts_with(begin))
        && list("clause that changes a graph").any(|clause| text.contains(&format!(" {clause} ")))
}

/// Returns whether a program would take a text for an option where its tool means a value, as in `{"branch":"--force"}`.
fn is_option(member: &Member<'_>, text: &str) -> bool {
    // A list, a document of YAML and a number are none.
    let is_other = text.starts_with("- ") || text.starts_with("---") || text.parse::<f64>().is_ok();
    text.starts_with('-') && !is_other && !is_listed("member of further words", member.name)
}

/// Returns whether a text is a patch that deletes a file, or a statement that deletes a part of a graph.
fn deletes(lists: MemberLists, text: &str) -> bool {
    let lower = text.to_lowercase();
    let says = |phrase| lower.contains(phrase);
    lists.has(MemberList::Patch) && deletes_file(text) || list("statement that deletes").any(says)
}

/// Returns whether a text is a patch that deletes a file.
fn deletes_file(text: &str) -> bool {
    text.lines().any(|line| list("line of a patch that deletes").any(|sign| line.starts_with(sign)))
}

/// Returns the effect of a member that says who pays, who sees something, or to whom it goes on.
fn of_member(lists: MemberLists, text: &str) -> CallEffect {
    let is_everybody = || words(text).iter().any(|word| is_listed("choice of everybody", word));
    let is_choice = text.len() <= MAX_CHOICE_BYTES;
    let is_nothing = || ["", "none", "false", "no"].iter().any(|nothing| text.eq_ignore_ascii_case(nothing));
    if (lists.has(MemberList::Forwards) && text.contains('@'))
        || (is_choice && lists.has(MemberList::WhoSees) && is_everybody())
    {
        CallEffect::GivesAccess
    } else if lists.has(MemberList::Purchase) && !text.is_empty() {
        CallEffect::Spends
    } else if lists.has(MemberList::DestroysAtZero) && (text == "0" || text.ends_with("=0"))
        || lists.has(MemberList::Place) && is_listed("place that destroys", &words(text).concat())
    {
        CallEffect::Destroys
    } else if lists.has(MemberList::Invites) && text.contains('@')
        || lists.has(MemberList::Sends) && is_choice && !is_nothing()
    {
        CallEffect::Sends
    } else {
        CallEffect::Reads
    }
}

/// Returns the effect that is chosen by the value of a member like `operation`.
fn chosen(lists: MemberLists, text: &str) -> CallEffect {
    if text.len() > MAX_CHOICE_BYTES || !lists.has(MemberList::Chooses) {
        return CallEffect::Reads;
    }
    let words = words(text);
    let choices = [
        (CallEffect::GivesAccess, "choice that gives access"),
        (CallEffect::Destroys, "choice that destroys"),
        (CallEffect::Sends, "choice that sends"),
    ];
    let is_in = |heading| words.iter().any(|word| stems(word).any(|stem| is_listed(heading, &stem)));
    first(&choices, is_in).unwrap_or(CallEffect::Reads)
}

/// Returns the effect of the first list that applies.
fn first(lists: &[(CallEffect, &'static str)], applies: impl Fn(&'static str) -> bool) -> Option<CallEffect> {
    lists.iter().find(|(_, heading)| applies(heading)).map(|(effect, _)| *effect)
}

/// The length of the longest text that is read as a choice between operations.
const MAX_CHOICE_BYTES: usize = 40;

/// Returns whether a text names a folder of the system, which gives a container the machine.
fn is_folder_of_system(text: &str) -> bool {
    let source = text.to_lowercase();
    let is_within = |rest: &str, folder: &str| {
        rest.is_empty() || rest.starts_with(':') || folder != "/" && rest.starts_with('/')
    };
    list("folder of the system").any(|it| source.strip_prefix(it).is_some_and(|rest| is_within(rest, it)))
}

/// Returns whether a text describes a program with power over its machine.
fn gives_power(text: &str) -> bool {
    let mut text = text.to_lowercase();
    text.retain(|letter| !letter.is_whitespace() && !matches!(letter, '"' | '\''));
    list("text that gives access").any(|phrase| text.contains(phrase))
}

#[cfg(test)]
pub(super) mod tests;
