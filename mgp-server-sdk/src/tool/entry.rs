//! The entry of a tool in the catalog, with its security declaration.

use std::sync::Arc;

use mgp_types::mcp::{ForRevision, Meta, MirroredArgument, TaskSupport, ToolExecution};
use mgp_types::mgp::{EXTENSION_ID, ToolSecurity};
#[cfg(feature = "http")]
use mgp_types::{Error, Request};
use mgp_types::{Object, Params, RawJson, mcp};
use serde_json::Value;

use super::arguments::ArgumentFault;
#[cfg(feature = "ext")]
use super::extended::EntryExtensions;
#[cfg(feature = "ext")]
use super::guard::with_tokens;
use super::handler::{ArgumentMode, ErasedTool, ToolHandler};
#[cfg(not(feature = "ext"))]
use super::handler::{CallInput, ToolFuture};
use super::{TaskMode, Tool, arguments};
use crate::error::Fault;
use crate::list::{ListDialect, ListEntry};
use crate::schema::{self, Validator, to_raw};
#[cfg(feature = "ext")]
use crate::tokens::TokenTool;

/// A tool with its handler and its checks.
pub(crate) struct ToolEntry {
    pub(super) name: Arc<str>,
    pub(super) wire: mcp::Tool,
    security: Option<RawJson>,
    pub(crate) handler: ErasedTool,
    pub(crate) inline: bool,
    pub(crate) mode: TaskMode,
    /// The validator for the demands that reading the arguments does not check.
    validator: Option<Validator>,
    #[cfg(feature = "http")]
    headers: Vec<MirroredArgument>,
    #[cfg(feature = "ext")]
    pub(super) extensions: EntryExtensions,
}

impl ToolEntry {
    pub(crate) fn new<H: ToolHandler<M>, M>(tool: Tool, handler: H) -> Result<Self, Fault> {
        let types = H::types();
        Self::build(
            tool,
            Arc::new(move |input| handler.start(input)),
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
            extensions,
        }: Tool,
        handler: ErasedTool,
        takes: ArgumentMode,
        output: Option<RawJson>,
    ) -> Result<Self, Fault> {
        #[cfg(feature = "ext")]
        let handler = with_tokens(TokenTool::new(&wire.name, extensions.declared.as_deref()), handler);
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
        let is_checked =
            !has_schema && (is_raw || schema::is_checked_by_parsing(&without_additional(&schema)));
        let input_schema = if has_schema { wire.input_schema.clone() } else { to_raw(&schema) };
        #[cfg_attr(not(feature = "http"), expect(unused_variables, reason = "only HTTP has headers"))]
        let headers = MirroredArgument::all_of(&input_schema).map_err(|reason| fault(reason.into()))?;
        #[cfg(feature = "ext")]
        let is_checked = is_checked || extensions.signature.is_some();
        let compiled = || schema::compile(&input_schema).map_err(fault);
        let validator = (validated && !is_checked).then(compiled).transpose()?;
        // What a handler returns by type fits the schema of the type.
        #[cfg(feature = "ext")]
        let extensions = EntryExtensions::new(
            extensions,
            &input_schema,
            wire.output_schema.as_ref(),
            has_schema || !is_raw,
        )
        .map_err(fault)?;
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
            extensions,
        })
    }

    /// Checks the demands of the schema that reading the arguments does not check.
    pub(crate) fn check(&self, params: &Params) -> Result<(), ArgumentFault> {
        let Some(validator) = &self.validator else { return Ok(()) };
        validator.check(arguments::bytes(params)).map_err(|fault| ArgumentFault(fault.to_string()))
    }

    /// Reads the arguments and makes the future of one call.
    #[cfg(not(feature = "ext"))]
    #[inline]
    pub(crate) fn start(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        self.check(&input.request.params)?;
        (self.handler)(input)
    }

    /// Checks that the head of an HTTP request agrees with the arguments.
    #[cfg(feature = "http")]
    pub(crate) fn check_headers(&self, request: &Request) -> Result<(), Error> {
        schema::check_headers(&self.headers, request)
    }
}

impl ListEntry for ToolEntry {
    const MEMBER: &'static str = "tools";
    type Wire = mcp::Tool;

    fn key(&self) -> &str {
        &self.name
    }

    fn wire(&self, dialect: ListDialect) -> mcp::Tool {
        let mut wire = self.wire.clone().for_revision(dialect.revision);
        if let (true, Some(security)) = (dialect.tool_security, &self.security) {
            // Beside the name, and for stateless revisions among the metadata too, where MCP lets extensions write.
            wire.extra.insert(ToolSecurity::MEMBER, security.clone());
            if dialect.revision.is_stateless() {
                let mirror = Object::from([(ToolSecurity::MEMBER, security.clone())]);
                wire.meta.get_or_insert_with(Meta::new).insert(EXTENSION_ID, mirror.to_raw());
            }
        }
        wire
    }
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
    let support = match mode {
        TaskMode::Never | TaskMode::Manual => return None,
        TaskMode::Optional => TaskSupport::Optional,
        TaskMode::Required => TaskSupport::Required,
    };
    Some(ToolExecution::new().with_task_support(support))
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte);
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(legal);
    is_name.then_some(()).ok_or("a name has 1 to 64 letters, digits, or `_`, `.`, `/`, `-`")
}
