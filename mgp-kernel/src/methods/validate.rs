//! The check of arguments by the schema of their tool, without a call of it, and the faults of those of a call.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_security::{ArgumentJudge, Violation};
use mgp_types::ext::ExtensionId;
use mgp_types::mgp::ResolvedTool;
use mgp_types::{Error, Flow, Gate, Method, Object, Origin, RawJson, Request, RequestKind, Response, code};
use parking_lot::Mutex;
use serde::Serialize;

use crate::visibility::{CallerView, Visibility};

/// A gate that tells a client of the tool registry every fault of a call that was refused for its arguments, in the data of
/// the error. It notes tool and arguments of such calls; all other requests pass untouched.
#[derive(Clone)]
pub(crate) struct ArgumentFaultsGate(pub(crate) JudgeCache);

/// The compiled schemas of the tools that were asked about, without the oldest where there are too many.
#[derive(Clone, Default)]
pub(crate) struct JudgeCache(Arc<Mutex<VecDeque<CachedJudge>>>);

type CachedJudge = (Arc<ResolvedTool>, Arc<ArgumentJudge>);

#[derive(Serialize)]
struct Validated {
    valid: bool,
    errors: Vec<Violation>,
    schema_dialect: String,
}

/// A call whose arguments may not fit.
pub(crate) struct CallToExplain {
    tool: Arc<ResolvedTool>,
    arguments: RawJson,
}

impl Gate for ArgumentFaultsGate {
    type Pass = Option<CallToExplain>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let is_call = request.kind == RequestKind::Call && request.method == Method::TOOLS_CALL;
        Flow::Pass(if is_call { CallToExplain::of(request) } else { None })
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(call), Err(error)) = (call, outcome)
            && error.code() == code::INVALID_TOOL_ARGS
            && error.origin() == Origin::Local
            && let Some(data) = self.0.faults(&call)
        {
            *error = error.clone().with_message("Validation failed").with_data(data);
        }
    }
}

impl CallToExplain {
    /// Returns the call of a client of the tool registry; `None` for all others.
    fn of(request: &Request) -> Option<Self> {
        let session = request.context.session.as_ref()?;
        let tool =
            request.context.tool.clone().filter(|_| session.extensions().has(ExtensionId::ToolRegistry))?;
        Some(Self { tool, arguments: request.params.get("arguments").unwrap_or_else(RawJson::empty_object) })
    }
}

impl JudgeCache {
    /// Returns the first fault of a call's arguments, with a list of all of them; `None` if they fit.
    fn faults(&self, call: &CallToExplain) -> Option<RawJson> {
        let faults = self.judge(&call.tool).ok()?.violations(&call.arguments.to().ok()?);
        let mut data = Object::from_value(faults.first()?).ok()?;
        data.set("errors", RawJson::from_value(&faults).ok()?);
        Some(data.to_raw())
    }

    /// Answers `tools/validate`, by that name and by `mgp/tools/validate`, for tools that the caller may call. Arguments that
    /// do not fit are a result, with every fault; an unknown tool is an error. No server is asked.
    pub(crate) fn validate(&self, visibility: &Visibility, request: &Request) -> Result<Response, Error> {
        let params = &request.params;
        let name =
            params.text("name").ok_or_else(|| Error::invalid_params("`name` is missing: name the tool"))?;
        let view = CallerView::of(visibility, &request.context)?;
        let snapshot = visibility.catalog.snapshot();
        let tool = view.asked_about(request, &snapshot, &name)?;
        let arguments = params.get("arguments").unwrap_or_else(RawJson::empty_object);
        let arguments: serde_json::Value = arguments
            .to()
            .map_err(|error| Error::invalid_params(format!("`arguments` cannot be read: {error}")))?;
        let errors = self.judge(&tool)?.violations(&arguments);
        let schema = schema_of(&tool).and_then(|schema| Object::from_raw(&schema).ok());
        let dialect = schema.and_then(|schema| Some(schema.text("$schema")?.into_owned()));
        Response::with_body(&Validated {
            valid: errors.is_empty(),
            errors,
            schema_dialect: dialect.unwrap_or_else(|| DEFAULT_DIALECT.to_owned()),
        })
    }

    fn judge(&self, tool: &Arc<ResolvedTool>) -> Result<Arc<ArgumentJudge>, Error> {
        let cached =
            self.0.lock().iter().find(|(of, _)| Arc::ptr_eq(of, tool)).map(|(_, judge)| Arc::clone(judge));
        if let Some(judge) = cached {
            return Ok(judge);
        }
        // Schemas are compiled outside of the lock; two callers may both do so.
        let schema = schema_of(tool).unwrap_or_else(RawJson::empty_object);
        let judge = Arc::new(ArgumentJudge::compile(&schema).map_err(|fault| {
            Error::new(code::UPSTREAM_ERROR, format!("the schema of the tool cannot be used: {fault}"))
        })?);
        let mut cached = self.0.lock();
        if cached.len() >= MAX_JUDGES {
            cached.pop_front();
        }
        cached.push_back((Arc::clone(tool), Arc::clone(&judge)));
        Ok(judge)
    }
}

fn schema_of(tool: &ResolvedTool) -> Option<RawJson> {
    tool.definition.get("inputSchema").filter(RawJson::is_object)
}

const DEFAULT_DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The largest number of compiled schemas that are kept.
const MAX_JUDGES: usize = 64;
