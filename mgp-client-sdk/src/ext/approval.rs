//! Calls that a person agrees to before they are sent.

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::ext::{
    CONFIRMATION_TOKEN, ConfirmationRequired, Cost, CostCategory, ExtensionId, Impact, ToolDeclaration,
    USER_CONFIRMED,
};
use mgp_types::mcp::{ElicitAction, ToolAnnotations};
use mgp_types::{
    BoxFuture, Error, Method, Object, RawJson, Request, RequestKind, Response, RpcService, code,
};
use parking_lot::Mutex;
use tower_layer::Stack;
use tower_service::Service;

use super::hints::impact;
use crate::ClientBuilder;

impl<L, I> ClientBuilder<L, I> {
    /// Asks a person before each call whose tool wants that: it declares `requires_confirmation`, or costs that
    /// `requires_approval`. A call that the person does not accept never leaves the client, and ends with 1022.
    ///
    /// Tools are known from the lists that went through the client, and from
    /// [`call_listed`](crate::Client::call_listed). Nobody knows what any other tool wants, so the person is asked about it
    /// too. A server that wants to know that somebody agreed is told so, and one that puts another question has it put to the
    /// person. The time limit of the call runs while the person decides; [`Call::timeout`](crate::Call::timeout) gives it
    /// more.
    ///
    /// ```
    /// use mgp_client_sdk::mcp::ElicitAction;
    /// use mgp_client_sdk::{ApprovalTreatment, Client};
    ///
    /// let builder = Client::builder("my-app", "1.0.0").on_approval(async |question| {
    ///     // A host shows `question.message` and the buttons.
    ///     match question.treatment() {
    ///         ApprovalTreatment::Plain | ApprovalTreatment::Warning => ElicitAction::Accept,
    ///         // The host has the user type the name of the tool first.
    ///         ApprovalTreatment::TypeToConfirm => ElicitAction::Decline,
    ///     }
    /// });
    /// ```
    pub fn on_approval<F, A>(self, ask: F) -> ClientBuilder<Stack<ApprovalLayer, L>, I>
    where
        F: Fn(ApprovalQuestion) -> A + Send + Sync + 'static,
        A: Future<Output = ElicitAction> + Send + 'static,
    {
        let ask: AskFn = Arc::new(move |question| Box::pin(ask(question)));
        let builder = self.extension(ExtensionId::HumanInTheLoop.id(), &Object::new());
        builder.layer(ApprovalLayer { ask, tools: Arc::default() })
    }
}

/// The question whether a tool may be called.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The name of the tool.
    pub tool: Box<str>,
    /// The question in words: the tool's own, with the arguments in it, or one about its costs. The words of a tool are to
    /// be shown as those of its server.
    pub message: Box<str>,
    /// The harm that the call can do, which decides the [treatment](Self::treatment). It is destructive where the tool says
    /// nothing.
    pub risk: Impact,
    /// The estimated costs of the call.
    pub cost: Option<Cost>,
    /// The arguments of the call.
    pub arguments: Option<RawJson>,
}

/// The way in which a host puts a question to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "one for each kind of harm")]
pub enum ApprovalTreatment {
    /// The host asks for nothing but an answer.
    Plain,
    /// The host warns of the change that the call makes.
    Warning,
    /// The host shows the danger, and the person types the name of the tool before the host accepts.
    TypeToConfirm,
}

impl ApprovalQuestion {
    /// Returns the way in which a host puts the question.
    pub const fn treatment(&self) -> ApprovalTreatment {
        match self.risk {
            Impact::Safe => ApprovalTreatment::Plain,
            Impact::Reversible => ApprovalTreatment::Warning,
            Impact::Destructive => ApprovalTreatment::TypeToConfirm,
        }
    }
}

type AskFn = Arc<dyn Fn(ApprovalQuestion) -> BoxFuture<'static, ElicitAction> + Send + Sync>;

/// The layer that [`ClientBuilder::on_approval`] puts in front of a connection: it learns from lists of tools which calls a
/// person has to agree to. Makes [`ApprovalService`]s.
#[derive(Clone)]
pub struct ApprovalLayer {
    ask: AskFn,
    tools: Arc<Mutex<KnownTools>>,
}

mgp_types::layer!(ApprovalLayer, self, inner => ApprovalService { approval: self.clone(), inner });

/// The service of [`ApprovalLayer`].
#[derive(Debug, Clone)]
pub struct ApprovalService<S> {
    approval: ApprovalLayer,
    inner: S,
}

impl<S: RpcService> Service<Request> for ApprovalService<S> {
    type Future = BoxFuture<'static, Result<Response, Error>>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        let approval = self.approval.clone();
        Box::pin(async move {
            if request.kind == RequestKind::Call && request.method == Method::TOOLS_CALL {
                return approval.call(ready, request).await;
            }
            let lists_tools = request.method == Method::TOOLS_LIST;
            let response = ready.call(request).await?;
            if lists_tools {
                approval.learn(&response);
            }
            Ok(response)
        })
    }
}

