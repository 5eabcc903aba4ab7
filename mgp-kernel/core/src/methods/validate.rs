//! The check of arguments by the schema of their tool, without a call of it, and the faults of those of a call.

use std::sync::Arc;

use mgp_security::{ArgumentJudge, Violation};
use mgp_types::ext::ExtensionId;
use mgp_types::mgp::ResolvedTool;
use mgp_types::{Error, Flow, Gate, Method, Object, Origin, RawJson, Request, RequestKind, Response, code};
use serde::Serialize;

use crate::visibility::{CallerView, Visibility};

/// A gate that tells a client of the tool registry every fault of a call that was refused for its arguments, in the data of
/// the error. It notes tool and arguments of such calls; all other requests pass untouched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentFaultsGate;

#[derive(Serialize)]
struct Validated {
    valid: bool,
    errors: Vec<Violation>,
    schema_dialect: String,
}

impl Gate for ArgumentFaultsGate {
    /// The tool and the arguments of a call that may not fit, of a client of the tool registry.
    type Pass = Option<(Arc<ResolvedTool>, RawJson)>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let is_call = request.kind == RequestKind::Call && request.method == Method::TOOLS_CALL;
        let session = request.context.session.as_ref().filter(|_| is_call);
        let has_registry = session.is_some_and(|session| session.extensions().has(ExtensionId::ToolRegistry));
        let tool = request.context.tool.as_ref().filter(|_| has_registry);
        Flow::Pass(tool.map(|tool| (Arc::clone(tool), arguments(request))))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some((tool, arguments)), Err(error)) = (call, outcome)
            && error.code() == code::INVALID_TOOL_ARGS
            && error.origin() == Origin::Local
            && let Some(data) = faults(&tool, &arguments)
        {
            *error = error.clone().with_message("Validation failed").with_data(data);
        }
    }
}

/// Returns the first fault of a call's arguments, with a list of all of them; `None` if they fit.
fn faults(tool: &ResolvedTool, arguments: &RawJson) -> Option<RawJson> {
    let faults = judge(tool).ok()?.violations(&arguments.to().ok()?);
    let mut data = Object::from_value(faults.first()?).ok()?;
    data.set("errors", RawJson::from_value(&faults).ok()?);
    Some(data.to_raw())
}

/// Answers `tools/validate`, by that name and by `mgp/tools/validate`, for tools that the caller may call. Arguments that
/// do not fit are a result, with every fault; an unknown tool is an error. No server is asked.
pub(crate) fn validate_arguments(visibility: &Visibility, request: &Request) -> Result<Response, Error> {
    let name = request
        .params
        .text("name")
        .ok_or_else(|| Error::invalid_params("`name` is missing: name the tool"))?;
    let view = CallerView::of(visibility, &request.context)?;
    let snapshot = visibility.catalog.snapshot();
    let tool = view.asked_about(request, &snapshot, &name)?;
    let arguments: serde_json::Value = arguments(request)
        .to()
        .map_err(|error| Error::invalid_params(format!("`arguments` cannot be read: {error}")))?;
    let errors = judge(&tool)?.violations(&arguments);
    let schema = schema_of(&tool).and_then(|schema| Object::from_raw(&schema).ok());
    let dialect = schema.and_then(|schema| Some(schema.text("$schema")?.into_owned()));
    Response::with_body(&Validated {
        valid: errors.is_empty(),
        errors,
        schema_dialect: dialect.unwrap_or_else(|| DEFAULT_DIALECT.to_owned()),
    })
}

fn arguments(request: &Request) -> RawJson {
    request.params.get("arguments").unwrap_or_else(RawJson::empty_object)
}

fn judge(tool: &ResolvedTool) -> Result<ArgumentJudge, Error> {
    let schema = schema_of(tool).unwrap_or_else(RawJson::empty_object);
    ArgumentJudge::compile(&schema).map_err(|fault| {
        Error::new(code::UPSTREAM_ERROR, format!("the schema of the tool cannot be used: {fault}"))
    })
}

fn schema_of(tool: &ResolvedTool) -> Option<RawJson> {
    tool.definition.get("inputSchema").filter(RawJson::is_object)
}

const DEFAULT_DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
