//! The parts that extensions add to tools and their results: declarations, checks of arguments and results, hints and
//! envelopes.

use std::future::ready;
use std::sync::Arc;

use mgp_security::ArgumentJudge;
use mgp_types::ext::{
    ErrorClass, ExtensionId, Impact, ResultStatus, StructuredError, ToolDeclaration,
    ToolResult as EnvelopeResult, max_units,
};
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::mgp::{RiskLevel, ToolSecurity};
use mgp_types::{Error, Object, Params, RawJson, code};
use serde_json::Value;

use super::arguments::{self, ArgumentFault};
use super::entry::{CallInput, ToolFuture, or_refused};
use super::result::ResultForm;
use super::{IntoToolResult, Tool, ToolEntry, ToolResult};
use crate::error::Fault;
use crate::signature::{ArgumentChecks, RegistrySettings, Signature, Violation, failure};

/// The parts of a tool's description that extensions add.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolExtensions {
    pub(super) signature: Option<Box<Signature>>,
    pub(super) declared: Option<Box<ToolDeclaration>>,
    pub(super) undone_by: Option<Box<str>>,
}

impl Tool {
    /// Creates the tool that a signature describes. All its constraints hold for calls; the handler can take an
    /// [`Object`](crate::Object), or a type that such arguments can be read into.
    pub fn from_signature(signature: &Signature) -> Self {
        let mut tool = Self::listed(signature.to_mcp_tool());
        tool.extensions.signature = Some(Box::new(signature.clone()));
        tool
    }

    /// Declares the latency, the costs, the media and the other facts about calls of the tool; they stand on the top level
    /// of its definition.
    ///
    /// A call whose arguments have more bytes than declared, or whose estimate is above the budget of its caller, is
    /// refused before the handler runs.
    ///
    /// ```
    /// use mgp_server_sdk::Tool;
    /// use mgp_types::ext::{Cost, LatencyClass, ToolDeclaration};
    ///
    /// let tool = Tool::new("render", "Renders a film.").declare(ToolDeclaration {
    ///     latency: Some(LatencyClass::Minutes),
    ///     cost: Some(Cost::metered(5.0, "credits")),
    ///     max_input_size_bytes: Some(10_485_760),
    ///     ..ToolDeclaration::default()
    /// });
    /// ```
    pub fn declare(mut self, declaration: ToolDeclaration) -> Self {
        let members = Object::from_value(&declaration).unwrap_or_default();
        for (name, value) in members.iter() {
            self.wire.extra.insert(name.into_owned(), value);
        }
        self.extensions.declared = Some(Box::new(declaration));
        self
    }

    /// Has a person confirm each call. `{name}` in the question stands for the argument of that name.
    ///
    /// The handler runs once a person has agreed: through a client that knows confirmations, a gateway that speaks MGP, or a
    /// form that the client shows. For any other client calls are refused.
    ///
    /// ```
    /// use mgp_server_sdk::Tool;
    /// use mgp_types::ext::Impact;
    ///
    /// let tool = Tool::new("delete_repository", "Deletes a repository.")
    ///     .confirm("This deletes {owner}/{name} for good. Proceed?", Impact::Destructive);
    /// ```
    pub fn confirm(mut self, question: impl Into<Box<str>>, impact: Impact) -> Self {
        let mut declared = *self.extensions.declared.take().unwrap_or_default();
        declared.requires_confirmation = true;
        declared.confirmation_message = Some(question.into());
        declared.risk_level = Some(impact);
        if self.security.is_none() {
            let risk = match impact {
                Impact::Safe => RiskLevel::Safe,
                Impact::Reversible => RiskLevel::Moderate,
                Impact::Destructive => RiskLevel::Dangerous,
            };
            self = self.security(&ToolSecurity::new(risk).with_confirmation_required(true));
        }
        self.declare(declared).destructive(impact == Impact::Destructive)
    }

