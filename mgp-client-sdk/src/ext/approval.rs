//! Calls that a person agrees to before they are sent.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mgp_lifecycle::call::NotExecuted;
use mgp_types::ext::{Cost, CostCategory, Impact, ToolDeclaration};
use mgp_types::mcp::{ElicitAction, ToolAnnotations};
use mgp_types::{
    BoxFuture, Error, Flow, Gate, GateLayer, Method, Object, RawJson, Request, RequestKind, Response, code,
    is_hidden,
};
use parking_lot::Mutex;
use tower_layer::Stack;

use super::hints::impact;
use crate::ClientBuilder;

impl<L, I> ClientBuilder<L, I> {
    /// Asks a person before each call whose tool wants that: it declares `requires_confirmation`, or costs that
    /// `requires_approval`. A call that the person does not accept never leaves the client.
    ///
    /// Tools are known from the lists that went through the client, and from
    /// [`call_listed`](crate::Client::call_listed). Nobody knows what any other tool wants, so the person is asked about it
    /// too. The time limit of the call runs while the person decides; [`Call::timeout`](crate::Call::timeout) gives it more.
    ///
    /// ```
    /// use mgp_client_sdk::Client;
    /// use mgp_client_sdk::mcp::ElicitAction;
    /// use mgp_client_sdk::types::ext::Impact;
    ///
    /// let builder = Client::builder("my-app", "1.0.0").on_approval(async |question| {
    ///     match question.risk {
    ///         // A host shows `question.message` and the buttons; for a dangerous call the user types the tool's name.
    ///         Impact::Destructive => ElicitAction::Decline,
    ///         Impact::Safe | Impact::Reversible => ElicitAction::Accept,
    ///     }
    /// });
    /// ```
    pub fn on_approval<F, A>(self, ask: F) -> ClientBuilder<Stack<GateLayer<ApprovalGate>, L>, I>
    where
        F: Fn(ApprovalQuestion) -> A + Send + Sync + 'static,
        A: Future<Output = ElicitAction> + Send + 'static,
    {
        let ask: AskFn = Arc::new(move |question| Box::pin(ask(question)));
        self.layer(ApprovalGate { ask, tools: Arc::default() }.into_layer())
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
    /// The harm that the call can do, which decides how a host asks: for nothing but an answer, with a warning, or with a
    /// step that nobody takes by mistake. It is destructive where the tool says nothing.
    pub risk: Impact,
    /// The estimated costs of the call.
    pub cost: Option<Cost>,
    /// The arguments of the call.
    pub arguments: Option<RawJson>,
}

type AskFn = Arc<dyn Fn(ApprovalQuestion) -> BoxFuture<'static, ElicitAction> + Send + Sync>;

/// The gate that [`ClientBuilder::on_approval`] puts in front of a connection: it learns from lists of tools which calls a
/// person has to agree to.
#[derive(Clone)]
pub struct ApprovalGate {
    ask: AskFn,
    tools: Arc<Mutex<HashMap<Box<str>, Wish>>>,
}

/// What a tool wants of the person.
#[derive(Debug, Clone, PartialEq)]
enum Wish {
    Nothing,
    Approval(Box<Approval>),
}

#[derive(Debug, Clone, PartialEq)]
struct Approval {
    /// The tool's question, with places for arguments.
    message: Option<Box<str>>,
    risk: Impact,
    cost: Option<Cost>,
}

/// The most tools that are known at once; a person is asked about all others.
const MAX_TOOLS: usize = 10_000;
/// The most bytes of a tool's question.
const MAX_MESSAGE_BYTES: usize = 4096;
/// The most characters of an argument in a question.
const MAX_ARGUMENT_CHARS: usize = 80;

impl Gate for ApprovalGate {
    /// True if the request lists tools.
    type Pass = bool;

    fn enter(&self, request: &mut Request) -> Flow<bool> {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_CALL {
            return Flow::Pass(request.method == Method::TOOLS_LIST);
        }
        let Some(question) = self.question(request) else { return Flow::Pass(false) };
        let (ask, request) = (Arc::clone(&self.ask), request.take());
        Flow::wait(async move {
            let tool = question.tool.clone();
            match ask(question).await {
                ElicitAction::Accept => (request, Flow::Pass(false)),
                _ => (request, Flow::refuse(not_approved(&tool))),
            }
        })
    }

