//! The entry of a tool in the catalog, with its security declaration.

#[cfg(feature = "ext")]
use std::future::ready;
use std::sync::Arc;

#[cfg(any(feature = "http", feature = "ext"))]
use mgp_types::Error;
#[cfg(feature = "http")]
use mgp_types::Request;
#[cfg(feature = "ext")]
use mgp_types::ext::ToolDeclaration;
use mgp_types::mcp::{ForRevision, Meta, TaskSupport, ToolExecution};
use mgp_types::mgp::{EXTENSION_ID, ToolSecurity};
use mgp_types::{Params, RawJson, Revision, mcp};
use serde_json::Value;

use super::arguments::ArgumentFault;
#[cfg(feature = "ext")]
use super::handler::with_tokens;
use super::handler::{ArgumentMode, CallInput, ErasedTool, ToolFuture, ToolHandler};
use super::{TaskMode, Tool, arguments};
#[cfg(feature = "ext")]
use super::{ToolResult, declaration, result_check::ResultCheck};
use crate::catalog::{ListDialect, ListEntry};
use crate::error::Fault;
use crate::schema;
use crate::schema::{HeaderParams, Validator};
#[cfg(feature = "ext")]
use crate::signature::{ArgumentChecks, RegistrySettings, Violation, failure};
#[cfg(feature = "ext")]
use crate::tokens::TokenTool;

/// A tool with its handler and its checks.
#[derive(Debug)]
pub(crate) struct ToolEntry {
    name: Arc<str>,
    wire: mcp::Tool,
    security: Option<Box<ListedSecurity>>,
    pub(crate) handler: ErasedTool,
    pub(crate) inline: bool,
    pub(crate) mode: TaskMode,
    /// The validator for the demands that reading the arguments does not check.
    validator: Option<Validator>,
    #[cfg(feature = "http")]
    headers: HeaderParams,
    /// True if the schema of the arguments says what the tool takes.
    #[cfg(feature = "ext")]
    describes_arguments: bool,
    #[cfg(feature = "ext")]
    pub(crate) checks: Arc<ArgumentChecks>,
    #[cfg(feature = "ext")]
    declared: Option<Box<ToolDeclaration>>,
    #[cfg(feature = "ext")]
    result_check: Option<Arc<ResultCheck>>,
    #[cfg(feature = "ext")]
    pub(crate) undone_by: Option<Box<str>>,
}

impl ToolEntry {
    pub(crate) fn new<H: ToolHandler<M>, M>(tool: Tool, handler: H) -> Result<Self, Fault> {
        let types = H::types();
        Self::build(
            tool,
            ErasedTool::new(move |input| handler.start(input)),
            types.arguments,
            types.output.map(|schema| to_raw(&schema.to_value())),
        )
    }

