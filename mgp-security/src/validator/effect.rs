//! The effect of a call, by the definition of its tool and its arguments. `effects.txt` has the words.
//!
//! Arguments only make an effect that is known worse: a tool that writes destroys if it is called with `force`, and a
//! query destroys unless its statement is known to read. No hint of a server makes an effect better; a call does that its
//! tool's arguments call a trial, a draft, or an operation that reads, and a query of files of data.

mod commands;
mod edit;
mod member;

use std::collections::HashMap;
use std::path::Path;

use mgp_types::ClientFolders;
use mgp_types::mgp::{CallEffect, Permission, ResolvedTool, UnknownCommand};
use serde_json::Value;

use self::commands::Judging;
use self::edit::empties;
use self::member::{MAX_CHOICE_BYTES, Member, MemberList, MemberLists, chosen, of_member};
use super::readonly::{check_sql, only_adds_rows};
use crate::command::{CommandVerdict, Deed};
use crate::path::{is_run_later, may_be_there};
use crate::tool::{
    ArgumentNature, ArgumentNatures, NameManner, effect_if_told_to_read, is_listed, list, phrase_effects,
};
use mgp_types::words;

/// The rules for the effects of calls of one tool.
#[derive(Debug)]
pub(super) struct CallEffects {
    /// The words of the tool's name.
    name: Vec<String>,
    /// The effect of a call whose arguments tell nothing.
    of_tool: CallEffect,
    /// The effect of a call whose arguments tell that it reads; `None` if they do not tell what a call does.
    if_told_to_read: Option<CallEffect>,
    /// The manner that the name of the tool tells.
    manner: NameManner,
    /// True if the tool starts programs in containers and clusters, so that its arguments may give them power.
    starts_programs: bool,
    /// The program in the name of the tool with the words behind it, whose further words its arguments may be.
    program: Vec<String>,
    /// True if the arguments say what is asked of a service.
    calls_api: bool,
    /// The list of names of the members whose files the tool replaces, and whether they are those in the list or all others;
    /// `None` if the tool replaces no files.
    replaced: Option<(MemberList, bool)>,
    /// True if the tool writes files.
    writes_files: bool,
    /// The lists in which the names of declared arguments stand, by name.
    declared: HashMap<Box<str>, MemberLists, foldhash::fast::RandomState>,
}

impl CallEffects {
    /// Returns the rules for a tool, unless a trusted server declares its security.
    pub(super) fn of(tool: &ResolvedTool, natures: &ArgumentNatures) -> Option<Self> {
        let name = words(&tool.definition.text("name").unwrap_or_default());
        let has = |heading| name.iter().any(|word| is_listed(heading, word));
        let server = words(tool.server.as_str());
        let is_program = |word: &String| is_listed("program in the name of a tool", word);
        let of_server = server.iter().find(|word| is_program(word)).cloned();
        let in_name = name.iter().position(is_program).map(|at| name[at..].to_vec());
        let of_tool = tool.security.effect?;
        let manner = NameManner::of(tool.name.as_str());
        let is_reader = manner == NameManner::Reads;
        let moves = has("verb that moves files").then_some((MemberList::Destination, true));
        let replaces = has("verb that replaces files") && !has("word of what is not replaced");
        Some(Self {
            of_tool,
            if_told_to_read: effect_if_told_to_read(&tool.definition, natures),
            manner,
            starts_programs: !is_reader && has("word of containers"),
            program: in_name.unwrap_or_else(|| of_server.into_iter().collect()),
            calls_api: !is_reader && (natures.has(ArgumentNature::HttpMethod) || has("word of an api")),
            writes_files: of_tool == CallEffect::Writes
                && tool.security.permissions.contains(&Permission::FilesystemWrite),
            replaced: moves.or_else(|| replaces.then_some((MemberList::Source, false))),
            declared: natures.declared().map(|name| (name.into(), MemberLists::of(name))).collect(),
            name,
        })
    }

    /// Returns the effect of a call with these arguments, and what is unknown in the commands that it runs.
    pub(super) fn of_call(
        &self,
        arguments: &Value,
        natures: &ArgumentNatures,
        folders: Option<&ClientFolders>,
    ) -> (CallEffect, Option<UnknownCommand>) {
        let mut verdicts = Vec::new();
        self.add_verdicts("", arguments, &Judging { natures, folders }, &mut verdicts);
        // A tool that reads may be told what to read.
        let is_told = |verdict: &&CommandVerdict| {
            self.is_reader() && verdict.deed <= Some(Deed::Inspects) && verdict.deed.is_some()
        };
        let of_commands =
            worst(verdicts.iter().filter(|verdict| !is_told(verdict)).map(|verdict| verdict.effect));
        let effect = self.of_arguments(arguments, natures, of_commands, !verdicts.is_empty());
        (effect, verdicts.into_iter().find_map(|verdict| verdict.unknown))
    }