    fn leave(&self, lists_tools: bool, outcome: &mut Result<Response, Error>) {
        if let (true, Ok(list)) = (lists_tools, outcome) {
            self.learn(list);
        }
    }
}

impl ApprovalGate {
    fn learn(&self, list: &Response) {
        let listed = Object::from_raw(&list.result).ok().and_then(|list| list.get("tools")?.to().ok());
        let listed: Vec<Object> = listed.unwrap_or_default();
        let mut tools = self.tools.lock();
        for tool in &listed {
            let Some(name) = tool.text("name") else { continue };
            if tools.len() < MAX_TOOLS || tools.contains_key(&*name) {
                tools.insert(name.into(), Wish::of(tool));
            }
        }
    }

    /// Returns the question about a call; `None` if its tool wants nobody to be asked.
    fn question(&self, call: &Request) -> Option<ApprovalQuestion> {
        let tool: Box<str> = call.params.text("name").unwrap_or_default().into();
        let known = match &call.context.tool {
            Some(resolved) => Some(Wish::of(&resolved.definition)),
            None => self.tools.lock().get(&tool).cloned(),
        };
        let approval = match known {
            Some(Wish::Nothing) => return None,
            Some(Wish::Approval(approval)) => Some(approval),
            None => None,
        };
        let arguments = call.params.get("arguments");
        let message = match approval.as_deref() {
            None => format!("Call `{tool}`? It is in no list of tools, so nobody knows what it does."),
            Some(Approval { message: Some(message), .. }) => filled(message, arguments.as_ref()),
            Some(Approval { cost: Some(cost), .. }) => format!("Call `{tool}`? It costs {cost}."),
            Some(_) => format!("Call `{tool}`?"),
        };
        let risk = approval.as_deref().map_or(Impact::Destructive, |approval| approval.risk);
        let cost = approval.and_then(|approval| approval.cost);
        Some(ApprovalQuestion { tool, message: message.into(), risk, cost, arguments })
    }
}

impl Wish {
    fn of(definition: &Object) -> Self {
        let declared = ToolDeclaration::of_definition(definition);
        let is_dear =
            declared.cost.as_ref().and_then(|cost| cost.category) == Some(CostCategory::RequiresApproval);
        if !is_dear && !declared.requires_confirmation {
            return Self::Nothing;
        }
        let hints: Option<ToolAnnotations> = definition.get("annotations").and_then(|hints| hints.to().ok());
        let risk = impact(declared.risk_level, hints.as_ref());
        let message = declared.confirmation_message.filter(|message| message.len() <= MAX_MESSAGE_BYTES);
        Self::Approval(Box::new(Approval { message, risk, cost: declared.cost }))
    }
}

/// Returns a tool's question with the arguments in their places, each on one line and cut to a bounded length. A place for
/// an argument that the call does not have stays as it is.
fn filled(message: &str, arguments: Option<&RawJson>) -> String {
    let arguments = arguments.and_then(|arguments| Object::from_raw(arguments).ok()).unwrap_or_default();
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let place = after.split_once('}').and_then(|(name, end)| Some((arguments.get(name)?, end)));
        if let Some((value, end)) = place {
            out.push_str(&shown(&value));
            rest = end;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out + rest
}

fn shown(value: &RawJson) -> String {
    let text = value.to_text().unwrap_or_else(|| value.to_string());
    let one_line = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let mut visible = one_line.filter(|c| !is_hidden(*c));
    let mut shown: String = visible.by_ref().take(MAX_ARGUMENT_CHARS).collect();
    if visible.next().is_some() {
        shown.push('…');
    }
    shown
}

fn not_approved(tool: &str) -> Error {
    let told =
        format!("the user did not approve the call of `{tool}`: call it again only if the user asks for it");
    Error::new(code::PERMISSION_DENIED, told).with_source(NotExecuted)
}

impl fmt::Debug for ApprovalGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalGate").field("tools", &self.tools.lock().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(message: &str, arguments: &'static str) -> String {
        filled(message, Some(&RawJson::parse(arguments).unwrap()))
    }

    #[test]
    fn arguments_stand_in_the_places_of_a_question_and_cannot_forge_another() {
        assert_eq!(with("Delete {id} of {n}?", r#"{"id":"P-3","n":[1,2]}"#), "Delete P-3 of [1,2]?");
        assert_eq!(with("Delete {other}? {", r#"{"id":"P-3"}"#), "Delete {other}? {");
        assert_eq!(with("Delete {id}?", r#"{"id":"{n}","n":"x"}"#), "Delete {n}?", "values are no places");
        assert_eq!(with("Delete {id}?", r#"{"id":"a\n\u202eb"}"#), "Delete a b?");
        let long =
            filled("{id}", Some(&RawJson::from_value(&serde_json::json!({"id": "x".repeat(81)})).unwrap()));
        assert_eq!(long, format!("{}…", "x".repeat(80)));
        assert_eq!(filled("Delete {id}?", None), "Delete {id}?");
    }
}