    /// Names the tool that takes the effect of this one back, where this one is a step of a transaction
    /// ([`Server::transactions`](crate::Server::transactions)). The handler says with
    /// [`Cx::undo_with`](crate::Cx::undo_with) which arguments that takes.
    pub fn undone_by(mut self, tool: impl Into<Box<str>>) -> Self {
        self.extensions.undone_by = Some(tool.into());
        self
    }
}

/// What extensions add to a tool in the catalog.
#[derive(Debug)]
pub(super) struct EntryExtensions {
    /// True if the schema of the arguments says what the tool takes.
    describes_arguments: bool,
    checks: Arc<ArgumentChecks>,
    declared: Option<Box<ToolDeclaration>>,
    /// The schema that was declared for results, by which they are judged.
    result_judge: Option<Arc<ArgumentJudge>>,
    undone_by: Option<Box<str>>,
}

impl EntryExtensions {
    pub(super) fn new(
        tool: ToolExtensions,
        input_schema: &RawJson,
        output_schema: Option<&RawJson>,
        describes_arguments: bool,
    ) -> Result<Self, String> {
        let ToolExtensions { signature, declared, undone_by } = tool;
        let checks = Arc::new(ArgumentChecks::new(input_schema.clone(), signature.as_deref())?);
        let judge = output_schema.map(ArgumentJudge::compile).transpose();
        let judge = judge.map_err(|fault| format!("the schema of its result: {fault}"))?;
        Ok(Self { describes_arguments, checks, declared, result_judge: judge.map(Arc::new), undone_by })
    }
}

impl ToolEntry {
    /// Returns whether the tool says what its structured result looks like.
    pub(crate) const fn describes_result(&self) -> bool {
        self.wire.output_schema.is_some()
    }

    /// Returns whether the tool takes binary arguments as parts of an HTTP request.
    #[cfg(feature = "http")]
    pub(crate) fn takes_parts(&self) -> bool {
        let declared = self.declared();
        declared.and_then(|declared| declared.binary_transport.as_deref()) == Some("multipart")
    }

    /// Returns what the tool declares about its calls.
    pub(crate) fn declared(&self) -> Option<&ToolDeclaration> {
        self.extensions.declared.as_deref()
    }

    /// Returns the name of the tool that takes a call of this one back.
    pub(crate) fn undone_by(&self) -> Option<&str> {
        self.extensions.undone_by.as_deref()
    }

    /// Returns the checks of the arguments.
    pub(crate) fn checks(&self) -> &ArgumentChecks {
        &self.extensions.checks
    }

    /// Returns whether the tool says that it changes nothing.
    pub(crate) fn is_read_only(&self) -> bool {
        self.wire.annotations.as_deref().is_some_and(|hints| hints.read_only_hint == Some(true))
    }

    /// Checks that the server has what the tool needs, and the tool what the server demands.
    pub(crate) fn check_registration(&self, settings: &RegistrySettings) -> Result<(), Fault> {
        let fault = |reason: String| Err(Fault::new(format!("tool `{}`", self.name), reason));
        if let Some(missing) = self.extensions.checks.validators().find(|name| !settings.validators.has(name))
        {
            return fault(format!("there is no validator `{missing}`: register it with `Server::validator`"));
        }
        let declared = self.declared();
        if declared.is_some_and(|declared| {
            declared.requires_confirmation
                && declared.confirmation_message.as_deref().is_none_or(|message| message.trim().is_empty())
        }) {
            let reason = "a person has to confirm its calls, and there is no question: use `Tool::confirm`";
            return fault(reason.into());
        }
        if settings.requires_schemas && !self.extensions.describes_arguments {
            return fault("it has no schema of its arguments, which the server requires".into());
        }
        if settings.requires_schemas && !self.describes_result() {
            return fault("it has no schema of its result, which the server requires".into());
        }
        Ok(())
    }

    /// Reads the arguments and makes the future of one call.
    #[inline]
    pub(crate) fn start(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        if let Some(check) = &self.extensions.result_judge {
            let server = input.extras.server.as_deref();
            let is_strict = server.is_some_and(|server| server.about.registry.requires_schemas);
            let call = self.start_unchecked(input)?;
            return Ok(judged(self.name.clone(), check.clone(), call, is_strict));
        }
        self.start_unchecked(input)
    }

