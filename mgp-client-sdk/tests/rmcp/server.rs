//! A server of rmcp.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, InputRequest, InputRequests, InputRequiredResult,
    ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role,
    ServerCapabilities, ServerConfig, ServerRequest, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::{Notify, mpsc};

/// The names of its tools, in the order of its list.
pub(crate) const TOOLS: [&str; 7] = ["add", "fail", "count", "hold", "name", "wait", "change"];

#[derive(Clone)]
pub(crate) struct Theirs {
    pub(crate) revisions: &'static [ProtocolVersion],
    /// Hears of the tool that waits.
    pub(crate) events: mpsc::UnboundedSender<&'static str>,
    /// Its tools have changed.
    pub(crate) changed: Arc<Notify>,
    /// The tool that is held may go on.
    pub(crate) release: Arc<Notify>,
}

impl Theirs {
    async fn count(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let token = context
            .meta
            .get_progress_token()
            .ok_or_else(|| ErrorData::invalid_params("nobody wants to know", None))?;
        for (progress, message) in [(1.0, "one"), (2.0, "two")] {
            let report = ProgressNotificationParam::new(token.clone(), progress);
            let report = report.with_total(2.0).with_message(message);
            context.peer.notify_progress(report).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Returns the name that the user gives, or the question where the client has to come back with the answer.
    async fn name(
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Result<String, InputRequiredResult>, ErrorData> {
        let question = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: "Who?".into(),
            requested_schema: ElicitationSchema::builder().required_string("name").build().map_err(failed)?,
        };
        let answer: ElicitResult = if !is_stateless(context) {
            let question = ServerRequest::ElicitRequest(ElicitRequest::new(question));
            match context.peer.send_request(question).await.map_err(failed)? {
                ClientResult::ElicitResult(answer) => answer,
                other => return Err(failed(format!("{other:?}"))),
            }
        } else if let Some(answers) = params.input_responses {
            if params.request_state.as_deref() != Some(STATE) {
                return Err(ErrorData::invalid_params("the state is not the one that was given", None));
            }
            serde_json::from_value(answers["who"].clone()).map_err(failed)?
        } else {
            let question = InputRequest::Elicitation(ElicitRequest::new(question));
            let questions = InputRequests::from([("who".to_owned(), question)]);
            return Ok(Err(InputRequiredResult::new(Some(questions), Some(STATE.into()))));
        };
        Ok(Ok(match answer.action {
            ElicitationAction::Accept => answer
                .content
                .and_then(|content| Some(content["name"].as_str()?.to_owned()))
                .unwrap_or_default(),
            ElicitationAction::Decline => "declined".into(),
            _ => "cancelled".into(),
        }))
    }
}

impl ServerHandler for Theirs {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("theirs", "1"))
            .with_instructions("Add.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.revisions)
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = |name| match name {
            "add" => {
                json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"]})
            }
            _ => json!({"type": "object"}),
        };
        let start = match params.and_then(|params| params.cursor) {
            Some(cursor) => cursor.parse().map_err(failed)?,
            None => 0_usize,
        };
        let end = start + PAGE;
        let tools = TOOLS[start..TOOLS.len().min(end)].iter().map(|&name| {
            let schema = schema(name).as_object().cloned().unwrap_or_default();
            Tool::new(name, "A tool.", schema)
        });
        let mut page = ListToolsResult::with_all_items(tools.collect());
        page.next_cursor = (end < TOOLS.len()).then(|| end.to_string());
        Ok(page)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = match &*params.name {
            "add" => {
                let argument = |name: &str| params.arguments.as_ref()?.get(name)?.as_i64();
                let (Some(a), Some(b)) = (argument("a"), argument("b")) else {
                    return Err(ErrorData::invalid_params("two numbers are wanted", None));
                };
                (a + b).to_string()
            }
            "fail" => {
                let block = ContentBlock::text("there is no such city");
                return Ok(CallToolResult::error(vec![block]).into());
            }
            "count" => {
                Self::count(&context).await?;
                "counted".into()
            }
            "hold" => {
                Self::count(&context).await?;
                self.release.notified().await;
                "held".into()
            }
            "name" => match Self::name(params, &context).await? {
                Ok(name) => name,
                Err(question) => return Ok(question.into()),
            },
            "wait" => {
                self.events.send("started").map_err(failed)?;
                context.ct.cancelled().await;
                self.events.send("cancelled").map_err(failed)?;
                "too late".into()
            }
            "change" => {
                if is_stateless(&context) {
                    self.changed.notify_one();
                } else {
                    context.peer.notify_tool_list_changed().await.map_err(failed)?;
                }
                "changed".into()
            }
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let greeting = Resource::new("test://greeting", "greeting").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![greeting]))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if params.uri != "test://greeting" {
            return Err(ErrorData::resource_not_found("there is no such resource", None));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text("Hello, world", params.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("greet", Some("Greets."), Some(vec![name]))]))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = params.arguments.as_ref().and_then(|given| given.get("name")?.as_str());
        let name = name.ok_or_else(|| ErrorData::invalid_params("a name is wanted", None))?;
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("Hello, {name}"))]).into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = self.changed.notified() => {
                    context.sink().notify_tool_list_changed().await.map_err(failed)?;
                }
                () = context.cancelled() => return Ok(()),
            }
        }
    }
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|revision| !revision.has_initialize())
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

const PAGE: usize = 4;
/// Has to come back byte by byte.
const STATE: &str = "st.ate/with+signs and \"quotes\"\n";
