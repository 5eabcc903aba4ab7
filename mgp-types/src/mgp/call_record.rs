//! The findings about a call on its way in, and the flow of data through the session of its client: from the calls that take
//! it in to those that may carry it out.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::{AgentId, EventType, ResolvedTool, RiskLevel, ServerId, ToolName, ValidatorName};
use crate::macros::setter;
use crate::{Params, Principal};

/// The findings of the layers about a request on its way in, for the layer that writes the record when the request is
/// over.
///
/// The layer that records puts an empty trail into the request's context; those further in fill it, without a lock.
/// Each fact is noted once: the first that notes it is the one that decided.
#[derive(Debug, Default)]
pub struct CallRecord {
    caller: Option<Principal>,
    target: OnceLock<(ServerId, Option<ToolName>)>,
    target_arguments: OnceLock<BTreeMap<String, String>>,
    risk: OnceLock<RiskLevel>,
    validated: OnceLock<Arc<ResolvedTool>>,
    refusal: OnceLock<Refusal>,
    group: OnceLock<AgentId>,
    grant: OnceLock<Box<str>>,
    edit: OnceLock<Box<[String; 2]>>,
    flow: OnceLock<Arc<[FlowSource]>>,
    cancelled: OnceLock<()>,
}

/// The reason for which a request was not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The event that tells the cause, beside `TOOL_BLOCKED`; `None` if there is nothing more to tell.
    pub event: Option<EventType>,
    /// The section that refused, like `access`.
    pub by: &'static str,
    /// The class of the reason, like `recursive-delete`.
    pub rule: &'static str,
}

impl Refusal {
    /// A refusal of the section `by` for a reason of the class `rule`.
    pub const fn new(by: &'static str, rule: &'static str) -> Self {
        Self { event: None, by, rule }
    }

    setter!(event: EventType => with_event);
}

impl CallRecord {
    /// Creates the record of a request of `caller`, with no findings yet.
    pub fn of(caller: Option<Principal>) -> Self {
        Self { caller, ..Self::default() }
    }

    /// Notes which server, and which of its tools, the request is for.
    pub fn note_target(&self, server: &ServerId, tool: Option<&ToolName>) {
        self.target.get_or_init(|| (server.clone(), tool.cloned()));
    }

    /// Notes the tool that a call with `params` is for: its server, its name, its risk, and the arguments that name what
    /// the call acts on beyond the tool.
    pub fn note_tool(&self, tool: &ResolvedTool, params: &Params) {
        self.note_target(&tool.server, Some(&tool.name));
        self.note_risk(tool.security.risk);
        let names = &tool.security.target_arguments;
        if !names.is_empty() {
            self.note_target_arguments(target_arguments(names, params));
        }
    }

    /// Notes the arguments that name what the call acts on beyond the tool.
    pub fn note_target_arguments(&self, arguments: BTreeMap<String, String>) {
        self.target_arguments.get_or_init(|| arguments);
    }

    /// Notes the tool's risk.
    pub fn note_risk(&self, risk: RiskLevel) {
        self.risk.get_or_init(|| risk);
    }

    /// Notes that the arguments were checked with the validators of `tool`.
    pub fn note_validated(&self, tool: &Arc<ResolvedTool>) {
        self.validated.get_or_init(|| Arc::clone(tool));
    }

    /// Notes that the request is refused.
    pub fn note_refusal(&self, refusal: Refusal) {
        self.refusal.get_or_init(|| refusal);
    }

    /// Notes the group whose access entry decided about the request.
    pub fn note_group(&self, group: &AgentId) {
        self.group.get_or_init(|| group.clone());
    }

    /// Notes on whose word the request was let through, where somebody was asked.
    pub fn note_approved_by(&self, approver: &str) {
        self.grant.get_or_init(|| approver.into());
    }

    /// Notes the digest of the arguments that the caller sent, and that of those with which an operator had the call made.
    pub fn note_edit(&self, asked: &str, edited: &str) {
        self.edit.get_or_init(|| Box::new([asked, edited].map(str::to_owned)));
    }

    /// Notes the sources of the data that the session of the call had taken in, where the call may carry it out or act on
    /// it.
    pub fn note_flow(&self, sources: &Arc<[FlowSource]>) {
        self.flow.get_or_init(|| Arc::clone(sources));
    }

    /// Notes that the caller stopped the call, whatever the call is answered.
    pub fn note_cancelled(&self) {
        self.cancelled.get_or_init(|| ());
    }

    /// Notes the facts of `known`, the record of the call that the request goes on with, so that both tell them.
    pub fn follow(&self, known: &Self) {
        fn note<T: Clone>(own: &OnceLock<T>, known: &OnceLock<T>) {
            if let Some(fact) = known.get() {
                own.get_or_init(|| fact.clone());
            }
        }
        note(&self.target, &known.target);
        note(&self.target_arguments, &known.target_arguments);
        note(&self.risk, &known.risk);
        note(&self.validated, &known.validated);
        note(&self.refusal, &known.refusal);
        note(&self.group, &known.group);
        note(&self.grant, &known.grant);
        note(&self.edit, &known.edit);
        note(&self.flow, &known.flow);
    }

    /// Returns the sender of the request, if it is known.
    pub const fn caller(&self) -> Option<&Principal> {
        self.caller.as_ref()
    }

    /// Returns the server that the request is for, and the tool.
    pub fn target(&self) -> Option<(&ServerId, Option<&ToolName>)> {
        self.target.get().map(|(server, tool)| (server, tool.as_ref()))
    }