    /// Makes the future of one call, whose result is not judged.
    #[inline]
    fn start_unchecked(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        if let Some(declared) = &self.extensions.declared
            && let Some(answer) = refusal(declared, &input.request.params)
        {
            return Ok(Box::pin(ready(answer.map(ToolResult::from))));
        }
        let most = self.declared().and_then(|declared| declared.max_output_size_bytes);
        let call = self.start_within_bounds(input)?;
        Ok(match most {
            Some(most) => bounded(most, call),
            None => call,
        })
    }

    #[inline]
    fn start_within_bounds(&self, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
        if self.extensions.checks.is_of_signature() {
            return Ok(self.start_checked(input));
        }
        self.check(&input.request.params)?;
        (self.handler)(input)
    }

    /// Makes the future of one call of a tool that was made of a signature: its handler runs once nothing is wrong with
    /// the arguments.
    fn start_checked(&self, mut input: CallInput) -> ToolFuture {
        let (arguments, found) = match self.judge(&mut input.request.params) {
            Ok(judged) => judged,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        if self.extensions.checks.validators_after(&found).is_empty() {
            return if found.is_empty() { or_refused((self.handler)(input)) } else { refused(&found) };
        }
        let (checks, handler) = (self.extensions.checks.clone(), self.handler.clone());
        Box::pin(async move {
            let server = input.extras.server.clone();
            let server =
                server.ok_or_else(|| Error::internal("no server runs the validators of the tool"))?;
            let found = checks.with_validators(&server.about.registry, arguments, found).await?;
            let answer = if found.is_empty() { or_refused(handler(input)) } else { refused(&found) };
            answer.await
        })
    }

    /// Sets the defaults of absent arguments, and returns the arguments with what the schema has against them.
    fn judge(&self, params: &mut Params) -> Result<(Value, Vec<Violation>), Error> {
        let mut arguments = arguments::members(params).map_err(|fault| Error::invalid_params(fault.0))?;
        if self.extensions.checks.fill(&mut arguments) {
            params.set("arguments", arguments.to_raw());
        }
        self.extensions.checks.violations(&arguments)
    }
}

/// Judges the result of a call. One that does not fit the schema of its tool is an error where the server requires schemas;
/// anywhere else there is a warning in the log.
fn judged(tool: Arc<str>, judge: Arc<ArgumentJudge>, call: ToolFuture, is_strict: bool) -> ToolFuture {
    Box::pin(async move {
        let result = call.await?;
        if result.is_error() || result.is_unfinished() {
            return Ok(result);
        }
        let Some(fault) = misfit(&judge, result.structured()) else { return Ok(result) };
        tracing::warn!(%tool, fault, "a result does not fit the schema that its tool declares");
        if !is_strict {
            return Ok(result);
        }
        let reason =
            format!("the result of `{tool}` does not fit the schema that the tool declares: {fault}");
        Err(Error::internal(reason))
    })
}

/// Refuses a result with more bytes than its tool declares.
fn bounded(most: u64, call: ToolFuture) -> ToolFuture {
    Box::pin(async move {
        let result = call.await?;
        let refused = result.successful_json().and_then(|result| ToolDeclaration::too_large(&result, most));
        Ok(refused.map_or(result, ToolResult::from))
    })
}

fn refused(found: &[Violation]) -> ToolFuture {
    Box::pin(ready(Ok(ToolResult::from(failure(found)))))
}

/// Returns why a structured result does not fit the schema, if it does not.
fn misfit(judge: &ArgumentJudge, structured: Option<&RawJson>) -> Option<String> {
    let Some(structured) = structured else { return Some("it has no structured content".into()) };
    let faults = judge.violations(&structured.to::<Value>().ok()?);
    let first = faults.first()?;
    let place = if first.path.is_empty() { "the result" } else { &first.path };
    Some(format!("{place} breaks `{}`", first.keyword))
}

/// Returns the answer to a call that is outside of what its tool declares or its caller pays.
fn refusal(declared: &ToolDeclaration, params: &Params) -> Option<Result<CallToolResult, Error>> {
    let budget = match params.object("_meta").map_or(Ok(None), |meta| max_units(&meta)) {
        Ok(budget) => budget,
        Err(error) => return Some(Err(error)),
    };
    let error = declared.check_call(arguments::bytes(params), budget).err()?;
    if error.code() != code::INVALID_TOOL_ARGS {
        return Some(Err(error));
    }
    // A fault of the arguments is for the model to mend.
    let mut meta = Meta::new();
    if let Some(data) = error.data() {
        meta.insert("error", data.clone());
    }
    Some(Ok(CallToolResult::error(error.message()).with_meta(meta)))
}

impl ToolResult {
    /// Creates the failure that tells the caller of arguments that do not fit: a text, and a structured error beside it.
    pub(crate) fn refused(fault: ArgumentFault) -> Self {
        let error = StructuredError::new("INVALID_INPUT", ErrorClass::InvalidInput, fault.0.as_str());
        let meta = Meta::new().with("error", error.to_object().to_raw());
        CallToolResult::error(fault.0).with_meta(meta).into()
    }

