//! Security of requests that call no tool: the operation that each asks for, and the gate that determines it.

use std::sync::Arc;

use mgp_types::mgp::{
    EffectiveSecurity, EventType, Operation, Refusal, ResolvedTool, RiskLevel, ServerId, ToolName, code,
};
use mgp_types::{
    Error, Flow, Gate, GateKind, MessageSender, Method, MethodRule, Object, PassedMethods, RawJson, Request,
    RequestConcern,
};

use super::derive::add_meanings;
use super::effective::{ToolRules, add_rules, settle};
use super::nature::{ArgumentNature, ArgumentNatures, FileUse};
use super::uri::UriReadings;
use crate::refusal::advice;
use crate::{Finding, text};

/// A gate that determines the operation of each request to one server that calls no tool, so that all other gates can
/// judge it.
///
/// The gate belongs behind access control, and in front of every gate that reads `context.operation`, which it writes.
/// The table of methods ([`MethodRule`]) says what a method asks for; a method that the table does not have is refused
/// with -32601 unless the operator has it [passed](Self::passing), and a method that no client sends is refused in any
/// case. A request that can be read in more than one way is refused with 1010. The gate never waits; calls of tools
/// pass unchanged and cost nothing.
#[derive(Debug, Clone)]
pub struct OperationsGate(Arc<OperationRules>);

/// The rules that decide about the operations of one server.
#[derive(Debug, Clone)]
struct OperationRules {
    server: ServerId,
    rules: ToolRules,
    passed: PassedMethods,
    safe: PassedMethods,
}

impl OperationsGate {
    /// Returns a gate that resolves operations of `server` under the operator's `rules`.
    pub fn new(server: ServerId, rules: ToolRules) -> Self {
        let (passed, safe) = Default::default();
        Self(Arc::new(OperationRules { server, rules, passed, safe }))
    }

    /// Passes the vendor methods that `passed` names. Methods that `safe` names, too, change nothing; the others count
    /// as dangerous.
    #[must_use]
    pub fn passing(mut self, passed: PassedMethods, safe: PassedMethods) -> Self {
        let operations = Arc::make_mut(&mut self.0);
        (operations.passed, operations.safe) = (passed, safe);
        self
    }
}

impl Gate for OperationsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        self.0.resolve(request).into()
    }
}

/// An operation before the operator's rules are added.
struct Draft {
    security: EffectiveSecurity,
    arguments: Object,
    /// The object that the request names, if the arguments do not contain it as it is written.
    named: Option<RawJson>,
    reads: bool,
}

impl OperationRules {
    /// Writes `context.operation`, if a gate judges such requests.
    ///
    /// # Errors
    /// Fails if the method is not passed to this server, or if different programs read differently what the request
    /// names.
    fn resolve(&self, request: &mut Request) -> Result<(), Error> {
        if request.method == Method::TOOLS_CALL {
            return Ok(());
        }
        let drafted = match MethodRule::of(request) {
            Some(rule) if !rule.is_sent_by(MessageSender::Client) || rule.is_of_operators() => {
                return Err(self.unknown(request));
            }
            Some(rule) if !rule.gates.contains(&GateKind::Validators) => return Ok(()),
            Some(rule) => match rule.concern {
                RequestConcern::Prompt => of_prompt(request),
                RequestConcern::Completion => of_completion(request),
                _ => of_resources(request),
            },
            None if self.passed.has(request.method.as_str()) => self.of_vendor(request),
            None => return Err(self.unknown(request)),
        };
        let operation = drafted.map_err(|finding| refused(request, &finding))?;
        let operation = self.finish(&request.method, operation);
        if let Some(trail) = &request.context.trail {
            trail.note_risk(operation.tool.security.risk);
        }
        request.context.operation = Some(operation);
        Ok(())
    }