    /// Returns the arguments that name what the call acts on beyond the tool; `None` if the tool declares none.
    pub fn target_arguments(&self) -> Option<&BTreeMap<String, String>> {
        self.target_arguments.get()
    }

    /// The tool's risk.
    pub fn risk(&self) -> Option<RiskLevel> {
        self.risk.get().copied()
    }

    /// The tool whose validators checked the arguments.
    pub fn validated(&self) -> Option<&Arc<ResolvedTool>> {
        self.validated.get()
    }

    /// The validators that checked the arguments.
    pub fn validators(&self) -> &[ValidatorName] {
        self.validated().map_or(&[], |tool| &tool.security.validators)
    }

    /// Returns the reason for which the request was refused, if it was.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.get()
    }

    /// Returns the group whose access entry decided about the request, if one did.
    pub fn group(&self) -> Option<&AgentId> {
        self.group.get()
    }

    /// Returns the approver on whose word the request was let through, where one was asked.
    pub fn approved_by(&self) -> Option<&str> {
        self.grant.get().map(|approver| &**approver)
    }

    /// Returns the digest of the arguments that the caller sent, and that of those with which the call was made, if an
    /// operator edited them.
    pub fn edit(&self) -> Option<[&str; 2]> {
        self.edit.get().map(|digests| digests.each_ref().map(String::as_str))
    }

    /// Returns the sources of the data that the session of the call had taken in, where the call may carry it out or act on
    /// it.
    pub fn flow(&self) -> &[FlowSource] {
        self.flow.get().map_or(&[], |sources| &**sources)
    }

    /// Returns whether the caller stopped the call.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get().is_some()
    }
}

/// Returns the named arguments that are texts or lists of texts, each as one text.
fn target_arguments(names: &[Box<str>], params: &Params) -> BTreeMap<String, String> {
    let arguments = params.object("arguments").unwrap_or_default();
    let text = |name: &str| {
        let value = arguments.get(name)?;
        value.to_text().or_else(|| Some(value.to::<Vec<String>>().ok()?.join(", ")))
    };
    names.iter().take(MAX_TARGET_ARGUMENTS).filter_map(|name| Some((name.to_string(), text(name)?))).collect()
}

/// The number of arguments that a target names at most.
const MAX_TARGET_ARGUMENTS: usize = 8;

/// The kind of data that a call takes into its session, where that is worth a question later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "data is somebody's secret, or somebody else's words, as they are or as orders"
)]
pub enum CallSource {
    /// Private data, such as mail, secrets, and files outside the folders of the client.
    Private,
    /// The words of others, such as web pages and issues, which may hold orders to models.
    Foreign,
    /// Words in which orders to models were found: a result, or the definition of the called tool.
    Orders,
}

impl CallSource {
    /// Returns the words that say to a person what the call took in.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Private => "private data",
            Self::Foreign => "text of others",
            Self::Orders => "text worded like orders to a model",
        }
    }
}

/// A call that took something into its session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a source is a call and what it took in")]
pub struct FlowSource {
    /// The kind of data that the call took in.
    pub kind: CallSource,
    /// The tool, as `server.tool`.
    pub tool: String,
    /// The arguments of the call, in a form for people.
    pub arguments: String,
}

/// The flow that a call would complete: its agent took something in, and the call may carry it out or act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a flow has its beginning and its end, and is new or not")]
pub struct CallFlow {
    /// The calls by which the agent took something in.
    pub sources: Arc<[FlowSource]>,
    /// True if no such call was made since the agent took in the first of it.
    pub is_new: bool,
    /// Where it may go, if the call only reads: a host, or a tool that reaches other machines.
    pub destination: Option<Box<str>>,
}

crate::write_as!(Display of FlowSource, self => "{} by {}", self.kind.phrase(), self.tool);

impl CallFlow {
    /// Returns the sources with the arguments of their calls, in words for people.
    pub fn in_words(&self) -> String {
        let each = self.sources.iter().map(|source| format!("{source} with {}", source.arguments));
        let sources = each.collect::<Vec<_>>().join("; ");
        match &self.destination {
            Some(to) => format!("{sources}; it may go to {to}"),
            None => sources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;
    use crate::mgp::EffectiveSecurity;

    #[test]
    fn the_record_of_a_resumed_call_has_the_group_and_the_flow_of_the_call() {
        let source = FlowSource { kind: CallSource::Private, tool: "a.b".into(), arguments: String::new() };
        let known = CallRecord::default();
        known.note_group(&"team".into());
        known.note_flow(&Arc::from([source]));
        known.note_cancelled();
        let resumed = CallRecord::default();
        resumed.follow(&known);
        assert_eq!(resumed.group().map(AgentId::as_str), Some("team"));
        assert_eq!(resumed.flow(), known.flow());
        assert!(!resumed.is_cancelled());
    }

    #[test]
    fn only_declared_arguments_that_are_texts_name_the_target() {
        let mut security = EffectiveSecurity::new(RiskLevel::Safe);
        security.target_arguments = ["instance", "instances", "limit", "missing"].map(Into::into).into();
        let tool = ResolvedTool::new("federation".into(), "find".into(), Object::new(), security);
        let params = Object::parse(
            r#"{"name":"find","arguments":{"instance":"prod","instances":["a","b"],"limit":7,"query":"x"}}"#,
        )
        .unwrap();
        let record = CallRecord::default();
        record.note_tool(&tool, &params);
        let noted: Vec<_> = record.target_arguments().unwrap().iter().collect();
        assert_eq!(
            noted,
            [(&"instance".to_owned(), &"prod".to_owned()), (&"instances".into(), &"a, b".into())]
        );
    }
}