/// The known tools; `None` stands for one whose calls nobody has to agree to.
type KnownTools = HashMap<Box<str>, Option<Box<Approval>>>;

/// A tool whose calls the person has to agree to.
#[derive(Debug, Clone)]
struct Approval {
    declared: ToolDeclaration,
    risk: Impact,
}

/// The most tools that are known at once; a person is asked about all others.
const MAX_TOOLS: usize = 10_000;
/// The most bytes of a tool's question.
const MAX_MESSAGE_BYTES: usize = 4096;

impl ApprovalLayer {
    /// Sends a call once the person has agreed to it, and once more where the server wants to know that.
    async fn call<S: RpcService>(&self, mut inner: S, request: Request) -> Result<Response, Error> {
        let asked = self.question(&request);
        if let Some(question) = &asked {
            self.agreed(question.clone()).await?;
        }
        let mut confirmed = request.clone();
        let response = inner.call(request).await?;
        let Some(required) = required(&response) else { return Ok(response) };
        if asked.is_none_or(|asked| asked.message != required.confirmation_message) {
            let tool = confirmed.params.text("name").unwrap_or_default().into();
            let arguments = confirmed.params.get("arguments");
            let (message, risk) = (required.confirmation_message, required.risk_level);
            self.agreed(ApprovalQuestion { tool, message, risk, cost: None, arguments }).await?;
        }
        let meta = confirmed.params.object_mut_or_new("_meta");
        meta.set(CONFIRMATION_TOKEN, RawJson::from_text(&required.confirmation_token));
        meta.set(USER_CONFIRMED, RawJson::from_written(b"true".to_vec()));
        mgp_types::call_once(inner, confirmed).await
    }

    /// Asks the person.
    async fn agreed(&self, question: ApprovalQuestion) -> Result<(), Error> {
        let tool = question.tool.clone();
        if (self.ask)(question).await == ElicitAction::Accept {
            return Ok(());
        }
        let message = format!(
            "the user did not approve the call of `{tool}`, and it was not made: call it again only if the user asks for it"
        );
        Err(Error::new(code::CONFIRMATION_DECLINED, message).not_executed())
    }

    fn learn(&self, list: &Response) {
        let listed = Object::from_raw(&list.result).ok().and_then(|list| list.get("tools")?.to().ok());
        let listed: Vec<Object> = listed.unwrap_or_default();
        let mut tools = self.tools.lock();
        for tool in &listed {
            let Some(name) = tool.text("name") else { continue };
            if tools.len() < MAX_TOOLS || tools.contains_key(&*name) {
                tools.insert(name.into(), Approval::of(tool));
            }
        }
    }

    /// Returns the question about a call; `None` if its tool wants nobody to be asked.
    fn question(&self, call: &Request) -> Option<ApprovalQuestion> {
        let tool: Box<str> = call.params.text("name").unwrap_or_default().into();
        let known = match &call.context.tool {
            Some(resolved) => Some(Approval::of(&resolved.definition)),
            None => self.tools.lock().get(&tool).cloned(),
        };
        let arguments = call.params.get("arguments");
        let Some(wanted) = known else {
            let message = format!("Call `{tool}`? It is in no list of tools, so nobody knows what it does.");
            let risk = Impact::Destructive;
            return Some(ApprovalQuestion { tool, message: message.into(), risk, cost: None, arguments });
        };
        let Approval { declared, risk } = *wanted?;
        let given = call.params.object("arguments").unwrap_or_default();
        let message = match (declared.confirmation_question(&given), &declared.cost) {
            (Some(question), _) => question,
            (None, Some(cost)) => format!("Call `{tool}`? It costs {cost}."),
            (None, None) => format!("Call `{tool}`?"),
        };
        let cost = declared.cost;
        Some(ApprovalQuestion { tool, message: message.into(), risk, cost, arguments })
    }
}

impl Approval {
    fn of(definition: &Object) -> Option<Box<Self>> {
        let mut declared = ToolDeclaration::of_definition(definition);
        let is_dear =
            declared.cost.as_ref().and_then(|cost| cost.category) == Some(CostCategory::RequiresApproval);
        if !is_dear && !declared.requires_confirmation {
            return None;
        }
        let hints: Option<ToolAnnotations> = definition.get("annotations").and_then(|hints| hints.to().ok());
        let risk = impact(declared.risk_level, hints.as_ref());
        declared.confirmation_message =
            declared.confirmation_message.filter(|message| message.len() <= MAX_MESSAGE_BYTES);
        Some(Box::new(Self { declared, risk }))
    }
}

/// Returns what a server says that wants to know whether a person agreed.
fn required(response: &Response) -> Option<ConfirmationRequired> {
    ConfirmationRequired::read(&Object::from_raw(&response.result).ok()?.object("_meta")?)
}

mgp_types::partial_debug!(ApprovalLayer, self => tools: self.tools.lock().len());