    fn of_arguments(
        &self,
        arguments: &Value,
        natures: &ArgumentNatures,
        of_commands: CallEffect,
        has_commands: bool,
    ) -> CallEffect {
        let of_value = self.of_value(&Member::default(), arguments, natures);
        // As in `docker` with `{"args":["ps"]}`.
        let of_words = Some(of_commands).filter(|effect| self.is_program() && *effect > CallEffect::Reads);
        let told = self.of_told_verb(arguments).max(of_words);
        let of_tool = match (told, self.if_told_to_read) {
            (Some(CallEffect::Reads), Some(of_tool)) => of_tool,
            (Some(told), Some(of_tool)) if !self.is_named("powers") => of_tool.max(told),
            // What a tool runs is what the call tells it to.
            (None, _) if has_commands && self.of_tool == CallEffect::Runs => CallEffect::Reads,
            (told, _) => self.of_tool.max(told.filter(|_| !self.is_reader()).unwrap_or_default()),
        };
        let of_whole = of_commands.max(self.of_endpoint(arguments)).max(self.of_written(arguments, natures));
        let effect = of_value.max(of_tool).max(of_whole);
        let runs = natures.has(ArgumentNature::Command) || natures.has(ArgumentNature::Code);
        if self.is_reader() || runs { effect } else { self.of_declared(arguments, effect) }
    }

    /// Returns the effect of a call that has `effect` but for what declared arguments say of the whole: that it is a trial or a
    /// draft, or a message to others.
    fn of_declared(&self, arguments: &Value, effect: CallEffect) -> CallEffect {
        let members = || arguments.as_object().into_iter().flatten();
        let has = |list, is_so: fn(&Value) -> bool| {
            let is_in = |name: &String| self.declared.get(&**name).is_some_and(|lists| lists.has(list));
            members().any(|(name, value)| is_in(name) && is_so(value))
        };
        let is_on = |value: &Value| *value == Value::Bool(true);
        let is_draft = || has(MemberList::Draft, is_on) || has(MemberList::Chooses, |value| value == "draft");
        let is_said =
            || has(MemberList::Message, Value::is_string) && !self.name.iter().any(|word| word == "draft");
        let is_message = || has(MemberList::Conversation, |to| !to.is_null()) && is_said() && !is_draft();
        match effect {
            CallEffect::Sends if is_draft() && !self.is_named("draft that others see") => CallEffect::Writes,
            CallEffect::Writes | CallEffect::Unknown if is_message() => CallEffect::Sends,
            _ if effect > CallEffect::Writes && has(MemberList::Trial, is_on) => CallEffect::Writes,
            _ => effect,
        }
    }

    /// Returns the effect of what is written into a file.
    fn of_written(&self, arguments: &Value, natures: &ArgumentNatures) -> CallEffect {
        let Some(members) = arguments.as_object().filter(|members| self.writes_files && members.len() > 1)
        else {
            return CallEffect::Reads;
        };
        let is_path = |(name, _): &(&String, &Value)| natures.nature(name) == ArgumentNature::Path;
        worst(members.iter().filter(is_path).filter_map(|(_, path)| path.as_str()).map(Path::new).map(
            |path| {
                if path.metadata().is_ok_and(|file| file.is_file() && empties(arguments, file.len())) {
                    CallEffect::Destroys
                } else if is_run_later(path) {
                    CallEffect::RunsLater
                } else {
                    CallEffect::Reads
                }
            },
        ))
    }

    /// Returns the effect of what is asked of a service by the path of a request, as in `{"path":"/pulls/9/merge"}`.
    fn of_endpoint(&self, arguments: &Value) -> CallEffect {
        let reads = |(_, verb): (&String, &str)| NameManner::of(verb) == NameManner::Reads;
        if !self.calls_api || self.texts_in(MemberList::TellsVerb, arguments).any(reads) {
            return CallEffect::Reads;
        }
        worst(self.texts_in(MemberList::Endpoint, arguments).filter_map(|(_, path)| {
            let path = path.split(['?', '#']).next()?.trim_end_matches('/');
            let of_last = NameManner::of(path.rsplit('/').next()?).effect();
            let of_phrases = phrase_effects(&words(path)).fold(CallEffect::Reads, CallEffect::max);
            Some(of_last.max(of_phrases)).filter(|effect| *effect > CallEffect::Unknown)
        }))
    }