    fn build(
        Tool {
            mut wire,
            security,
            has_schema,
            validated,
            inline,
            mode,
            #[cfg(feature = "ext")]
            signature,
            #[cfg(feature = "ext")]
            declared,
            #[cfg(feature = "ext")]
            #[cfg(feature = "ext")]
            undone_by,
        }: Tool,
        handler: ErasedTool,
        takes: ArgumentMode,
        output: Option<RawJson>,
    ) -> Result<Self, Fault> {
        #[cfg(feature = "ext")]
        let handler = with_tokens(TokenTool::new(&wire.name, declared.as_deref()), handler);
        let fault = |reason: String| Fault::new(format!("tool `{}`", wire.name), reason);
        check_name(&wire.name).map_err(|reason| fault(reason.into()))?;
        let is_raw = matches!(takes, ArgumentMode::Raw);
        let schema: Value = if has_schema {
            wire.input_schema.to().map_err(|error| fault(error.to_string()))?
        } else {
            match takes {
                ArgumentMode::Nothing => schema::no_arguments(),
                ArgumentMode::Typed(schema) => schema::of_arguments(schema).map_err(fault)?,
                ArgumentMode::Raw => serde_json::json!({ "type": "object", "properties": {} }),
            }
        };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(fault("the schema of the arguments must have `\"type\": \"object\"`".into()));
        }
        #[cfg_attr(not(feature = "http"), expect(unused_variables, reason = "only HTTP has headers"))]
        let headers = HeaderParams::of(&schema).map_err(fault)?;
        let is_checked =
            !has_schema && (is_raw || schema::is_checked_by_parsing(&without_additional(&schema)));
        let input_schema = if has_schema { wire.input_schema.clone() } else { to_raw(&schema) };
        #[cfg(feature = "ext")]
        let (is_checked, checks) = (
            is_checked || signature.is_some(),
            ArgumentChecks::new(input_schema.clone(), signature.as_deref()).map_err(fault)?,
        );
        let validator = if is_checked || !validated {
            None
        } else {
            Some(Validator::compile(&input_schema).map_err(fault)?)
        };
        // What a handler returns by type fits the schema of the type.
        #[cfg(feature = "ext")]
        let result_check = match &wire.output_schema {
            Some(schema) => Some(Arc::new(ResultCheck::new(schema).map_err(fault)?)),
            None => None,
        };
        wire.input_schema = input_schema;
        if wire.output_schema.is_none() {
            wire.output_schema = output;
        }
        wire.execution = support(mode);
        Ok(Self {
            name: wire.name.as_str().into(),
            wire,
            security,
            handler,
            inline,
            mode,
            validator,
            #[cfg(feature = "http")]
            headers,
            #[cfg(feature = "ext")]
            describes_arguments: has_schema || !is_raw,
            #[cfg(feature = "ext")]
            checks: Arc::new(checks),
            #[cfg(feature = "ext")]
            declared,
            #[cfg(feature = "ext")]
            result_check,
            #[cfg(feature = "ext")]
            undone_by,
        })
    }

    /// Returns whether the tool says what its structured result looks like.
    #[cfg(feature = "ext")]
    pub(crate) const fn describes_result(&self) -> bool {
        self.wire.output_schema.is_some()
    }

    /// Returns whether the tool takes binary arguments as parts of an HTTP request.
    #[cfg(all(feature = "ext", feature = "http"))]
    pub(crate) fn takes_parts(&self) -> bool {
        let declared = self.declared.as_ref();
        declared.and_then(|declared| declared.binary_transport.as_deref()) == Some("multipart")
    }

    /// Returns what the tool declares about its calls.
    #[cfg(feature = "ext")]
    pub(crate) fn declared(&self) -> Option<&ToolDeclaration> {
        self.declared.as_deref()
    }

    #[cfg(feature = "ext")]
    pub(crate) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns whether the tool says that it changes nothing.
    #[cfg(feature = "ext")]
    pub(crate) fn is_read_only(&self) -> bool {
        self.wire.annotations.as_deref().is_some_and(|hints| hints.read_only_hint == Some(true))
    }

    /// Checks that the server has what the tool needs, and the tool what the server demands.
    #[cfg(feature = "ext")]
    pub(crate) fn check_registration(&self, settings: &RegistrySettings) -> Result<(), Fault> {
        let fault = |reason: String| Err(Fault::new(format!("tool `{}`", self.name), reason));
        if let Some(missing) = self.checks.validators().find(|name| !settings.validators.has(name)) {
            return fault(format!("there is no validator `{missing}`: register it with `Server::validator`"));
        }
        let declared = self.declared();
        if declared.is_some_and(|declared| {
            declared.requires_confirmation
                && declared.confirmation_message.as_deref().is_none_or(|message| message.trim().is_empty())
        }) {
            return fault(
                "a person has to confirm its calls, and there is no question: use `Tool::confirm`".into(),
            );
        }
        if settings.requires_schemas && !self.describes_arguments {
            return fault("it has no schema of its arguments, which the server requires".into());
        }
        if settings.requires_schemas && !self.describes_result() {
            return fault("it has no schema of its result, which the server requires".into());
        }
        Ok(())
    }

    /// Checks the demands of the schema that reading the arguments does not check.
    pub(crate) fn check(&self, params: &Params) -> Result<(), ArgumentFault> {
        match &self.validator {
            None => Ok(()),
            Some(validator) => validator.check(arguments::bytes(params)).map_err(ArgumentFault),
        }
    }

    /// Checks that the head of an HTTP request agrees with the arguments.
    #[cfg(feature = "http")]
    pub(crate) fn check_headers(&self, request: &Request) -> Result<(), Error> {
        self.headers.check(request)
    }

    /// Reads the arguments and makes the future of one call.
    #[inline]
    pub(crate) fn start(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        #[cfg(feature = "ext")]
        if let Some(check) = &self.result_check {
            let shared = input.extras.shared.as_deref();
            let is_strict = shared.is_some_and(|shared| shared.about.registry.requires_schemas);
            let call = self.start_unchecked(input)?;
            return Ok(judged(self.name.clone(), check.clone(), call, is_strict));
        }
        self.start_unchecked(input)
    }

    /// Makes the future of one call, whose result is not judged.
    #[inline]
    fn start_unchecked(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        #[cfg(feature = "ext")]
        if let Some(declared) = &self.declared
            && let Some(answer) = declaration::refusal(declared, &input.request.params)
        {
            return Ok(Box::pin(ready(answer.map(ToolResult::from))));
        }
        #[cfg(feature = "ext")]
        if self.checks.is_of_signature() {
            return Ok(self.start_checked(input));
        }
        self.check(&input.request.params)?;
        self.handler.call(input)
    }

    /// Makes the future of one call of a tool that was made of a signature: its handler runs once nothing is wrong with
    /// the arguments.
    #[cfg(feature = "ext")]
    fn start_checked(&self, mut input: CallInput) -> ToolFuture {
        let (arguments, found) = match self.judge(&mut input.request.params) {
            Ok(judged) => judged,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        if self.checks.validators_after(&found).is_empty() {
            return if found.is_empty() { call(&self.handler, input) } else { refused(&found) };
        }
        let (checks, handler) = (self.checks.clone(), self.handler.clone());
        Box::pin(async move {
            let shared = input.extras.shared.clone();
            let shared =
                shared.ok_or_else(|| Error::internal("no server runs the validators of the tool"))?;
            let found = checks.with_validators(&shared.about.registry, arguments, found).await?;
            let answer = if found.is_empty() { call(&handler, input) } else { refused(&found) };
            answer.await
        })
    }

    /// Sets the defaults of absent arguments, and returns the arguments with what the schema has against them.
    #[cfg(feature = "ext")]
    fn judge(&self, params: &mut Params) -> Result<(Value, Vec<Violation>), Error> {
        let mut arguments = arguments::members(params).map_err(|fault| Error::invalid_params(fault.0))?;
        if self.checks.fill(&mut arguments) {
            params.set("arguments", arguments.to_raw());
        }
        self.checks.violations(&arguments)
    }
}

