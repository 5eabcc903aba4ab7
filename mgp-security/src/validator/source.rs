//! The kind of data that a call takes into the session of its client, by the name of its tool and its arguments.
//! `effects.txt` has the words.

use std::path::Path;
use std::sync::LazyLock;

use mgp_types::mgp::{CallEffect, CallSource, ResolvedTool};
use mgp_types::{ClientFolders, words};
use serde_json::Value;

use super::effect::is_listed;
use crate::path::{PathAccess, ProtectedPaths};
use crate::tool::{ArgumentNature, ArgumentNatures};

static PROTECTED: LazyLock<ProtectedPaths> = LazyLock::new(ProtectedPaths::default);

/// The rule for the kind of data that calls of one tool take in.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSources {
    /// The kind of data that each call takes in, whatever its arguments.
    of_tool: Option<CallSource>,
    visits: bool,
    reads_files: bool,
}

impl CallSources {
    pub(super) fn of(tool: &ResolvedTool, natures: &ArgumentNatures) -> Self {
        let words = words(tool.name.as_str());
        let has = |heading| words.iter().any(|word| is_listed(heading, word));
        let of_tool = match tool.security.effect {
            Some(CallEffect::GivesAccess) => Some(CallSource::Private),
            Some(CallEffect::Reads | CallEffect::Runs) if has("private data") => Some(CallSource::Private),
            Some(CallEffect::Reads | CallEffect::Runs) if has("text of others") => Some(CallSource::Foreign),
            _ => None,
        };
        let is_reader = tool.security.effect == Some(CallEffect::Reads);
        let reads = |nature| is_reader && natures.has(nature);
        Self { of_tool, visits: reads(ArgumentNature::Url), reads_files: reads(ArgumentNature::Path) }
    }

    /// Returns the kind of data that a call with these arguments takes in.
    pub(super) fn of_call(
        self,
        arguments: &Value,
        natures: &ArgumentNatures,
        folders: Option<&ClientFolders>,
    ) -> Option<CallSource> {
        let texts = |nature: ArgumentNature| {
            let of_nature = move |(name, _): &(&String, &Value)| natures.nature(name) == nature;
            let members = arguments.as_object().into_iter().flatten().filter(of_nature);
            members.flat_map(|(_, value)| each_text(value))
        };
        let is_private = |path: &str| {
            // Where nobody knows a folder of the client, no file is elsewhere.
            let is_elsewhere =
                |folders: &ClientFolders| !folders.hold(Path::new(path)) && !folders.all().is_empty();
            Path::new(path).is_absolute() && folders.is_some_and(is_elsewhere)
                || PROTECTED.check(path, PathAccess::Read).is_err()
        };
        if self.of_tool == Some(CallSource::Private)
            || self.reads_files && texts(ArgumentNature::Path).any(is_private)
        {
            Some(CallSource::Private)
        } else if self.visits && texts(ArgumentNature::Url).next().is_some() {
            Some(CallSource::Foreign)
        } else {
            self.of_tool
        }
    }
}

fn each_text(value: &Value) -> impl Iterator<Item = &str> {
    let values = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    values.iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::effect::tests::called_tool;
    use super::*;
    use crate::doubles::cases;

    fn source(name: &str, arguments: &str) -> Option<CallSource> {
        source_in(&ClientFolders::of_process(Some(PathBuf::from("/srv/ada/project"))), name, arguments)
    }

    fn source_in(folders: &ClientFolders, name: &str, arguments: &str) -> Option<CallSource> {
        let (tool, natures, arguments) = called_tool(name, "{}", arguments);
        CallSources::of(&tool, &natures).of_call(&arguments, &natures, Some(folders))
    }

    #[test]
    fn names_and_arguments_tell_what_a_call_takes_in() {
        for (expected, call) in cases(include_str!("source_cases.txt")) {
            let (name, arguments) = call.split_once(' ').unwrap();
            let found =
                source(name, arguments).map_or_else(|| "None".to_owned(), |found| format!("{found:?}"));
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn where_no_folder_of_the_client_is_known_no_file_is_elsewhere() {
        for folders in [ClientFolders::of_session(), ClientFolders::of_process(None)] {
            assert_eq!(source_in(&folders, "read_file", r#"{"path":"/srv/ada/taxes.txt"}"#), None);
            let key = r#"{"path":"/srv/ada/.ssh/id_ed25519"}"#;
            assert_eq!(source_in(&folders, "read_file", key), Some(CallSource::Private));
        }
    }
}
