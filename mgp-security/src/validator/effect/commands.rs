//! The commands and the code among the arguments of a call.

use mgp_types::ClientFolders;
use serde_json::Value;

use super::member::MemberList;
use super::{CallEffects, Members, texts};
use crate::command::CommandVerdict;
use crate::tool::{ArgumentNature, ArgumentNatures};

/// What the commands of a call are judged by.
#[derive(Clone, Copy)]
pub(super) struct Judging<'a> {
    pub(super) natures: &'a ArgumentNatures,
    pub(super) folders: Option<&'a ClientFolders>,
}

impl CallEffects {
    /// Judges the commands and the code among the arguments. A program stands in the name of the tool or in one argument, and
    /// its further words may stand in another one, as in `{"command":"git","args":["clean"]}`.
    pub(super) fn add_verdicts(
        &self,
        name: &str,
        value: &Value,
        judging: &Judging<'_>,
        found: &mut Vec<CommandVerdict>,
    ) {
        let Judging { natures, folders } = *judging;
        match (value, natures.nature(name)) {
            (Value::String(text), ArgumentNature::Code) if !text.is_empty() => {
                found.push(CommandVerdict::of_code());
            }
            // What is typed into a program may be read by a shell or by an interpreter.
            (Value::String(_), ArgumentNature::Command) if name == "input" => {
                found.push(CommandVerdict::of_code());
            }
            (Value::String(line), ArgumentNature::Command) => found.push(CommandVerdict::of(line, folders)),
            (Value::Array(values), ArgumentNature::Command) => {
                found.push(CommandVerdict::of_words(&texts(values), folders));
            }
            (Value::Array(values), _) => {
                for value in values {
                    self.add_verdicts(name, value, judging, found);
                }
            }
            (Value::Object(members), _) => {
                let further = self.further_words(members);
                let mut is_said = false;
                for (name, value) in members {
                    let line = value.as_str().filter(|_| natures.nature(name) == ArgumentNature::Command);
                    match line {
                        Some(line) if name != "input" => {
                            let first = line.split_whitespace().next();
                            let of_name =
                                self.program.iter().filter(|program| first != Some(program.as_str()));
                            let of_name: Vec<_> = of_name.take(1).cloned().collect();
                            let is_alone = of_name.is_empty() && further.is_empty();
                            is_said |= !is_alone;
                            if is_alone {
                                self.add_verdicts(name, value, judging, found);
                            } else {
                                let words = line.split_whitespace().map(str::to_owned);
                                let words: Vec<_> =
                                    of_name.into_iter().chain(words).chain(further.iter().cloned()).collect();
                                found.push(CommandVerdict::of_words(&words, folders));
                                // Some servers join the words to a line, and give it to a shell.
                                if further.iter().any(|word| word.contains(SIGNS_OF_A_SHELL)) {
                                    found.push(CommandVerdict::of(&words.join(" "), folders));
                                }
                            }
                        }
                        _ => self.add_verdicts(name, value, judging, found),
                    }
                }
                // As in `{"command":"ls","env":{"LD_PRELOAD":"./a.so"}}`.
                let has_command = members.keys().any(|name| natures.nature(name) == ArgumentNature::Command);
                let is_set = |(name, value): &(&String, &Value)| {
                    value.as_object().is_some_and(|settings| !settings.is_empty())
                        && natures.nature(name) != ArgumentNature::Command
                        && !self.member(name).lists.has(MemberList::FurtherWords)
                };
                if let Some((name, _)) = members.iter().find(is_set).filter(|_| has_command) {
                    found.push(CommandVerdict::of_settings(name));
                }
                // As in `run_gcloud_command` with `{"args":["sql","instances","delete"]}`.
                if !self.program.is_empty() && !is_said && !further.is_empty() {
                    let words: Vec<_> = self.program.iter().cloned().chain(further).collect();
                    found.push(CommandVerdict::of_words(&words, folders));
                }
            }
            _ => {}
        }
    }

    /// Returns the words that stand beside a program, such as those in `args`.
    fn further_words(&self, members: &Members) -> Vec<String> {
        let further =
            members.iter().filter(|(name, _)| self.member(name).lists.has(MemberList::FurtherWords));
        let words = further.flat_map(|(_, value)| match value {
            Value::Array(values) => texts(values),
            Value::String(line) => line.split_whitespace().map(str::to_owned).collect(),
            _ => Vec::new(),
        });
        words.collect()
    }
}

/// The characters with which another command begins in a line.
const SIGNS_OF_A_SHELL: [char; 8] = ['|', '&', ';', '<', '>', '$', '`', '\n'];
