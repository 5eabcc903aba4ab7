use mgp_types::mgp::{Extension, method};
use mgp_types::{Error, Method, Object, Request};

/// What is asked of the layer itself, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) operation: Operation,
    pub(super) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Discover,
    Request,
    Session,
    Evict,
}

/// How it is asked: a program calls the method, a model calls the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Method,
    Tool,
}

impl Asked {
    /// `None` if the request is for somebody else.
    pub(super) fn of(request: &Request) -> Option<Self> {
        if request.method == Method::TOOLS_CALL {
            let operation = Operation::of(method::of_tool(&request.params.text("name")?)?)?;
            return Some(Self { operation, form: Form::Tool });
        }
        Some(Self { operation: Operation::of(request.method.as_str())?, form: Form::Method })
    }

    /// What it is asked with.
    pub(super) fn params(self, request: &Request) -> Result<Object, Error> {
        match self.form {
            Form::Method if !negotiated(request) => Err(Error::method_not_found(&request.method)),
            Form::Method => Ok(request.params.clone()),
            Form::Tool => arguments(&request.params),
        }
    }
}

impl Operation {
    fn of(method: &str) -> Option<Self> {
        match method {
            method::TOOLS_DISCOVER => Some(Self::Discover),
            method::TOOLS_REQUEST => Some(Self::Request),
            method::TOOLS_SESSION => Some(Self::Session),
            method::TOOLS_SESSION_EVICT => Some(Self::Evict),
            _ => None,
        }
    }
}

fn negotiated(request: &Request) -> bool {
    let session = request.context.session.as_ref();
    session.and_then(|session| session.mgp.as_ref()).is_some_and(|mgp| mgp.has(&Extension::ToolDiscovery))
}

fn arguments(params: &Object) -> Result<Object, Error> {
    let arguments = params.get("arguments").filter(|arguments| !arguments.is_null());
    let Some(arguments) = arguments else { return Ok(Object::new()) };
    Object::from_raw(&arguments).map_err(|_| Error::invalid_params("`arguments` has to be an object"))
}