    fn of_vendor(&self, request: &Request) -> Result<Draft, Finding> {
        let mut arguments = request.params.clone();
        // Members of the protocol are not arguments, and differ between the rounds of one request.
        for member in ["_meta", "inputResponses", "requestState"] {
            arguments.remove(member);
        }
        let is_safe = self.safe.has(request.method.as_str());
        let risk = if is_safe { RiskLevel::Safe } else { RiskLevel::Dangerous };
        let mut draft = Draft::of_arguments(arguments, risk, is_safe, |_| true)?;
        draft.security.derived = !is_safe;
        Ok(draft)
    }

    fn finish(&self, method: &Method, draft: Draft) -> Arc<Operation> {
        let Draft { mut security, arguments, named, reads } = draft;
        security.validators.retain(|validator| !self.rules.waived.contains(validator));
        add_rules(&mut security, &self.rules);
        settle(&mut security, &self.rules);
        let mut definition = Object::from([("name", RawJson::from_text(method.as_str()))]);
        if reads {
            definition.set("annotations", RawJson::from_written(br#"{"readOnlyHint":true}"#.to_vec()));
        }
        if let Some(named) = named {
            definition.set("for", named);
        }
        let name = ToolName::new(method.as_str());
        let tool = ResolvedTool::new(self.server.clone(), name, definition, security);
        Operation::new(tool, arguments.to_raw())
    }

    fn unknown(&self, request: &Request) -> Error {
        request.context.note_refusal(Refusal::new("methods", "unknown-method"));
        let name: String = request.method.as_str().chars().take(MAX_NAME_CHARS).collect();
        let message = format!(
            "method not found: {}; the server `{}` gets methods that MCP does not have only if its `pass_methods` in \
             `mgp.toml` names them",
            name.escape_debug(),
            self.server
        );
        Error::new(code::METHOD_NOT_FOUND, message)
    }
}

impl Draft {
    /// Returns an operation that is judged by the names of its arguments, for those natures that `count`.
    fn of_arguments(
        arguments: Object,
        risk: RiskLevel,
        reads: bool,
        count: impl Fn(ArgumentNature) -> bool,
    ) -> Result<Self, Finding> {
        let by_name = ArgumentNatures::default();
        let mut found = Vec::new();
        text::walk(&text::read(&arguments.to_raw())?, &mut |place, _| {
            found.push(by_name.nature(place.member.unwrap_or_default()));
            Ok(())
        })?;
        let mut draft = Self { security: EffectiveSecurity::new(risk), arguments, named: None, reads };
        let has = |nature| count(nature) && found.contains(&nature);
        let has_path = has(ArgumentNature::Path);
        let files = FileUse { read: has_path && reads, written: has_path && !reads };
        add_meanings(&mut draft.security, files, has);
        Ok(draft)
    }

    /// Adds the paths, URLs and hosts that a URI leads to.
    fn add_uri(&mut self, uri: &str) -> Result<(), Finding> {
        let UriReadings { paths, urls, hosts, texts } = UriReadings::of(uri)?;
        let files = FileUse { read: !paths.is_empty(), written: false };
        let leads_out = !urls.is_empty() || !hosts.is_empty();
        add_meanings(&mut self.security, files, |nature| nature == ArgumentNature::Url && leads_out);
        for (member, texts) in [("path", paths), ("url", urls), ("host", hosts), ("text", texts)] {
            let mut all: Vec<RawJson> =
                self.arguments.get(member).and_then(|known| known.to().ok()).unwrap_or_default();
            all.extend(texts.iter().map(|text| RawJson::from_text(text)));
            if !all.is_empty() {
                self.arguments.set(member, RawJson::from_value(&all).map_err(|_| no_text())?);
            }
        }
        Ok(())
    }
}

/// Returns the operation on the resources that a request names; without any, the operation needs nothing.
fn of_resources(request: &Request) -> Result<Draft, Finding> {
    let mut draft = Draft::of_arguments(Object::new(), RiskLevel::Safe, true, is_used)?;
    // A server that serves a resource may use everything that it was granted.
    draft.security.derived = request.method != Method::LISTEN;
    let uris = request.params.get("uri").map_or_else(|| subscriptions(request), |uri| vec![uri]);
    uris.iter().try_for_each(|uri| draft.add_uri(&uri.to_text().ok_or_else(no_text)?))?;
    draft.named = RawJson::from_value(&uris).ok();
    Ok(draft)
}

/// Returns the URIs of the resources of which a listener wants to hear.
pub(crate) fn subscriptions(request: &Request) -> Vec<RawJson> {
    let filter = request.params.object("notifications");
    let uris = filter.and_then(|filter| filter.get("resourceSubscriptions"));
    uris.and_then(|uris| uris.to().ok()).unwrap_or_default()
}

fn of_prompt(request: &Request) -> Result<Draft, Finding> {
    let arguments = request.params.get("arguments").filter(|arguments| !arguments.is_null());
    let form = "`arguments` has to be an object: write each argument by its name";
    let malformed = |_| Finding::new("malformed", form);
    let arguments = arguments.as_ref().map(Object::from_raw).transpose().map_err(malformed)?;
    let mut draft = Draft::of_arguments(arguments.unwrap_or_default(), RiskLevel::Safe, true, is_used)?;
    draft.named = request.params.get("name");
    Ok(draft)
}

fn of_completion(request: &Request) -> Result<Draft, Finding> {
    let member = |name| request.params.object(name);
    let (reference, argument) = (member("ref").unwrap_or_default(), member("argument").unwrap_or_default());
    let context = request.params.get("context").map(|context| ("context", context));
    let mut arguments: Object = context.into_iter().collect();
    let name = argument.text("name").unwrap_or_default();
    let value = argument.get("value");
    if let Some(value) = &value {
        let own = Object::from([(name.to_string(), value.clone())]);
        arguments.set("argument", own.to_raw());
    }
    let mut draft = Draft::of_arguments(arguments, RiskLevel::Safe, true, is_used)?;
    if let (Some(template), Some(value)) = (reference.text("uri"), value.and_then(|value| value.to_text()))
        && !value.is_empty()
    {
        draft.add_uri(&expanded(&template, &name, &value))?;
    }
    draft.named = request.params.get("ref");
    Ok(draft)
}

/// Returns the URI of `template` where the variable `name` has this value, and the others are empty.
fn expanded(template: &str, name: &str, value: &str) -> String {
    let mut parts = template.split('{');
    let mut uri = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (variables, literal) = part.split_once('}').unwrap_or((part, ""));
        let variables = variables.trim_start_matches(|c: char| "+#./;?&".contains(c)).split(',');
        let mut names = variables.map(|variable| variable.split([':', '*']).next().unwrap_or_default());
        if names.any(|own| own == name) {
            uri.push_str(value);
        }
        uri.push_str(literal);
    }
    uri
}

/// Returns whether arguments of this nature count in a prompt. Code does not: it is text for a model, and nothing runs
/// it.
fn is_used(nature: ArgumentNature) -> bool {
    nature != ArgumentNature::Code
}

fn no_text() -> Finding {
    Finding::new("malformed", "a URI has to be text: write it as a string")
}

fn refused(request: &Request, finding: &Finding) -> Error {
    let refusal = Refusal::new("validate", finding.rule).with_event(EventType::ValidationFailed);
    request.context.note_refusal(refusal);
    let text = format!("the request is blocked ({}): {}", finding.rule, finding.message);
    let recovery = advice(code::VALIDATION_BLOCKED, &[("rule", finding.rule), ("advice", &finding.message)]);
    Error::new(code::VALIDATION_BLOCKED, text).with_recovery(recovery)
}

/// The largest number of characters of a method that an error shows.
const MAX_NAME_CHARS: usize = 64;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::TrustLevel;

    use super::*;

    #[test]
    fn methods_of_operators_of_servers_and_of_nobody_reach_no_server() {
        let gate = OperationsGate::new("s".into(), ToolRules::new(TrustLevel::Standard));
        for method in ["kernel/stop", "roots/list", "vendor/x"] {
            let mut request = Request::call(method, Object::new());
            let Flow::Answer(Err(error)) = gate.enter(&mut request) else { panic!("{method} passes") };
            assert_eq!(error.code(), code::METHOD_NOT_FOUND, "{method}");
        }
    }
}