impl ListEntry for ToolEntry {
    const MEMBER: &'static str = "tools";
    type Wire = mcp::Tool;

    fn key(&self) -> &Arc<str> {
        &self.name
    }

    fn wire(&self, dialect: ListDialect) -> mcp::Tool {
        let mut wire = self.wire.clone().for_revision(dialect.revision);
        if let (true, Some(security)) = (dialect.tool_security, &self.security) {
            security.write(&mut wire, dialect.revision);
        }
        wire
    }
}

#[cfg(feature = "ext")]
fn call(handler: &ErasedTool, input: CallInput) -> ToolFuture {
    handler.call(input).unwrap_or_else(|fault| Box::pin(ready(Ok(ToolResult::refused(fault)))))
}

/// Judges the result of a call. One that does not fit the schema of its tool is an error where the server requires schemas;
/// anywhere else there is a warning in the log.
#[cfg(feature = "ext")]
fn judged(tool: Arc<str>, check: Arc<ResultCheck>, call: ToolFuture, is_strict: bool) -> ToolFuture {
    Box::pin(async move {
        let result = call.await?;
        if result.is_error() || result.is_unfinished() {
            return Ok(result);
        }
        let Some(fault) = check.fault(result.structured()) else { return Ok(result) };
        tracing::warn!(%tool, fault, "a result does not fit the schema that its tool declares");
        if !is_strict {
            return Ok(result);
        }
        let reason =
            format!("the result of `{tool}` does not fit the schema that the tool declares: {fault}");
        Err(Error::internal(reason))
    })
}

#[cfg(feature = "ext")]
fn refused(found: &[Violation]) -> ToolFuture {
    Box::pin(ready(Ok(ToolResult::from(failure(found)))))
}

/// Returns the schema of a tool without arguments. The schema is closed so that models see that the tool takes none; a
/// call with arguments is not refused for them.
fn without_additional(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut()
        && members.get("properties").and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
    {
        members.remove("additionalProperties");
    }
    schema
}

fn support(mode: TaskMode) -> Option<ToolExecution> {
    let mut execution = ToolExecution::new();
    execution.task_support = Some(match mode {
        TaskMode::Never | TaskMode::Manual => return None,
        TaskMode::Optional => TaskSupport::Optional,
        TaskMode::Required => TaskSupport::Required,
    });
    Some(execution)
}

fn to_raw(schema: &Value) -> RawJson {
    RawJson::from_value(schema).unwrap_or_else(|_| RawJson::empty_object())
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
        return Err("a name has 1 to 64 letters, digits, or `_`, `.`, `/`, `-`");
    }
    Ok(())
}

/// The security declaration of a tool (MGP §4.2), as lists hold it.
#[derive(Debug, Clone)]
pub(crate) struct ListedSecurity {
    security: RawJson,
    mirror: RawJson,
}

impl ListedSecurity {
    pub(crate) fn new(security: &ToolSecurity) -> Self {
        let to_raw = |value| RawJson::from_value(value).unwrap_or_else(|_| RawJson::empty_object());
        let security = to_raw(security);
        let mut mirror = mgp_types::Object::new();
        mirror.set(ToolSecurity::MEMBER, security.clone());
        Self { security, mirror: mirror.to_raw() }
    }

    /// Adds the declaration to a tool: beside `name`, and for stateless revisions among the metadata too, where MCP
    /// lets extensions write.
    pub(crate) fn write(&self, tool: &mut mcp::Tool, revision: Revision) {
        tool.extra.insert(ToolSecurity::MEMBER, self.security.clone());
        if revision.is_stateless() {
            tool.meta.get_or_insert_with(Meta::new).insert(EXTENSION_ID, self.mirror.clone());
        }
    }
}
