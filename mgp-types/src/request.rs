use serde::{Deserialize, Serialize};

use crate::json::{Object, RawJson};
use crate::{Context, Error, Extensions, Method};

/// The parameters of a request: a shallow object, so that forwarding them is a copy of bytes.
pub type Params = Object;

const META: &str = "_meta";

/// A call or notification on its way through the stack.
///
/// It has no JSON-RPC id: correlation belongs to the connection that carries it, and retrying or fanning
/// out one request needs several ids. Notifications are requests too, so no gate can be passed by choosing
/// another shape of message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The kind of the request: a call or a notification.
    pub kind: RequestKind,
    /// The method of the request.
    pub method: Method,
    /// The parameters.
    pub params: Params,
    /// The facts about the request beyond its bytes. They have a place of their own, so that a request is small to move
    /// from layer to layer.
    pub context: Box<Context>,
    /// The values that layers of third parties attach.
    pub extensions: Extensions,
}

/// The kind of a request: a call expects an answer, a notification does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "closed by JSON-RPC")]
pub enum RequestKind {
    /// An answer is expected.
    Call,
    /// No answer is expected, and none is given.
    Notify,
}

impl Default for Request {
    /// Returns a notification without a name, which nobody reads.
    fn default() -> Self {
        Self::notify(Method::NONE, Params::new())
    }
}

impl Request {
    /// A call of `method`.
    pub fn call(method: impl Into<Method>, params: Params) -> Self {
        Self::new(RequestKind::Call, method.into(), params)
    }

    /// A notification.
    pub fn notify(method: impl Into<Method>, params: Params) -> Self {
        Self::new(RequestKind::Notify, method.into(), params)
    }

    /// A call or notification without context.
    pub fn new(kind: RequestKind, method: Method, params: Params) -> Self {
        Self { kind, method, params, context: Box::default(), extensions: Extensions::default() }
    }

    /// A call of `method` with typed parameters.
    ///
    /// # Errors
    /// `params` cannot be written as a JSON object.
    pub fn with_body<T: Serialize>(method: impl Into<Method>, params: &T) -> Result<Self, Error> {
        let params = Object::from_value(params).map_err(|error| {
            Error::invalid_params("the parameters are not a JSON object").with_source(error)
        })?;
        Ok(Self::call(method, params))
    }

    /// Takes the request, and leaves an empty one that nobody answers.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// The member of `_meta` called `key`.
    pub fn meta(&self, key: &str) -> Option<RawJson> {
        self.params.object(META)?.get(key)
    }

    /// The members of `_meta`, for changes; `None` if there is no `_meta`. It is parsed once on the way of the request,
    /// and written with the parameters.
    pub fn meta_mut(&mut self) -> Option<&mut Object> {
        self.params.object_mut(META)
    }

    /// The members of `_meta`, for changes; a `_meta` that is missing or no object becomes an empty object.
    pub fn meta_mut_or_new(&mut self) -> &mut Object {
        self.params.object_mut_or_new(META)
    }

    /// The typed parameters.
    ///
    /// # Errors
    /// -32602 if they do not have the shape of `T`.
    pub fn body<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        self.params.to().map_err(|error| Error::invalid_params(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_small_to_move() {
        assert!(size_of::<Request>() <= 23 * size_of::<u64>(), "{}", size_of::<Request>());
    }
}
