//! The members that all results share, and results that ask for input (multi round-trip requests).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::body::body;
use super::task_extension::CreateExtensionTaskResult;
use super::union::{open_enum, tag_of, union};
use super::{CreateMessageParams, ElicitParams, ForRevision, ListRootsParams, Map};
use crate::{RawJson, Revision};

open_enum! {
    /// The kind of a result; absent means complete.
    pub enum ResultType {
        /// The request is done.
        Complete = "complete",
        /// The client has to provide input and repeat the request.
        InputRequired = "input_required",
        /// The request goes on as a task of the tasks extension.
        Task = "task",
    }

    /// The audience that may share a cached result.
    pub enum CacheScope {
        /// Any requester may share the result.
        Public = "public",
        /// Only requests under the same authorization may share the result.
        Private = "private",
    }
}

body! {
    /// A result without content: the request was carried out.
    pub struct EmptyResult and meta {
        /// The kind of result; absent means complete.
        optional result_type: ResultType = "resultType" [since V2026_07_28, or ResultType::Complete];
    }

    /// An elicitation inside a result.
    pub struct ElicitRequest("method": "elicitation/create") {
        /// The parameters of the question.
        required params: ElicitParams = "params";
    }

    /// A sampling request inside a result.
    pub struct CreateMessageRequest("method": "sampling/createMessage") {
        /// The parameters of the question.
        required params: CreateMessageParams = "params";
    }

    /// A request for the roots inside a result.
    pub struct ListRootsRequest("method": "roots/list") {
        /// The parameters, which hold metadata only.
        optional params: ListRootsParams = "params" => with_params;
    }

    /// The result that asks for input before the request can be completed.
    pub struct InputRequiredResult and meta => with_meta {
        /// `input_required`.
        required result_type: ResultType = "resultType";
        /// The questions that the server needs answered.
        optional input_requests: InputRequests = "inputRequests";
        /// The state that the client sends back unchanged.
        optional request_state: String = "requestState" => with_request_state;
    }
}

/// The questions of a server, by keys of its choice.
pub type InputRequests = Map<InputRequest>;

/// The answers to [`InputRequests`], under the same keys: bare results, whose types follow from the questions.
pub type InputResponses = Map<RawJson>;

union! {
    /// A question for the client's user, its model or the client itself.
    pub enum InputRequest by "method" {
        /// A question for the user.
        Elicit(Box<ElicitRequest>) = "elicitation/create",
        /// A question for the model.
        CreateMessage(Box<CreateMessageRequest>) = "sampling/createMessage",
        /// A question for the roots.
        ListRoots(ListRootsRequest) = "roots/list",
    }
}

crate::convert!(ElicitParams => InputRequest, params => Self::Elicit(Box::new(ElicitRequest::new(params))));

crate::convert!(
    CreateMessageParams => InputRequest,
    params => Self::CreateMessage(Box::new(CreateMessageRequest::new(params)))
);

impl InputRequiredResult {
    /// Creates a result that asks for `requests`.
    pub fn asking(requests: InputRequests) -> Self {
        Self { input_requests: Some(requests), ..Self::new(ResultType::InputRequired) }
    }
}

/// The answer of a stateless server: the result of the method, or the other result that `resultType` names.
///
/// The result is read from a borrowed slice, so it can be read from bytes or text in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Answer<T> {
    /// The request is done.
    Complete(T),
    /// The client has to provide input and repeat the request.
    InputRequired(InputRequiredResult),
    /// The request goes on as a task of the tasks extension.
    Task(Box<CreateExtensionTaskResult>),
    /// A result of a type that was not negotiated, which makes the response invalid.
    Unknown(RawJson),
}

impl<T> From<T> for Answer<T> {
    fn from(result: T) -> Self {
        Self::Complete(result)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Answer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let result = <&'de RawValue>::deserialize(deserializer)?;
        let kind = tag_of(result, "resultType", Some("complete")).map_err(D::Error::custom)?;
        match ResultType::from(&*kind) {
            ResultType::Complete => serde_json::from_str(result.get()).map(Self::Complete),
            ResultType::InputRequired => serde_json::from_str(result.get()).map(Self::InputRequired),
            ResultType::Task => serde_json::from_str(result.get()).map(Self::Task),
            ResultType::Unknown(_) => serde_json::from_str(result.get()).map(Self::Unknown),
        }
        .map_err(D::Error::custom)
    }
}

impl<T: ForRevision> ForRevision for Answer<T> {
    fn fit(&mut self, revision: Revision) {
        match self {
            Self::Complete(result) => result.fit(revision),
            Self::InputRequired(result) => result.fit(revision),
            Self::Task(result) => result.fit(revision),
            Self::Unknown(_) => {}
        }
    }
}