    /// Returns the effect of the verbs that a tool of several operations is called with, as in `{"operation":"list"}`.
    fn of_told_verb(&self, arguments: &Value) -> Option<CallEffect> {
        let told = self.texts_in(MemberList::TellsVerb, arguments);
        let told = told.filter(|(_, verb)| verb.len() <= MAX_CHOICE_BYTES);
        let effects = told.map(|(name, verb)| {
            let is_thing = is_listed("operation that reads", verb);
            let manner = if is_thing { CallEffect::Reads } else { NameManner::of(verb).effect() };
            let words = [words(verb), self.name.clone()].concat();
            (name, phrase_effects(&words).fold(manner, CallEffect::max))
        });
        let (unknown, known): (Vec<_>, Vec<_>) =
            effects.partition(|(_, effect)| *effect == CallEffect::Unknown);
        let known = known.into_iter().map(|(_, effect)| effect).max();
        // A mode may be anything, and of a service that is named something else may read.
        let is_open = |name: &str| name != "mode" && (name != "service" || known != Some(CallEffect::Reads));
        known.max(unknown.iter().any(|(name, _)| is_open(name)).then_some(CallEffect::Unknown))
    }

    /// Returns the texts among arguments whose names are in a list.
    fn texts_in<'v>(
        &self,
        list: MemberList,
        arguments: &'v Value,
    ) -> impl Iterator<Item = (&'v String, &'v str)> {
        let members = arguments.as_object().into_iter().flatten();
        let texts = members.filter_map(|(name, value)| Some((name, value.as_str()?)));
        texts.filter(move |(name, _)| self.member(name).lists.has(list))
    }

    /// Returns the worst effect that `value` shows, which is that of the member or stands in it.
    fn of_value(&self, member: &Member<'_>, value: &Value, natures: &ArgumentNatures) -> CallEffect {
        let is_in = |list| member.lists.has(list);
        match value {
            Value::Array(values) => {
                let invites = !self.is_reader() && !values.is_empty() && is_in(MemberList::Invites);
                let of_name = match values.is_empty() {
                    _ if invites => CallEffect::Sends,
                    true if !self.is_reader() && is_in(MemberList::Hides) => CallEffect::GivesAccess,
                    false if !self.is_reader() && is_in(MemberList::Destroyed) => CallEffect::Destroys,
                    _ => CallEffect::Reads,
                };
                worst(values.iter().map(|value| self.of_value(member, value, natures))).max(of_name)
            }
            Value::Object(members) => self.of_members(member, members, natures),
            Value::String(text) => self.of_text(member, text, natures),
            Value::Bool(true) if is_in(MemberList::Reveals) => CallEffect::GivesAccess,
            _ if self.is_reader() => CallEffect::Reads,
            Value::Bool(true) if is_in(MemberList::GivesAccess) => CallEffect::GivesAccess,
            Value::Bool(true) if is_in(MemberList::Destroys) => CallEffect::Destroys,
            Value::Bool(true) if is_in(MemberList::Sends) && !self.is_named("verb that types") => {
                CallEffect::Sends
            }
            Value::Bool(false) if is_in(MemberList::Hides) => CallEffect::GivesAccess,
            Value::Number(_) if is_in(MemberList::Purchase) => CallEffect::Spends,
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
            let is_operation = value.is_object() || member.lists.has(MemberList::Command);
            let is_destroyed = name.starts_with('$') && is_listed("member that destroys", name)
                || is_operation && !self.is_reader() && NameManner::of(name) == NameManner::Destroys;
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
        let is_in = |name: &str, list| self.member(name).lists.has(list);
        let find = |list| members.iter().find(|(name, _)| is_in(name, list)).map(|(_, value)| value);
        let name = find(MemberList::SettingName).and_then(Value::as_str);
        let both = name.zip(find(MemberList::SettingValue).filter(|value| !value.is_string()));
        both.map_or(CallEffect::Reads, |(name, value)| self.of_value(&self.member(name), value, natures))
    }

    /// Returns whether the tool is named as the program that it calls.
    fn is_program(&self) -> bool {
        !self.program.is_empty() && self.name.len() == 1
    }

    /// Returns whether the name of the tool says that it reads, so that words among its arguments only select.
    fn is_reader(&self) -> bool {
        self.manner == NameManner::Reads
    }

    /// Returns whether the tool looks at statements and runs none.
    fn looks_at_text(&self) -> bool {
        self.manner <= NameManner::Writes && self.is_named("verb that looks at text")
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
        let is_in_list = |(list, is_in)| member.lists.has(list) == is_in;
        self.replaced.is_some_and(is_in_list) && !is_listed("word of what is not replaced", member.name)
    }

    fn of_text(&self, member: &Member<'_>, text: &str, natures: &ArgumentNatures) -> CallEffect {
        let is_in = |list| member.lists.has(list);
        let presses = || self.is_named("verb that presses");
        let is_opener = || !self.is_reader() && self.is_named("verb that opens");
        let opens = || text.len() <= MAX_CHOICE_BYTES && is_opener() && says(text, "thing that guards");
        let reveals = || {
            is_in(MemberList::Kind) && is_listed("kind that reveals", &text.to_lowercase())
                || is_in(MemberList::Variable) && self.is_reader() && names_secret(text)
        };
        let of_nature = match natures.nature(member.name) {
            ArgumentNature::Sql if !only_reads(text) && !self.looks_at_text() => {
                if only_adds_rows(text) {
                    CallEffect::Writes
                } else {
                    CallEffect::Destroys
                }
            }
            ArgumentNature::HttpMethod => chosen(member.lists, text),
            _ if is_listed("what is pressed", member.name) && presses() => of_pressed(text),
            _ if opens() || reveals() => CallEffect::GivesAccess,
            _ if is_mutation(text) && !self.looks_at_text() => CallEffect::Sends,
            _ if writes_graph(text) => CallEffect::Destroys,
            _ if !self.is_reader() && deletes(member.lists, text) => CallEffect::Destroys,
            _ if !self.program.is_empty() && is_option(member, text) => CallEffect::Destroys,
            ArgumentNature::Path if self.replaces(member) && may_be_there(Path::new(text)) => {
                CallEffect::Destroys
            }
            _ => CallEffect::Reads,
        };
        let mounts = || is_in(MemberList::Mount) && is_folder_of_system(text);
        if self.is_reader() {
            of_nature
        } else if self.starts_programs && (mounts() || gives_power(text)) {
            CallEffect::GivesAccess
        } else {
            of_nature.max(chosen(member.lists, text)).max(of_member(member.lists, text))
        }
    }
}

