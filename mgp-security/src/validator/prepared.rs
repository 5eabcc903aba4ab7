//! Tools prepared for validation, and the cache of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::mgp::{
    CallEffect, CallSource, ResolvedTool, ServerId, ToolName, UnknownCommand, ValidatorName,
};
use mgp_types::{ClientFolders, RawJson, words};
use serde_json::Value;

use super::call::{ArgumentNames, BlockedCall, ValidatedCall, Validator};
use super::effect::CallEffects;
use super::standard::{Validators, access_of_tool};
use crate::path::{CallFolders, PathAccess, ProtectedPaths};
use crate::tool::{ArgumentNature, ArgumentNatures, is_listed};
use crate::{Finding, Schema, text};

/// A tool with its compiled schema and its validators, ready to check calls.
#[derive(Debug)]
pub(super) struct PreparedTool {
    tool: Arc<ResolvedTool>,
    natures: ArgumentNatures,
    /// The use that the tool makes of files.
    access: PathAccess,
    schema: Option<Schema>,
    names: ArgumentNames,
    effects: Option<CallEffects>,
    sources: CallSources,
    /// The validators that look at calls; `none` does not.
    validators: Vec<Arc<dyn Validator>>,
    /// The reason why no call of the tool can be checked, so that every call is refused.
    fault: Option<Finding>,
}

impl PreparedTool {
    fn new(tool: Arc<ResolvedTool>, known: &Validators) -> Self {
        let mut fault = None;
        let mut validators = Vec::new();
        for name in &tool.security.validators {
            match known.get(name) {
                _ if *name == ValidatorName::None => {}
                Some(validator) => validators.push(validator.clone()),
                None => {
                    let message = format!(
                        "the tool has to be checked with `{name}`, which is not known here; the operator has to add it"
                    );
                    fault = Some(Finding::new("unknown-validator", message));
                }
            }
        }
        let declared = tool.definition.get("inputSchema");
        let names = declared.as_ref().map(ArgumentNames::of).unwrap_or_default();
        let schema = match declared.as_ref().map(Schema::compile).transpose() {
            Ok(schema) => schema,
            Err(error) => {
                tracing::warn!(server = %tool.server, tool = %tool.name, %error, "the schema of a tool cannot be used");
                let why = format!("the tool's own schema cannot be used; tell the operator: {error}");
                fault = Some(Finding::new("unusable-schema", why));
                None
            }
        };
        let (natures, access) = (ArgumentNatures::of(&tool.definition), access_of_tool(&tool));
        let (effects, sources) = (CallEffects::of(&tool, &natures), CallSources::of(&tool, &natures));
        Self { tool, natures, access, schema, names, effects, sources, validators, fault }
    }

    /// Checks the arguments of a call: against the schema, then with each validator.
    pub(super) fn check(
        &self,
        arguments: Option<&RawJson>,
        has_loose_types: bool,
        folders: CallFolders<'_>,
    ) -> Result<CheckedArguments, BlockedCall> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone().into());
        }
        let none = RawJson::empty_object();
        let arguments =
            arguments.filter(|arguments| !(has_loose_types && arguments.is_null())).unwrap_or(&none);
        let schema = self.schema.as_ref();
        if schema.is_none() && self.validators.is_empty() && self.effects.is_none() {
            return Ok(CheckedArguments::default());
        }
        let read = |json: &RawJson| match schema {
            Some(_) => Schema::read(json.as_bytes()).map_err(BlockedCall::Schema),
            None => text::read(json).map_err(BlockedCall::from),
        };
        let value = read(arguments)?;
        let converted = match schema.map(|schema| (schema, schema.check_value(&value))) {
            Some((schema, Err(violation))) => {
                let converted = if has_loose_types { schema.converted(arguments) } else { None };
                Some(converted.ok_or(BlockedCall::Schema(violation))?)
            }
            _ => None,
        };
        let both = converted.as_ref().map(read).transpose()?;
        let (mut effect, mut command, mut source) = (None, None, None);
        for value in std::iter::once(&value).chain(&both) {
            self.names.check(value, "")?;
            if self.check_texts(value, folders)? {
                effect = effect.max(Some(CallEffect::Unknown));
            }
            if let Some(effects) = &self.effects {
                let (of_call, unknown) = effects.of_call(value, &self.natures, folders.own());
                effect = effect.max(Some(of_call));
                command = command.or_else(|| unknown.map(Arc::new));
                source = source.or_else(|| self.sources.of_call(value, &self.natures, folders.own()));
            }
        }
        Ok(CheckedArguments { converted, effect, command, source })
    }

    /// Checks the texts among the arguments with each validator, and returns whether one of them has a person asked.
    fn check_texts(&self, arguments: &Value, folders: CallFolders<'_>) -> Result<bool, BlockedCall> {
        if self.validators.is_empty() {
            return Ok(false);
        }
        let call = ValidatedCall::read(&self.tool, &self.natures, self.access, folders, arguments)?;
        self.validators.iter().try_for_each(|validator| validator.check(&call))?;
        Ok(self.validators.iter().any(|validator| validator.asks_about(&call)))
    }
}

/// The findings about arguments that passed.
#[derive(Debug, Default)]
pub(super) struct CheckedArguments {
    /// The arguments in the form in which a converting server reads them, if they fit the schema only after loose types
    /// are converted. The validators have then checked both forms.
    pub(super) converted: Option<RawJson>,
    /// The effect of the call, where it is guessed.
    pub(super) effect: Option<CallEffect>,
    /// What is unknown in the command of the call.
    pub(super) command: Option<Arc<UnknownCommand>>,
    /// The kind of data that the call takes into its session, if that is worth a question later.
    pub(super) source: Option<CallSource>,
}

/// A cache of the tools that were called so far. Each is prepared once for as long as its definition stays the same.
#[derive(Debug, Default)]
pub(super) struct PreparedToolCache(
    ArcSwap<HashMap<(ServerId, ToolName), Arc<PreparedTool>, foldhash::fast::RandomState>>,
);

impl PreparedToolCache {
    pub(super) fn prepared(&self, tool: &Arc<ResolvedTool>, known: &Validators) -> Arc<PreparedTool> {
        let key = (tool.server.clone(), tool.name.clone());
        if let Some(found) = self.0.load().get(&key).filter(|found| Arc::ptr_eq(&found.tool, tool)) {
            return found.clone();
        }
        let prepared = Arc::new(PreparedTool::new(tool.clone(), known));
        // A tool that was never listed is resolved anew with each call; caching it would let callers fill the memory.
        if tool.definition.contains("inputSchema") {
            self.0.rcu(|cached| {
                let mut cached = HashMap::clone(cached);
                cached.insert(key.clone(), prepared.clone());
                cached
            });
        }
        prepared
    }
}

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
                || ProtectedPaths::default().check(path, PathAccess::Read).is_err()
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
