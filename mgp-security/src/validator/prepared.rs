//! Tools prepared for validation, and the cache of them.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::RawJson;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName, ValidatorName};
use serde_json::Value;

use super::call::{Located, ValidatedCall};
use super::gate::ArgumentTypes;
use super::names::ArgumentNames;
use super::path::{CallFolders, PathAccess, access_of_tool};
use super::standard::Validators;
use super::validate::{BlockedCall, Validator};
use crate::tool::ArgumentNatures;
use crate::{Finding, Schema, SchemaViolation};

/// A tool with its compiled schema and its validators, ready to check calls.
#[derive(Debug)]
pub(super) struct PreparedTool {
    tool: Arc<ResolvedTool>,
    natures: ArgumentNatures,
    /// The use that the tool makes of files.
    access: PathAccess,
    schema: Option<Schema>,
    names: ArgumentNames,
    validators: Vec<Arc<dyn Validator>>,
    /// The reason why no call of the tool can be checked, so that every call is refused.
    fault: Option<Finding>,
}

/// The reason why a call fails validation.
#[derive(Debug)]
pub(super) enum CallFault {
    /// The arguments do not fit the tool's schema.
    Schema(SchemaViolation),
    /// A validator refuses the call.
    Blocked(BlockedCall),
}

impl CallFault {
    /// Returns whether this rule refuses the call.
    pub(super) fn is_of_rule(&self, rule: &str) -> bool {
        matches!(self, Self::Blocked(BlockedCall::Argument(located)) if located.finding.rule == rule)
    }
}

impl PreparedTool {
    fn new(tool: Arc<ResolvedTool>, known: &Validators) -> Self {
        let mut fault = None;
        let mut validators = Vec::new();
        for name in &tool.security.validators {
            match known.get(name) {
                Some(validator) => validators.push(validator.clone()),
                None => fault = Some(unknown(name)),
            }
        }
        let names =
            tool.definition.get("inputSchema").map(|schema| ArgumentNames::of(&schema)).unwrap_or_default();
        let schema = match tool
            .definition
            .get("inputSchema")
            .map(|schema| Schema::compile(&schema))
            .transpose()
        {
            Ok(schema) => schema,
            Err(error) => {
                tracing::warn!(server = %tool.server, tool = %tool.name, %error, "the schema of a tool cannot be used");
                fault = Some(Finding::new(
                    "unusable-schema",
                    format!("the tool's own schema cannot be used; tell the operator: {error}"),
                ));
                None
            }
        };
        let (natures, access) = (ArgumentNatures::of(&tool.definition), access_of_tool(&tool));
        Self { tool, natures, access, schema, names, validators, fault }
    }

    /// Checks the arguments of a call: against the schema, then with each validator.
    ///
    /// Returns the converted arguments if they fit the schema only after loose types are converted, in the form in
    /// which a converting server reads them. The validators have then checked both forms. With
    /// [`Exact`](ArgumentTypes::Exact) types the result is always `None`.
    pub(super) fn check(
        &self,
        arguments: Option<&RawJson>,
        types: ArgumentTypes,
        folders: CallFolders<'_>,
    ) -> Result<Option<RawJson>, CallFault> {
        if let Some(fault) = &self.fault {
            return Err(CallFault::Blocked(Located::from(fault.clone()).into()));
        }
        let none = RawJson::empty_object();
        let is_loose = types == ArgumentTypes::Loose;
        let arguments = arguments.filter(|arguments| !(is_loose && arguments.is_null())).unwrap_or(&none);
        let Some(schema) = &self.schema else {
            self.check_texts(arguments, folders)?;
            return Ok(None);
        };
        let value = Schema::read(arguments.as_bytes()).map_err(CallFault::Schema)?;
        let converted = match schema.check_value(&value) {
            Ok(()) => None,
            Err(violation) => {
                let converted = if is_loose { schema.converted(arguments) } else { None };
                Some(converted.ok_or(CallFault::Schema(violation))?)
            }
        };
        self.check_names(&value)?;
        self.check_texts(arguments, folders)?;
        if let Some(converted) = &converted {
            self.check_names(&Schema::read(converted.as_bytes()).map_err(CallFault::Schema)?)?;
            self.check_texts(converted, folders)?;
        }
        Ok(converted)
    }

    fn check_names(&self, arguments: &Value) -> Result<(), CallFault> {
        self.names.check(arguments).map_err(|located| CallFault::Blocked(located.into()))
    }

    /// Checks the texts among the arguments with each validator.
    fn check_texts(&self, arguments: &RawJson, folders: CallFolders<'_>) -> Result<(), CallFault> {
        let blocked = |located: Located| CallFault::Blocked(located.into());
        if self.validators.iter().all(|validator| *validator.name() == ValidatorName::None) {
            return Ok(());
        }
        let call = ValidatedCall::read(&self.tool, &self.natures, self.access, folders, arguments);
        let call = call.map_err(blocked)?;
        self.validators.iter().try_for_each(|validator| validator.check(&call)).map_err(CallFault::Blocked)
    }
}

fn unknown(name: &ValidatorName) -> Finding {
    Finding::new(
        "unknown-validator",
        format!(
            "the tool has to be checked with `{name}`, which is not known here; the operator has to add it"
        ),
    )
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