type Members = serde_json::Map<String, Value>;

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

fn worst(effects: impl Iterator<Item = CallEffect>) -> CallEffect {
    effects.max().unwrap_or_default()
}

/// Returns whether a statement changes nothing, where files of data count as tables: `FROM read_csv('sales.csv')`.
fn only_reads(statement: &str) -> bool {
    let as_tables = || {
        list("function of a file of data").fold(statement.to_owned(), |statement, function| {
            let mut parts = statement.split(function);
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |before, behind| {
                let (file, rest) = behind.split_once('\'').unwrap_or_default();
                let is_file = !file.contains("://") && rest.trim_start().starts_with([')', ',']);
                let is_data = is_file && list("file of data").any(|end| file.ends_with(end));
                before + if is_data { "abs('" } else { function } + behind
            })
        })
    };
    check_sql(statement).is_ok() || statement.contains("('") && check_sql(&as_tables()).is_ok()
}

/// Returns whether a text is the name of a variable with a secret, such as `AWS_SECRET_ACCESS_KEY`.
fn names_secret(text: &str) -> bool {
    let is_variable =
        text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_variable && words(text).iter().any(|word| is_listed("word of a secret", word))
}

/// Returns whether a text is a document of GraphQL with an operation that changes something.
fn is_mutation(text: &str) -> bool {
    let is_document =
        || list("begin of a document of graphql").any(|begin| text.trim_start().starts_with(begin));
    let is_operation = |behind: &str| !behind.starts_with(char::is_alphanumeric) && behind.contains('{');
    text.contains("mutation") && is_document() && text.split("mutation").skip(1).any(is_operation)
}

/// Returns whether a text is a statement for a graph that changes something.
fn writes_graph(text: &str) -> bool {
    let first =
        text.trim_start().split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    let begins = |begin: &&str| begin.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(first));
    let mut possible = list("begin of a statement for a graph").filter(begins).peekable();
    if !text.contains(char::is_whitespace) || possible.peek().is_none() {
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
    text.starts_with('-') && !is_other && !member.lists.has(MemberList::FurtherWords)
}

/// Returns whether a text is a patch that deletes a file, or a statement that deletes a part of a graph.
fn deletes(lists: MemberLists, text: &str) -> bool {
    let says = |text: &str| list("statement that deletes").any(|phrase| text.contains(phrase));
    lists.has(MemberList::Patch) && deletes_file(text) || text.contains(' ') && says(&text.to_lowercase())
}

/// Returns whether a text is a patch that deletes a file.
fn deletes_file(text: &str) -> bool {
    text.lines().any(|line| list("line of a patch that deletes").any(|sign| line.starts_with(sign)))
}

/// Returns the effect of the first list that applies.
fn first(lists: &[(CallEffect, &'static str)], applies: impl Fn(&'static str) -> bool) -> Option<CallEffect> {
    lists.iter().find(|(_, heading)| applies(heading)).map(|(effect, _)| *effect)
}

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