    /// Returns the structured content, if there is some.
    pub(crate) fn structured(&self) -> Option<&RawJson> {
        match &self.0 {
            ResultForm::Full(result) => result.structured_content.as_ref(),
            ResultForm::Text { .. } | ResultForm::Written(_) => None,
        }
    }

    /// Returns the result as JSON; `None` if it is a failure, or the call goes on elsewhere.
    fn successful_json(&self) -> Option<RawJson> {
        match &self.0 {
            ResultForm::Text { text, is_error: false } => {
                RawJson::from_value(&CallToolResult::text(text.clone())).ok()
            }
            ResultForm::Full(result) => RawJson::from_value(result).ok(),
            ResultForm::Text { is_error: true, .. } | ResultForm::Written(_) => None,
        }
    }

    /// Returns whether the call goes on elsewhere, as a task does.
    pub(crate) const fn is_unfinished(&self) -> bool {
        matches!(self.0, ResultForm::Written(_))
    }

    /// Adds the hints to the metadata of the result; what the handler wrote there itself stays.
    pub(crate) fn with_hints(self, hints: &Meta) -> Self {
        if hints.is_empty() {
            return self;
        }
        let mut result = match self.0 {
            ResultForm::Text { text, is_error: false } => Box::new(CallToolResult::text(text)),
            ResultForm::Text { text, is_error: true } => Box::new(CallToolResult::error(text)),
            ResultForm::Full(result) => result,
            written @ ResultForm::Written(_) => return Self(written),
        };
        let meta = result.meta.get_or_insert_with(Meta::new);
        for (name, value) in hints.iter() {
            if meta.get(name).is_none() {
                meta.insert(name, value.clone());
            }
        }
        Self(ResultForm::Full(result))
    }
}

/// The result of a tool that knows of envelopes: one that changed nothing or did a part is no failure, and says so in the
/// metadata. Clients of MCP get the data as structured content, and the error or the explanation as text.
impl IntoToolResult for EnvelopeResult {
    fn into_tool_result(self) -> Result<ToolResult, Error> {
        let text = match (self.error(), self.explanation(), self.data()) {
            (Some(error), _, _) => error.error_message.to_string(),
            (None, Some(explanation), _) => explanation.to_owned(),
            (None, None, Some(data)) => data.to_raw().to_string(),
            (None, None, None) => self.status().to_string(),
        };
        let has_failed = self.status() == ResultStatus::Failure;
        let mut result = if has_failed { CallToolResult::error(text) } else { CallToolResult::text(text) };
        result.structured_content = self.data().map(Object::to_raw);
        let envelope = Object::from([("result", self.to_raw())]);
        Ok(result.with_meta(Meta::new().with(ExtensionId::Envelopes.id(), envelope.to_raw())).into())
    }
}
