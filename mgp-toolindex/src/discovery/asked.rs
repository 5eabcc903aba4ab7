use mgp_types::mgp::{AskedAs, Extension, method};
use mgp_types::{Error, Object, Request};

/// What is asked of the layer itself, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) operation: Operation,
    pub(super) form: AskedAs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Discover,
    Request,
    Session,
    Evict,
}

impl Asked {
    /// `None` if the request is for somebody else.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let (form, method) = AskedAs::of(request)?;
        Some(Self { operation: Operation::of(method)?, form })
    }

    /// What it is asked with.
    pub(super) fn params(self, request: &Request) -> Result<Object, Error> {
        self.form.check(request, &Extension::ToolDiscovery)?;
        self.form.params(request)
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
